"""Several criteria's verdicts as one score, with bounds where a verdict is missing."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.domain.instance import Instance
from adjudge.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.domain.results import DirectInstanceResult, MultiCriteriaDirectInstanceResult, MultiCriteriaItemResult, Status


def composite(
    instance: Instance, multi: MultiCriteria, results: Sequence[DirectInstanceResult]
) -> MultiCriteriaDirectInstanceResult:
    """The weighted sum; 0 unless required items reach their maximum; no number while a verdict is missing."""
    entries = tuple(_entry(item, result, multi) for item, result in zip(multi.items, results, strict=True))
    lower = _aggregate(entries, multi, [multi.minimum(item) for item in multi.items])
    upper = _aggregate(entries, multi, [multi.maximum(item) for item in multi.items])
    whole = all(entry.score is not None for entry in entries)
    return MultiCriteriaDirectInstanceResult(instance, multi, entries, lower if whole else None, lower, upper)


def _entry(item: MultiCriteriaItem, result: DirectInstanceResult, multi: MultiCriteria) -> MultiCriteriaItemResult:
    if result.status is not Status.SCORED or result.option is None:
        return MultiCriteriaItemResult(item, result, None, None)
    score = multi.score(item, result.option)
    return MultiCriteriaItemResult(item, result, score, score * (item.weight or 0.0))


def _aggregate(entries: Sequence[MultiCriteriaItemResult], multi: MultiCriteria, missing: Sequence[float]) -> float:
    """The aggregate with ``missing`` in the place of scores that are not there."""
    scores = [entry.score if entry.score is not None else stand for entry, stand in zip(entries, missing, strict=True)]
    for item, score in zip(multi.items, scores, strict=True):
        if item.required and score < multi.maximum(item):
            return 0.0
    return sum((item.weight or 0.0) * score for item, score in zip(multi.items, scores, strict=True))
