"""Whether one run is better than another over the same rows: paired, clustered, and able to say
"cannot tell".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from adjudge.messages import Message, plural
from adjudge.stats import FEWEST
from adjudge.stats.distributions import bisect, z_quantile, z_two_sided
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, count_units, units_of
from adjudge.stats.mean_bounds import Units
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus
from adjudge.stats.sequence import ClusterSizes, sequential_difference

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
    limits: DifferenceLimits | None = None
    """Limits at other levels; None if there are none, or if they hold at every look."""
    of_scored: Interval | None = None
    """Limits over the rows with a score in both runs alone; None if there are none. The limits of
    ``estimate`` also hold whatever the other rows are.
    """


@dataclass(frozen=True, slots=True)
class DifferenceLimits:
    """The limits of a paired difference at any level."""

    low: Units
    """The differences, those of rows without a score as low as they can be."""
    high: Units
    """The same, as high as they can be; equal to ``low`` if all rows have a score."""
    reach: float
    """How far two scores can lie apart."""

    def lower(self, level: float) -> float:
        """Return the lower limit of the two-sided interval."""
        return self.low.lower(-self.reach, (1 - level) / 2)

    def upper(self, level: float) -> float:
        """Return the upper limit of the two-sided interval."""
        return self.high.upper(self.reach, (1 - level) / 2)

    def chance_below(self, bar: float) -> float:
        """Return the p-value of a true difference of ``bar`` or less; one-sided."""
        return self.low.chance_below(bar, -self.reach)

    def chance_above(self, bar: float) -> float:
        """Return the p-value of a true difference of ``bar`` or more; one-sided."""
        return self.high.chance_above(bar, self.reach)

    def chance_within(self, margin: float) -> float:
        """Return the p-value of a true difference of no more than ``margin`` to either side;
        two-sided.
        """
        is_above = self.low.mean + self.high.mean > 0
        beyond = self.chance_below(margin) if is_above else self.chance_above(-margin)
        return min(1.0, 2 * beyond)

    def rows_to_decide(self, bar: float, level: float) -> int | None:
        """Return about how many rows like these, all with a score, put all of the interval on one
        side of ``bar``.
        """
        return self.low.rows_to_decide(bar, (-self.reach, self.reach), (1 - level) / 2)


class ComparisonOutcome(StrEnum):
    """What a comparison says of the first run."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


@dataclass
class _UnitSums:
    """Differences by unit."""

    spread: Units = field(default_factory=Units)
    rises: float = 0.0
    """The sum of units' sums above 0, and (``falls``) of those below."""
    falls: float = 0.0
    units: int = 0
    largest: int = 0
    """The rows of the largest unit."""

    def add(self, total: float, rows: int, units: int = 1) -> None:
        """Add units that have this sum and so many rows each."""
        self.spread.add(total / rows, rows, units=units)
        self.rises += units * max(0.0, total)
        self.falls += units * max(0.0, -total)
        self.units += units
        self.largest = max(self.largest, rows)

    def sequential(self, level: float, reach: float) -> Interval:
        sizes = ClusterSizes(self.spread.rows, self.units, self.largest)
        limits = sequential_difference(
            self.rises / reach, self.falls / reach, sizes.rows, level=level, clusters=sizes
        )
        return Interval(reach * limits.lower, reach * limits.upper, level)


PairOfScores = tuple[float, float] | tuple[float, float, float, float]
"""The scores of two runs; with the ends of their difference if it is not sure."""


class UnknownPart(NamedTuple):
    """A unit of which a part is not known."""

    total: float
    """The sum of the differences of rows with scores."""
    rows: int
    """Rows with scores."""
    lost: int
    """Rows without."""
    falls: float = 0.0
    """By how much lost votes could lower the sum."""
    rises: float = 0.0


ANY_COUNT = Message("rows without a number in one of the runs could have any count")


@dataclass
class PairedScores:
    """The scores of two runs for the same rows, taken unit by unit: rows that are independent, or
    clusters of rows.

    Memory grows only with clusters of which some rows have scores and others have none, so there
    may be any number of rows.
    """

    rows: int = 0
    """Rows with a score in both runs."""
    units: int = 0
    """Units with such a row."""
    first: float = 0.0
    """The sum of the scores of the first run."""
    second: float = 0.0
    complete: _UnitSums = field(default_factory=_UnitSums)
    """The differences, first less second, of units whose rows all have scores."""
    incomplete: Counter[UnknownPart] = field(default_factory=Counter)
    """Units of which a part is not known → how many."""
    open: int = 0
    """Rows whose scores lost votes could change."""
    gains: int = 0
    losses: int = 0
    least: float = math.inf
    most: float = -math.inf
    binary: bool = True
    """Whether all scores are passes and fails."""

    def add(self, unit: Iterable[PairOfScores | None]) -> None:
        """Add the rows of one unit: the scores of the first run and the second one, or None for a
        row that lacks one of them; if lost votes could change them, also the least and the most
        that their difference would be.
        """
        count, total, lost, falls, rises = 0, 0.0, 0, 0.0, 0.0
        for pair in unit:
            if pair is None:
                lost += 1
                continue
            one, two, *ends = pair
            if ends:
                falls += one - two - ends[0]
                rises += ends[1] - (one - two)
                self.open += 1
            difference = one - two
            count += 1
            total += difference
            self.first += one
            self.second += two
            self.least, self.most = min(self.least, difference), max(self.most, difference)
            self.gains += difference > 0
            self.losses += difference < 0
            self.binary = self.binary and one in (0, 1) and two in (0, 1)
        self.rows += count
        self.units += count > 0
        if lost or falls or rises:
            self.incomplete[UnknownPart(total, count, lost, falls, rises)] += 1
        elif count:
            self.complete.add(total, count)

    def add_units(self, pair: tuple[float, float] | None, units: int) -> None:
        """Add units of one row that are alike, like ``add`` so many times."""
        if pair is None:
            self.incomplete[UnknownPart(0.0, 0, 1)] += units
            return
        one, two = pair
        difference = one - two
        self.first += units * one
        self.second += units * two
        self.least, self.most = min(self.least, difference), max(self.most, difference)
        self.gains += units * (difference > 0)
        self.losses += units * (difference < 0)
        self.binary = self.binary and one in (0, 1) and two in (0, 1)
        self.rows += units
        self.units += units
        self.complete.add(difference, 1, units)

    @property
    def lost(self) -> int:
        """Rows that lack a score in one of the runs."""
        return sum(part.lost * units for part, units in self.incomplete.items())

    def _scored(self) -> _UnitSums:
        """Return the units without the rows that lack a score."""
        sums = replace(self.complete, spread=self.complete.spread.copy())
        for part, units in self.incomplete.items():
            if part.rows:
                sums.add(part.total, part.rows, units)
        return sums

    def _filled(self, end: float) -> _UnitSums:
        """Return the units with a difference of ``end`` for each row that lacks a score: a lower
        limit of differences that are as low as they can be holds whatever they are, and likewise
        an upper limit.
        """
        sums = replace(self.complete, spread=self.complete.spread.copy())
        for part, units in self.incomplete.items():
            change = part.rises if end > 0 else -part.falls
            total = part.total + part.lost * end + change
            sums.add(total, part.rows + part.lost, units)
        return sums

    def share_lost(self, level: float, *, sequential: bool = False) -> float:
        """Return the upper limit of the share of rows that lack a score."""
        sums, sizes = _UnitSums(), defaultdict[int, float](float)
        for (_, rows), units in self.complete.spread.counts.items():
            sizes[rows] += units  # parts of units, which are whole in sum
        for rows, whole in sizes.items():
            sums.add(0.0, rows, round(whole))
        for part, number in self.incomplete.items():
            sums.add(part.lost, part.rows + part.lost, number)
        if sequential:
            return sums.sequential(level, 1.0).upper
        return sums.spread.upper(1.0, (1 - level) / 2)

    @property
    def mean(self) -> float | None:
        return (self.first - self.second) / self.rows if self.rows else None

    def compared(
        self, *, level: float = 0.95, margin: float = 0.0, reach: float = 1.0
    ) -> Difference:
        """What ``compare`` says of them. ``reach``: how far two scores can lie apart; infinity if
        they are counts, of which rows without one could have any.
        """
        mean, units = self.mean, self.units
        if mean is None or units < FEWEST:
            reason = (
                plural(
                    "{rows} rows in {count} independent group; {least} groups are the fewest that "
                    "can be compared",
                    "{rows} rows in {count} independent groups; {least} groups are the fewest that "
                    "can be compared",
                    units,
                    rows=self.rows,
                    least=FEWEST,
                )
                if units < self.rows
                else Message(
                    "{rows} independent rows; {least} are the fewest that can be compared",
                    rows=units,
                    least=FEWEST,
                )
            )
            return self._undecided(level, reason)
        if math.isinf(reach) and self.lost:
            return self._undecided(level, ANY_COUNT)
        reach = max(1.0 if math.isinf(reach) else reach, -self.least, self.most)
        scored = self._scored().spread
        alone = DifferenceLimits(scored, scored, reach)
        of_scored = Interval(alone.lower(level), alone.upper(level), level)
        limits, interval = alone, of_scored
        if self.incomplete:
            low, high = self._filled(-reach).spread, self._filled(reach).spread
            limits = DifferenceLimits(low, high, reach)
            interval = Interval(limits.lower(level), limits.upper(level), level)
        estimate = Estimate(mean, interval.lower, interval.upper, self.rows, "paired", level)
        if self.binary and units == self.rows:
            changed = (self.gains + self.losses) / self.rows
            smallest = smallest_detectable_share(changed, self.rows, level=level)
        else:
            error = (of_scored.upper - of_scored.lower) / 2 / z_two_sided(level)
            smallest = smallest_detectable(error, level=level)
        return Difference(
            estimate,
            three_valued(interval, margin),
            limits.chance_within(0.0),
            smallest,
            units,
            limits,
            of_scored,
        )

    def _undecided(self, level: float, reason: Message) -> Difference:
        return Difference(
            Estimate(self.mean, None, None, self.rows, "paired", level, reason),
            ComparisonOutcome.CANNOT_TELL,
            None,
            None,
            self.units,
        )

    def looked_at_often(
        self, *, level: float, margin: float = 0.0, reach: float = 1.0
    ) -> Difference:
        """The same with limits that hold at every look while rows are added, of any number of them;
        there is no p-value.
        """
        mean = self.mean
        if mean is None:
            return self.compared(level=level, reach=reach)
        of_scored = limits = self._scored().sequential(level, reach)
        if self.incomplete:
            low, high = (self._filled(end).sequential(level, reach) for end in (-reach, reach))
            limits = Interval(low.lower, high.upper, level)
        method = Message("paired, sequential")
        estimate = Estimate(mean, limits.lower, limits.upper, self.rows, method, level)
        outcome = three_valued(limits, margin)
        return Difference(estimate, outcome, None, None, self.units, of_scored=of_scored)


def compare(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Clusters = None,
    level: float = 0.95,
    margin: float = 0.0,
    reach: float = 1.0,
) -> Difference:
    """Compare two runs row by row: ``first`` and ``second`` hold the scores of the same rows in the
    same order. ``reach``: how far two scores can lie apart.

    Each limit is that of :mod:`adjudge.stats.mean_bounds`, with the cluster as the unit: it reckons
    with one more unit that changes as far as any can, since a jump that few rows would make may not
    have been among them. Of passes and fails without clusters, whether the interval holds 0 is
    McNemar's exact test. Better or worse is said only of differences that lie beyond ``margin``
    with all of their interval.
    """
    units: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for place, pair in enumerate(zip(first, second, strict=True)):
        units[place if clusters is None else clusters[place]].append(pair)
    scores = PairedScores()
    for unit in units.values():
        scores.add(unit)
    return scores.compared(level=level, margin=margin, reach=reach)


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
    units, risk = units_of(differences, clusters), (1 - level) / 2
    return Estimate(
        fmean(differences),
        units.lower(ENDS[0], risk),
        units.upper(ENDS[1], risk),
        len(differences),
        Message("labels only"),
        level,
    )
