"""Whether one run is better than another over the same rows: paired, clustered, and able to say
"cannot tell".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from adjudge.messages import Message
from adjudge.stats import FEWEST
from adjudge.stats.distributions import bisect, sign_test, z_quantile, z_two_sided
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, count_units, likeness, mean_with_ends
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus
from adjudge.stats.sequence import ClusterSizes, sequential_difference
from adjudge.stats.student import t_cdf, t_two_sided

POWER = 0.8
"""How often the smallest detectable difference would be seen."""
ENDS = (-1.0, 1.0)
"""How far two scores between 0 and 1 can lie apart."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first run less the second one."""

    estimate: Estimate
    outcome: ComparisonOutcome
    p_value: float | None
    """Of a difference as large as this between runs that are equally good; two-sided."""
    smallest: float | None
    """The smallest difference that as many rows as these would show in 80% of comparisons."""
    units: int
    """Rows, or clusters of rows, that are independent."""
    freedom: int = 0
    """The degrees of freedom behind the limits; 0 where there are none."""


class ComparisonOutcome(StrEnum):
    """What a comparison says of the first run."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


@dataclass
class PairedScores:
    """The scores of two runs for the same rows, taken unit by unit: rows that are independent, or
    clusters of rows.

    Sums alone are kept, so that there may be any number of rows.
    """

    rows: int = 0
    units: int = 0
    first: float = 0.0
    """The sum of the scores of the first run."""
    second: float = 0.0
    squares: float = 0.0
    """Of the differences, first less second; so are those below."""
    sizes: float = 0.0
    """The sum of units' rows, squared."""
    sums: float = 0.0
    """The sum of units' sums, squared."""
    products: float = 0.0
    """The sum of units' rows times their sums."""
    between: float = 0.0
    """The sum of units' sums, squared, over their rows."""
    gains: int = 0
    losses: int = 0
    rises: float = 0.0
    """The sum of units' sums above 0, and (``falls``) of those below."""
    falls: float = 0.0
    largest: int = 0
    """The rows of the largest unit."""
    least: float = math.inf
    most: float = -math.inf
    binary: bool = True
    """Whether all scores are passes and fails."""

    def add(self, unit: Iterable[tuple[float, float]]) -> None:
        """The rows of one more unit: the score of the first run and of the second one."""
        count, total = 0, 0.0
        for one, two in unit:
            difference = one - two
            count += 1
            total += difference
            self.first += one
            self.second += two
            self.squares += difference * difference
            self.least, self.most = min(self.least, difference), max(self.most, difference)
            self.gains += difference > 0
            self.losses += difference < 0
            self.binary = self.binary and one in (0, 1) and two in (0, 1)
        if not count:
            return
        self.rows += count
        self.units += 1
        self.rises += max(0.0, total)
        self.falls += max(0.0, -total)
        self.largest = max(self.largest, count)
        self.sizes += count * count
        self.sums += total * total
        self.products += count * total
        self.between += total * total / count

    @property
    def mean(self) -> float | None:
        return (self.first - self.second) / self.rows if self.rows else None

    def compared(
        self, *, clustered: bool, level: float = 0.95, margin: float = 0.0, reach: float = 1.0
    ) -> Difference:
        """What ``compare`` says of them. ``clustered``: whether units may be several rows;
        ``reach``: how far two scores can lie apart.
        """
        mean, units = self.mean, self.units
        if mean is None or units < FEWEST:
            reason = Message(
                "{rows} independent rows; {least} are the fewest that can be compared",
                rows=units,
                least=FEWEST,
            )
            return Difference(
                Estimate(mean, None, None, self.rows, "paired", level, reason),
                ComparisonOutcome.CANNOT_TELL,
                None,
                None,
                units,
            )
        worth = self.rows / self._design_effect(mean, clustered=clustered)
        middle, error = self._with_ends(mean, worth, reach)
        freedom = (max(1, int(self.rows**2 / self.sizes)) if clustered else units) + 1
        half = t_two_sided(level, freedom) * error
        estimate = Estimate(mean, middle - half, middle + half, self.rows, "paired", level)
        exact = sign_test(self.gains, self.losses) if self.binary and not clustered else None
        p_value = 2 * t_cdf(-abs(middle) / error, freedom) if exact is None else exact
        outcome = ComparisonOutcome.CANNOT_TELL
        if exact is None or exact <= 1 - level:
            outcome = three_valued(Interval(middle - half, middle + half, level), margin)
        smallest = (
            smallest_detectable_share((self.gains + self.losses) / self.rows, worth, level=level)
            if self.binary
            else smallest_detectable(error, level=level)
        )
        return Difference(estimate, outcome, p_value, smallest, units, freedom)

    def looked_at_often(
        self, *, level: float, margin: float = 0.0, reach: float = 1.0
    ) -> Difference:
        """The same with limits that hold at every look while rows are added, of any number of them;
        there is no p-value.
        """
        mean = self.mean
        if mean is None:
            return self.compared(clustered=False, level=level, reach=reach)
        found = sequential_difference(
            self.rises / reach,
            self.falls / reach,
            self.rows,
            level=level,
            clusters=ClusterSizes(self.rows, self.units, self.largest),
        )
        limits = Interval(reach * found.lower, reach * found.upper, level)
        method = Message("paired, sequential")
        estimate = Estimate(mean, limits.lower, limits.upper, self.rows, method, level)
        return Difference(estimate, three_valued(limits, margin), None, None, self.units)

    def _design_effect(self, mean: float, *, clustered: bool) -> float:
        """As :func:`adjudge.stats.intervals.design_effect` has it."""
        if not clustered:
            return 1.0
        independent = (
            (self.squares - self.rows * mean**2) / (self.rows - 1) / self.rows
            if self.least < self.most
            else 0.0
        )
        largest = self.sizes / self.rows
        if independent <= 0:
            return largest
        squares = self.sums - 2 * mean * self.products + mean**2 * self.sizes
        shown = self.units / (self.units - 1) * squares / self.rows**2 / independent
        center = self.rows * mean**2
        alike = likeness(
            self.between - center, self.squares - center, self.rows, self.units, largest
        )
        return max(1.0, shown, 1 + (largest - 1) * alike)

    def _with_ends(self, mean: float, worth: float, reach: float) -> tuple[float, float]:
        """The mean with one more difference at each end, and its standard error."""
        reach, count = max(reach, -self.least, self.most), worth + 2
        middle = worth * mean / count
        squares = (
            worth
            / self.rows
            * (self.squares - 2 * middle * mean * self.rows + self.rows * middle**2)
        )
        return middle, math.sqrt(
            (squares + (reach - middle) ** 2 + (reach + middle) ** 2) / (count - 1) / count
        )


def compare(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Clusters = None,
    level: float = 0.95,
    margin: float = 0.0,
) -> Difference:
    """Compare two runs row by row: ``first`` and ``second`` hold the scores (0 to 1) of the same
    rows in the same order.

    The interval is Student's of the differences, with one difference at each end of what there can
    be added (of passes and fails that is Bonett and Price's interval) and errors clustered: a jump
    that few rows would make may not have been among them. Passes and fails without
    clusters must also differ by McNemar's exact test. Better or worse is said only of differences
    that lie beyond ``margin`` with all of their interval.
    """
    units: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for place, pair in enumerate(zip(first, second, strict=True)):
        units[place if clusters is None else clusters[place]].append(pair)
    scores = PairedScores()
    for unit in units.values():
        scores.add(unit)
    return scores.compared(clustered=clusters is not None, level=level, margin=margin)


def three_valued(interval: Interval, margin: float) -> ComparisonOutcome:
    """Better or worse where the whole interval lies beyond the margin."""
    if interval.lower > margin:
        return ComparisonOutcome.BETTER
    return ComparisonOutcome.WORSE if interval.upper < -margin else ComparisonOutcome.CANNOT_TELL


def smallest_detectable(error: float, *, level: float = 0.95) -> float:
    """The smallest difference that a comparison with this standard error shows with probability
    ``POWER``.
    """
    return (z_two_sided(level) + z_quantile(POWER)) * error


def smallest_detectable_share(discordant: float, rows: float, *, level: float = 0.95) -> float:
    """The same for passes and fails, from the share of rows on which the two runs differ (Connor
    1987).
    """

    def too_small(difference: float) -> bool:
        share = max(discordant, difference)
        rest = math.sqrt(max(0.0, share - difference**2))
        reach = z_two_sided(level) * math.sqrt(share) + z_quantile(POWER) * rest
        return (reach / difference) ** 2 > rows

    return bisect(too_small)


def corrected_difference(
    labels: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    level: float = 0.95,
    clusters: BothClusters = (None, None),
) -> Estimate:
    """The difference of two systems on the same rows, corrected by labels of both: PPI++ of the
    paired difference, with t.

    All are differences, the first system less the second: ``labels`` what people said of the
    labelled rows, ``judged`` what the judge says beside them, ``unlabelled`` what it says of the
    rows that have no labels; all lie between -1 and 1. As in ``compare`` one more difference at
    each end is reckoned with, so that no interval has width zero and none is withheld because few
    labels differ. Where hardly a row is without a label, the labels alone are the answer.
    """
    if len(unlabelled) < 2 or count_units(labels, clusters[0]) < 2:
        return labelled_difference(labels, level=level, clusters=clusters[0])
    return ppi_plus_plus(
        labels, judged, unlabelled, with_t=True, level=level, clusters=clusters, ends=ENDS
    )


@dataclass(frozen=True, slots=True)
class VoteNoise:
    """How much of the width comes from asking a model that does not always answer alike."""

    share: float
    """Of the variance of the mean."""
    half_width: float
    with_votes: dict[int, float]
    """As it would be with so many votes a row."""


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that all of them together are wrong no more often
    than one alone (Holm).
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def labelled_difference(
    differences: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Estimate:
    """The difference by the labels alone, for comparison with the corrected one."""
    if count_units(differences, clusters) < 2:
        return undefined(
            Message("labels only"), len(differences), Message("fewer than two labels"), level=level
        )
    mean, error, freedom = mean_with_ends(differences, ENDS, clusters)
    reach = t_two_sided(level, freedom) * error
    return Estimate(
        fmean(differences),
        mean - reach,
        mean + reach,
        len(differences),
        Message("labels only"),
        level,
    )
