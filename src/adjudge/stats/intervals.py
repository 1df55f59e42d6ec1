"""How sure a mean or a share is, from the values alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.messages import Message
from adjudge.stats import FEWEST
from adjudge.stats.distributions import beta_quantile, z_two_sided
from adjudge.stats.student import t_quantile

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


def count_units(values: Sequence[float], clusters: Clusters) -> int:
    """How many independent things the values come from."""
    return len(values) if clusters is None else len(set(clusters))


def design_effect(values: Sequence[float], clusters: Clusters) -> float:
    """How many times larger the clusters make the variance of the mean: 1 or more.

    Values that are all equal do not show how alike a cluster is: then each cluster counts as one
    value.
    """
    units = count_units(values, clusters)
    if clusters is None or not values:
        return 1.0
    independent = variance_of_mean(values) if min(values) < max(values) else 0.0
    if independent == 0 or units < 2:
        return len(values) / units
    return max(1.0, variance_of_mean(values, clusters) / independent)


PART_OF_END = 0.6
"""How much of a value at the far end of the scale a limit is computed with. Measured from 0.3 to 1
over scores with and without a rare 0: with less a rare 0 is missed in more than one sample of ten,
with more evenly spread scores have limits that nearly always hold.
"""


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, with a certain confidence."""

    lower: float
    upper: float
    level: float = 0.95


def mean_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """The interval of the mean of scores between 0 and 1: Student's, each limit with a part of the
    end it looks at added.

    The lower limit is that of the values and a part of a 0, the upper one that of the values and a
    part of a 1; the part is larger the further that end lies from the mean. So a rare bad score
    that was not among good ones is reckoned with, and scores that are spread over the scale have
    nearly Student's own interval. The limit that looks at the nearer end takes over the risk that
    the other one leaves (:func:`_near_risk`). None below 8 values, or 8 clusters where ``clusters``
    says which values belong together. ``benchmarks/intervals.py`` and ``benchmarks/coverage.py``
    measure it.
    """
    units = count_units(values, clusters)
    if units < FEWEST:
        return None
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(Message("an interval of the mean is for values between 0 and 1"))
    mean, risk = fmean(values), (1 - level) / 2
    near = _near_risk(risk, mean, units)
    below, low = _with_part_of(values, 0.0, PART_OF_END * mean, clusters)
    above, high = _with_part_of(values, 1.0, PART_OF_END * (1 - mean), clusters)
    down = t_quantile(1 - (near if mean < 0.5 else risk), units - 1)
    up = t_quantile(1 - (near if mean > 0.5 else risk), units - 1)
    return Interval(max(0.0, below - down * low), min(1.0, above + up * high), level)


def _near_risk(risk: float, mean: float, units: int) -> float:
    """How often the limit at the nearer end of the scale may miss: up to twice as often where the
    other one hardly does.

    Of few rows whose mean lies towards one end, the limit that reckons with the far end practically
    always holds. Without this the interval of good scores would hold in more than 99 of 100
    samples, and be too wide by that. It fades as rows are added.
    """
    return risk * (1 + FEWEST / units * min(1.0, 4 * abs(2 * mean - 1)))


def _with_part_of(
    values: Sequence[float], end: float, part: float, clusters: Clusters
) -> tuple[float, float]:
    """The mean of the values and a part of one more at an end of the scale, and
    its standard error.
    """
    worth = len(values) / design_effect(values, clusters)
    count = worth + part
    mean = (worth * fmean(values) + part * end) / count
    squares = (
        worth / len(values) * math.fsum((value - mean) ** 2 for value in values)
        + part * (end - mean) ** 2
    )
    return mean, math.sqrt(squares / (count - 1) / count)


def interval_with_both_ends(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Student's interval of the mean with one 0 and one 1 added: for any number of values, as a
    part of an estimate needs.
    """
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(Message("an interval of the mean is for values between 0 and 1"))
    mean, error, freedom = mean_with_ends(values, (0.0, 1.0), clusters)
    reach = t_quantile((1 + level) / 2, freedom) * error
    return Interval(max(0.0, mean - reach), min(1.0, mean + reach), level)


def mean_with_ends(
    values: Sequence[float], ends: tuple[float, float], clusters: Clusters = None
) -> tuple[float, float, int]:
    """The mean of the values and one more at each end, its standard error, and the degrees of
    freedom.
    """
    worth = len(values) / design_effect(values, clusters)
    count = worth + 2
    mean = (worth * fmean(values) + math.fsum(ends)) / count
    squares = worth / len(values) * math.fsum((value - mean) ** 2 for value in values)
    squares += math.fsum((end - mean) ** 2 for end in ends)
    return mean, math.sqrt(squares / (count - 1) / count), count_units(values, clusters) + 1


def rows_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval | None:
    """The interval of the mean of rows, for gates and headlines alike: None below 8 rows (or
    clusters).

    Of passes and fails it is Agresti and Coull's, which holds the true rate in 92 to 99 % of
    samples of 8 to 25 rows (``benchmarks/coverage.py``); of scores it is :func:`mean_interval`.
    """
    if count_units(values, clusters) < FEWEST:
        return None
    if not set(values) <= {0, 1}:
        return mean_interval(values, level=level, clusters=clusters)
    worth, units = len(values) / design_effect(values, clusters), count_units(values, clusters)
    critical = z_two_sided(level) if clusters is None else t_quantile((1 + level) / 2, units - 1)
    return agresti_coull(fmean(values), worth, critical, level)


def agresti_coull(share: float, of: float, critical: float, level: float = 0.95) -> Interval:
    """Wilson's middle with the width of its own share: never narrower than Wilson's, and without
    his dips near 0 and 1.
    """
    count = of + critical**2
    middle = (share * of + critical**2 / 2) / count
    reach = critical * math.sqrt(middle * (1 - middle) / count)
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), level)


def wilson(
    hits: float, of: float, *, level: float = 0.95, critical: float | None = None
) -> Interval:
    """Wilson's interval of a share: holds for few cases and for shares near 0 or 1 too.

    Both numbers may be fractions (cases that count less because they belong together); ``critical``
    then stands in for the normal quantile.
    """
    if not 0 <= hits <= of or of == 0:
        raise ValueError(Message("{hits} of {of} is not a share", hits=hits, of=of))
    z, share = critical or z_two_sided(level), hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


def share_interval(
    values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Wilson's interval of a share of zeros and ones; clusters shrink the count and take Student's
    quantile (G-1).
    """
    if clusters is None:
        return wilson(sum(values), len(values), level=level)
    worth, units = len(values) / design_effect(values, clusters), count_units(values, clusters)
    critical = t_quantile((1 + level) / 2, max(1, units - 1))
    return wilson(min(1.0, fmean(values)) * worth, worth, level=level, critical=critical)


def upper_limit(hits: int, of: int, *, risk: float) -> float:
    """Clopper and Pearson's upper limit of a share: the true one lies above it with probability
    ``risk`` at most.
    """
    if not 0 <= hits <= of or of == 0:
        raise ValueError(Message("{hits} of {of} is not a share", hits=hits, of=of))
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
