"""Intervals of means and shares."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from adjudge.messages import Message
from adjudge.stats import FEWEST
from adjudge.stats.distributions import beta_quantile, z_two_sided
from adjudge.stats.mean_bounds import Units
from adjudge.stats.student import t_two_sided

Clusters = Sequence[Hashable] | None
"""The cluster of each value, in the order of the values; None if the values are independent."""


def variance_of_mean(values: Sequence[float], clusters: Clusters = None) -> float:
    """Return the squared standard error of the mean, clustered if clusters are given.

    Clustering follows Miller (2024), with the factor G/(G-1). Needs at least two values, or two
    clusters.
    """
    mean, count = fmean(values), len(values)
    units = cluster_sums([value - mean for value in values], clusters)
    # The sum of squared unit sums is the sandwich estimate: it stays right if rows of a unit are
    # alike. fsum keeps it independent of the order of the rows.
    return len(units) / (len(units) - 1) * math.fsum(unit * unit for unit in units) / count**2


def cluster_sums(values: Sequence[float], clusters: Clusters) -> Sequence[float]:
    """Return the sum of values per cluster; without clusters, the values themselves."""
    if clusters is None:
        return values
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    return list(sums.values())


def clusters_at(clusters: Clusters, places: Iterable[int]) -> list[Hashable] | None:
    """Return the clusters at these positions; None without clusters."""
    return None if clusters is None else [clusters[place] for place in places]


def count_units(values: Sized, clusters: Clusters) -> int:
    """Return the number of independent units: clusters, or values."""
    return len(values) if clusters is None else len(set(clusters))


def effective_units(values: Sequence[float], clusters: Clusters) -> int:
    """Return how many equal clusters would be as informative (Kish).

    There are fewer than actual clusters if a few clusters contain most values.
    """
    if clusters is None:
        return len(values)
    return max(1, int(len(values) ** 2 / sum(size**2 for size in Counter(clusters).values())))


def design_effect(values: Sequence[float], clusters: Clusters) -> float:
    """Return the factor, 1 or more, by which clusters increase the variance of the mean.

    It is the larger of what the clusters' sums show and of what their sizes and the likeness of
    values within clusters imply: large clusters that happen to lie near the mean say little about
    others. If all values are equal, they do not show how alike a cluster is, and a cluster counts
    as one value.
    """
    if clusters is None or not values:
        return 1.0
    sizes = Counter(clusters)
    # The mean size of a value's cluster: the worst case, in which a cluster holds one value.
    largest = sum(size**2 for size in sizes.values()) / len(values)
    independent = variance_of_mean(values) if min(values) < max(values) else 0.0
    if independent == 0 or len(sizes) < 2:
        return largest
    mean = fmean(values)
    total = _squares(values, mean)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    # Each cluster's sum is divided by its size, as analysis of variance does it: unequal sizes are
    # common (conversations, annotators), and large ones would dominate otherwise.
    between = math.fsum(
        cluster_sum * cluster_sum / sizes[cluster] for cluster, cluster_sum in sums.items()
    )
    alike = likeness(between, total, len(values), len(sizes), largest)
    observed = variance_of_mean(values, clusters) / independent
    # Kish's design effect, 1 + (m − 1) ρ, if it is larger.
    return max(1.0, observed, 1 + (largest - 1) * alike)


def likeness(between: float, total: float, count: int, units: int, largest: float) -> float:
    """Return the intraclass correlation, from 0 to 1, by analysis of variance.

    ``between`` and ``total`` are sums of squares, ``largest`` the mean size of a value's cluster.
    """
    if count <= units:
        return 0.0
    outside, inside = between / (units - 1), max(0.0, total - between) / (count - units)
    # The size that equal clusters would need for the same spread of cluster means.
    usual = (count - largest) / (units - 1)
    spread = outside + (usual - 1) * inside
    return min(1.0, max(0.0, (outside - inside) / spread)) if spread > 0 else 0.0


def units_of(values: Sequence[float], clusters: Clusters) -> Units:
    """Return the independent units: the clusters, or single values."""
    units = Units()
    if clusters is None:
        for value in values:
            units.add(value)
        return units
    members: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    for cluster_values in members.values():
        units.add(fmean(cluster_values), len(cluster_values))
    return units


@dataclass(frozen=True)
class Interval:
    """Limits of a true value at a level of confidence."""

    lower: float
    upper: float
    level: float = 0.95


def _widen_by_clusters(alone: Interval, values: Sequence[float], clusters: Clusters) -> Interval:
    """Widen ``alone``, the interval of independent values between 0 and 1, to the one with the
    cluster as the unit (:mod:`adjudge.stats.mean_bounds`).

    The likeness within clusters is not estimated: if nearly all values are equal, a sample hardly
    shows it. One more cluster that lies wholly at the end is assumed instead.
    """
    if clusters is None:
        return alone
    units, risk = units_of(values, clusters), (1 - alone.level) / 2
    return Interval(
        min(alone.lower, units.lower(0.0, risk)),
        max(alone.upper, units.upper(1.0, risk)),
        alone.level,
    )


def _check_scale(values: Sequence[float]) -> None:
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(Message("an interval of the mean is for values between 0 and 1"))


def mean_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """Return the interval of the mean of scores between 0 and 1: Student's, with one more value at
    each end, and a shift towards the skewed side.

    This allows for a rare bad score that was not sampled, and either limit misses no more often
    than ``(1 - level) / 2``. None below 8 values, or 8 clusters. ``benchmarks/coverage.py``
    measures it.
    """
    if count_units(values, clusters) < FEWEST:
        return None
    _check_scale(values)
    reach = t_two_sided(level, len(values))
    weight = _weight_of_unseen(len(values), reach, (1 - level) / 2)
    below, low = _with_one_more(values, 0.0, weight)
    above, high = _with_one_more(values, 1.0, weight)
    # Student's interval is symmetric, but the mean of skewed scores is not: it misses on the side
    # of the long tail. The shift is Johnson's correction, applied only where it widens.
    shift = _skew(values) * (1 + 2 * reach * reach) / (6 * len(values))
    alone = Interval(
        max(0.0, below - reach * low + min(0.0, shift)),
        min(1.0, above + reach * high + max(0.0, shift)),
        level,
    )
    return _widen_by_clusters(alone, values, clusters)


def _squares(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values)


def _skew(values: Sequence[float]) -> float:
    """Return the third moment divided by the variance; 0 if all values are equal."""
    mean = fmean(values)
    spread = _squares(values, mean)
    cubes = math.fsum((value - mean) ** 3 for value in values)
    return cubes / spread if spread > 1e-12 else 0.0


def _weight_of_unseen(count: int, reach: float, risk: float) -> float:
    """Return the weight of the extra value, at least 1.

    With it, equal values get the exact limit of a share that may have gone unseen.
    """
    unseen = count * (1 - risk ** (1 / count))
    # Chosen so that equal values reach exactly to the limit of a share that was not seen: the
    # solution of a quadratic equation in the square root of the weight.
    return max(1.0, (math.sqrt(reach * reach + 4 * unseen) - reach) / 2) ** 2


def _with_one_more(values: Sequence[float], end: float, weight: float) -> tuple[float, float]:
    """Return the mean and its standard error after adding a value with this weight at an end of the
    scale.
    """
    count = len(values) + weight
    mean = (math.fsum(values) + weight * end) / count
    # Divided by the number of values, not by the weight: the extra value adds spread, but it is no
    # observation, so it must not make the mean look better known.
    squares = _squares(values, mean) + weight * (end - mean) ** 2
    return mean, math.sqrt(squares / len(values) / count)


def interval_with_both_ends(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Return Student's interval of the mean with one 0 and one 1 added, for any number of
    values.
    """
    _check_scale(values)
    mean = fmean(values) if values else 0.5
    variance = _squares(values, mean) / max(1, len(values))
    alone = limits_with_both_ends(mean, variance, len(values), level=level)
    return _widen_by_clusters(alone, values, clusters)


def limits_with_both_ends(mean: float, variance: float, count: int, *, level: float) -> Interval:
    """Like ``interval_with_both_ends``, but for ``count`` values of this mean and variance."""
    total = count + 2
    middle = (count * mean + 1) / total
    squares = count * (variance + (mean - middle) ** 2) + middle**2 + (1 - middle) ** 2
    reach = t_two_sided(level, count + 1) * math.sqrt(squares / total / (total - 1))
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), level)


def rows_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """Return the interval of the mean of rows, for gates and headlines; None below 8 rows (or
    clusters).

    Passes and fails use :func:`share_interval`, scores :func:`mean_interval`: a gate at ``level``
    errs in no more than ``(1 - level) / 2`` of runs on either side.
    """
    if count_units(values, clusters) < FEWEST:
        return None
    interval = share_interval if set(values) <= {0, 1} else mean_interval
    return interval(values, level=level, clusters=clusters)


def scaled_interval(
    values: Sequence[float],
    scale: tuple[float, float],
    *,
    level: float = 0.95,
    clusters: Clusters = None,
) -> Interval | None:
    """Like :func:`rows_interval`, but on any scale; None also if a value is off the scale."""
    low, high = scale
    shares = [(value - low) / (high - low) for value in values]
    if not all(0 <= share <= 1 for share in shares):
        return None
    if (limits := rows_interval(shares, level=level, clusters=clusters)) is None:
        return None
    return Interval(low + limits.lower * (high - low), low + limits.upper * (high - low), level)


def interval_of_bounds(
    limits: Callable[[Sequence[float]], Interval | None],
    lows: Sequence[float],
    highs: Sequence[float],
) -> Interval | None:
    """Return the interval of a mean that holds for any values of rows without a score.

    ``lows`` and ``highs`` hold every value at its least and at its most; they differ only for rows
    without a score. The rows with ``lows`` are a sample of a mean that is no higher than the true
    one, so its lower limit is valid for the true mean, and likewise the upper limit of ``highs``.
    None if ``limits`` returns None.
    """
    # The two samples may differ in variance, so each limit comes from its own sample.
    lowest = limits(lows)
    highest = lowest if lows == highs else limits(highs)
    if lowest is None or highest is None:
        return None
    return Interval(lowest.lower, highest.upper, lowest.level)


def agresti_coull(share: float, of: float, critical: float, level: float) -> Interval:
    """Return Wilson's middle with the width of its own share: never narrower than Wilson's, and
    without its dips near 0 and 1.
    """
    count = of + critical**2
    # Adds z²/2 hits and z²/2 misses. Wilson's interval has the same middle, but its width dips
    # below what single rates near 0 and 1 need.
    middle = (share * of + critical**2 / 2) / count
    reach = critical * math.sqrt(middle * (1 - middle) / count)
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), level)


def _check_share(hits: float, of: float) -> None:
    if not 0 <= hits <= of or of == 0:
        raise ValueError(Message("{hits} of {of} is not a share", hits=hits, of=of))


def wilson(hits: float, of: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's interval of a share, which is valid for few cases and for shares near 0
    or 1.
    """
    _check_share(hits, of)
    z, share = z_two_sided(level), hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


def share_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Return :func:`share_limits` of zeros and ones, widened for clusters."""
    alone = share_limits(sum(values), len(values), level=level)
    return _widen_by_clusters(alone, values, clusters)


@lru_cache(maxsize=4096)
def share_limits(hits: float, of: float, *, level: float = 0.95) -> Interval:
    """Return on each side the wider limit of Clopper and Pearson's and of Agresti and Coull's.

    Each limit misses no more often than ``(1 - level) / 2``, and several of them joined by
    :func:`mover` hold where Wilson's dip (rates near 0 and 1). Both numbers may be fractions
    (dependent cases count less).
    """
    _check_share(hits, of)
    missed, risk = of - hits, (1 - level) / 2
    wide = agresti_coull(hits / of, of, z_two_sided(level), level)
    return Interval(
        # At 0 and at all hits the exact limit is the end of the scale itself. The quantile of a
        # beta distribution with a parameter of 0 is not defined.
        min(wide.lower, beta_quantile(risk, hits, missed + 1)) if hits > 0 else 0.0,
        max(wide.upper, beta_quantile(1 - risk, hits + 1, missed)) if missed > 0 else 1.0,
        level,
    )


def upper_limit(hits: int, of: int, *, risk: float) -> float:
    """Return Clopper and Pearson's upper limit: the true share exceeds it with probability at most
    ``risk``.
    """
    _check_share(hits, of)
    return 1.0 if hits == of else beta_quantile(1 - risk, hits + 1, of - hits)


def mover(
    parts: Iterable[tuple[float, float, Interval]],
    *,
    variance: float,
    level: float,
    dependence: float = 1.0,
) -> Interval:
    """Return the interval of a weighted sum from those of its parts (weight, mean, interval):
    Donner and Zou's MOVER.

    ``variance``: added by the weights themselves. ``dependence``: factor by which the variance of
    the sum exceeds that of its parts, if they are not independent.
    """
    total, below, above = 0.0, 0.0, 0.0
    for weight, mean, interval in parts:
        total += weight * mean
        # MOVER takes each part's own distance to its limits, so skewed parts keep their skew. A sum
        # of variances would lose it.
        below += (weight * (mean - interval.lower)) ** 2
        above += (weight * (interval.upper - mean)) ** 2
    # Rounding can make a variance of nearly 0 negative.
    spread = z_two_sided(level) ** 2 * max(0.0, variance)
    reach = math.sqrt(dependence * below + spread), math.sqrt(dependence * above + spread)
    return Interval(total - reach[0], total + reach[1], level)


def ratio_interval(first: tuple[float, Interval], second: tuple[float, Interval]) -> Interval:
    """Return the interval of a ratio of means from those of both (Donner and Zou's MOVER for
    ratios).

    Valid for means that do not vary against each other.
    """
    (numerator, limits), (denominator, below) = first, second
    product = numerator * denominator

    def end(mine: float, theirs: float, sign: int) -> float:
        scale = theirs * (2 * denominator - theirs)
        if scale <= 0:
            return 0.0 if sign < 0 else math.inf
        root = math.sqrt(max(0.0, product**2 - mine * (2 * numerator - mine) * scale))
        return max(0.0, (product + sign * root) / scale)

    return Interval(
        end(limits.lower, below.upper, -1), end(limits.upper, below.lower, 1), limits.level
    )
