"""Whether two series rise and fall together."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The correlation of the values; None where one of the series never varies, or there are fewer than two."""
    if len(first) != len(second):
        raise ValueError(f"two series of one length are needed, not of {len(first)} and {len(second)}")
    if len(first) < 2:
        return None
    one, other = _centred(first), _centred(second)
    spread = math.sqrt(_sum_of_products(one, one)) * math.sqrt(_sum_of_products(other, other))
    if spread == 0:
        return None
    return max(-1.0, min(1.0, _sum_of_products(one, other) / spread))


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The correlation of the ranks, which is what scores on a scale of words allow; equal values share a rank."""
    return pearson(ranks(first), ranks(second))


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each value from 1 up; equal values get the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def _centred(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [0.0] * len(values) if min(values) == max(values) else [value - mean for value in values]


def _sum_of_products(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
