"""A run as GitHub shows it: a job summary, annotations and the outputs of a step, within the limits
of each.

A summary above 1 MiB is lost as a whole and a comment holds 64 KiB; of annotations a step shows
ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.gateway.prices import dollars
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
    "This page was cut: it would be longer than its place allows. The run folder holds all of it."
)
_MARKS = {"holds": "✅", "failed": "❌", "inconclusive": "❔", "none": "ℹ️"}


@dataclass(frozen=True)
class GithubReport:
    """A run, and the one that it is compared with."""

    run: Path
    baseline: Path | None = None
    language: str | None = None

    @cached_property
    def report(self) -> Report:
        """The same as of every other page."""
        return report_of_run(self.run, _WORST, self.baseline, language=self.language)

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The run's own, then how it compares with the baseline."""
        setup = against_baseline(self.report.setup, self.baseline)
        if setup == self.report.setup:
            return self.report.gates
        return (*self.report.gates, *paired_gates(setup, self.run))

    @property
    def verdict(self) -> str:
        """holds, failed, inconclusive, or none if there is no gate. A run that is not finished, or
        that judged no row, is inconclusive, with and without gates.

        A baseline only fails a run that is surely worse.
        """
        counting = {gate.verdict for gate in self._deciding}
        if self.report.is_unfinished or self.report.decided_nothing:
            counting.add("inconclusive")
        return next((one for one in ("failed", "inconclusive", "holds") if one in counting), "none")

    @property
    def _deciding(self) -> tuple[GateResult, ...]:
        return tuple(
            gate for gate in self.gates if gate.verdict == "failed" or gate in self.report.gates
        )

    @property
    def outputs(self) -> dict[str, str]:
        """What later steps can use. Figures are those that the verdict rests on."""
        value, limits = self._deciding_figures
        figures = {
            "score": value,
            "lower": limits.lower if limits else None,
            "upper": limits.upper if limits else None,
        }
        cost = self.report.cost.cost_usd
        told = {name: "" if value is None else f"{value:.4f}" for name, value in figures.items()}
        return {**told, "verdict": self.verdict, "cost": "" if cost is None else f"{cost:.6f}"}

    @property
    def _deciding_figures(self) -> tuple[float | None, Interval | None]:
        """The figure, and its limits, of the first gate with the verdict of the run; without one,
        of the first gate, and without gates of the first criterion.

        The limits are those that the gate decided by if it asks for a confidence, otherwise the 95%
        interval. A gate on missing scores or on the difference from another run has the score of
        its criterion.
        """
        sections = self.report.sections
        if not self._deciding:
            return sections[0].figure_named("") if sections else (None, None)
        gate = next(
            (one for one in self._deciding if one.verdict == self.verdict), self._deciding[0]
        )
        if gate.sure and gate.confidence is not None and gate.measure != "difference":
            return gate.value, Interval(gate.lower, gate.upper, gate.confidence)
        own = [one for one in sections if is_about(gate, one)]
        own.sort(key=lambda one: one.system != gate.system)  # a difference is about all systems
        name = gate.system if gate.of_wins else gate.name
        return own[0].figure_named(name) if own else (gate.value, None)

    def summary(self, most_kib: float = SUMMARY_KIB) -> str:
        """The Markdown page, cut where it would be too long."""
        report = self.report
        made = environment(report.language, html=False)
        made.filters["cut"] = lambda text: _cut(self._said(text))
        cost = report.cost.cost_usd
        befores = {
            one.name: change.before
            for one in report.sections
            if not one.contests
            for change in report.changes(one)[:1]
        }
        page = made.get_template("github.md.jinja").render(
            report=report,
            mark=_MARKS[self.verdict],
            decision=decision(replace(report, gates=self._deciding)),
            gates=self.gates,
            changes=befores,
            order_bias=order_message,
            worst=list(falling_short(report)),
            reason_of=lambda one: reason_of(one, report),
            name_of=self._name_of,
            option_title=option_title,
            statuses=STATUSES,
            cost=None if cost is None else dollars(cost),
            exclusion=exclusion,
        )
        return _within(page.strip() + "\n", int(most_kib * 1024), self._said(_CUT))

    def _name_of(self, one: JudgmentRecord) -> str:
        """The judge and the criterion, as in the table above."""
        section = self.report.section_of(one)
        return section.name if section else one.judge

    def annotations(self) -> list[str]:
        """Workflow commands for what did not hold, no more than are shown; the last one says how
        many there are.
        """
        found = [*self._of_state(), *self._of_gates(), *self._of_reasons()]
        if len(found) > _MOST_ANNOTATIONS:
            left = len(found) - _MOST_ANNOTATIONS + 1
            more = self._said(Message("and {left} more: see the summary", left=left))
            found = [*found[: _MOST_ANNOTATIONS - 1], _command("notice", "", 0, "adjudge", more)]
        return found

    def _of_state(self) -> Iterator[str]:
        if self.report.is_unfinished:
            so_far = count_judgments(self.report.judged)
            message = Message("not finished, {judgments} so far", judgments=so_far)
            yield _command("warning", *self._place(("judges",)), "adjudge", self._said(message))

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
                f"adjudge: {self._said(Message('no score'))}",
                f"{count}: {self._said(reason)}",
            )

    def _said(self, text: str) -> str:
        return render(text, self.report.language)

    def _place(self, names: Sequence[str]) -> tuple[str, int]:
        """The line of the eval file that says one of these; nowhere where there is no such file."""
        file, lines = self._eval_file
        for name in filter(None, names):
            for number, text in enumerate(lines, 1):
                if name in text:
                    return file, number
        return file, 1 if file else 0

    @cached_property
    def _eval_file(self) -> tuple[str, list[str]]:
        """The file that the run was begun with, where it is below this folder."""
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
    """``::error file=…,line=…,title=…::message``; nothing in a text ends a line or begins another
    command.
    """
    where = {"file": file, "line": line or "", "title": title}
    properties = ",".join(
        f"{name}={_property(str(value))}" for name, value in where.items() if value
    )
    return f"::{kind} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return _cut(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cut(text: object) -> str:
    said = str(text)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _within(page: str, most: int, why: str) -> str:
    """The page; cut after a whole line, and saying so, where it has more bytes."""
    if len(page.encode("utf-8", "backslashreplace")) <= most:
        return page
    note = f"\n\n</details>\n\n*{why}*\n"
    kept = page.encode("utf-8", "backslashreplace")[: max(0, most - len(note.encode()))]
    return kept[: kept.rfind(b"\n") + 1].decode("utf-8", "ignore") + note
