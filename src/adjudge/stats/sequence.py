"""Intervals that stay valid if they are inspected, and acted upon, after every label.

A bettor stakes against a share, with stakes mixed by a Beta(½, ½) (Robbins). Against the true share
the capital does not grow on average, so it reaches 1/α in at most α of all streams. The interval
holds the shares against which it has not reached 1/α. A value between 0 and 1 counts as that part
of a hit; the capitals of several streams are multiplied.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudge.stats.distributions import z_two_sided
from adjudge.stats.intervals import Clusters, Interval

OF_ROWS = 0.1
"""Part of the risk for the sampling of rows; the rest is for the labels."""
_MOST = 1e12
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class ClusterSizes:
    """The number of rows, of their clusters, and of rows in the largest cluster."""

    rows: int
    units: int
    largest: int


@dataclass(frozen=True, slots=True)
class Stream:
    """Labels of one verdict in the order of arrival, and its share of the rows."""

    weight: float
    hits: float
    misses: float
    fill: float = 1.0
    """The mean size of a cluster as a share of the largest, if labels come in clusters. ``hits``
    and ``misses`` then add up to the number of clusters, and have the mean of all rows.

    Against a share r, a cluster of m rows with the sum s counts as (s + (M - m) r) / M: as if r
    were the score of the rows that it lacks to the largest size M. That lies between 0 and 1, and
    is r on average if r is the mean over rows, also if large clusters have another rate than small
    ones.
    M must not depend on the scores.
    """

    @classmethod
    def of_clusters(cls, weight: float, total: float, sizes: ClusterSizes) -> Stream:
        """Return a stream of clusters whose rows add up to ``total``."""
        hits = sizes.units * total / sizes.rows if sizes.rows else 0.0
        fill = sizes.rows / sizes.units / sizes.largest if sizes.rows else 1.0
        return cls(weight, hits, sizes.units - hits, fill)

    @property
    def mean(self) -> float | None:
        """Mean label; None without labels."""
        count = self.hits + self.misses
        return self.hits / count if count else None

    def log_capital(self, share: float) -> float:
        """Return the log-capital of the bets against ``share``."""
        count = self.hits + self.misses
        hits = self.fill * self.hits + (1 - self.fill) * count * share
        # Rounding may put the sum a little outside of what the labels allow, and the log of a
        # negative number would end the report.
        hits = min(max(hits, 0.0), count)
        misses = count - hits
        # The mixture over all stakes has a closed form, so the capital needs no history of the
        # bets: the order of the labels does not matter.
        mixed = _log_beta(hits + 0.5, misses + 0.5) - _LOG_BETA_OF_HALVES
        return mixed - _times_log(hits, share) - _times_log(misses, 1 - share)

    def share_at(self, slope: float) -> float:
        """Return the share at which the capital grows by ``slope`` times the weight."""
        rise, count = slope * self.weight, self.hits + self.misses
        if self.fill < 1 and count:
            return self._searched_share_at(rise)
        remaining = count - rise
        root = math.sqrt(max(0.0, remaining * remaining + 4 * rise * self.hits))
        if remaining > 0:
            # The root in the form that does not subtract nearly equal numbers.
            return 2 * self.hits / (remaining + root)
        return min(1.0, (root - remaining) / (2 * rise))

    def _searched_share_at(self, rise: float) -> float:
        """Like ``share_at``, for clusters of unequal size, which have no closed formula.

        The capital is convex, so the share minimises the capital minus the rise.
        """

        def height(share: float) -> float:
            return self.log_capital(share) - rise * share

        mean = self.mean or 0.0
        low, high = (mean, 1.0) if rise > 0 else (0.0, mean)
        # By the golden section, so that every step computes one height.
        lower, upper = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_lower, at_upper = height(lower), height(upper)
        for _ in range(50):
            if at_lower < at_upper:
                high, upper, at_upper = upper, lower, at_lower
                lower = high - _GOLDEN * (high - low)
                at_lower = height(lower)
            else:
                low, lower, at_lower = lower, upper, at_upper
                upper = low + _GOLDEN * (high - low)
                at_upper = height(upper)
        return (low + high) / 2


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)


_LOG_BETA_OF_HALVES = _log_beta(0.5, 0.5)


def _times_log(count: float, share: float) -> float:
    if count == 0:
        return 0.0
    return count * math.log(share) if share > 0 else -math.inf


def confidence_sequence(values: Iterable[float], *, level: float = 0.95) -> Interval:
    """Return an interval of the mean of values between 0 and 1 that may be inspected after every
    one of them.

    All such intervals together miss the mean in no more than ``1 - level`` of streams.
    """
    seen_values = list(values)
    hits = math.fsum(seen_values)
    return sequential_interval([Stream(1.0, hits, len(seen_values) - hits)], level=level)


def sequential_mean(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """Like ``confidence_sequence``, for a gate over clustered rows; None without values."""
    if not values:
        return None
    if clusters is None:
        return confidence_sequence(values, level=level)
    sizes = Counter(clusters).values()
    units = ClusterSizes(len(values), len(sizes), max(sizes))
    return _mean_of_clusters(math.fsum(values), units, level)


def _mean_of_clusters(total: float, sizes: ClusterSizes, level: float) -> Interval:
    """Return the sequential interval of the mean of values from 0 to 1 that add up to ``total``."""
    stream = Stream.of_clusters(1.0, total, sizes)
    mean = total / sizes.rows
    bound = math.log(1 / (1 - level))

    def end(far: float) -> float:
        near = mean
        if stream.log_capital(far) < bound:
            return far
        for _ in range(60):
            middle = (near + far) / 2
            is_refuted = stream.log_capital(middle) >= bound
            near, far = (near, middle) if is_refuted else (middle, far)
        return far

    return Interval(end(0.0), end(1.0), level)


def sequential_difference(
    rises: float,
    falls: float,
    count: int,
    *,
    level: float = 0.95,
    clusters: ClusterSizes | None = None,
) -> Interval:
    """Like ``confidence_sequence``, for the mean of ``count`` differences between -1 and 1, from
    the sums of those above 0 and below.

    Rows that are equal in both cost next to nothing in width. ``clusters``: the sums are over
    clusters' sums of differences.
    """
    sizes = clusters or ClusterSizes(count, count, 1)
    # Each part gets half of the risk.
    up, down = (_mean_of_clusters(part, sizes, (1 + level) / 2) for part in (rises, falls))
    return Interval(up.lower - down.upper, up.upper - down.lower, level)


def sequential_interval(streams: Sequence[Stream], *, level: float = 0.95) -> Interval:
    """Return the interval of a weighted sum of means: where the joint capital has not reached its
    bound.
    """
    bound = math.log(1 / (1 - level))

    def capital(slope: float) -> float:
        return math.fsum(stream.log_capital(stream.share_at(slope)) for stream in streams)

    def end(sign: int) -> float:
        # The capital is convex in the slope: doubling finds a slope beyond the bound, and bisection
        # the slope at it.
        far = 1.0
        while far < _MOST and capital(sign * far) < bound:
            far *= 2
        near = 0.0
        for _ in range(100):
            middle = (near + far) / 2
            if middle in (near, far):
                break
            near, far = (near, middle) if capital(sign * middle) >= bound else (middle, far)
        return math.fsum(stream.weight * stream.share_at(sign * far) for stream in streams)

    return Interval(max(0.0, end(-1)), min(1.0, end(1)), level)


def sequential_rate(
    streams: Sequence[Stream], rows: int, *, level: float = 0.95, apart: Sequence[float] = ()
) -> Interval:
    """Like ``sequential_interval``, but for a population of rows, of which there are ``rows``.

    The rows are a sample too, which takes a tenth of the risk. ``apart``: values of rows outside of
    all streams; all others have the weights of the streams.
    """
    risk = 1 - level
    of_labels = sequential_interval(streams, level=1 - (1 - OF_ROWS) * risk)
    means = [(stream.weight, stream.mean if stream.mean is not None else 0.5) for stream in streams]
    means += [(1 / rows, value) for value in apart]
    value = math.fsum(weight * mean for weight, mean in means)
    spread = math.fsum(weight * (mean - value) ** 2 for weight, mean in means)
    reach = z_two_sided(1 - OF_ROWS * risk) * math.sqrt(spread / rows) if rows else 0.0
    # Rows outside of all streams are known, so they shift the interval and do not widen it, apart
    # from the sampling of rows.
    fixed_part = math.fsum(apart) / rows if apart else 0.0
    lower, upper = of_labels.lower + fixed_part - reach, of_labels.upper + fixed_part + reach
    return Interval(max(0.0, lower), min(1.0, upper), level)
