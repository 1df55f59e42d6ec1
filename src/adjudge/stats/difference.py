"""Comparison of two runs over the same rows: paired, clustered, and able to say "cannot tell"."""

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
"""Probability of detecting the smallest detectable difference."""
ENDS = (-1.0, 1.0)
"""Extreme differences of two scores between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first run minus the second one."""

    estimate: Estimate
    outcome: ComparisonOutcome
    p_value: float | None
    """Probability of a difference this large between equally good runs; two-sided."""
    smallest: float | None
    """The smallest difference that this number of rows would show in 80% of comparisons.

    None if rows without a score widen the interval or a margin is to be exceeded: then it would
    not.
    """
    units: int
    """Rows, or clusters of rows, that are independent."""
    limits: DifferenceLimits | None = None
    """Limits at other levels; None if there are none, or if they hold at every look."""
    of_scored: Interval | None = None
    """Limits over the rows with a score in both runs only, or None. The limits of ``estimate`` also
    hold for any scores of the other rows.
    """


@dataclass(frozen=True, slots=True)
class DifferenceLimits:
    """Limits of a paired difference, at any level."""

    low: Units
    """The differences, with the lowest possible ones for rows without a score."""
    high: Units
    """Like ``low``, with the highest possible ones; equal to ``low`` if all rows have a score."""
    reach: float
    """Greatest possible distance of two scores."""

    def lower(self, level: float) -> float:
        """Return the lower limit of the two-sided interval."""
        return self.low.lower(-self.reach, (1 - level) / 2)

    def upper(self, level: float) -> float:
        """Return the upper limit of the two-sided interval."""
        return self.high.upper(self.reach, (1 - level) / 2)

    def chance_below(self, bar: float) -> float:
        """Return the one-sided p-value against a true difference of ``bar`` or less."""
        return self.low.chance_below(bar, -self.reach)

    def chance_above(self, bar: float) -> float:
        """Return the one-sided p-value against a true difference of ``bar`` or more."""
        return self.high.chance_above(bar, self.reach)

    def chance_within(self, margin: float) -> float:
        """Return the two-sided p-value against a true difference of at most ``margin`` in either
        direction.
        """
        is_above = self.low.mean + self.high.mean > 0
        beyond = self.chance_below(margin) if is_above else self.chance_above(-margin)
        return min(1.0, 2 * beyond)

    def rows_to_decide(self, bar: float, level: float) -> int | None:
        """Return roughly how many similar rows, all with scores, put the interval on one side of
        ``bar``.

        None if a million are not enough.
        """
        return self.low.rows_to_decide(bar, (-self.reach, self.reach), (1 - level) / 2)


class ComparisonOutcome(StrEnum):
    """Outcome of a comparison for the first run."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


@dataclass
class _UnitSums:
    """Sums of differences over units."""

    spread: Units = field(default_factory=Units)
    rises: float = 0.0
    """The sum of units' sums above 0, and (``falls``) of those below."""
    falls: float = 0.0
    units: int = 0
    largest: int = 0
    """The rows of the largest unit."""

    def add(self, total: float, rows: int, units: int = 1) -> None:
        """Add ``units`` units with this sum and ``rows`` rows each."""
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
"""The scores of two runs, and the ends of their difference if it is uncertain."""


class UnknownPair(NamedTuple):
    """A row without a score in one of the runs, whose difference has known ends."""

    least: float
    most: float


class UnknownPart(NamedTuple):
    """A unit of which some rows may lack a score, or whose scores may change."""

    total: float
    """The sum of the differences of rows with scores."""
    rows: int
    """Rows with scores."""
    lost: int
    """Rows without scores."""
    falls: float = 0.0
    """The most that lost votes could lower the sum."""
    rises: float = 0.0
    bounded: int = 0
    """Rows without scores whose differences have known ends."""
    least: float = 0.0
    """The sum of the lowest of these ends."""
    most: float = 0.0

    def filled_with(self, end: float) -> tuple[float, int]:
        """Return the sum and the number of all rows if each that lacks a score has the difference
        ``end``, or the one of its own ends on that side.
        """
        change = self.rises + self.most if end > 0 else self.least - self.falls
        return self.total + self.lost * end + change, self.rows + self.lost + self.bounded


ANY_COUNT = Message("rows without a number in one of the runs could have any count")


@dataclass
class PairedScores:
    """Scores of two runs for the same rows, added unit by unit: independent rows, or clusters of
    rows.

    Memory grows only with clusters in which some rows have scores and others do not, so there may
    be any number of rows.
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
    """Unit with an unknown part → number of such units."""
    open: int = 0
    """Rows whose scores lost votes could change."""
    gains: int = 0
    losses: int = 0
    least: float = math.inf
    most: float = -math.inf
    binary: bool = True
    """True if all scores are passes and fails."""

    def add(self, unit: Iterable[PairOfScores | UnknownPair | None]) -> None:
        """Add the rows of a unit: both runs' scores, or None for a row that lacks one, unless its
        difference has known ends.

        If lost votes could change the scores, the pair also has the lowest and highest possible
        difference.
        """
        count, total, lost, falls, rises = 0, 0.0, 0, 0.0, 0.0
        ends_of_unknown: list[UnknownPair] = []
        for pair in unit:
            if isinstance(pair, UnknownPair):
                ends_of_unknown.append(pair)
                continue
            if pair is None:
                lost += 1
                continue
            score_a, score_b, *ends = pair
            if ends:
                falls += score_a - score_b - ends[0]
                rises += ends[1] - (score_a - score_b)
                self.open += 1
            difference = score_a - score_b
            count += 1
            total += difference
            self.first += score_a
            self.second += score_b
            self.least, self.most = min(self.least, difference), max(self.most, difference)
            self.gains += difference > 0
            self.losses += difference < 0
            self.binary = self.binary and score_a in (0, 1) and score_b in (0, 1)
        self.rows += count
        self.units += count > 0
        if lost or falls or rises or ends_of_unknown:
            bounded = len(ends_of_unknown)
            least, most = map(math.fsum, zip(*ends_of_unknown, strict=True)) if bounded else (0, 0)
            part = UnknownPart(total, count, lost, falls, rises, bounded, least, most)
            self.incomplete[part] += 1
        elif count:
            self.complete.add(total, count)

    def add_units(self, pair: tuple[float, float] | None, units: int) -> None:
        """Add ``units`` equal units of one row each."""
        if pair is None:
            self.incomplete[UnknownPart(0.0, 0, 1)] += units
            return
        score_a, score_b = pair
        difference = score_a - score_b
        self.first += units * score_a
        self.second += units * score_b
        self.least, self.most = min(self.least, difference), max(self.most, difference)
        self.gains += units * (difference > 0)
        self.losses += units * (difference < 0)
        self.binary = self.binary and score_a in (0, 1) and score_b in (0, 1)
        self.rows += units
        self.units += units
        self.complete.add(difference, 1, units)

    @property
    def lost(self) -> int:
        """Number of rows without a score in one of the runs."""
        return sum((part.lost + part.bounded) * units for part, units in self.incomplete.items())

    def _units_with_scores(self) -> _UnitSums:
        """Return the units, without rows that lack a score."""
        sums = replace(self.complete, spread=self.complete.spread.copy())
        for part, units in self.incomplete.items():
            if part.rows:
                sums.add(part.total, part.rows, units)
        return sums

    def _units_filled_with(self, end: float) -> _UnitSums:
        """Return the units, assuming the difference ``end`` for rows that lack a score.

        A lower limit computed with the lowest differences holds for any scores; likewise an upper
        limit.
        """
        sums = replace(self.complete, spread=self.complete.spread.copy())
        for part, units in self.incomplete.items():
            sums.add(*part.filled_with(end), units)
        return sums

    def share_lost(self, level: float, *, sequential: bool = False) -> float:
        """Return the upper limit of the share of rows that lack a score."""
        sums, sizes = _UnitSums(), defaultdict[int, float](float)
        for (_, rows), units in self.complete.spread.counts.items():
            sizes[rows] += units  # parts of units, which are whole in sum
        for rows, unit_count in sizes.items():
            sums.add(0.0, rows, round(unit_count))
        for part, number in self.incomplete.items():
            lost = part.lost + part.bounded
            sums.add(lost, part.rows + lost, number)
        if sequential:
            return sums.sequential(level, 1.0).upper
        return sums.spread.upper(1.0, (1 - level) / 2)

    @property
    def mean(self) -> float | None:
        return (self.first - self.second) / self.rows if self.rows else None

    def compared(
        self, *, level: float = 0.95, margin: float = 0.0, reach: float = 1.0
    ) -> Difference:
        """Return the comparison of both runs.

        ``reach``: the largest possible difference of two scores; infinity for counts.
        """
        mean, units = self.mean, self.units
        if mean is None or units < FEWEST:
            reason = (
                plural(
                    "{rows} rows in {count} independent group; a comparison needs at least "
                    "{least} groups",
                    "{rows} rows in {count} independent groups; a comparison needs at least "
                    "{least} groups",
                    units,
                    rows=self.rows,
                    least=FEWEST,
                )
                if units < self.rows
                else Message(
                    "{rows} independent rows; a comparison needs at least {least}",
                    rows=units,
                    least=FEWEST,
                )
            )
            return self._cannot_tell(level, reason)
        if math.isinf(reach) and self.lost:
            return self._cannot_tell(level, ANY_COUNT)
        reach = max(1.0 if math.isinf(reach) else reach, -self.least, self.most)
        scored = self._units_with_scores().spread
        alone = DifferenceLimits(scored, scored, reach)
        of_scored = Interval(alone.lower(level), alone.upper(level), level)
        limits, interval = alone, of_scored
        if self.incomplete:
            low, high = (
                self._units_filled_with(-reach).spread,
                self._units_filled_with(reach).spread,
            )
            limits = DifferenceLimits(low, high, reach)
            interval = Interval(limits.lower(level), limits.upper(level), level)
        estimate = Estimate(mean, interval.lower, interval.upper, self.rows, "paired", level)
        return Difference(
            estimate,
            decide_outcome(interval, margin),
            limits.chance_within(0.0),
            None if self.incomplete or margin else self._smallest(of_scored),
            units,
            limits,
            of_scored,
        )

    def _smallest(self, interval: Interval) -> float:
        # McNemar's formula holds for independent passes and fails only.
        if self.binary and self.units == self.rows:
            changed = (self.gains + self.losses) / self.rows
            return smallest_detectable_share(changed, self.rows, level=interval.level)
        error = (interval.upper - interval.lower) / 2 / z_two_sided(interval.level)
        return smallest_detectable(error, level=interval.level)

    def _cannot_tell(self, level: float, reason: Message) -> Difference:
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
        """Like ``compared``, but the limits hold at every look while rows are added. There is no
        p-value.
        """
        mean = self.mean
        if mean is None:
            return self.compared(level=level, reach=reach)
        of_scored = limits = self._units_with_scores().sequential(level, reach)
        if self.incomplete:
            low, high = (
                self._units_filled_with(end).sequential(level, reach) for end in (-reach, reach)
            )
            limits = Interval(low.lower, high.upper, level)
        method = Message("paired, sequential")
        estimate = Estimate(mean, limits.lower, limits.upper, self.rows, method, level)
        outcome = decide_outcome(limits, margin)
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
    """Compare two runs row by row; ``first`` and ``second`` hold the scores of the same rows in
    order.

    Each limit is that of :mod:`adjudge.stats.mean_bounds`, with the cluster as the unit. It allows
    for one more unit with the greatest change, because a rare jump may not have been sampled. For
    passes and fails without clusters, the interval contains 0 exactly if McNemar's exact test is
    not significant. The outcome is better or worse only if the whole interval lies beyond
    ``margin``. ``reach``: greatest possible distance of two scores.

    Example: ``compare([1, 1, 0, 1] * 5, [0, 1, 0, 1] * 5).outcome``
    """
    units: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for place, pair in enumerate(zip(first, second, strict=True)):
        units[place if clusters is None else clusters[place]].append(pair)
    scores = PairedScores()
    for unit in units.values():
        scores.add(unit)
    return scores.compared(level=level, margin=margin, reach=reach)


def decide_outcome(interval: Interval, margin: float) -> ComparisonOutcome:
    """Return better or worse if the whole interval is beyond the margin, else cannot tell."""
    if interval.lower > margin:
        return ComparisonOutcome.BETTER
    return ComparisonOutcome.WORSE if interval.upper < -margin else ComparisonOutcome.CANNOT_TELL


def smallest_detectable(error: float, *, level: float = 0.95) -> float:
    """Return the smallest difference detected with probability ``POWER``, given the standard
    error.
    """
    return (z_two_sided(level) + z_quantile(POWER)) * error


def smallest_detectable_share(discordant: float, rows: float, *, level: float = 0.95) -> float:
    """Like ``smallest_detectable``, for passes and fails with this share of differing rows (Connor
    1987).
    """

    def too_small(difference: float) -> bool:
        share = max(discordant, difference)
        spread = math.sqrt(max(0.0, share - difference**2))
        reach = z_two_sided(level) * math.sqrt(share) + z_quantile(POWER) * spread
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
    """Return the difference of two systems on the same rows, corrected by labels of both: PPI++ of
    the paired differences, with Student's quantile.

    All values are differences, the first system minus the second, between -1 and 1. ``labels``:
    people's scores of the labelled rows; ``judged``: the judge's for the same rows; ``unlabelled``:
    the judge's for rows without labels. As in ``compare``, one more difference at each end is
    added, so that no interval has zero width and none is withheld because few labels differ. If
    hardly a row is unlabelled, the labels alone are used.
    """
    if len(unlabelled) < 2 or count_units(labels, clusters[0]) < 2:
        return labelled_difference(labels, level=level, clusters=clusters[0])
    return ppi_plus_plus(
        labels, judged, unlabelled, with_t=True, level=level, clusters=clusters, ends=ENDS
    )


@dataclass(frozen=True, slots=True)
class VoteNoise:
    """The part of an interval's width that is due to a model answering differently each time."""

    share: float
    """Share of the variance of the mean."""
    half_width: float
    with_votes: dict[int, float]
    """Votes per row → half width."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values (Holm), so that the risk of any false result is no larger than for a single
    test.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        # Adjusted values must not fall with the rank.
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def labelled_difference(
    differences: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Estimate:
    """Return the difference from labels alone, e.g. to compare with the corrected one."""
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
