"""Rows that belong together (turns of one conversation, repeats of one prompt) say less than as many independent rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean

Clusters = Sequence[Hashable] | None
"""The cluster of each value, in the order of the values; None where the values are independent."""


def variance_of_mean(values: Sequence[float], clusters: Clusters = None) -> float:
    """The squared standard error of the mean; clustered (Miller 2024, with the factor G/(G-1)) where clusters are given.

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

    Values that are all equal do not show how alike a cluster is: then each cluster counts as one value.
    """
    units = count_units(values, clusters)
    if clusters is None or not values:
        return 1.0
    independent = variance_of_mean(values) if min(values) < max(values) else 0.0
    if independent == 0 or units < 2:
        return len(values) / units
    return max(1.0, variance_of_mean(values, clusters) / independent)
