"""Slices of one whole: how sure all of them are together, and what small ones take from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from adjudge.stats.correction import FEW, Stratum
from adjudge.stats.distributions import bisect
from adjudge.stats.refusal import HELD, LEAST_LABELS

LEAST_SLICES = 3
"""Fewer slices do not show how much slices differ."""


class PooledValue(NamedTuple):
    """A slice's value, moved towards what the whole lets expect of it."""

    value: float
    from_whole: float
    """How much of it is what the whole lets expect, from 0 to 1."""


class OwnValue(NamedTuple):
    """What a slice says by itself, and what the whole lets expect of it."""

    value: float | None
    error: float | None
    """The standard error of the value."""
    expected: float


def level_of_each(level: float, count: int) -> float:
    """The level of each of ``count`` intervals that all hold together at ``level`` (Bonferroni)."""
    return 1 - (1 - level) / max(1, count)


def pool(slices: Sequence[OwnValue]) -> list[PooledValue | None]:
    """Each slice's value pulled towards its expected one, the more the less sure it is by itself.

    How far slices lie from what the whole lets expect is taken from all of them (the empirical
    Bayes estimate of Fay and Herriot's model); None where fewer than three have a value.
    """
    known = [
        (one.value - one.expected, one.error)
        for one in slices
        if one.value is not None and one.error
    ]
    if len(known) < LEAST_SLICES:
        return [None] * len(slices)
    spread = _spread([(gap, error * error) for gap, error in known])
    return [_pooled(one, spread) for one in slices]


def _spread(known: Sequence[tuple[float, float]]) -> float:
    """The variance between slices, beyond what their errors make of it: where as much is left of
    the gaps as chance would leave.
    """

    def too_small(variance: float) -> bool:
        return math.fsum(gap * gap / (variance + own) for gap, own in known) > len(known) - 1

    return bisect(too_small) if too_small(0.0) else 0.0


def _pooled(one: OwnValue, spread: float) -> PooledValue:
    if one.value is None or not one.error:
        return PooledValue(one.expected, 1.0)
    share = one.error**2 / (one.error**2 + spread)
    return PooledValue((1 - share) * one.value + share * one.expected, share)


def labels_missing(strata: Sequence[Stratum], *, every: bool = False) -> int:
    """How many labels a slice lacks for a number of its own: 20, and 5 in each verdict that one row
    in twenty has, as for the whole. It depends on how many labels there are, not on what they say,
    and the labels of copies of one text count once.

    ``every``: also one in each of the others.
    """
    rows, labels = sum(one.rows for one in strata), sum(one.texts for one in strata)
    short = sum(
        max(0, min(FEW if one.rows >= HELD * rows else int(every), one.possible) - one.texts)
        for one in strata
        if one.verdict is not None
    )
    return max(min(LEAST_LABELS, sum(one.possible for one in strata)) - labels, short)
