"""How good stated probabilities are, against what was true (0 or 1)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

from adjudge.messages import Message
from adjudge.stats.correlation import ranks
from adjudge.stats.estimate import Figure

Stated = Mapping[tuple[float, int], int]
"""How often a probability was stated of a row whose truth is 0 or 1."""


def auc(rows: Stated) -> Figure:
    """How often a true row got a higher probability than a false one; half for a tie."""
    by_truth: tuple[Counter[float], Counter[float]] = (Counter(), Counter())
    for (probability, true), count in rows.items():
        by_truth[true][probability] += count
    false, true_ones = by_truth
    if not false.total() or not true_ones.total():
        return Figure(None, Message("rows of both kinds are needed: true ones and false ones"))
    points = sorted({*false, *true_ones})
    places = ranks(points, [false[point] + true_ones[point] for point in points])
    total = math.fsum(place * true_ones[point] for point, place in zip(points, places, strict=True))
    number = true_ones.total()
    return Figure((total - number * (number + 1) / 2) / (number * false.total()))


def brier(rows: Stated) -> Figure:
    """The mean squared distance from the truth: 0 is perfect, 0.25 is a coin."""
    total = sum(rows.values())
    if not total:
        return Figure(None, Message("no rows"))
    return Figure(
        math.fsum((probability - true) ** 2 * count for (probability, true), count in rows.items())
        / total
    )


def calibration_error(rows: Stated, bins: int = 10) -> Figure:
    """How far stated probabilities are from what comes true, mean over bins of
    equal width (ECE).
    """
    total = sum(rows.values())
    if not total:
        return Figure(None, Message("no rows"))
    gaps: dict[int, float] = defaultdict(float)
    for (probability, true), count in rows.items():
        gaps[min(int(probability * bins), bins - 1)] += (probability - true) * count
    return Figure(math.fsum(abs(gap) for gap in gaps.values()) / total)
