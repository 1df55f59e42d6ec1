"""Whether results are good enough: what was measured, the bar, and what would be needed, in words
and as an exit code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from adjudge.domain.criteria import Criteria
from adjudge.domain.light import light_dataclass
from adjudge.domain.pairing import Pairing
from adjudge.domain.rounding import above, equal
from adjudge.errors import SetupError
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate_words import SENTENCES
from adjudge.reports.pairing_words import pairing_told
from adjudge.reports.russian import localised
from adjudge.reports.summary import Summary
from adjudge.reports.words import RussianNumber, level_text
from adjudge.runs.eval_file import FailUnder

if TYPE_CHECKING:
    from adjudge.stats.intervals import Interval

Measure = Literal["mean", "composite", "win rate", "missing", "difference"]
Verdict = Literal["holds", "failed", "inconclusive"]
_CODES: Mapping[Verdict, ExitCode] = {
    "holds": ExitCode.OK,
    "failed": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.GATE_INCONCLUSIVE,
}


@light_dataclass(frozen=True)
class Bar:
    judge: str
    least: float
    name: str = ""
    """The criteria, or the compared system; empty: every criteria of the judge."""


@light_dataclass(frozen=True, kw_only=True)
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
    """Rows without a score; where two runs are compared, without one in both."""
    confidence: float | None = None
    """How sure the gate must be: ``lower`` and ``upper`` are then limits at this confidence. None:
    the mean is compared.
    """
    sure: bool = False
    """Whether there are enough rows for such limits."""
    against: str = ""
    """The run that must not be better, where two are compared; ``bar`` is then what may be lost,
    below 0.
    """
    among: int = 1
    """Criteria that have such a gate. Where two runs are compared, ``upper`` is a limit for all of
    them together (Holm); a bar is held by each criteria by itself.
    """
    cluster: str = ""
    """The column whose equal values belong together, where rows are not independent."""
    same_judge: bool = True
    """Where two runs are compared: whether both have the very same judge."""
    pairing: Pairing | None = None
    """Where two runs are compared: which rows with which. Those without a counterpart are among the
    ``missing``.
    """
    system: str = ""
    """Where two runs are compared that compare responses: whose win rate must not be lower."""
    reason: str = ""
    """Where two runs are compared: why they cannot be."""
    stopped: bool = False
    """Whether the run has not come to its end: rows that nobody was asked about yet could change
    it.
    """

    @property
    def verdict(self) -> Verdict:
        """Decided only where the rows without a score could not change it."""
        if self.stopped:
            return "inconclusive"
        if self.measure == "missing":
            return "failed" if self.missing > self.allowed else "holds"
        if self.confidence is not None and not self.sure:
            return "inconclusive"
        if above(self.bar, self.upper):
            return "failed"
        return "inconclusive" if above(self.bar, self.lower) else "holds"

    @property
    def code(self) -> ExitCode:
        return _CODES[self.verdict]

    @property
    def allowed(self) -> int:
        """Rows that may be without a score: 29 of 100 at 0.29, which is 28.999999999999996 to a
        computer.
        """
        share = self.bar * self.rows
        return round(share) if equal(share, round(share)) else math.floor(share)

    @property
    def margin(self) -> float | None:
        """By how much the bar was reached; below 0 where it was missed."""
        return None if self.value is None else self.value - self.bar

    @property
    def needed(self) -> int:
        """Rows that would have to turn from the worst score to the best; of missing scores, those
        that must be there.
        """
        if self.measure == "missing":
            return max(0, self.missing - self.allowed)
        return max(0, math.ceil((self.bar - self.upper) * self.rows - 1e-9))

    def sentence(self, language: str = "en") -> str:
        """What was measured, the bar, by how much, and what would be needed."""
        words = SENTENCES.get(language, SENTENCES["en"])
        number = RussianNumber if language == "ru" else float
        name = (
            words["win rate by"].format(system=self.system, name=self.name)
            if self.system
            else self.name
        )
        of = (
            name
            if name in (self.judge, "")
            else words["of a judge"].format(name=name, judge=self.judge)
        )
        values = {
            "of": of or self.judge,
            "what": words.get(self.measure, "").format(of=of or self.judge),
            **{name: getattr(self, name) for name in ("rows", "missing", "needed")},
            **{
                name: number(getattr(self, name) or 0.0)
                for name in ("value", "bar", "lower", "upper")
            },
            "margin": number(abs(self.margin or 0.0)),
            "allowed": self.allowed,
            "level": self._level(words),
            "scored": self.rows - self.missing,
            "against": self.against,
            "margin_allowed": number(-self.bar),
            "enough": self.enough,
            "more": "",
            "so_far": self.pairing.rows[1] if self.pairing else self.rows,
            "reason": localised(self.reason, language),
            "before": self.pairing.rows[0] if self.pairing else 0,
            "now": self.pairing.rows[1] if self.pairing else 0,
        }
        if self.enough is not None:
            values["more"] = words["more rows"].format(**values)
        other = "" if self.same_judge else words["other judge"]
        return words[self._said].format(**values).rstrip() + self._paired(language) + other

    def _paired(self, language: str) -> str:
        if not self.pairing or not self.pairing.paired:
            return ""
        told = pairing_told(self.pairing, language)
        return f" {told[0].upper()}{told[1:]}."

    def _level(self, words: Mapping[str, str]) -> str:
        """How sure the limits are, over what, and which rows pass for one."""
        many = words[self._among].format(among=self.among)
        together = words["together"].format(cluster=self.cluster) if self.cluster else ""
        return level_text(self.confidence or 0.0) + many + together

    @property
    def _among(self) -> str:
        """Whether what is said rests on a limit for several criteria together, or is said of each
        of them by itself.
        """
        if self.among == 1 or self.verdict == "holds":
            return "alone"
        return "of many" if self.measure == "difference" else "by itself"

    @property
    def enough(self) -> int | None:
        """About how many rows would decide it, if the figure stays what it is; None where that
        cannot be said.
        """
        if not self.sure or self.missing or not self.margin:
            return None
        reach = max(self.upper - (self.value or 0.0), (self.value or 0.0) - self.lower)
        return math.ceil(self.rows * (reach / abs(self.margin)) ** 2)

    @property
    def _said(self) -> str:
        if self.stopped:
            return "stopped"
        if self.measure == "difference" and (self.pairing is None or not self.pairing.paired):
            return "nothing paired" if self.pairing else "gone" if self.judge else "nothing shared"
        if self.confidence is not None and self.measure != "missing" and self.rows:
            few = "few rows" if not self.sure or self.value is None else self.verdict
            kind = (
                "worse " if self.measure == "difference" else "" if few == "few rows" else "sure "
            )
            return f"{kind}{few}"
        if self.measure == "missing":
            return "many missing" if self.verdict == "failed" else "few missing"
        if self.verdict == "inconclusive" and not self.rows and self.measure == "win rate":
            return "no system"
        clear = self.value is not None and (not above(self.bar, self.value)) == (
            self.verdict == "holds"
        )
        return (
            self.verdict
            if clear or self.verdict == "inconclusive"
            else "at best"
            if self.verdict == "failed"
            else "at least"
        )

    def to_dict(self) -> dict[str, object]:
        """This gate as a JSON-ready dict."""
        measured = {
            "measure": self.measure,
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
        }
        decided = {
            "bar": self.bar,
            "margin": self.margin,
            "needed": self.needed,
            "verdict": self.verdict,
        }
        counts: dict[str, object] = {
            "rows": self.rows,
            "missing": self.missing,
            "confidence": self.confidence,
        }
        counts |= {"against": self.against} if self.against else {}
        counts |= {"cluster": self.cluster} if self.cluster else {}
        counts |= {"pairing": self.pairing.to_dict()} if self.pairing else {}
        counts |= {"system": self.system} if self.system else {}
        return {
            "judge": self.judge,
            "name": self.name,
            **measured,
            **decided,
            **counts,
            "message": self.sentence(),
        }


def bars_of(fail_under: FailUnder | None) -> dict[str, float]:
    """Name → bar; the empty name is every criteria without a bar of its own."""
    if fail_under is None:
        return {}
    return {"": fail_under} if isinstance(fail_under, int | float) else dict(fail_under)


def widened(
    bounds: tuple[float, float], mean: float | None, limits: Interval | None, share: float
) -> tuple[float, float]:
    """What the value may be, whatever the rows without a score are, and as sure as ``limits``;
    ``share`` of the rows has one.
    """
    if mean is None or limits is None:
        return bounds
    return bounds[0] - (mean - limits.lower) * share, bounds[1] + (limits.upper - mean) * share


def mean_gate(
    judge: str,
    name: str,
    summary: Summary,
    bar: float,
    measure: Measure = "mean",
    confidence: float | None = None,
) -> GateResult:
    """The mean score against a bar."""
    rows = summary.attempted - summary.without_number
    share = (summary.scored - summary.without_number) / rows if rows else 0.0
    lower, upper = widened((summary.lower, summary.upper), summary.mean, summary.confident, share)
    return GateResult(
        judge=judge,
        name=name,
        measure=measure,
        value=summary.mean,
        bar=bar,
        lower=lower,
        upper=upper,
        rows=rows,
        missing=summary.unscored,
        confidence=confidence,
        sure=summary.confident is not None,
    )


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of several, the one that matters most: a failed gate, an undecided one, a missing score."""
    order = (ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE, ExitCode.UNSCORED)
    found = set(codes)
    return next((code for code in order if code in found), ExitCode.OK)


def check_gate(judge: str, criteria: Sequence[Criteria], *, compares: bool = False) -> None:
    """Refuse a gate that cannot hold: a mean from 0 to 1 needs scores from 0 to 1. Comparisons have
    a winner, and no score.
    """
    if compares:
        raise SetupError(
            "fail_under cannot hold for {judge!r}: it compares responses, which gives no "
            "score; name the one whose win rate must reach it, such as --fail-under new=0.5 "
            "or fail_under: {{new: 0.5}}",
            judge=judge,
        )
    for one in criteria:
        for option in one.options:
            if option.points is None:
                raise _no_gate(
                    judge, f"the option {option.name!r} of criteria {one.name!r} has no score"
                )
            if not 0 <= option.points <= 1:
                raise _no_gate(
                    judge,
                    f"the option {option.name!r} of criteria {one.name!r} scores {option.points:g}",
                )


def exit_code(summary: Summary, fail_under: float | None = None) -> ExitCode:
    """The gate decides where it can, whatever the judgments without a score would have been.

    A model of a panel that has no verdict on any row is a missing score as well.
    """
    gate = ExitCode.OK if fail_under is None else mean_gate("", "", summary, fail_under).code
    missing = summary.scored < summary.attempted or summary.lost
    return gate if gate is not ExitCode.OK else ExitCode.UNSCORED if missing else ExitCode.OK


def _no_gate(judge: str, why: str) -> SetupError:
    return SetupError(
        "fail_under cannot hold for {judge!r}: {why}; a gate needs scores from 0 to 1, so "
        "leave fail_under out",
        judge=judge,
        why=why,
    )
