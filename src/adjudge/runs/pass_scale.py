"""Pass or fail, for tools that know nothing else."""

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
    """The score of each option; empty if the judge is asked for a number."""


Ends = Mapping[str, Scale]
"""Criterion → its scale."""
_UNIT = Scale(0.0, 1.0)
_HALF = 0.5
_PAIR = 2


def passed(record: JudgmentRecord, ends: Ends) -> bool | None:
    """Return True if the verdict is a pass, or the score is above the middle of its scale.

    None if it can neither pass nor fail, e.g. a count or a judgment without a score.
    """
    if record.detail.is_count:
        return None
    if not record.scored:
        return None
    # a verdict chosen from options is good if its option scores so
    is_option = record.detail.is_option or record.detail.is_comparison
    score, options = record.score, ends.get(record.criterion, _UNIT).options
    if record.detail.is_option and len(options) == _PAIR:
        # imported verdicts may have any score next to them
        score = options.get(record.verdict or "", score)
    return says_pass(None if is_option else record.verdict, score, record.criterion, ends)


def says_pass(verdict: str | None, score: float | None, criterion: str, ends: Ends) -> bool | None:
    """Like ``passed``, but for a verdict and score outside of a judgment."""
    if verdict in ("PASS", "FAIL"):
        return verdict == "PASS"
    low, high, _ = ends.get(criterion, _UNIT)
    return None if score is None or high <= low else (score - low) / (high - low) > _HALF
