"""A run as JUnit XML: a test suite per judge, a test case per judgment.

A judgment that failed is an ``<error>`` and never a ``<failure>``, which would call the answer bad.
An abstention is ``<skipped>``. A judgment that neither passes nor fails, such as a comparison or a
count, is a test case without either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.records import records
from adjudge.messages import render
from adjudge.runs.counts import exclusion
from adjudge.runs.exporters.files import text_file
from adjudge.runs.folder import RunInfo, reading, run_info
from adjudge.runs.numbers import mean_text
from adjudge.runs.pass_scale import Ends, passed
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.paired_gate import against_baseline, paired_gates
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from adjudge.trust.labels.scales import ends_by_judge

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""
_LONGEST_NAME, _LONGEST_MESSAGE, _LONGEST_TEXT = 200, 500, 4000
"""Characters: viewers refuse files of tens of megabytes, and show a line of a message."""
_CASE = ("failure", "error", "skipped")


def to_junit(run: Path, target: Path, baseline: Path | None = None) -> int:
    """Write all judgments of a run, and return their number.

    Each judge's suite has properties for its gates and for the comparison with ``baseline`` or the
    run that it must not be worse than.
    """
    ends, info = ends_by_judge(run), run_info(run)
    gates = _gates(info, baseline)
    with reading(run) as ledger, text_file(target) as file:
        # the counts are attributes of the first elements, so all judgments are read twice
        counts = {judge: Counter[str]() for judge in info.judges}
        means: dict[str, dict[tuple[str, str], _Mean]] = {judge: {} for judge in info.judges}
        for judge in info.judges:
            for record in records(ledger, judge=judge):
                counts[judge][_kind(record, ends.get(judge, {}))] += 1
                means[judge].setdefault((record.criterion, record.answered_by), _Mean()).add(record)
        total = sum(counts.values(), Counter[str]())
        is_unfinished = info.state not in ("complete", "imported")
        all_cases = total + Counter({"error": int(is_unfinished)})
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites '
            f"name={_attribute(run.name)} {_counts(all_cases)}>\n"
        )
        if is_unfinished:
            _write_unfinished(file, info)
        for judge, kind_counts in counts.items():
            file.write(f"<testsuite name={_attribute(judge)} {_counts(kind_counts)}>\n")
            facts: dict[str, object] = {
                "run": run.name,
                "state": info.state,
                "lock": info.identities.get(judge),
                **_scores(means[judge], Setup.of_run(info).language),
            }
            property_lines = [
                _property(name, str(value)) for name, value in facts.items() if value is not None
            ]
            property_lines += [
                _property("excluded", text) for text in _exclusion_lines(info, judge)
            ]
            property_lines += [
                _property("gate", gate, _LONGEST_MESSAGE) for gate in gates.get(judge, ())
            ]
            file.write(f"<properties>\n{''.join(property_lines)}</properties>\n")
            for record in records(ledger, judge=judge):
                _write_case(file, record, ends.get(judge, {}))
            file.write("</testsuite>\n")
        file.write("</testsuites>\n")
    return total.total()


class _Mean:
    """Computes a mean score."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0
        self._lowest, self._highest, self._bounded = 0.0, 0.0, 0

    def add(self, record: JudgmentRecord) -> None:
        if record.scored and record.score is not None:
            self._total += record.score
            self._count += 1
        elif record.detail.has_bounds and record.status != "skipped":
            lowest, highest = record.missing_score()
            self._lowest += lowest
            self._highest += highest
            self._bounded += 1

    def value(self, language: str) -> float | str | None:
        """Return the mean; if rows have bounds instead of a score, the range of the mean over all
        rows in words.
        """
        mean = self._total / self._count if self._count else None
        if self._lowest == self._highest:
            return mean
        rows = self._count + self._bounded
        between = (self._total + self._lowest) / rows, (self._total + self._highest) / rows
        return render(mean_text(mean, 3, between=between, scored=self._count), language)


def _scores(means: Mapping[tuple[str, str], _Mean], language: str) -> dict[str, float | str | None]:
    """Return the mean score per criterion, and per system if there are several. There is no overall
    mean.
    """
    if len(means) == 1:
        return {"score": next(iter(means.values())).value(language)}
    several = len({system for _, system in means}) > 1
    return {
        f"score.{of_system(criterion, system if several else '')}": mean.value(language)
        for (criterion, system), mean in means.items()
    }


def _exclusion_lines(info: RunInfo, judge: str) -> Iterator[str]:
    """Yield the number of rows on which each excluded panel model did not count."""
    rows, language = sum(info.judges[judge].values()), Setup.of_run(info).language
    for model, lost in info.excluded.get(judge, {}).items():
        yield render(exclusion(model, lost, rows), language)


def _write_unfinished(file: TextIO, info: RunInfo) -> None:
    """Add a test case with an error, because the run is unfinished."""
    state = render(info.state, Setup.of_run(info).language)
    file.write(
        f"<testsuite name={_attribute(info.folder.name)} {_counts(Counter(error=1))}>\n"
        f'<testcase classname="adjudge" name="run is not finished">\n'
        f"<error message={_attribute(state, _LONGEST_MESSAGE)} "
        'type="not finished"/>\n</testcase>\n</testsuite>\n'
    )


def _gates(info: RunInfo, baseline: Path | None) -> dict[str, list[str]]:
    """Return judge → sentences on its gates and the comparison with another run."""
    setup, sentences = against_baseline(Setup.of_run(info), baseline), dict[str, list[str]]()
    gates: list[GateResult] = []
    if setup.bars:
        report = report_of_run(info.folder, shown=0, info=info)
        gates += [gate for gate in report.gates if gate.measure != "difference"]
    for gate in (*gates, *paired_gates(setup, info.folder)):
        for judge in [gate.judge] if gate.judge else info.judges:
            sentences.setdefault(judge, []).append(render(gate.sentence(), setup.language))
    return sentences


def _kind(record: JudgmentRecord, ends: Ends) -> str:
    if record.status in ("abstained", "skipped"):
        return "skipped"
    if not record.scored:
        return "error"
    return "failure" if passed(record, ends) is False else "passed"


def _counts(counts: Counter[str]) -> str:
    failures, errors, skipped = (counts[kind] for kind in _CASE)
    return f'tests="{counts.total()}" failures="{failures}" errors="{errors}" skipped="{skipped}"'


def _write_case(file: TextIO, record: JudgmentRecord, ends: Ends) -> None:
    kind = _kind(record, ends)
    file.write(
        f"<testcase classname={_attribute(f'{record.judge}: {record.criterion}')} "
        f"name={_attribute(record.name)}>\n"
    )
    file.write("<properties>\n" + "".join(_properties(record)) + "</properties>\n")
    why = record.explanation or record.reason or ""
    if kind in _CASE:
        message = (
            record.reason or "no verdict"
            if kind != "failure"
            else ": ".join(filter(None, (str(record.verdict or _number(record.score)), why)))
        )
        body = "" if kind == "skipped" else f">{_words(why)}</{kind}"
        type_ = (
            ""
            if kind == "skipped"
            else f" type={_attribute('judged as failed' if kind == 'failure' else 'no verdict')}"
        )
        file.write(
            f"<{kind} message={_attribute(message, _LONGEST_MESSAGE)}{type_}{body or '/'}>\n"
        )
    texts = "\n".join(
        f"{name}: {text if isinstance(text, str) else ' | '.join(text)}"
        for name, text in record.fields.items()
    )
    file.write(f"<system-out>{_words(texts)}</system-out>\n</testcase>\n")


def _properties(record: JudgmentRecord) -> Iterator[str]:
    for name, value in (
        ("verdict", record.verdict),
        ("score", _number(record.score)),
        ("status", record.status),
    ):
        if value is not None:
            yield _property(name, str(value))


def _number(score: float | None) -> float | None:
    """Return the score as a float, so that 1 and 1.0 look the same to tools that compare text."""
    return None if score is None else float(score)


def _property(name: str, value: str, most: int = _LONGEST_NAME) -> str:
    return f"<property name={_attribute(f'adjudge.{name}')} value={_attribute(value, most)}/>\n"


def _attribute(text: str, most: int = _LONGEST_NAME) -> str:
    return quoteattr(_valid(" ".join(_cut(text, most).split())))


def _words(text: str) -> str:
    return escape(_valid(_cut(text, _LONGEST_TEXT)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _valid(text: str) -> str:
    """Escape characters that XML cannot contain."""
    return _INVALID.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
