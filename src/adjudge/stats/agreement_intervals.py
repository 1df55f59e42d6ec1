"""Intervals of agreement figures. Each is combined from shares and means, whose limits hold for few
rows and for rare options.

The bootstrap fails here: if judge and people never differ, or an option was seen twice, every draw
looks alike, and the interval has no width.
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
"""Minimum number of rows (or clusters) for an interval."""
Value = TypeVar("Value", bound=Hashable)
Distance = Literal["nominal", "linear", "quadratic"]
Pairs = Sequence[tuple[Value, Value]]


def too_few_units(clusters: Clusters) -> Message:
    """Return the reason for a missing interval. Rows in one cluster count as one unit."""
    if clusters is None:
        return Message("no interval: fewer than {least} labelled rows", least=LEAST_ROWS)
    return Message("no interval: fewer than {least} groups of labelled rows", least=LEAST_ROWS)


def with_limits(
    figure: Figure, limits: Interval | None, rows: int, clusters: Clusters, level: float
) -> Estimate:
    """Return a figure with its limits, or without them if it is undefined or there are too few
    rows.
    """
    method = Message("from shares")
    units = rows if clusters is None else len(set(clusters))
    if figure.value is None or limits is None:
        reason = figure.reason or Message("no interval: only one option occurs")
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
    """Return the limits of 1 − observed / expected disagreement: Cohen's kappa, or with ``pooled``
    Krippendorff's alpha.

    ``places``: value → position from 0 to 1, for distances other than nominal.
    """
    observed = [apart(verdict, label, distance, places) for verdict, label in pairs]
    observed_limits = label_interval(observed, level=level, clusters=clusters)
    expected, expected_limits = _expected_distance(pairs, distance, places, pooled, clusters, level)
    ratio = ratio_interval(
        (math.fsum(observed) / len(observed), observed_limits), (expected, expected_limits)
    )
    return Interval(max(-1.0, 1 - ratio.upper), 1 - ratio.lower, level)


def above_even_chance(
    pairs: Pairs[Value], options: int, *, clusters: Clusters = None, level: float = 0.95
) -> Interval:
    """Return the limits of Gwet's AC1.

    Observed and chance disagreement vary together, so their ends are combined.
    """
    observed = share_interval(
        [float(verdict != label) for verdict, label in pairs], level=level, clusters=clusters
    )
    _, expected_limits = _expected_distance(pairs, "nominal", None, True, clusters, level)
    most = 1 - 1 / options
    beyond_chance = [
        1 - min(end, most) / (options - 1) for end in (expected_limits.lower, expected_limits.upper)
    ]
    return Interval(
        max(-1.0, 1 - observed.upper / beyond_chance[1]),
        1 - observed.lower / beyond_chance[0],
        level,
    )


def apart(
    one: Value, other: Value, distance: Distance, places: Mapping[Value, float] | None
) -> float:
    """Return the distance between two ratings."""
    if distance == "nominal" or places is None:
        return float(one != other)
    gap = abs(places[one] - places[other])
    return gap * gap if distance == "quadratic" else gap


def _expected_distance(
    pairs: Pairs[Value],
    distance: Distance,
    places: Mapping[Value, float] | None,
    pooled: bool,
    clusters: Clusters,
    level: float,
) -> tuple[float, Interval]:
    """Return the mean distance of two unrelated ratings, with limits.

    Each row contributes its ratings' distance from all others. As both sides vary, the limits are
    twice as far away as those of the mean over rows.
    """
    judge_counts, truth_counts = (
        Counter(value for value, _ in pairs),
        Counter(label for _, label in pairs),
    )
    if pooled:
        judge_counts = truth_counts = judge_counts + truth_counts
    of_first, of_second = (
        {value: _mean_distance(value, opposite, distance, places) for value in counts}
        for counts, opposite in ((judge_counts, truth_counts), (truth_counts, judge_counts))
    )
    row_means = [(of_first[value] + of_second[label]) / 2 for value, label in pairs]
    mean = math.fsum(row_means) / len(row_means)
    limits = interval_with_both_ends(
        [min(1.0, value) for value in row_means], level=level, clusters=clusters
    )
    lower, upper = mean - 2 * (mean - limits.lower), mean + 2 * (limits.upper - mean)
    return mean, Interval(min(mean, max(0.0, lower)), max(mean, min(1.0, upper)), level)


def _mean_distance(
    one: Value, others: Counter[Value], distance: Distance, places: Mapping[Value, float] | None
) -> float:
    total = others.total()
    return (
        math.fsum(
            apart(one, opposite, distance, places) * count for opposite, count in others.items()
        )
        / total
    )


def mean_share_interval(
    parts: Sequence[tuple[Sequence[bool], Clusters]], *, level: float
) -> Interval:
    """Return the limits of a mean of shares over different rows, e.g. balanced accuracy or macro
    recall.

    ``parts``: hits and clusters of each part's rows. The share of a part without rows is unknown.
    """
    rated_parts = [part for part in parts if part[0]]
    weighted_intervals = [
        (
            1 / len(parts),
            sum(hits) / len(hits),
            share_interval([float(hit) for hit in hits], level=level, clusters=clusters),
        )
        for hits, clusters in rated_parts
    ]
    limits = mover(weighted_intervals, variance=0.0, level=level)
    unknown = 1 - len(rated_parts) / len(parts)
    return Interval(max(0.0, limits.lower), min(1.0, limits.upper + unknown), level)


def f1_interval(hits: Sequence[bool], *, level: float, clusters: Clusters) -> Interval:
    """Return the limits of F1, from the share of rows that both gave an option among those that
    either gave it.
    """
    share = share_interval([float(hit) for hit in hits], level=level, clusters=clusters)
    # F1 = 2 J / (1 + J) for this share J (Jaccard).
    lower, upper = (2 * end / (1 + end) for end in (share.lower, share.upper))
    return Interval(lower, upper, level)


def mean_of_intervals(each: Sequence[Interval], *, level: float) -> Interval:
    """Return the limits of a mean of figures whose errors may all be correlated."""
    return Interval(
        math.fsum(limits.lower for limits in each) / len(each),
        math.fsum(limits.upper for limits in each) / len(each),
        level,
    )


def fisher_interval(value: float, rows: int, *, level: float = 0.95) -> Interval:
    """Return Fisher's interval of a correlation, with Bonett and Wright's width.

    The correlation is shrunk as if by one more, uncorrelated row, so that the interval has width
    even if all ranks agree.
    """
    drawn_in = value * rows / (rows + 1)
    half = z_two_sided(level) * math.sqrt((1 + drawn_in**2 / 2) / (rows - 3))
    middle = math.atanh(drawn_in)
    return Interval(math.tanh(middle - half), math.tanh(middle + half), level)
