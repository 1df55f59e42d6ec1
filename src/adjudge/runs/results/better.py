"""Decide if the second of two runs is better: passed, failed, or cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from adjudge.messages import Message, join
from adjudge.runs.results.exit_code import ExitCode
from adjudge.stats.difference import ComparisonOutcome
from adjudge.trust.comparison import RunComparison, upper_limits

Verdict = Literal["passed", "failed", "inconclusive"]
_EXIT_CODES: dict[Verdict, ExitCode] = {
    "passed": ExitCode.OK,
    "failed": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.GATE_INCONCLUSIVE,
}


class BetterVerdict(NamedTuple):
    """The verdict on "the second run is better", and why."""

    verdict: Verdict
    reason: Message

    @property
    def code(self) -> ExitCode:
        """The exit code of a command that was asked for the verdict."""
        return _EXIT_CODES[self.verdict]


def expect_better(
    comparisons: Sequence[RunComparison],
    margin: float,
    level: float,
    *,
    gone: Sequence[str] = (),
    unfinished: str = "",
) -> BetterVerdict:
    """Decide if the second run is better by every criterion, by more than ``margin``.

    It fails if one criterion is shown not to be better by more than that. The limits hold for all
    criteria together (Holm). ``gone``: criteria that only the first run has, by which it cannot be
    told. ``unfinished``: a run of the two that has not ended.
    """
    if unfinished:
        reason = Message("cannot tell: {run} is not finished", run=unfinished)
        return BetterVerdict("inconclusive", reason)
    if not comparisons:
        return BetterVerdict(
            "inconclusive", Message("cannot tell: no criterion was judged in both runs")
        )
    names: dict[Verdict, list[str]] = {"passed": [], "failed": [], "inconclusive": []}
    # what is below the margin is not better by more than that, so the bar is the margin itself
    uppers = upper_limits(comparisons, -margin, level)
    for comparison, upper in zip(comparisons, uppers, strict=True):
        names[_verdict(comparison, margin, upper)].append(comparison.name)
    if names["failed"]:
        return BetterVerdict("failed", _failed(names["failed"], margin))
    if names["inconclusive"]:
        undecided = [
            comparison for comparison in comparisons if comparison.name in names["inconclusive"]
        ]
        return BetterVerdict("inconclusive", _undecided(undecided))
    if gone:
        reason = Message(
            "cannot tell by {names}: only the first run was judged by it", names=join(", ", gone)
        )
        return BetterVerdict("inconclusive", reason)
    return BetterVerdict(
        "passed", Message("passed: better by {names}", names=join(", ", names["passed"]))
    )


def _verdict(comparison: RunComparison, margin: float, upper: float | None) -> Verdict:
    if not _may_be_decided(comparison):
        return "inconclusive"
    if comparison.outcome is ComparisonOutcome.BETTER:
        return "passed"
    return "failed" if upper is not None and upper < margin else "inconclusive"


def _failed(names: Sequence[str], margin: float) -> Message:
    if margin:
        return Message(
            "failed: not better by more than {margin:g}: {names}",
            margin=margin,
            names=join(", ", names),
        )
    return Message("failed: not better by {names}", names=join(", ", names))


def _may_be_decided(comparison: RunComparison) -> bool:
    """Return False if the difference may come from another judge or other options, not from the
    texts.
    """
    return comparison.is_comparable and (comparison.same_judge or comparison.corrected is not None)


def _undecided(comparisons: Sequence[RunComparison]) -> Message:
    def names(kind: Sequence[RunComparison]) -> Message:
        return join(", ", [comparison.name for comparison in kind])

    between = [each for each in comparisons if each.is_comparable and not _may_be_decided(each)]
    if between:
        return Message(
            "cannot tell by {names}: the judges differ, which may explain the difference",
            names=names(between),
        )
    if unlimited := [each for each in comparisons if each.shown.lower is None]:
        return Message(
            "cannot tell by {names}: there is no interval, see above", names=names(unlimited)
        )
    return Message(
        "cannot tell by {names}: the interval allows both answers; more rows would narrow it",
        names=names(comparisons),
    )
