"""Whether two series rise and fall together.

Each function takes two series, and optionally how often each pair is there: a table of many equal
pairs is then counted, not written out.
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
    """The correlation of the values; None where one of the series never varies, or there are fewer
    than two.
    """
    _check_lengths(first, second)
    if len(first) < 2:
        return None
    weights = counts or [1] * len(first)
    one, other = _centred(first, weights), _centred(second, weights)
    spread = math.sqrt(_sum_of_products(one, one, weights)) * math.sqrt(
        _sum_of_products(other, other, weights)
    )
    if spread == 0:
        return None
    return max(-1.0, min(1.0, _sum_of_products(one, other, weights) / spread))


def spearman(
    first: Sequence[float], second: Sequence[float], counts: Counts = None
) -> float | None:
    """The correlation of the ranks, which is what scores on a scale of words allow; equal values
    share a rank.
    """
    return pearson(ranks(first, counts), ranks(second, counts), counts)


def kendall(first: Sequence[float], second: Sequence[float], counts: Counts = None) -> float | None:
    """Kendall's tau-b: pairs in the same order less pairs in the opposite one, with ties
    discounted.
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
                "two series of one length are needed, not of {one} and {other}",
                one=len(first),
                other=len(second),
            )
        )


def ranks(values: Sequence[float], counts: Counts = None) -> list[float]:
    """The place of each value from 1 up; equal values get the mean of their places."""
    weights = counts or [1] * len(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = below = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        equal = order[start : end + 1]
        here = sum(weights[place] for place in equal)
        for place in equal:
            found[place] = below + (here + 1) / 2
        start, below = end + 1, below + here
    return found


def correlation_of(method: Correlation) -> Callable[[Mapping[tuple[float, float], int]], Figure]:
    """The method as a statistic of counted pairs, with a reason where it has no value."""

    def figure(table: Mapping[tuple[float, float], int]) -> Figure:
        if sum(table.values()) < 2:
            return Figure(None, Message("fewer than two rows"))
        value = method(
            [one for one, _ in table], [other for _, other in table], list(table.values())
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
    """Concordant pairs less discordant ones, by a Fenwick tree over the second series."""
    place = {value: at + 1 for at, value in enumerate(sorted(set(second)))}
    tree = [0] * (len(place) + 1)
    rows: dict[float, list[tuple[int, int]]] = defaultdict(list)
    for one, other, weight in zip(first, second, weights, strict=True):
        rows[one].append((place[other], weight))
    balance = seen = 0
    for value in sorted(rows):
        for at, weight in rows[value]:
            balance += weight * (_sum_below(tree, at - 1) - (seen - _sum_below(tree, at)))
        for at, weight in rows[value]:
            seen += weight
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


def _centred(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    if min(values) == max(values):
        return [0.0] * len(values)
    mean = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(
        weights
    )
    return [value - mean for value in values]


def _sum_of_products(one: Sequence[float], other: Sequence[float], weights: Sequence[int]) -> float:
    return math.fsum(a * b * weight for a, b, weight in zip(one, other, weights, strict=True))
