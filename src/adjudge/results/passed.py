"""Passed or failed, for tools that know nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adjudge.domain.record import DirectDetail, JudgmentRecord, PairwiseDetail
from adjudge.labels.scales import scales_in

Ends = Mapping[str, tuple[float, float]]
"""Criteria → the ends of its scale."""
_HALF = 0.5


def scale_ends(run: Path) -> dict[str, tuple[float, float]]:
    """The lowest and the highest score of each criterion of a run that has scores."""
    found: dict[str, tuple[float, float]] = {}
    for one in scales_in(run):
        points = [option.score for option in one.scale.criteria.options if option.score is not None]
        if one.scale.range:
            found[one.name] = one.scale.range
        elif len(set(points)) > 1:
            found[one.name] = (min(points), max(points))
    return found


def passed(one: JudgmentRecord, ends: Ends) -> bool | None:
    """Return True if its verdict says so, or its score is above the middle of the scale. None: it
    neither passes nor fails, such as a count.
    """
    if one.detail.is_count:
        return None
    chosen = isinstance(
        one.detail, DirectDetail | PairwiseDetail
    )  # from options, whose scores say which are good
    return (
        says_pass(None if chosen else one.verdict, one.score, one.criterion, ends)
        if one.scored
        else None
    )


def says_pass(verdict: str | None, score: float | None, criterion: str, ends: Ends) -> bool | None:
    """The same of a verdict or a score by itself."""
    if verdict in ("PASS", "FAIL"):
        return verdict == "PASS"
    low, high = ends.get(criterion, (0.0, 1.0))
    return None if score is None or high <= low else (score - low) / (high - low) > _HALF
