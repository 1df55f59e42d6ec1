"""Combine the verdicts of several criteria into one score, with bounds if a verdict is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.multi_results import (
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaItemResult,
)
from adjudge.core.domain.results import DirectInstanceResult, Status


def composite(
    instance: Instance, multi: MultiCriteria, results: Sequence[DirectInstanceResult]
) -> MultiCriteriaDirectInstanceResult:
    """Return the weighted sum of the scores, with its bounds.

    It is 0 if a required item misses its maximum, and None while a verdict is missing.
    """
    entries = tuple(
        _entry(item, result, multi, limits)
        for item, result, limits in zip(multi.items, results, multi.ranges, strict=True)
    )
    lower, upper = _bounds(entries, multi.ranges)
    is_complete = all(entry.score is not None for entry in entries)
    return MultiCriteriaDirectInstanceResult(
        instance, multi, entries, lower if is_complete else None, lower, upper
    )


def _entry(
    item: MultiCriteriaItem,
    result: DirectInstanceResult,
    multi: MultiCriteria,
    limits: tuple[float, float],
) -> MultiCriteriaItemResult:
    """Return one criterion's part in the aggregate, without a score if it has no usable verdict."""
    nothing = MultiCriteriaItemResult(item, result, None, None)
    if result.status is not Status.SCORED or result.option is None:
        return nothing
    score = multi.score(item, result.option, result.score)
    # A custom judge may return its own score; one outside the range of the options does not count.
    if not limits[0] <= score <= limits[1]:
        return nothing
    return MultiCriteriaItemResult(item, result, score, score * (item.weight or 0.0))


def _bounds(
    entries: Sequence[MultiCriteriaItemResult], ranges: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return the lowest and the highest aggregate that the missing verdicts allow.

    ``ranges``: the lowest and the highest contribution of each item.
    """
    required = [
        (entry.score, low, high)
        for entry, (low, high) in zip(entries, ranges, strict=True)
        if entry.item.required
    ]
    if any(score is not None and score < high for score, _, high in required):
        return 0.0, 0.0
    missing = [
        high if entry.item.required else low
        for entry, (low, high) in zip(entries, ranges, strict=True)
    ]
    lower, upper = _sum(entries, missing), _sum(entries, [high for _, high in ranges])
    if any(score is None and low < high for score, low, high in required):
        # the missing item may fall short: the sum is then 0
        return min(lower, 0.0), max(upper, 0.0)
    return lower, upper


def _sum(entries: Sequence[MultiCriteriaItemResult], missing: Sequence[float]) -> float:
    """Return the weighted sum, with ``missing`` in place of missing scores."""
    scores = [
        entry.score if entry.score is not None else stand
        for entry, stand in zip(entries, missing, strict=True)
    ]
    return math.fsum(
        (entry.item.weight or 0.0) * score for entry, score in zip(entries, scores, strict=True)
    )
