"""Intervals of figures that have no formula for theirs: the figure again, over rows drawn anew.

A statistic is a function of counted rows (each distinct row, and how often it is there), so that drawing a thousand times over
a thousand rows costs little more than counting them.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adjudge.stats.estimate import Estimate, Figure
from adjudge.stats.intervals import Clusters, Interval

Row = TypeVar("Row", bound=Hashable)
Statistic = Callable[[Mapping[Row, int]], Figure]
DEFINED = 0.9
"""The least share of draws in which a figure must be defined to have an interval."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How the rows are drawn anew; printed beside the intervals, so that they can be had again."""

    count: int = 2000
    seed: int = 0


DRAWS = Draws()


def redrawn(rows: Sequence[Row], clusters: Clusters = None, draws: Draws = DRAWS) -> Iterator[Counter[Row]]:
    """As many rows (or whole clusters) as there are, drawn with replacement, counted; once per draw."""
    choice = random.Random(draws.seed)  # noqa: S311 - statistics, not secrets
    if clusters is None:
        for _ in range(draws.count):
            yield Counter(choice.choices(rows, k=len(rows)))
        return
    members: dict[Hashable, list[Row]] = defaultdict(list)
    for row, cluster in zip(rows, clusters, strict=True):
        members[cluster].append(row)
    units = list(members.values())
    for _ in range(draws.count):
        yield Counter(row for unit in choice.choices(units, k=len(units)) for row in unit)


def bootstrap(
    rows: Sequence[Row],
    statistics: Mapping[str, Statistic[Row]],
    *,
    clusters: Clusters = None,
    draws: Draws = DRAWS,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Each statistic of the rows with its percentile interval; all of them over the same draws."""
    seen: dict[str, list[float]] = {name: [] for name in statistics}
    figures = {name: statistic(Counter(rows)) for name, statistic in statistics.items()}
    defined = {name: statistics[name] for name, figure in figures.items() if figure.value is not None}
    for table in redrawn(rows, clusters, draws) if defined else ():
        for name, statistic in defined.items():
            value = statistic(table).value
            if value is not None:
                seen[name].append(value)
    units = len(rows) if clusters is None else len(set(clusters))
    return {name: _estimate(figure, seen[name], len(rows), units, draws, level) for name, figure in figures.items()}


def _estimate(figure: Figure, values: list[float], rows: int, units: int, draws: Draws, level: float) -> Estimate:
    method, reason = f"bootstrap, {draws.count} draws, seed {draws.seed}", figure.reason
    if figure.value is not None and units < 2:
        reason = "one row or cluster has no interval"
    elif figure.value is not None and len(values) < DEFINED * draws.count:
        reason = f"undefined in {draws.count - len(values)} of {draws.count} draws: too few rows for an interval"
    if reason:
        return Estimate(figure.value, None, None, rows, method, level, reason)
    limits = percentile_interval(values, level)
    return Estimate(figure.value, limits.lower, limits.upper, rows, method, level)


def percentile_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The middle of the values, ``level`` of them."""
    ordered = sorted(values)
    return Interval(percentile(ordered, (1 - level) / 2), percentile(ordered, (1 + level) / 2), level)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the sorted values lie; between two of them in proportion."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
