"""Slices of one whole: joint levels, and shrinkage of small slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from adjudge.stats.correction import FEW, Stratum
from adjudge.stats.distributions import bisect
from adjudge.stats.refusal import HELD, LEAST_LABELS

LEAST_SLICES = 3
"""Minimum number of slices that show how much slices differ."""


class PooledValue(NamedTuple):
    """A slice's value, shrunk towards its expectation from the whole."""

    value: float
    from_whole: float
    """Weight of the expectation from the whole, from 0 to 1."""


class OwnValue(NamedTuple):
    """A slice's own value, and what the whole suggests for it."""

    value: float | None
    error: float | None
    """The standard error of the value."""
    expected: float


def level_of_each(level: float, count: int) -> float:
    """Return the level at which ``count`` intervals jointly hold at ``level`` (Bonferroni)."""
    return 1 - (1 - level) / max(1, count)


def pool(slices: Sequence[OwnValue]) -> list[PooledValue | None]:
    """Shrink each slice's value towards its expected one, the more the less certain it is.

    The spread of the slices around their expectation is estimated from all of them (the empirical
    Bayes estimate of Fay and Herriot's model); None if fewer than three have a value.
    """
    gaps = [
        (part.value - part.expected, part.error)
        for part in slices
        if part.value is not None and part.error
    ]
    if len(gaps) < LEAST_SLICES:
        return [None] * len(slices)
    spread = _spread([(gap, error * error) for gap, error in gaps])
    return [_pooled(part, spread) for part in slices]


def _spread(known: Sequence[tuple[float, float]]) -> float:
    """Return the variance between slices beyond their errors, at which the gaps are as large as
    chance makes them.
    """

    def too_small(variance: float) -> bool:
        return (
            math.fsum(gap * gap / (variance + error_variance) for gap, error_variance in known)
            > len(known) - 1
        )

    return bisect(too_small) if too_small(0.0) else 0.0


def _pooled(one: OwnValue, spread: float) -> PooledValue:
    if one.value is None or not one.error:
        return PooledValue(one.expected, 1.0)
    share = one.error**2 / (one.error**2 + spread)
    return PooledValue((1 - share) * one.value + share * one.expected, share)


def labels_missing(strata: Sequence[Stratum], *, every: bool = False) -> int:
    """Return how many labels a slice lacks for its own number: 20, and 5 for each verdict that one
    row in twenty has, as for the whole.

    It depends on the number of labels, not on what they say; labels of copies of one text count
    once. ``every``: also one for each of the others.
    """
    rows, labels = sum(stratum.rows for stratum in strata), sum(stratum.texts for stratum in strata)
    short = sum(
        max(
            0,
            min(FEW if stratum.rows >= HELD * rows else int(every), stratum.possible)
            - stratum.texts,
        )
        for stratum in strata
        if stratum.verdict is not None
    )
    return max(min(LEAST_LABELS, sum(stratum.possible for stratum in strata)) - labels, short)
