"""Passed or failed, for tools that know nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.record import DirectDetail, JudgmentRecord, PairwiseDetail

Ends = Mapping[str, tuple[float, float]]
"""Criteria → the ends of its scale."""
_HALF = 0.5


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
