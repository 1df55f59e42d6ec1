"""A run on GitHub: a job summary, annotations and the outputs of a step.

GitHub drops a summary above 1 MiB completely. A comment holds 64 KiB, and a step shows ten
annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from adjudge.core.domain.record import JudgmentRecord
from adjudge.messages import Message, render
from adjudge.runs.counts import count_judgments, exclusion
from adjudge.runs.folder import run_facts
from adjudge.runs.results.contests import order_message
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.paired_gate import against_baseline, paired_gates
from adjudge.runs.results.report import Report
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.terms import STATUSES, option_title
from adjudge.runs.view.decision import decision, is_about
from adjudge.runs.view.reasons import falling_short, reason_of
from adjudge.runs.view.template import environment
from adjudge.stats.intervals import Interval

SUMMARY_KIB = 900
"""The most that a summary takes, by default."""
_WORST = 10
_MOST_ANNOTATIONS = 10
_LONGEST = 300
"""Characters of a text in the table of rows."""
_CUT = Message(
    "This page was shortened, because it would exceed the size limit. The run folder contains "
    "everything."
)
_MARKS = {"holds": "✅", "failed": "❌", "inconclusive": "❔", "none": "ℹ️"}


@dataclass(frozen=True)
class GithubReport:
    """The report of a run for GitHub, with an optional baseline."""

    run: Path
    baseline: Path | None = None
    language: str | None = None

    @cached_property
    def report(self) -> Report:
        """The report, with the same numbers as on every other page."""
        return report_of_run(self.run, _WORST, self.baseline, language=self.language)

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The gates of the run, then those against the baseline."""
        setup = against_baseline(self.report.setup, self.baseline)
        if setup == self.report.setup:
            return self.report.gates
        return (*self.report.gates, *paired_gates(setup, self.run))

    @property
    def verdict(self) -> str:
        """The verdict: "holds", "failed", "inconclusive", or "none" without gates.

        Unfinished runs and runs without a judged row are inconclusive even without gates. A
        baseline only fails a run that is certainly worse.
        """
        counting = {gate.verdict for gate in self._deciding}
        if self.report.is_unfinished or self.report.decided_nothing:
            counting.add("inconclusive")
        return next(
            (name for name in ("failed", "inconclusive", "holds") if name in counting), "none"
        )

    @property
    def _deciding(self) -> tuple[GateResult, ...]:
        return tuple(
            gate for gate in self.gates if gate.verdict == "failed" or gate in self.report.gates
        )

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs for later steps, with the figures behind the verdict."""
        value, limits = self._deciding_figures
        figures = {
            "score": value,
            "lower": limits.lower if limits else None,
            "upper": limits.upper if limits else None,
        }
        cost = self.report.cost.cost_usd
        figure_texts = {
            name: "" if value is None else f"{value:.4f}" for name, value in figures.items()
        }
        return {
            **figure_texts,
            "verdict": self.verdict,
            "cost": "" if cost is None else f"{cost:.6f}",
        }

    @property
    def _deciding_figures(self) -> tuple[float | None, Interval | None]:
        """The figure and limits of the first gate with the run's verdict, else of the first gate,
        else of the first criterion.

        The limits are those of the gate if it asks for a confidence, otherwise the 95% interval. A
        gate on missing scores or on the difference from another run has the score of its criterion.
        There is no figure if rows have bounds instead of a score.
        """
        sections = self.report.sections
        if not self._deciding:
            return sections[0].figure_named("") if sections else (None, None)
        gate = next(
            (item for item in self._deciding if item.verdict == self.verdict), self._deciding[0]
        )
        matching_sections = [item for item in sections if is_about(gate, item)]
        if gate.sure and gate.confidence is not None and gate.measure != "difference":
            is_range = any(
                item.summary.between and item.system == gate.system for item in matching_sections
            )
            value = None if is_range and gate.measure == "mean" else gate.value
            return value, Interval(gate.lower, gate.upper, gate.confidence)
        matching_sections.sort(
            key=lambda item: item.system != gate.system
        )  # a difference is about all systems
        name = gate.system if gate.of_wins else gate.name
        return matching_sections[0].figure_named(name) if matching_sections else (gate.value, None)

    def summary(self, most_kib: float = SUMMARY_KIB) -> str:
        """Return the summary as Markdown, shortened if it is too long."""
        report = self.report
        jinja_environment = environment(report.language, html=False)
        jinja_environment.filters["cut"] = lambda text: _cut(self._render(text))
        cost = report.cost
        earlier_means = {
            section.name: change.before
            for section in report.sections
            if not section.contests
            for change in report.changes(section)[:1]
        }
        page = jinja_environment.get_template("github.md.jinja").render(
            report=report,
            mark=_MARKS[self.verdict],
            decision=decision(replace(report, gates=self._deciding)),
            gates=self.gates,
            changes=earlier_means,
            order_bias=order_message,
            worst=list(falling_short(report)),
            reason_of=lambda section: reason_of(section, report),
            name_of=self._name_of,
            option_title=option_title,
            statuses=STATUSES,
            cost=None if cost.cost_usd is None else cost.message,
            exclusion=exclusion,
        )
        return _within(page.strip() + "\n", int(most_kib * 1024), self._render(_CUT))

    def _name_of(self, record: JudgmentRecord) -> str:
        """Return the judge and criterion as in the summary's table."""
        section = self.report.section_of(record)
        return section.name if section else record.judge

    def annotations(self) -> list[str]:
        """Return workflow commands for an unfinished run, failed or undecided gates, and missing
        scores.

        There are at most as many as GitHub shows; the last one counts the rest.
        """
        commands = [*self._of_state(), *self._of_gates(), *self._of_reasons()]
        if len(commands) > _MOST_ANNOTATIONS:
            other_commands = len(commands) - _MOST_ANNOTATIONS + 1
            note = self._render(Message("and {left} more: see the summary", left=other_commands))
            commands = [
                *commands[: _MOST_ANNOTATIONS - 1],
                _command("notice", "", 0, "adjudge", note),
            ]
        return commands

    def _of_state(self) -> Iterator[str]:
        if self.report.is_unfinished:
            so_far = count_judgments(self.report.judged)
            message = Message("not finished, {judgments} so far", judgments=so_far)
            yield _command("warning", *self._place(("judges",)), "adjudge", self._render(message))

    def _of_gates(self) -> Iterator[str]:
        for gate in self.gates:
            if gate.verdict == "failed" or (
                gate.verdict == "inconclusive" and gate in self.report.gates
            ):
                file, line = self._place((gate.name, gate.judge, "fail_under", "judges"))
                kind = "error" if gate.verdict == "failed" else "warning"
                yield _command(
                    kind,
                    file,
                    line,
                    f"adjudge: {gate.name or gate.judge}",
                    render(gate.sentence(), self.report.language),
                )

    def _of_reasons(self) -> Iterator[str]:
        file, line = self._place(("models", "judges"))
        for reason, count in self.report.reasons.items():
            yield _command(
                "warning",
                file,
                line,
                f"adjudge: {self._render(Message('no score'))}",
                f"{count}: {self._render(reason)}",
            )

    def _render(self, text: str) -> str:
        return render(text, self.report.language)

    def _place(self, names: Sequence[str]) -> tuple[str, int]:
        """Return the eval file and the first line with one of the names; an empty place without a
        file.
        """
        file, lines = self._eval_file
        for name in filter(None, names):
            for number, text in enumerate(lines, 1):
                if name in text:
                    return file, number
        return file, 1 if file else 0

    @cached_property
    def _eval_file(self) -> tuple[str, list[str]]:
        """The eval file of the run and its lines, if it is below the working folder; else empty."""
        match run_facts(self.run).facts.get("resume"):
            case {"eval": {"path": str(name), "typed": False}}:
                path = Path(name)
                if path.suffix in (".yaml", ".yml") and path.is_file():
                    with suppress(ValueError):
                        below = path.resolve().relative_to(Path.cwd().resolve()).as_posix()
                        text = path.read_text(encoding="utf-8", errors="replace")
                        return below, text.splitlines()
        return "", []


def _command(kind: str, file: str, line: int, title: str, message: str) -> str:
    """Return ``::error file=…,line=…,title=…::message`` with escaped texts, which cannot start
    another command.
    """
    where = {"file": file, "line": line or "", "title": title}
    properties = ",".join(
        # a colon or a comma would end the property
        f"{name}={_data(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in where.items()
        if value
    )
    return f"::{kind} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return _cut(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _cut(text: object) -> str:
    line = str(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _within(page: str, most: int, why: str) -> str:
    """Cut a page that is too long after a complete line, and add a note."""
    if len(page.encode("utf-8", "backslashreplace")) <= most:
        return page
    note = f"\n\n</details>\n\n*{why}*\n"
    kept_bytes = page.encode("utf-8", "backslashreplace")[: max(0, most - len(note.encode()))]
    return kept_bytes[: kept_bytes.rfind(b"\n") + 1].decode("utf-8", "ignore") + note
