"""Measure how well scores separate two answers, with intervals that respect groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from adjudge.core.domain.json_types import JsonDict
from adjudge.stats.student import t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class LearnedFigureShape(TypedDict):
    """A figure with its interval, on rows that were not learned from."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A figure with its interval."""

    value: float
    lower: float
    upper: float

    def to_dict(self) -> JsonDict:
        return {name: round(getattr(self, name), 6) for name in ("value", "lower", "upper")}


@dataclass(frozen=True, slots=True)
class PointEstimate:
    """A figure before its interval, with each row's influence on its error."""

    value: float
    influence: Floats
    least: float = 0.0
    """The least variance that so few rows can show."""


class Sample:
    """Labelled rows with their weights and groups."""

    def __init__(self, positive: NDArray[np.bool_], weights: Floats, groups: Sequence[str]) -> None:
        self.positive, self.weights = positive, weights
        names, self._group = np.unique(
            np.array(groups, dtype=object).astype(str), return_inverse=True
        )
        self._groups = len(names)
        self._rarer = min(len({*self._group[positive]}), len({*self._group[~positive]}))

    def auc(self, scores: Floats) -> PointEstimate:
        """Return how often a row of the first answer scores above one of the second.

        Ties count half.
        """
        positive, weights = self.positive, self.weights
        place = np.empty(len(scores))
        for side in (positive, ~positive):
            opposite = ~side
            order = np.argsort(scores[opposite], kind="stable")
            sorted_scores = scores[opposite][order]
            summed = np.concatenate([[0.0], np.cumsum(weights[opposite][order])])
            below = summed[np.searchsorted(sorted_scores, scores[side], "left")]
            up_to = summed[np.searchsorted(sorted_scores, scores[side], "right")]
            place[side] = (below + up_to) / 2 / summed[-1]
        place[~positive] = 1 - place[~positive]
        value = float(np.average(place[positive], weights=weights[positive]))
        influence = np.empty(len(scores))
        for side in (positive, ~positive):
            influence[side] = weights[side] / weights[side].sum() * (place[side] - value)
        return PointEstimate(value, influence, _least_variance(value, self._rarer))

    def accuracy(self, first: NDArray[np.bool_]) -> PointEstimate:
        """Return the share of rows with the right answer; `first` marks the rows that get the first
        answer.
        """
        right = (first == self.positive).astype(float)
        value = float(np.average(right, weights=self.weights))
        influence = self.weights / self.weights.sum() * (right - value)
        return PointEstimate(value, influence, _least_of_share(value, self._groups))

    def majority(self) -> NDArray[np.bool_]:
        """Return for every row True if the first answer is the more frequent one."""
        share = float(np.average(self.positive, weights=self.weights))
        return np.full(len(self.positive), share >= 0.5)

    def figure(self, measured: PointEstimate, level: float = 0.95) -> IntervalEstimate:
        """Return the figure with an interval that is clipped to 0 and 1."""
        half = self._half(measured.influence, measured.least, level)
        return IntervalEstimate(
            measured.value, max(0.0, measured.value - half), min(1.0, measured.value + half)
        )

    def difference(
        self, first: PointEstimate, second: PointEstimate, level: float = 0.95
    ) -> IntervalEstimate:
        """Return how much larger the first figure is than the second, on the same rows."""
        value = first.value - second.value
        least = first.least + second.least
        half = self._half(first.influence - second.influence, least, level)
        return IntervalEstimate(value, max(-1.0, value - half), min(1.0, value + half))

    def _half(self, influence: Floats, least: float, level: float) -> float:
        summed = np.bincount(self._group, influence, self._groups)
        groups = self._groups
        variance = max(least, float((summed**2).sum()) * groups / max(1, groups - 1))
        return float(t_quantile((1 + level) / 2, max(1, self._rarer - 1)) * np.sqrt(variance))


def _least_variance(value: float, count: int) -> float:
    """Return the least variance to assume: above 0 only if the share is 0 or 1."""
    # Near 0 or 1 the rows show no spread: assume that half a row more would differ.
    share = (value * count + 0.5) / (count + 1)
    return share * (1 - share) / (count + 1) if value in (0.0, 1.0) else 0.0


def _least_of_share(value: float, count: int) -> float:
    """Return the least variance of a share that is 0 or 1: it reaches the exact binomial limit."""
    limit = 1 - 0.025 ** (1 / count)
    return (limit / 1.96) ** 2 if value in (0.0, 1.0) else 0.0
