"""Agreement of any number of raters, with gaps.

A row is the tuple of its ratings, None for a missing one; figures are functions of counted rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from adjudge.messages import Message
from adjudge.stats.estimate import Figure

Rating = str | int | float
Ratings = tuple[Rating | None, ...]
Metric = Literal["nominal", "ordinal", "interval"]


def gwet_ac1(rows: Mapping[Ratings, int], options: int | None = None) -> Figure:
    """Return Gwet's AC1. ``options``: the number of possible options, by default those used."""
    units = [(_counts(row), count) for row, count in rows.items()]
    rated = [(counts, count) for counts, count in units if counts]
    paired = [(counts, count) for counts, count in rated if counts.total() > 1]
    if not paired:
        return Figure(None, Message("no row was rated twice"))
    used = {option for counts, _ in rated for option in counts}
    number = max(options or 0, len(used))
    if number < 2:
        return Figure(None, Message("every rating is the same"))
    observed = math.fsum(_pairs_alike(counts) * count for counts, count in paired) / sum(
        count for _, count in paired
    )
    weight = sum(count for _, count in rated)
    shares = [
        math.fsum(counts[option] / counts.total() * count for counts, count in rated) / weight
        for option in used
    ]
    chance = math.fsum(share * (1 - share) for share in shares) / (number - 1)
    return Figure((observed - chance) / (1 - chance))


def _counts(row: Ratings) -> Counter[Rating]:
    return Counter(value for value in row if value is not None)


def _pairs_alike(counts: Counter[Rating]) -> float:
    total = counts.total()
    return sum(count * (count - 1) for count in counts.values()) / (total * (total - 1))


def krippendorff_alpha(
    rows: Mapping[Ratings, int], metric: Metric = "nominal", order: Sequence[Rating] | None = None
) -> Figure:
    """Return Krippendorff's alpha. Rows with fewer than two ratings do not count.

    "ordinal" and "interval" need numbers, or an ``order`` of the options from lowest to highest.
    """
    units = [(counts, times) for row, times in rows.items() if (counts := _counts(row)).total() > 1]
    totals: Counter[Rating] = Counter()
    for counts, times in units:
        totals.update({value: count * times for value, count in counts.items()})
    if not units:
        return Figure(None, Message("no row was rated twice"))
    if len(totals) < 2:
        return Figure(None, Message("every rating is the same"))
    places = rating_places(totals, metric, order)
    observed = math.fsum(
        _spread(counts, places) * times / (counts.total() - 1) for counts, times in units
    )
    # Pairs are drawn without replacement from all ratings.
    expected = _spread(totals, places) / (totals.total() - 1)
    return Figure(1 - observed / expected)


def _spread(counts: Counter[Rating], places: Mapping[Rating, float] | None) -> float:
    """Return the sum of distances over all ordered pairs: squared position differences, or 1 for
    unequal values.
    """
    total = counts.total()
    if places is None:
        return total**2 - sum(count**2 for count in counts.values())
    mean = math.fsum(count * places[value] for value, count in counts.items()) / total
    return (
        2
        * total
        * math.fsum(count * (places[value] - mean) ** 2 for value, count in counts.items())
    )


def rating_places(
    totals: Counter[Rating], metric: Metric, order: Sequence[Rating] | None
) -> dict[Rating, float] | None:
    """Return each rating's position for computing distances; None for nominal ratings."""
    if metric == "nominal":
        return None
    ordered = (
        sorted(totals, key=_number)
        if order is None
        else [value for value in order if value in totals]
    )
    return (
        _ordinal_places(ordered, totals)
        if metric == "ordinal"
        else _interval_places(ordered, order)
    )


def _ordinal_places(ordered: Iterable[Rating], totals: Counter[Rating]) -> dict[Rating, float]:
    """Return the middle of each value's ranks, whose difference is the ordinal distance."""
    places: dict[Rating, float] = {}
    below = 0
    for value in ordered:
        places[value] = below + totals[value] / 2
        below += totals[value]
    return places


def _interval_places(
    ordered: Iterable[Rating], order: Sequence[Rating] | None
) -> dict[Rating, float]:
    return {
        value: float(_number(value)) if order is None else float(order.index(value))
        for value in ordered
    }


def _number(value: Rating) -> float:
    if isinstance(value, str):
        raise ValueError(
            Message("{value!r} is not a number: give the order of the options", value=value)
        )
    return value
