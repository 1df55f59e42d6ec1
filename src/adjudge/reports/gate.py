"""Whether results are good enough, as an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adjudge.domain.criteria import Criteria
from adjudge.errors import SetupError
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.summary import Summary


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of several, the one that matters most: a failed gate, an undecided one, a missing score."""
    order = (ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE, ExitCode.UNSCORED)
    found = set(codes)
    return next((code for code in order if code in found), ExitCode.OK)


def check_gate(judge: str, criteria: Sequence[Criteria], *, compares: bool = False) -> None:
    """Refuse a gate that cannot hold: a mean from 0 to 1 needs scores from 0 to 1. Comparisons have a winner, and no score."""
    if compares:
        raise _no_gate(judge, "it compares responses, which gives no score")
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
    if fail_under is not None:
        if summary.upper < fail_under:
            return ExitCode.GATE_FAILED
        if summary.lower < fail_under:
            return ExitCode.GATE_INCONCLUSIVE
    return ExitCode.OK if summary.scored == summary.attempted and not summary.lost else ExitCode.UNSCORED


def _no_gate(judge: str, why: str) -> SetupError:
    return SetupError(f"fail_under cannot hold for {judge!r}: {why}; a gate needs scores from 0 to 1, so leave fail_under out")
