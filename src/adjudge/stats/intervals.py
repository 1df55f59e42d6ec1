"""How sure a mean or a share is, from the values alone."""

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
"""The cluster of each value, in the order of the values; None where the values are independent."""


def variance_of_mean(values: Sequence[float], clusters: Clusters = None) -> float:
    """The squared standard error of the mean; clustered (Miller 2024, with the factor G/(G-1))
    where clusters are given.

    Two values, or two clusters, are the least it can be computed of.
    """
    mean, count = fmean(values), len(values)
    units = cluster_sums([value - mean for value in values], clusters)
    return len(units) / (len(units) - 1) * math.fsum(unit * unit for unit in units) / count**2


def cluster_sums(values: Sequence[float], clusters: Clusters) -> Sequence[float]:
    """The sum of the values of each cluster; without clusters each value is one."""
    if clusters is None:
        return values
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    return list(sums.values())


def clusters_at(clusters: Clusters, places: Iterable[int]) -> list[Hashable] | None:
    """The clusters of the values at these places."""
    return None if clusters is None else [clusters[place] for place in places]


def count_units(values: Sized, clusters: Clusters) -> int:
    """How many independent things the values come from."""
    return len(values) if clusters is None else len(set(clusters))


def effective_units(values: Sequence[float], clusters: Clusters) -> int:
    """How many clusters of one size would say as much (Kish): fewer than there are, where a few of
    them hold most of the values.
    """
    if clusters is None:
        return len(values)
    return max(1, int(len(values) ** 2 / sum(size**2 for size in Counter(clusters).values())))


def design_effect(values: Sequence[float], clusters: Clusters) -> float:
    """How many times larger the clusters make the variance of the mean: 1 or more.

    It is the larger one of what the clusters' sums show and of what their sizes make of how alike
    the values of a cluster are: large clusters that happen to lie near the mean say little of
    others. Values that are all equal do not show how alike a cluster is: then a cluster counts as
    one value.
    """
    if clusters is None or not values:
        return 1.0
    sizes = Counter(clusters)
    largest = sum(size**2 for size in sizes.values()) / len(values)
    independent = variance_of_mean(values) if min(values) < max(values) else 0.0
    if independent == 0 or len(sizes) < 2:
        return largest
    mean = fmean(values)
    total = _squares(values, mean)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    between = math.fsum(own * own / sizes[cluster] for cluster, own in sums.items())
    alike = likeness(between, total, len(values), len(sizes), largest)
    shown = variance_of_mean(values, clusters) / independent
    return max(1.0, shown, 1 + (largest - 1) * alike)


def likeness(between: float, total: float, count: int, units: int, largest: float) -> float:
    """The correlation of two values of one cluster, from 0 to 1, by the analysis of variance:
    ``between`` and ``total`` are sums of squares, ``largest`` the mean size of a value's cluster.
    """
    if count <= units:
        return 0.0
    outside, inside = between / (units - 1), max(0.0, total - between) / (count - units)
    usual = (count - largest) / (units - 1)
    spread = outside + (usual - 1) * inside
    return min(1.0, max(0.0, (outside - inside) / spread)) if spread > 0 else 0.0


def units_of(values: Sequence[float], clusters: Clusters) -> Units:
    """Return the independent units of the values: the clusters, or each value."""
    units = Units()
    if clusters is None:
        for value in values:
            units.add(value)
        return units
    members: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    for own in members.values():
        units.add(fmean(own), len(own))
    return units


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, with a certain confidence."""

    lower: float
    upper: float
    level: float = 0.95


def _widened_by_clusters(alone: Interval, values: Sequence[float], clusters: Clusters) -> Interval:
    """``alone``, the interval of independent values between 0 and 1, widened on each side to the
    one that has the cluster as the unit (:mod:`adjudge.stats.mean_bounds`).

    How alike the values of a cluster are is not estimated: if nearly all values are equal, a sample
    hardly shows it. One more cluster that lies wholly at the end is reckoned with instead.
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
    """The interval of the mean of scores between 0 and 1: Student's, each limit with one more value
    at the end it looks at, and moved further out on the side that the values are skewed to.

    So a rare bad score that was not among good ones is reckoned with, and either limit misses no
    more often than ``(1 - level) / 2``. None below 8 values, or 8 clusters if ``clusters`` says
    which values belong together. ``benchmarks/coverage.py`` measures it.
    """
    if count_units(values, clusters) < FEWEST:
        return None
    _check_scale(values)
    reach = t_two_sided(level, len(values))
    weight = _weight_of_unseen(len(values), reach, (1 - level) / 2)
    below, low = _with_one_more(values, 0.0, weight)
    above, high = _with_one_more(values, 1.0, weight)
    shift = _skew(values) * (1 + 2 * reach * reach) / (6 * len(values))
    alone = Interval(
        max(0.0, below - reach * low + min(0.0, shift)),
        min(1.0, above + reach * high + max(0.0, shift)),
        level,
    )
    return _widened_by_clusters(alone, values, clusters)


def _squares(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values)


def _skew(values: Sequence[float]) -> float:
    """The third moment over the variance; 0 where all values are equal."""
    mean = fmean(values)
    spread = _squares(values, mean)
    cubes = math.fsum((value - mean) ** 3 for value in values)
    return cubes / spread if spread > 1e-12 else 0.0


def _weight_of_unseen(count: int, reach: float, risk: float) -> float:
    """How much the one more value counts, 1 or more: as much as moves the limit of equal values to
    the exact one of a share that may have gone unseen.
    """
    unseen = count * (1 - risk ** (1 / count))
    return max(1.0, (math.sqrt(reach * reach + 4 * unseen) - reach) / 2) ** 2


def _with_one_more(values: Sequence[float], end: float, weight: float) -> tuple[float, float]:
    """The mean of the values and of one more at an end of the scale that counts as ``weight``, and
    its standard error.
    """
    count = len(values) + weight
    mean = (math.fsum(values) + weight * end) / count
    squares = _squares(values, mean) + weight * (end - mean) ** 2
    return mean, math.sqrt(squares / len(values) / count)


def interval_with_both_ends(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Student's interval of the mean with one 0 and one 1 added: for any number of values, as a
    part of an estimate needs.
    """
    _check_scale(values)
    mean = fmean(values) if values else 0.5
    variance = _squares(values, mean) / max(1, len(values))
    alone = limits_with_both_ends(mean, variance, len(values), level=level)
    return _widened_by_clusters(alone, values, clusters)


def limits_with_both_ends(mean: float, variance: float, count: int, *, level: float) -> Interval:
    """Like interval_with_both_ends, but for ``count`` values of this mean and variance."""
    total = count + 2
    middle = (count * mean + 1) / total
    squares = count * (variance + (mean - middle) ** 2) + middle**2 + (1 - middle) ** 2
    reach = t_two_sided(level, count + 1) * math.sqrt(squares / total / (total - 1))
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), level)


def rows_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """The interval of the mean of rows, for gates and headlines alike: None below 8 rows (or
    clusters).

    Of passes and fails it is :func:`share_interval`, of scores :func:`mean_interval`: a gate at
    ``level`` errs in no more than ``(1 - level) / 2`` of runs on either side.
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
    """Like :func:`rows_interval`, but for values on any scale; None also if one is outside it."""
    low, high = scale
    shares = [(value - low) / (high - low) for value in values]
    if not all(0 <= share <= 1 for share in shares):
        return None
    if (found := rows_interval(shares, level=level, clusters=clusters)) is None:
        return None
    return Interval(low + found.lower * (high - low), low + found.upper * (high - low), level)


def interval_of_bounds(
    limits: Callable[[Sequence[float]], Interval | None],
    lows: Sequence[float],
    highs: Sequence[float],
) -> Interval | None:
    """Return the interval of a mean that holds whatever the values without a score are.

    ``lows`` and ``highs`` hold every value at its least and at its most; they differ only for rows
    without a score. The rows with ``lows`` are a sample of a mean that is no higher than the true
    one, so its lower limit is one of the true mean, and likewise the upper limit of ``highs``.
    None if ``limits`` gives none.
    """
    lowest = limits(lows)
    highest = lowest if lows == highs else limits(highs)
    if lowest is None or highest is None:
        return None
    return Interval(lowest.lower, highest.upper, lowest.level)


def agresti_coull(share: float, of: float, critical: float, level: float) -> Interval:
    """Wilson's middle with the width of its own share: never narrower than Wilson's, and without
    his dips near 0 and 1.
    """
    count = of + critical**2
    middle = (share * of + critical**2 / 2) / count
    reach = critical * math.sqrt(middle * (1 - middle) / count)
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), level)


def _check_share(hits: float, of: float) -> None:
    if not 0 <= hits <= of or of == 0:
        raise ValueError(Message("{hits} of {of} is not a share", hits=hits, of=of))


def wilson(hits: float, of: float, *, level: float = 0.95) -> Interval:
    """Wilson's interval of a share: holds for few cases and for shares near 0 or 1 too."""
    _check_share(hits, of)
    z, share = z_two_sided(level), hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


def share_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """:func:`share_limits` of zeros and ones, widened if they belong together in clusters."""
    alone = share_limits(sum(values), len(values), level=level)
    return _widened_by_clusters(alone, values, clusters)


@lru_cache(maxsize=4096)
def share_limits(hits: float, of: float, *, level: float = 0.95) -> Interval:
    """On each side the wider one of Clopper and Pearson's exact limit and Agresti and Coull's.

    Each limit misses no more often than ``(1 - level) / 2``, and several of them joined by
    :func:`mover` hold where Wilson's dip (rates near 0 and 1). Both numbers may be fractions (cases
    that count less because they belong together).
    """
    _check_share(hits, of)
    missed, risk = of - hits, (1 - level) / 2
    wide = agresti_coull(hits / of, of, z_two_sided(level), level)
    return Interval(
        min(wide.lower, beta_quantile(risk, hits, missed + 1)) if hits > 0 else 0.0,
        max(wide.upper, beta_quantile(1 - risk, hits + 1, missed)) if missed > 0 else 1.0,
        level,
    )


def upper_limit(hits: int, of: int, *, risk: float) -> float:
    """Clopper and Pearson's upper limit of a share: the true one lies above it with probability
    ``risk`` at most.
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
    """The interval of a weighted sum from the intervals of its parts (weight, mean, interval):
    Donner and Zou's MOVER.

    ``variance`` is what the weights themselves add; ``dependence`` how much larger the variance of
    the sum is than that of its parts, where they are not independent.
    """
    total, below, above = 0.0, 0.0, 0.0
    for weight, mean, interval in parts:
        total += weight * mean
        below += (weight * (mean - interval.lower)) ** 2
        above += (weight * (interval.upper - mean)) ** 2
    spread = z_two_sided(level) ** 2 * max(0.0, variance)
    reach = math.sqrt(dependence * below + spread), math.sqrt(dependence * above + spread)
    return Interval(total - reach[0], total + reach[1], level)


def ratio_interval(first: tuple[float, Interval], second: tuple[float, Interval]) -> Interval:
    """The interval of one mean over another from the intervals of both (Donner and Zou's MOVER for
    ratios): valid for means that do not vary against each other.
    """
    (one, limits), (other, below) = first, second
    product = one * other

    def end(mine: float, theirs: float, sign: int) -> float:
        scale = theirs * (2 * other - theirs)
        if scale <= 0:
            return 0.0 if sign < 0 else math.inf
        root = math.sqrt(max(0.0, product**2 - mine * (2 * one - mine) * scale))
        return max(0.0, (product + sign * root) / scale)

    return Interval(
        end(limits.lower, below.upper, -1), end(limits.upper, below.lower, 1), limits.level
    )
