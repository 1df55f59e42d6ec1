"""Whether results are good enough: what was measured, the bar, and what would be needed, in words and as an exit code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjudge.domain.criteria import Criteria
from adjudge.errors import SetupError
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.numbers import RussianNumber
from adjudge.reports.summary import Summary
from adjudge.runs.eval_file import FailUnder

Measure = Literal["mean", "composite", "win rate", "missing"]
Verdict = Literal["holds", "failed", "inconclusive"]
_CODES: Mapping[Verdict, ExitCode] = {
    "holds": ExitCode.OK,
    "failed": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.GATE_INCONCLUSIVE,
}
_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "of a judge": "{name} (judge {judge})",
        "mean": "mean score of {of}",
        "composite": "mean composite of {of}",
        "win rate": "win rate of {of}",
        "holds": "Gate holds: {what} is {value:.3f}, the bar is {bar:.3f}: reached with {margin:.3f} to spare.",
        "failed": "Gate failed: {what} is {value:.3f}, the bar is {bar:.3f}: missed by {margin:.3f}. "
        "Needed: {needed} more of {rows} rows at 1 instead of 0.",
        "at best": "Gate failed: {what} is {upper:.3f} at best, the bar is {bar:.3f}.",
        "at least": "Gate holds: {what} is {lower:.3f} at least, the bar is {bar:.3f}.",
        "inconclusive": "Gate undecided: {what} lies between {lower:.3f} and {upper:.3f}, the bar is {bar:.3f}. "
        "Needed: scores for the {missing} of {rows} rows that have none.",
        "no system": "Gate undecided: no system is called {of}.",
        "few missing": "Gate holds: {missing} of {rows} judgments of {of} have no score, {allowed} may.",
        "many missing": "Gate failed: {missing} of {rows} judgments of {of} have no score, {allowed} may. "
        "Needed: scores for {needed} more.",
    },
    "ru": {
        "of a judge": "{name} (судья {judge})",
        "mean": "средняя оценка «{of}»",
        "composite": "средняя итоговая оценка «{of}»",
        "win rate": "доля побед «{of}»",
        "holds": "Порог выдержан: {what} {value:.3f}, порог {bar:.3f}, запас {margin:.3f}.",
        "failed": "Порог не выдержан: {what} {value:.3f}, порог {bar:.3f}, не хватает {margin:.3f}. "
        "Нужно: ещё {needed} из {rows} с оценкой 1 вместо 0.",
        "at best": "Порог не выдержан: {what} не выше {upper:.3f}, порог {bar:.3f}.",
        "at least": "Порог выдержан: {what} не ниже {lower:.3f}, порог {bar:.3f}.",
        "inconclusive": "Порог не проверен: {what} от {lower:.3f} до {upper:.3f}, порог {bar:.3f}. "
        "Нужны оценки для строк без оценки: их {missing} из {rows}.",
        "no system": "Порог не проверен: системы «{of}» нет.",
        "few missing": "Порог выдержан: без оценки {missing} из {rows} («{of}»), допустимо {allowed}.",
        "many missing": "Порог не выдержан: без оценки {missing} из {rows} («{of}»), допустимо {allowed}. "
        "Нужны оценки ещё для {needed}.",
    },
}


@dataclass(frozen=True)
class Bar:
    """What must be reached."""

    judge: str
    least: float
    name: str = ""
    """The criteria, or the compared system; empty: every criteria of the judge."""


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """A bar, and whether it was reached."""

    judge: str
    name: str
    """The criteria, or the compared system."""
    measure: Measure
    value: float | None
    bar: float
    lower: float
    """The value if every row without a score were the worst it can be."""
    upper: float
    """The value if every one of them were the best."""
    rows: int
    missing: int
    """Rows without a score."""

    @property
    def verdict(self) -> Verdict:
        """Decided only where the rows without a score could not change it."""
        if self.measure == "missing":
            return "failed" if self.missing > self.bar * self.rows else "holds"
        if self.upper < self.bar:
            return "failed"
        return "inconclusive" if self.lower < self.bar else "holds"

    @property
    def code(self) -> ExitCode:
        """For the shell."""
        return _CODES[self.verdict]

    @property
    def margin(self) -> float | None:
        """By how much the bar was reached; below 0 where it was missed."""
        return None if self.value is None else self.value - self.bar

    @property
    def needed(self) -> int:
        """Rows that would have to turn from the worst score to the best; of missing scores, those that must be there."""
        if self.measure == "missing":
            return max(0, self.missing - math.floor(self.bar * self.rows))
        return max(0, math.ceil((self.bar - self.upper) * self.rows - 1e-9))

    def sentence(self, language: str = "en") -> str:
        """What was measured, the bar, by how much, and what would be needed."""
        words = _SENTENCES.get(language, _SENTENCES["en"])
        number = RussianNumber if language == "ru" else float
        of = self.name if self.name in (self.judge, "") else words["of a judge"].format(name=self.name, judge=self.judge)
        values = {
            "of": of or self.judge,
            "what": words.get(self.measure, "").format(of=of or self.judge),
            **{name: getattr(self, name) for name in ("rows", "missing", "needed")},
            **{name: number(getattr(self, name) or 0.0) for name in ("value", "bar", "lower", "upper")},
            "margin": number(abs(self.margin or 0.0)),
            "allowed": math.floor(self.bar * self.rows),
        }
        return words[self._said].format(**values)

    @property
    def _said(self) -> str:
        if self.measure == "missing":
            return "many missing" if self.verdict == "failed" else "few missing"
        if self.verdict == "inconclusive" and not self.rows and self.measure == "win rate":
            return "no system"
        clear = self.value is not None and (self.value >= self.bar) == (self.verdict == "holds")
        return self.verdict if clear or self.verdict == "inconclusive" else "at best" if self.verdict == "failed" else "at least"

    def to_dict(self) -> dict[str, object]:
        """This gate as a JSON-ready dict."""
        measured = {"measure": self.measure, "value": self.value, "lower": self.lower, "upper": self.upper}
        decided = {"bar": self.bar, "margin": self.margin, "needed": self.needed, "verdict": self.verdict}
        counts = {"rows": self.rows, "missing": self.missing}
        return {"judge": self.judge, "name": self.name, **measured, **decided, **counts, "message": self.sentence()}


def bars_of(fail_under: FailUnder | None) -> dict[str, float]:
    """Name → bar; the empty name is every criteria without a bar of its own."""
    if fail_under is None:
        return {}
    return {"": fail_under} if isinstance(fail_under, int | float) else dict(fail_under)


def mean_gate(judge: str, name: str, summary: Summary, bar: float, measure: Measure = "mean") -> GateResult:
    """The mean score against a bar."""
    return GateResult(
        judge=judge,
        name=name,
        measure=measure,
        value=summary.mean,
        bar=bar,
        lower=summary.lower,
        upper=summary.upper,
        rows=summary.attempted - summary.without_number,
        missing=summary.unscored,
    )


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of several, the one that matters most: a failed gate, an undecided one, a missing score."""
    order = (ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE, ExitCode.UNSCORED)
    found = set(codes)
    return next((code for code in order if code in found), ExitCode.OK)


def check_gate(judge: str, criteria: Sequence[Criteria], *, compares: bool = False) -> None:
    """Refuse a gate that cannot hold: a mean from 0 to 1 needs scores from 0 to 1. Comparisons have a winner, and no score."""
    if compares:
        raise SetupError(
            f"fail_under cannot hold for {judge!r}: it compares responses, which gives no score; "
            "name the one whose win rate must reach it, such as --fail-under new=0.5 or fail_under: {new: 0.5}"
        )
    for one in criteria:
        for option in one.options:
            if option.points is None:
                raise _no_gate(judge, f"the option {option.name!r} of criteria {one.name!r} has no score")
            if not 0 <= option.points <= 1:
                raise _no_gate(judge, f"the option {option.name!r} of criteria {one.name!r} scores {option.points:g}")


def exit_code(summary: Summary, fail_under: float | None = None) -> ExitCode:
    """The gate decides where it can, whatever the judgments without a score would have been.

    A model of a panel that has no verdict on any row is a missing score as well.
    """
    gate = ExitCode.OK if fail_under is None else mean_gate("", "", summary, fail_under).code
    missing = summary.scored < summary.attempted or summary.lost
    return gate if gate is not ExitCode.OK else ExitCode.UNSCORED if missing else ExitCode.OK


def _no_gate(judge: str, why: str) -> SetupError:
    return SetupError(f"fail_under cannot hold for {judge!r}: {why}; a gate needs scores from 0 to 1, so leave fail_under out")
