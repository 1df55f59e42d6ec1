"""How sure a mean or a share is, from the values alone."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 1000


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, with a certain confidence."""

    lower: float
    upper: float
    level: float = 0.95


def bootstrap_mean(values: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0) -> Interval | None:
    """The percentile bootstrap interval of the mean; None with fewer than two values, which say nothing of their spread.

    The same values and seed give the same interval. Rows are taken as independent; with fewer than about ten of them, or
    values that are nearly all equal, the interval is too narrow.
    """
    if len(values) < 2:
        return None
    choice = random.Random(seed)  # noqa: S311 - statistics, no secret
    count = len(values)
    means = sorted(math.fsum(choice.choices(values, k=count)) / count for _ in range(resamples))
    return Interval(quantile(means, (1 - level) / 2), quantile(means, (1 + level) / 2), level)


def wilson(hits: int, of: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval of a share: holds for few cases and for shares near 0 or 1 too."""
    if not 0 <= hits <= of or of == 0:
        raise ValueError(f"{hits} of {of} is no share")
    z, share = statistics.NormalDist().inv_cdf((1 + level) / 2), hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the ordered values lie, between two of them where it falls there."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
