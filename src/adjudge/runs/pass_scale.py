"""Passed or failed, for tools that know nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.record import JudgmentRecord


class Scale(NamedTuple):
    """The ends of a criterion's scale."""

    low: float
    high: float
    options: Mapping[str, float] = NOTHING
    """What each option scores; empty if a number is asked for."""


Ends = Mapping[str, Scale]
"""Criterion → its scale."""
_UNIT = Scale(0.0, 1.0)
_HALF = 0.5
_PAIR = 2


def passed(one: JudgmentRecord, ends: Ends) -> bool | None:
    """Return True if its verdict says so, or its score is above the middle of the scale. None: it
    neither passes nor fails, such as a count.
    """
    if one.detail.is_count:
        return None
    if not one.scored:
        return None
    # a verdict chosen from options is good if its option scores so
    is_option = one.detail.is_option or one.detail.is_comparison
    score, options = one.score, ends.get(one.criterion, _UNIT).options
    if one.detail.is_option and len(options) == _PAIR:
        # imported verdicts may have any score next to them
        score = options.get(one.verdict or "", score)
    return says_pass(None if is_option else one.verdict, score, one.criterion, ends)


def says_pass(verdict: str | None, score: float | None, criterion: str, ends: Ends) -> bool | None:
    """The same of a verdict or a score by itself."""
    if verdict in ("PASS", "FAIL"):
        return verdict == "PASS"
    low, high, _ = ends.get(criterion, _UNIT)
    return None if score is None or high <= low else (score - low) / (high - low) > _HALF
