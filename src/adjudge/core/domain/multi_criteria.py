"""Weighted criteria and the rule that makes one score of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.stats.rounding import above, equal


@light_dataclass(frozen=True)
class MultiCriteriaItem:
    """One criterion among several, with its weight and its rule.

    Example: ``MultiCriteriaItem(clear, weight=0.6, required=True)``
    """

    criterion: Criteria
    weight: float | None = None
    """None for all items: equal weights."""
    target_option: str | None = None
    """The item's score is 1 for this option and 0 for any other, whatever their scores."""
    score_threshold: float | None = None
    """The item's score is 1 above this (normalised) score, else 0."""
    required: bool = False
    """The aggregate is 0 unless this item reaches its maximum."""

    def __post_init__(self) -> None:
        if isinstance(self.criterion, str):
            object.__setattr__(self, "criterion", yes_no_criteria(self.criterion))
        if not isinstance(self.criterion, Criteria):
            raise SetupError(
                "an item of a MultiCriteria needs a Criteria, not {name}",
                name=type(self.criterion).__name__,
            )
        if self.target_option is not None and self.score_threshold is not None:
            raise SetupError(
                "criterion {name!r} has both a target option and a threshold: keep one of them",
                name=self.criterion.name,
            )
        if self.target_option is not None and self.target_option not in self.criterion.option_names:
            option_names = ", ".join(self.criterion.option_names)
            raise SetupError(
                "criterion {name!r} has no option {target_option!r}; it has {known}",
                name=self.criterion.name,
                target_option=self.target_option,
                known=option_names,
            )


ItemLike = MultiCriteriaItem | Criteria | str


@light_dataclass(frozen=True, init=False)
class MultiCriteria:
    """Several criteria that make one score.

    Parameters:
        items: the criteria, as items with a weight each; bare ones have equal weights, and a text
            is a yes/no question.
        normalize_scores: bring each criterion's scores to 0…1 first.
    """

    items: tuple[MultiCriteriaItem, ...]
    normalize_scores: bool

    def __init__(self, items: ItemLike | Iterable[ItemLike], normalize_scores: bool = True) -> None:
        several = [items] if isinstance(items, str | Criteria | MultiCriteriaItem) else items
        object.__setattr__(
            self,
            "items",
            _check_names(_with_weights(tuple(_as_item(criterion) for criterion in several))),
        )
        object.__setattr__(self, "normalize_scores", normalize_scores)
        for item in self.items:
            points = [option.points for option in item.criterion.options]
            if item.score_threshold is not None or (points and None not in points):
                self._check(item)

    def check_scores(self) -> None:
        """Raise a SetupError if an item cannot have a score."""
        # Not checked when it is made: comparisons need no scores.
        for item in self.items:
            self._check(item)

    @classmethod
    def of(cls, criteria: MultiCriteria | Iterable[ItemLike]) -> MultiCriteria:
        """Combine criteria with equal weights; a text becomes a yes/no criterion."""
        return criteria if isinstance(criteria, MultiCriteria) else cls(criteria)

    def score(self, item: MultiCriteriaItem, option: str, own: float | None = None) -> float:
        """Return the item's contribution before its weight.

        ``own``: the judge's score, which replaces the option's. If scores are normalised, it may
        also be the option's normalised score, as EvalAssist has it: a result "Good" with the score
        1 is 1, even if the option "Good" scores 10 of 10.
        """
        if item.target_option is not None:
            return 1.0 if option == item.target_option else 0.0
        value = self._value(item, option, own)
        if item.score_threshold is not None:
            return 1.0 if above(value, item.score_threshold) else 0.0
        return value

    def maximum(self, item: MultiCriteriaItem) -> float:
        """Return the highest score that an option can give the item, before its weight."""
        return max(self.score(item, name) for name in item.criterion.option_names)

    def minimum(self, item: MultiCriteriaItem) -> float:
        """Return the lowest contribution of the item before its weight."""
        return min(self.score(item, name) for name in item.criterion.option_names)

    @cached_property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest contribution of each item before its weight."""
        return tuple((self.minimum(item), self.maximum(item)) for item in self.items)

    def _check(self, item: MultiCriteriaItem) -> None:
        if not item.criterion.options:
            raise SetupError(
                "criterion {name!r} has no options, so it cannot have a score",
                name=item.criterion.name,
            )
        highest, threshold = self.maximum(item), item.score_threshold
        if threshold is not None and not highest:
            raise SetupError(
                "criterion {name!r} can never exceed the threshold {threshold:g}",
                name=item.criterion.name,
                threshold=threshold,
            )

    def _value(self, item: MultiCriteriaItem, option: str, judge_score: float | None) -> float:
        scores = {candidate.name: candidate.points for candidate in item.criterion.options}
        missing = [name for name, score in scores.items() if score is None]
        if missing:
            raise SetupError(
                "option {missing!r} of criterion {name!r} has no score: give it one, or a "
                "target_option",
                missing=missing[0],
                name=item.criterion.name,
            )
        values = {name: score for name, score in scores.items() if score is not None}
        if not all(map(math.isfinite, values.values())):
            raise SetupError(
                "criterion {name!r} has scores that are not numbers", name=item.criterion.name
            )
        value = values[option] if judge_score is None else judge_score
        if not self.normalize_scores:
            return value
        low, high = min(values.values()), max(values.values())
        if low == high:
            raise SetupError(
                "all options of criterion {name!r} have the same score, so scores cannot be "
                "normalised",
                name=item.criterion.name,
            )
        # EvalAssist's results may hold a score that is normalised already: use it as it is.
        normalised = (values[option] - low) / (high - low)
        if judge_score is not None and equal(judge_score, normalised):
            return normalised
        return (value - low) / (high - low)


def _as_item(criterion: ItemLike) -> MultiCriteriaItem:
    if isinstance(criterion, MultiCriteriaItem):
        return criterion
    return MultiCriteriaItem(
        yes_no_criteria(criterion) if isinstance(criterion, str) else criterion
    )


def _check_names(items: tuple[MultiCriteriaItem, ...]) -> tuple[MultiCriteriaItem, ...]:
    """Raise a SetupError if two criteria share a name: scores are looked up by name."""
    names = [item.criterion.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise SetupError(
                "{count} criteria are named {name!r}: give each a different name",
                count=names.count(name),
                name=name,
            )
    return items


def _with_weights(items: tuple[MultiCriteriaItem, ...]) -> tuple[MultiCriteriaItem, ...]:
    if not items:
        raise SetupError("a MultiCriteria needs at least one criterion")
    weights = [item.weight for item in items if item.weight is not None]
    if not weights:
        return tuple(replace(item, weight=1 / len(items)) for item in items)
    if len(weights) < len(items):
        raise SetupError("only some criteria have a weight: give all of them a weight, or none")
    if any(weight < 0 for weight in weights) or not math.isclose(sum(weights), 1.0, abs_tol=1e-6):
        raise SetupError(
            "the weights of the criteria sum to {sum:g}; they must sum to 1, and none may be "
            "negative",
            sum=sum(weights),
        )
    return items
