"""Whether one run is better than another over the same rows: paired, clustered, and able to say "cannot tell"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, variance

from adjudge.stats import FEWEST
from adjudge.stats.distributions import bisect, sign_test, z_quantile, z_two_sided
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, count_units, design_effect, mean_with_ends, variance_of_mean
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus
from adjudge.stats.student import t_cdf, t_quantile

POWER = 0.8
"""How often the smallest detectable difference would be seen."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first run less the second one."""

    estimate: Estimate
    outcome: Outcome
    p_value: float | None
    """Of a difference as large as this between runs that are equally good; two-sided."""
    smallest: float | None
    """The smallest difference that as many rows as these would show in 80 % of comparisons."""
    units: int
    """Rows, or clusters of rows, that are independent."""


class Outcome(StrEnum):
    """What a comparison says of the first run."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


def compare(
    first: Sequence[float], second: Sequence[float], *, clusters: Clusters = None, level: float = 0.95, margin: float = 0.0
) -> Difference:
    """Compare two runs row by row: ``first`` and ``second`` hold the scores (0 to 1) of the same rows in the same order.

    The interval is Student's of the differences, with one difference at each end added (of passes and fails that is Bonett
    and Price's interval) and errors clustered. Passes and fails without clusters must also differ by McNemar's exact test.
    Better or worse is said only of differences that lie beyond ``margin`` with all of their interval.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    units = count_units(differences, clusters)
    if units < FEWEST:
        reason = f"{units} independent rows; {FEWEST} are the fewest that can be compared"
        mean = fmean(differences) if differences else None
        return Difference(Estimate(mean, None, None, units, "paired", level, reason), Outcome.CANNOT_TELL, None, None, units)
    mean, error, freedom = mean_with_ends(differences, _ends(differences), clusters)
    reach = t_quantile((1 + level) / 2, freedom) * error
    estimate = Estimate(fmean(differences), mean - reach, mean + reach, len(differences), "paired", level)
    binary = {*first, *second} <= {0, 1}
    exact = sign_test(differences.count(1), differences.count(-1)) if binary and clusters is None else None
    p_value = 2 * t_cdf(-abs(mean) / error, freedom) if exact is None else exact
    outcome = Outcome.CANNOT_TELL
    if exact is None or exact <= 1 - level:
        outcome = three_valued(Interval(mean - reach, mean + reach, level), margin)
    return Difference(estimate, outcome, p_value, _smallest(differences, clusters, binary, error, level), units)


def _ends(differences: Sequence[float]) -> tuple[float, float]:
    """As far apart as any difference seen; where none was seen, as far as any can be."""
    reach = max(abs(difference) for difference in differences)
    return (-1.0, 1.0) if math.isclose(reach, 0.0, abs_tol=1e-12) else (-reach, reach)


def three_valued(interval: Interval, margin: float = 0.0) -> Outcome:
    """Better or worse where the whole interval lies beyond the margin."""
    if interval.lower > margin:
        return Outcome.BETTER
    return Outcome.WORSE if interval.upper < -margin else Outcome.CANNOT_TELL


def _smallest(differences: Sequence[float], clusters: Clusters, binary: bool, error: float, level: float) -> float:
    if not binary:
        return smallest_detectable(error, level=level)
    worth = len(differences) / design_effect(differences, clusters)
    return smallest_detectable_share(fmean(map(abs, differences)), worth, level=level)


def smallest_detectable(error: float, *, level: float = 0.95, power: float = POWER) -> float:
    """The smallest difference that a comparison with this standard error shows with probability ``power``."""
    return (z_two_sided(level) + z_quantile(power)) * error


def smallest_detectable_share(discordant: float, rows: float, *, level: float = 0.95, power: float = POWER) -> float:
    """The same for passes and fails, from the share of rows on which the two runs differ (Connor 1987)."""

    def too_small(difference: float) -> bool:
        share = max(discordant, difference)
        reach = z_two_sided(level) * math.sqrt(share) + z_quantile(power) * math.sqrt(max(0.0, share - difference**2))
        return (reach / difference) ** 2 > rows

    return bisect(too_small, 0.0, 1.0)


def rows_to_show(difference: float, discordant: float, *, level: float = 0.95, power: float = POWER) -> int:
    """How many rows of passes and fails show a difference with probability ``power`` (Connor 1987)."""
    share = max(discordant, abs(difference))
    reach = z_two_sided(level) * math.sqrt(share) + z_quantile(power) * math.sqrt(max(0.0, share - difference**2))
    return math.ceil((reach / difference) ** 2)


@dataclass(frozen=True, slots=True)
class Pair:
    """One value of each run, for the same row."""

    first: float
    second: float

    @property
    def difference(self) -> float:
        """The first less the second."""
        return self.first - self.second


def corrected_difference(
    labels: Sequence[Pair],
    judged: Sequence[Pair],
    unlabelled: Sequence[Pair],
    *,
    level: float = 0.95,
    clusters: BothClusters = (None, None),
) -> Estimate:
    """The difference of two systems on the same rows, corrected by labels of both: PPI++ of the paired difference, with t.

    ``labels`` are what people said of the labelled rows and ``judged`` the verdicts beside them; ``unlabelled`` are the verdicts
    of the rows that have no labels.
    """
    series = ([pair.difference for pair in pairs] for pairs in (labels, judged, unlabelled))
    return ppi_plus_plus(*series, with_t=True, level=level, clusters=clusters)


@dataclass(frozen=True, slots=True)
class VoteNoise:
    """How much of the width comes from asking a model that does not always answer alike."""

    share: float | None
    """Of the variance of the mean; None with a reason where no row was asked twice."""
    half_width: float | None = None
    """As it is."""
    with_votes: dict[int, float] | None = None
    """As it would be with so many votes a row."""
    reason: str = ""


def vote_noise(votes: Sequence[Sequence[float]], *, level: float = 0.95, counts: Sequence[int] = (1, 3, 5, 10)) -> VoteNoise:
    """What more votes a row would gain; ``votes`` holds the values of the votes of each row.

    The variance of the mean is (variance between rows + variance within rows / votes) / rows.
    """
    asked = [row for row in votes if row]
    repeated = [row for row in asked if len(row) > 1]
    if len(asked) < 2 or not repeated:
        return VoteNoise(None, reason="no row was asked twice" if len(asked) > 1 else "fewer than two rows")
    within = fmean(variance(row) for row in repeated)
    total = variance_of_mean([fmean(row) for row in asked])
    noise = within * fmean(1 / len(row) for row in asked) / len(asked)
    if total == 0:
        return VoteNoise(None, 0.0, reason="all rows are alike")
    between = max(0.0, total - noise)
    critical = t_quantile((1 + level) / 2, len(asked) - 1)
    widths = {count: critical * math.sqrt(between + within / count / len(asked)) for count in counts}
    return VoteNoise(min(1.0, noise / total), critical * math.sqrt(total), widths)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that all of them together are wrong no more often than one alone (Holm)."""
    order, adjusted, highest = sorted(range(len(p_values)), key=p_values.__getitem__), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that of those called different no larger share is wrong (Benjamini and Hochberg)."""
    order, adjusted, lowest = sorted(range(len(p_values)), key=p_values.__getitem__), [0.0] * len(p_values), 1.0
    for rank in range(len(order), 0, -1):
        lowest = min(lowest, p_values[order[rank - 1]] * len(p_values) / rank)
        adjusted[order[rank - 1]] = lowest
    return adjusted


def labelled_difference(differences: Sequence[float], *, level: float = 0.95, clusters: Clusters = None) -> Estimate:
    """The difference by the labels alone, for comparison with the corrected one."""
    if count_units(differences, clusters) < 2:
        return undefined("labels only", len(differences), "fewer than two labels", level=level)
    mean, error, freedom = mean_with_ends(differences, _ends(differences), clusters)
    reach = t_quantile((1 + level) / 2, freedom) * error
    return Estimate(fmean(differences), mean - reach, mean + reach, len(differences), "labels only", level)
