"""Intervals of figures that have no formula for theirs: the figure again, over rows drawn anew.

A statistic is a function of counted rows (each distinct row, and how often it is there), so that
drawing a thousand times over a thousand rows costs little more than counting them.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adjudge.messages import Message
from adjudge.stats.estimate import Estimate, Figure
from adjudge.stats.intervals import Clusters, Interval, count_units

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
_MANY, _ALIKE = 5000, 20
"""From so many rows on, of which so many are alike on average, those that are alike are drawn in
one step.
"""
_MANY_HITS = 10


def redrawn(rows: Sequence[Row], clusters: Clusters, draws: Draws) -> Iterator[Counter[Row]]:
    """As many rows (or whole clusters) as there are, drawn with replacement, counted; once per
    draw.
    """
    choice = random.Random(draws.seed)  # noqa: S311 - statistics, not secrets
    if len(rows) >= _MANY and len(alike := Counter(_units(rows, clusters))) * _ALIKE <= len(rows):
        for _ in range(draws.count):
            yield _together(drawn_counts(choice, alike))
    elif clusters is None:
        for _ in range(draws.count):
            yield Counter(choice.choices(rows, k=len(rows)))
    else:
        units = _units(rows, clusters)
        for _ in range(draws.count):
            yield Counter(row for unit in choice.choices(units, k=len(units)) for row in unit)


def _units(rows: Sequence[Row], clusters: Clusters) -> list[tuple[Row, ...]]:
    """What is drawn as a whole."""
    if clusters is None:
        return [(row,) for row in rows]
    members: dict[Hashable, list[Row]] = defaultdict(list)
    for row, cluster in zip(rows, clusters, strict=True):
        members[cluster].append(row)
    return list(map(tuple, members.values()))


def _together(units: Mapping[tuple[Row, ...], int]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for unit, count in units.items():
        for row in unit if count else ():
            found[row] += count
    return found


def drawn_counts(choice: random.Random, counted: Mapping[Row, int]) -> dict[Row, int]:
    """How often each would be there, if as many as there are were drawn with replacement: in one
    step for all that are alike.
    """
    left = weight = sum(counted.values())
    found = {}
    for one, count in counted.items():
        found[one] = left if count == weight else binomial(choice, left, count / weight)
        left, weight = left - found[one], weight - count
    return found


def binomial(choice: random.Random, tries: int, share: float) -> int:
    """How many of so many tries hit; by their gaps where hits are few, else by Hörmann's rejection
    (BTRS).
    """
    if share > 0.5:
        return tries - binomial(choice, tries, 1 - share)
    if tries * share >= _MANY_HITS:
        return _by_rejection(choice, tries, share)
    if share <= 0:
        return 0
    place, hits, gap = 0, 0, math.log1p(-share)
    while (place := place + 1 + math.floor(math.log(1 - choice.random()) / gap)) <= tries:
        hits += 1
    return hits


def _by_rejection(choice: random.Random, tries: int, share: float) -> int:
    spread, middle = math.sqrt(tries * share * (1 - share)), math.floor((tries + 1) * share)
    width = 1.15 + 2.53 * spread
    slope = -0.0873 + 0.0248 * width + 0.01 * share
    scale, odds = (2.83 + 5.1 / width) * spread, math.log(share / (1 - share))
    top = math.lgamma(middle + 1) + math.lgamma(tries - middle + 1)
    while True:
        aside, height = choice.random() - 0.5, 1 - choice.random()
        edge = 0.5 - abs(aside)
        if edge == 0:
            continue
        hits = math.floor((2 * slope / edge + width) * aside + tries * share + 0.5)
        if not 0 <= hits <= tries:
            continue
        if edge >= 0.07 and height <= 0.92 - 4.2 / width:
            return hits
        chance = (
            top - math.lgamma(hits + 1) - math.lgamma(tries - hits + 1) + (hits - middle) * odds
        )
        if math.log(height * scale / (slope / edge**2 + width)) <= chance:
            return hits


def bootstrap(
    rows: Sequence[Row],
    statistics: Mapping[str, Statistic[Row]],
    *,
    clusters: Clusters = None,
    draws: Draws,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Each statistic of the rows with its percentile interval; all of them over the same draws."""
    seen: dict[str, list[float]] = {name: [] for name in statistics}
    figures = {name: statistic(Counter(rows)) for name, statistic in statistics.items()}
    defined = {
        name: statistics[name] for name, figure in figures.items() if figure.value is not None
    }
    for table in redrawn(rows, clusters, draws) if defined else ():
        for name, statistic in defined.items():
            value = statistic(table).value
            if value is not None:
                seen[name].append(value)
    units = count_units(rows, clusters)
    return {
        name: _estimate(figure, seen[name], len(rows), units, draws, level)
        for name, figure in figures.items()
    }


def _estimate(
    figure: Figure, values: list[float], rows: int, units: int, draws: Draws, level: float
) -> Estimate:
    method = Message("bootstrap, {count} draws, seed {seed}", count=draws.count, seed=draws.seed)
    reason = figure.reason
    if figure.value is not None and units < 2:
        reason = Message("one row or cluster has no interval")
    elif figure.value is not None and len(values) < DEFINED * draws.count:
        reason = Message(
            "undefined in {count} of {draws_count} draws: too few rows for an interval",
            count=draws.count - len(values),
            draws_count=draws.count,
        )
    if reason:
        return Estimate(figure.value, None, None, rows, method, level, reason)
    limits = percentile_interval(values, level)
    return Estimate(figure.value, limits.lower, limits.upper, rows, method, level)


def percentile_interval(values: Sequence[float], level: float) -> Interval:
    """The middle of the values, ``level`` of them."""
    ordered = sorted(values)
    return Interval(
        percentile(ordered, (1 - level) / 2), percentile(ordered, (1 + level) / 2), level
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the sorted values lie; between two of
    them in proportion.
    """
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
