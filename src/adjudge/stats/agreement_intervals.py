"""How sure figures of agreement are: each is put together from shares and means, whose limits hold
for few rows and for options that hardly anybody uses.

Rows drawn anew (the bootstrap) say too little of them: where judge and people never differ, or an
option was seen twice, every draw looks alike, and the interval has no width.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, TypeVar

from adjudge.messages import Message
from adjudge.stats.correction import label_interval
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import Estimate, Figure
from adjudge.stats.intervals import (
    Clusters,
    Interval,
    interval_with_both_ends,
    mover,
    ratio_interval,
    share_interval,
)

LEAST_ROWS = 30
"""Fewer rows (or clusters) have no interval of a figure of agreement."""
Value = TypeVar("Value", bound=Hashable)
Distance = Literal["nominal", "linear", "quadratic"]
Pairs = Sequence[tuple[Value, Value]]


def too_few_units(clusters: Clusters) -> Message:
    """Why there is no interval: rows that belong together are one unit."""
    if clusters is None:
        return Message("fewer than {least} labelled rows have no interval", least=LEAST_ROWS)
    return Message("fewer than {least} groups of labelled rows have no interval", least=LEAST_ROWS)


def with_limits(
    figure: Figure, limits: Interval | None, rows: int, clusters: Clusters, level: float
) -> Estimate:
    """A figure with its limits; without, where it is undefined or there are too few rows."""
    method = Message("from shares")
    units = rows if clusters is None else len(set(clusters))
    if figure.value is None or limits is None:
        reason = figure.reason or Message("one option alone was seen: no interval")
        return Estimate(figure.value, None, None, rows, method, level, reason)
    if units < LEAST_ROWS:
        reason = too_few_units(clusters)
        return Estimate(figure.value, None, None, rows, method, level, reason)
    lower, upper = min(limits.lower, figure.value), max(limits.upper, figure.value)
    return Estimate(figure.value, lower, upper, rows, method, level)


def above_chance(
    pairs: Pairs[Value],
    distance: Distance = "nominal",
    places: Mapping[Value, float] | None = None,
    *,
    pooled: bool = False,
    clusters: Clusters = None,
    level: float = 0.95,
) -> Interval:
    """The limits of 1 less the observed disagreement over the expected one: Cohen's kappa, and with
    ``pooled`` margins Krippendorff's alpha.

    ``places``: where each value stands between 0 and 1, for distances that are not nominal.
    """
    observed = [apart(one, other, distance, places) for one, other in pairs]
    seen = label_interval(observed, level=level, clusters=clusters)
    expected, around = _expected(pairs, distance, places, pooled, clusters, level)
    ratio = ratio_interval((math.fsum(observed) / len(observed), seen), (expected, around))
    return Interval(max(-1.0, 1 - ratio.upper), 1 - ratio.lower, level)


def above_even_chance(
    pairs: Pairs[Value], options: int, *, clusters: Clusters = None, level: float = 0.95
) -> Interval:
    """The limits of Gwet's AC1: observed disagreement and what chance leaves vary together, so that
    the ends of both are taken.
    """
    observed = share_interval(
        [float(one != other) for one, other in pairs], level=level, clusters=clusters
    )
    _, around = _expected(pairs, "nominal", None, True, clusters, level)
    most = 1 - 1 / options
    left = [1 - min(end, most) / (options - 1) for end in (around.lower, around.upper)]
    return Interval(max(-1.0, 1 - observed.upper / left[1]), 1 - observed.lower / left[0], level)


def apart(
    one: Value, other: Value, distance: Distance, places: Mapping[Value, float] | None
) -> float:
    """How far two ratings lie from each other."""
    if distance == "nominal" or places is None:
        return float(one != other)
    gap = abs(places[one] - places[other])
    return gap * gap if distance == "quadratic" else gap


def _expected(
    pairs: Pairs[Value],
    distance: Distance,
    places: Mapping[Value, float] | None,
    pooled: bool,
    clusters: Clusters,
    level: float,
) -> tuple[float, Interval]:
    """How far two ratings lie apart that have nothing to do with each other, and its limits.

    Each row says how far its ratings lie from everybody's; both sides of a distance vary, so that
    the limits lie twice as far away as those of the mean of what rows say.
    """
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    if pooled:
        first = second = first + second
    of_first, of_second = (
        {one: _mean_distance(one, others, distance, places) for one in ones}
        for ones, others in ((first, second), (second, first))
    )
    each = [(of_first[one] + of_second[other]) / 2 for one, other in pairs]
    mean = math.fsum(each) / len(each)
    limits = interval_with_both_ends(
        [min(1.0, one) for one in each], level=level, clusters=clusters
    )
    lower, upper = mean - 2 * (mean - limits.lower), mean + 2 * (limits.upper - mean)
    return mean, Interval(min(mean, max(0.0, lower)), max(mean, min(1.0, upper)), level)


def _mean_distance(
    one: Value, others: Counter[Value], distance: Distance, places: Mapping[Value, float] | None
) -> float:
    total = others.total()
    return (
        math.fsum(apart(one, other, distance, places) * count for other, count in others.items())
        / total
    )


def mean_share_interval(
    parts: Sequence[tuple[Sequence[bool], Clusters]], *, level: float
) -> Interval:
    """The limits of the plain mean of shares of different rows: balanced accuracy, macro precision
    and recall. Each part has its rows' hits and their clusters; of a part without rows nothing is
    known.
    """
    known = [part for part in parts if part[0]]
    found = [
        (
            1 / len(parts),
            sum(hits) / len(hits),
            share_interval([float(hit) for hit in hits], level=level, clusters=clusters),
        )
        for hits, clusters in known
    ]
    limits = mover(found, variance=0.0, level=level)
    unknown = 1 - len(known) / len(parts)
    return Interval(max(0.0, limits.lower), min(1.0, limits.upper + unknown), level)


def f1_interval(hits: Sequence[bool], *, level: float, clusters: Clusters) -> Interval:
    """The limits of F1, from the share of rows where both said an option among those where either
    did.
    """
    share = share_interval([float(hit) for hit in hits], level=level, clusters=clusters)
    lower, upper = (2 * end / (1 + end) for end in (share.lower, share.upper))
    return Interval(lower, upper, level)


def mean_of_intervals(each: Sequence[Interval], *, level: float) -> Interval:
    """The limits of the plain mean of figures that may all err together."""
    return Interval(
        math.fsum(limits.lower for limits in each) / len(each),
        math.fsum(limits.upper for limits in each) / len(each),
        level,
    )


def fisher_interval(value: float, rows: int, *, level: float = 0.95) -> Interval:
    """Fisher's interval of a correlation with Bonett and Wright's width, the correlation drawn in
    by one more row without any: it has width also where all ranks agree.
    """
    drawn_in = value * rows / (rows + 1)
    half = z_two_sided(level) * math.sqrt((1 + drawn_in**2 / 2) / (rows - 3))
    middle = math.atanh(drawn_in)
    return Interval(math.tanh(middle - half), math.tanh(middle + half), level)
