"""Intervals that may be looked at after every row."""

from __future__ import annotations

import math
from collections.abc import Iterable

from adjudge.stats.intervals import Interval


def confidence_sequence(
    values: Iterable[float], *, level: float = 0.95, most: float = 0.5
) -> Interval:
    """An interval of the mean of values between 0 and 1 that may be looked at after every one of
    them, and acted upon.

    The empirical-Bernstein sequence of Waudby-Smith and Ramdas: all of its intervals together miss
    the mean in no more than ``1 - level`` of streams. ``most`` caps how much a single value counts.
    """
    risk = 1 - level
    weights = weighted = spread = 0.0
    mean, squares, estimate = 0.5, 0.25, 0.25
    for count, value in enumerate(values, 1):
        bet = min(
            most, math.sqrt(2 * math.log(2 / risk) / (estimate * count * math.log(1 + count)))
        )
        weights += bet
        weighted += bet * value
        spread += 4 * (value - mean) ** 2 * (-math.log(1 - bet) - bet) / 4
        mean += (value - mean) / (count + 1)
        squares += (value - mean) ** 2
        estimate = squares / (count + 1)
    if weights == 0:
        return Interval(0.0, 1.0, level)
    reach = (math.log(2 / risk) + spread) / weights
    return Interval(
        max(0.0, weighted / weights - reach), min(1.0, weighted / weights + reach), level
    )
