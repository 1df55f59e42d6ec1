"""Correlation of two series.

Each function takes two series, and optionally a count per pair, so that equal pairs need not be
repeated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from adjudge.messages import Message
from adjudge.stats.estimate import Figure

Counts = Sequence[int] | None
Correlation = Callable[[Sequence[float], Sequence[float], Counts], float | None]


def pearson(first: Sequence[float], second: Sequence[float], counts: Counts = None) -> float | None:
    """Return Pearson's correlation; None with fewer than two values, or if a series never
    varies.
    """
    _check_lengths(first, second)
    if len(first) < 2:
        return None
    weights = counts or [1] * len(first)
    centred_a, centred_b = _centre(first, weights), _centre(second, weights)
    spread = math.sqrt(_sum_of_products(centred_a, centred_a, weights)) * math.sqrt(
        _sum_of_products(centred_b, centred_b, weights)
    )
    if spread == 0:
        return None
    return max(-1.0, min(1.0, _sum_of_products(centred_a, centred_b, weights) / spread))


def spearman(
    first: Sequence[float], second: Sequence[float], counts: Counts = None
) -> float | None:
    """Return the rank correlation, for ordinal scores; None like ``pearson``. Equal values share a
    rank.
    """
    return pearson(ranks(first, counts), ranks(second, counts), counts)


def kendall(first: Sequence[float], second: Sequence[float], counts: Counts = None) -> float | None:
    """Return Kendall's tau-b: concordant minus discordant pairs, adjusted for ties. None if a
    series never varies.
    """
    _check_lengths(first, second)
    weights = counts or [1] * len(first)
    total = sum(weights)
    pairs = total * (total - 1) // 2
    tied = [pairs - _tied_pairs(values, weights) for values in (first, second)]
    if 0 in tied:
        return None
    value = _concordance(first, second, weights) / (math.sqrt(tied[0]) * math.sqrt(tied[1]))
    return max(-1.0, min(1.0, value))


def _check_lengths(first: Sequence[float], second: Sequence[float]) -> None:
    if len(first) != len(second):
        raise ValueError(
            Message(
                "two series of equal length are needed, not of {one} and {other}",
                one=len(first),
                other=len(second),
            )
        )


def ranks(values: Sequence[float], counts: Counts = None) -> list[float]:
    """Return the rank of each value, from 1; equal values share their mean rank."""
    weights = counts or [1] * len(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    places = [0.0] * len(values)
    start = below = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        equal = order[start : end + 1]
        here = sum(weights[place] for place in equal)
        for place in equal:
            places[place] = below + (here + 1) / 2
        start, below = end + 1, below + here
    return places


def correlation_of(method: Correlation) -> Callable[[Mapping[tuple[float, float], int]], Figure]:
    """Turn a correlation into a statistic of counted pairs, with a reason if it is undefined."""

    def figure(table: Mapping[tuple[float, float], int]) -> Figure:
        if sum(table.values()) < 2:
            return Figure(None, Message("fewer than two rows"))
        value = method(
            [value_a for value_a, _ in table],
            [value_b for _, value_b in table],
            list(table.values()),
        )
        if value is None:
            return Figure(None, Message("one of the series never varies"))
        return Figure(value)

    return figure


def _tied_pairs(values: Sequence[float], weights: Sequence[int]) -> int:
    sizes: dict[float, int] = defaultdict(int)
    for value, weight in zip(values, weights, strict=True):
        sizes[value] += weight
    return sum(size * (size - 1) // 2 for size in sizes.values())


def _concordance(first: Sequence[float], second: Sequence[float], weights: Sequence[int]) -> int:
    """Return concordant minus discordant pairs, using a Fenwick tree over the second series."""
    place = {value: at + 1 for at, value in enumerate(sorted(set(second)))}
    tree = [0] * (len(place) + 1)
    rows: dict[float, list[tuple[int, int]]] = defaultdict(list)
    for value_a, value_b, weight in zip(first, second, weights, strict=True):
        rows[value_a].append((place[value_b], weight))
    balance = counted = 0
    for value in sorted(rows):
        for at, weight in rows[value]:
            balance += weight * (_sum_below(tree, at - 1) - (counted - _sum_below(tree, at)))
        for at, weight in rows[value]:
            counted += weight
            _add(tree, at, weight)
    return balance


def _sum_below(tree: list[int], at: int) -> int:
    total = 0
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


def _add(tree: list[int], at: int, weight: int) -> None:
    while at < len(tree):
        tree[at] += weight
        at += at & -at


def _centre(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    if min(values) == max(values):
        # Exactly 0: rounding must not make a constant series vary.
        return [0.0] * len(values)
    mean = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(
        weights
    )
    return [value - mean for value in values]


def _sum_of_products(one: Sequence[float], other: Sequence[float], weights: Sequence[int]) -> float:
    return math.fsum(a * b * weight for a, b, weight in zip(one, other, weights, strict=True))
