"""How sure a mean or a share is, from the values alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from adjudge.messages import Message
from adjudge.stats import FEWEST
from adjudge.stats.distributions import beta_quantile, z_two_sided
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


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, with a certain confidence."""

    lower: float
    upper: float
    level: float = 0.95


def mean_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """The interval of the mean of scores between 0 and 1: Student's, each limit with one more value
    at the end it looks at, and moved further out on the side that the values are skewed to.

    So a rare bad score that was not among good ones is reckoned with, and either limit misses no
    oftener than ``(1 - level) / 2``. None below 8 values, or 8 clusters where ``clusters`` says
    which values belong together. ``benchmarks/coverage.py`` measures it.
    """
    units = count_units(values, clusters)
    if units < FEWEST:
        return None
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(Message("an interval of the mean is for values between 0 and 1"))
    worth = len(values) / design_effect(values, clusters)
    reach = t_two_sided(level, effective_units(values, clusters))
    weight = _weight_of_unseen(worth, reach, (1 - level) / 2)
    below, low = _with_one_more(values, 0.0, worth, weight)
    above, high = _with_one_more(values, 1.0, worth, weight)
    shift = _skew(values) * (1 + 2 * reach * reach) / (6 * worth)
    return Interval(
        max(0.0, below - reach * low + min(0.0, shift)),
        min(1.0, above + reach * high + max(0.0, shift)),
        level,
    )


def _squares(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values)


def _skew(values: Sequence[float]) -> float:
    """The third moment over the variance; 0 where all values are equal."""
    mean = fmean(values)
    spread = _squares(values, mean)
    cubes = math.fsum((value - mean) ** 3 for value in values)
    return cubes / spread if spread > 1e-12 else 0.0


def _weight_of_unseen(worth: float, reach: float, risk: float) -> float:
    """How much the one more value counts, 1 or more: as much as moves the limit of equal values to
    the exact one of a share that may have gone unseen.
    """
    unseen = worth * (1 - risk ** (1 / worth))
    return max(1.0, (math.sqrt(reach * reach + 4 * unseen) - reach) / 2) ** 2


def _with_one_more(
    values: Sequence[float], end: float, worth: float, weight: float
) -> tuple[float, float]:
    """The mean of values that count as ``worth`` and of one more at an end of the scale that counts
    as ``weight``, and its standard error.
    """
    count = worth + weight
    mean = (worth * fmean(values) + weight * end) / count
    squares = worth / len(values) * _squares(values, mean)
    return mean, math.sqrt((squares + weight * (end - mean) ** 2) / worth / count)


def interval_with_both_ends(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Student's interval of the mean with one 0 and one 1 added: for any number of values, as a
    part of an estimate needs.
    """
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(Message("an interval of the mean is for values between 0 and 1"))
    mean, error, freedom = mean_with_ends(values, (0.0, 1.0), clusters)
    reach = t_two_sided(level, freedom) * error
    return Interval(max(0.0, mean - reach), min(1.0, mean + reach), level)


def mean_with_ends(
    values: Sequence[float], ends: tuple[float, float], clusters: Clusters
) -> tuple[float, float, int]:
    """The mean of the values and one more at each end, its standard error, and the degrees of
    freedom.
    """
    worth = len(values) / design_effect(values, clusters)
    count = worth + 2
    mean = (worth * fmean(values) + math.fsum(ends)) / count
    squares = worth / len(values) * _squares(values, mean)
    squares += math.fsum((end - mean) ** 2 for end in ends)
    return mean, math.sqrt(squares / (count - 1) / count), effective_units(values, clusters) + 1


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
    """:func:`share_limits` of zeros and ones; clusters shrink the count and take Student's
    quantile.
    """
    if clusters is None:
        return share_limits(sum(values), len(values), level=level)
    worth = len(values) / design_effect(values, clusters)
    critical = t_two_sided(level, max(1, effective_units(values, clusters) - 1))
    return share_limits(min(1.0, fmean(values)) * worth, worth, level=level, critical=critical)


@lru_cache(maxsize=4096)
def share_limits(
    hits: float, of: float, *, level: float = 0.95, critical: float | None = None
) -> Interval:
    """On each side the wider one of Clopper and Pearson's exact limit and Agresti and Coull's.

    Each limit by itself misses no oftener than ``(1 - level) / 2``, and several of them joined by
    :func:`mover` hold where Wilson's dip (rates near 0 and 1). Both numbers may be fractions (cases
    that count less because they belong together); ``critical`` then stands in for the normal
    quantile.
    """
    _check_share(hits, of)
    normal, risk = z_two_sided(level), (1 - level) / 2
    quantile = critical or normal
    wide = agresti_coull(hits / of, of, quantile, level)
    shrink = (normal / quantile) ** 2
    hit, missed = hits * shrink, (of - hits) * shrink
    return Interval(
        min(wide.lower, beta_quantile(risk, hit, missed + 1)) if hit > 0 else 0.0,
        max(wide.upper, beta_quantile(1 - risk, hit + 1, missed)) if missed > 0 else 1.0,
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
