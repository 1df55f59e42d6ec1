"""Bootstrap intervals, for figures without a formula.

A statistic is a function of counted rows (each distinct row and its count), so that a thousand
draws of a thousand rows cost little more than counting them.
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
"""Minimum share of draws in which a figure must be defined to have an interval."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Number and seed of bootstrap draws, printed next to intervals so that they can be
    reproduced.
    """

    count: int = 2000
    seed: int = 0


DRAWS = Draws()
# Number of rows, and mean count of equal rows, from which on equal rows are drawn in one step.
_MANY, _ALIKE = 5000, 20
_MANY_HITS = 10


def redraw(rows: Sequence[Row], clusters: Clusters, draws: Draws) -> Iterator[Counter[Row]]:
    """Yield samples with replacement of as many rows (or whole clusters) as there are, as
    counts.
    """
    choice = random.Random(draws.seed)  # noqa: S311 - statistics, not secrets
    # Passes and fails of many rows have few distinct units: drawing their counts takes a few
    # binomial draws instead of one draw per row.
    if len(rows) >= _MANY and len(alike := Counter(_units(rows, clusters))) * _ALIKE <= len(rows):
        for _ in range(draws.count):
            yield _merge_units(draw_counts(choice, alike))
    elif clusters is None:
        for _ in range(draws.count):
            yield Counter(choice.choices(rows, k=len(rows)))
    else:
        units = _units(rows, clusters)
        for _ in range(draws.count):
            yield Counter(row for unit in choice.choices(units, k=len(units)) for row in unit)


def _units(rows: Sequence[Row], clusters: Clusters) -> list[tuple[Row, ...]]:
    """Return the units to draw: single rows, or whole clusters."""
    if clusters is None:
        return [(row,) for row in rows]
    members: dict[Hashable, list[Row]] = defaultdict(list)
    for row, cluster in zip(rows, clusters, strict=True):
        members[cluster].append(row)
    return list(map(tuple, members.values()))


def _merge_units(units: Mapping[tuple[Row, ...], int]) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for unit, count in units.items():
        for row in unit if count else ():
            rows[row] += count
    return rows


def draw_counts(choice: random.Random, counted: Mapping[Row, int]) -> dict[Row, int]:
    """Draw how often each row occurs in a sample with replacement of the same size.

    Equal rows are drawn in one step.
    """
    # A multinomial draw as a chain of binomial ones: each takes its share of what is left.
    remaining = weight = sum(counted.values())
    counts = {}
    for row, count in counted.items():
        counts[row] = remaining if count == weight else binomial(choice, remaining, count / weight)
        remaining, weight = remaining - counts[row], weight - count
    return counts


def binomial(choice: random.Random, tries: int, share: float) -> int:
    """Draw from a binomial distribution: by gaps if few hits are expected, else by Hörmann's
    rejection (BTRS).
    """
    if share > 0.5:
        # Both methods below need the rarer side.
        return tries - binomial(choice, tries, 1 - share)
    if tries * share >= _MANY_HITS:
        return _by_rejection(choice, tries, share)
    if share <= 0:
        return 0
    # Gaps between hits are geometric, so the loop runs once per hit and not once per try.
    place, hits, gap = 0, 0, math.log1p(-share)
    while (place := place + 1 + math.floor(math.log(1 - choice.random()) / gap)) <= tries:
        hits += 1
    return hits


def _by_rejection(choice: random.Random, tries: int, share: float) -> int:
    spread, middle = math.sqrt(tries * share * (1 - share)), math.floor((tries + 1) * share)
    width = 1.15 + 2.53 * spread
    # The constants are Hörmann's (1993), fitted so that the hat encloses the distribution.
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
        # The squeeze: most draws are accepted here, without a logarithm.
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
    """Return each statistic with its percentile interval, using the same draws for all."""
    values_by_name: dict[str, list[float]] = {name: [] for name in statistics}
    figures = {name: statistic(Counter(rows)) for name, statistic in statistics.items()}
    defined = {
        name: statistics[name] for name, figure in figures.items() if figure.value is not None
    }
    for table in redraw(rows, clusters, draws) if defined else ():
        for name, statistic in defined.items():
            value = statistic(table).value
            if value is not None:
                values_by_name[name].append(value)
    units = count_units(rows, clusters)
    return {
        name: _estimate(figure, values_by_name[name], len(rows), units, draws, level)
        for name, figure in figures.items()
    }


def _estimate(
    figure: Figure, values: list[float], rows: int, units: int, draws: Draws, level: float
) -> Estimate:
    method = Message("bootstrap, {count} draws, seed {seed}", count=draws.count, seed=draws.seed)
    reason = figure.reason
    if figure.value is not None and units < 2:
        reason = Message("no interval: one row or cluster")
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
    """Return the interval that contains the middle ``level`` of the values."""
    ordered = sorted(values)
    return Interval(
        percentile(ordered, (1 - level) / 2), percentile(ordered, (1 + level) / 2), level
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the sorted values lie, interpolated."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
