"""Rates of a population from a sample with unequal chances to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjudge.stats import FEWEST
from adjudge.stats.distributions import beta_quantile, z_two_sided
from adjudge.stats.intervals import Interval
from adjudge.stats.student import t_two_sided


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of the population that the rows represent."""
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def weighted_interval(values: Sequence[float], weights: Sequence[float]) -> Interval | None:
    """Return the interval of the weighted mean of values between 0 and 1; None below 8 rows.

    Korn and Graubard's: Clopper and Pearson's limits for the effective number of rows, from the
    weights (Kish) or from the spread, whichever is less.
    """
    count, level = len(values), 0.95
    if count < FEWEST:
        return None
    mean = weighted_mean(values, weights)
    total = math.fsum(weights)
    # Kish's effective number of rows.
    worth = total**2 / math.fsum(weight**2 for weight in weights)
    variance = (
        count
        / (count - 1)
        * math.fsum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
        / total**2
    )
    if variance > 0:
        worth = min(worth, mean * (1 - mean) / variance)
    # Fewer by Student's quantile, because the variance is estimated.
    worth = max(1.0, worth * (z_two_sided(level) / t_two_sided(level, count - 1)) ** 2)
    hits, risk = mean * worth, (1 - level) / 2
    lower = beta_quantile(risk, hits, worth - hits + 1) if hits > 0 else 0.0
    upper = beta_quantile(1 - risk, hits + 1, worth - hits) if hits < worth else 1.0
    return Interval(lower, upper, level)
