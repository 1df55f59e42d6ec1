"""Whether one run is better than another over the rows that both judged: better, worse, or cannot
tell.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple

from adjudge.core.domain.frozen_mapping import nonempty, plain, some_of
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import OptionScores, incomparable_because
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.pairing import Pairing
from adjudge.core.domain.slices import SliceNames, slice_names
from adjudge.core.pooling.majority import ONE_ORDER
from adjudge.messages import Message, plural
from adjudge.runs.counts import rows_without_group
from adjudge.runs.diff import Pair, RunDiff
from adjudge.stats import FEWEST
from adjudge.stats.difference import (
    ComparisonOutcome,
    Difference,
    PairedScores,
    VoteNoise,
    corrected_difference,
    decide_outcome,
    holm,
)
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import Interval
from adjudge.stats.slices import OwnValue, PooledValue, level_of_each, pool
from adjudge.stats.student import t_cdf, t_two_sided
from adjudge.trust.contestants import Contestants
from adjudge.trust.paired_series import ComparedRun, PairColumns, PairedSeries
from adjudge.trust.usable_labels import moment_text, nonzero
from adjudge.trust.vote_values import MOST_ROWS, noise_of_difference

LEAST_LABELS = 20
"""Rows that people labelled in both runs; fewer correct nothing."""


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """What may be asked of a comparison."""

    level: float = 0.95
    margin: float = 0.0
    """Better or worse is said only of differences beyond it."""
    sequential: bool = False
    """Whether it may be looked at again and again while rows are added."""
    noise: bool = True
    """Look at the votes, for how much of the width they are."""


@dataclass(frozen=True, kw_only=True)
class RunComparison(JudgeCriterion, HtmlRepr):
    """The second run less the first, by one judge and one criteria."""

    first: float | None
    second: float | None
    """The means over the rows that have a number in both; None where responses of several systems
    have none together.
    """
    difference: Difference
    corrected: Estimate | None = None
    """By the labels of rows that people labelled in both runs."""
    uncorrected_because: Message | None = None
    """Why the labels of both runs do not correct the difference; None if they do, or if there are
    none.
    """
    labels: int = 0
    """Rows that people labelled in both runs."""
    added: int = 0
    """Rows that were added to one of the runs after its labels were drawn. They could not be drawn,
    and the corrected interval holds whatever they are.
    """
    skipped: int = 0
    """Rows that were drawn in both runs, and that annotators skipped or were unsure about in one:
    the corrected interval holds whatever they are.
    """
    missing: int = 0
    """Pairs of rows of which one has no number, or both have none although a judge was asked."""
    alone: int = 0
    """Rows without a counterpart that a judge was asked about."""
    open_votes: int = 0
    """Rows whose number votes of a panel that were lost could change in one of the runs. The
    interval holds whatever these votes are.
    """
    unjudged: int = 0
    """Rows that neither run judged: skipped in both, or skipped in one and absent from the other.
    They are not compared.
    """
    pairing: Pairing = Pairing((0, 0), {})
    """Which rows were compared with which."""
    outcome: ComparisonOutcome
    """Of the second run; of the corrected difference where there is one."""
    adjusted: float | None = None
    """The p-value, adjusted for all criteria that were compared (Holm)."""
    changed: int = 0
    """Rows whose number differs between the runs."""
    other_texts: int = 0
    """Rows whose text differs between the runs."""
    same_judge: bool = True
    noise: VoteNoise | None = None
    level: float = 0.95
    margin: float = 0.0
    reach: float = 1.0
    """How far two scores can lie apart."""
    is_comparable: bool = True
    """False if the options differ between the runs, or what they score: means and differences say
    nothing then.
    """
    system: str = ""
    """Of compared responses: whose win rate it is."""
    judges: tuple[str, str] = ("", "")
    """What the judge is called in either run."""
    answered_by: str = ""
    """Whose answers they are, where several targets answered: each is compared with itself."""
    notes: tuple[str, ...] = ()
    slice: str = ""
    """Of a slice of the rows: what it is called."""
    pooled: PooledValue | None = None
    """Of a slice: its difference pulled towards that of all rows."""
    slices: tuple[RunComparison, ...] = ()
    """The same apart for each slice; their intervals, and those of other criteria, hold
    together.
    """
    slicing: tuple[str, ...] = ()
    """What is said of how rows were told apart."""
    moved: int = 0
    """Pairs that are in another slice in either run. They count in no slice."""

    @property
    def name(self) -> str:
        return of_system(super().name, self.answered_by)

    @property
    def rows(self) -> int:
        """Rows that have a number in both runs."""
        return self.difference.estimate.count

    @property
    def without(self) -> int:
        """Rows that could say anything: they have no number in one of the runs, or no counterpart
        there. Rows that neither run judged are not among them.
        """
        return self.missing + self.alone

    @property
    def is_unchanged(self) -> bool:
        """Return True if both runs hold the same answers, all judged alike."""
        known = bool(self.rows) and self.difference.estimate.value is not None
        return known and not (self.changed or self.other_texts or self.without or self.open_votes)

    @property
    def shown(self) -> Estimate:
        """The difference that the outcome is of."""
        return self.corrected or self.difference.estimate

    @property
    def largest_count_change(self) -> float:
        """The change of a row that the limits of counts reckon with: the largest that was seen,
        and at least 1. 0 if there are no such limits.
        """
        limits = self.difference.limits
        return limits.reach if limits is not None and math.isinf(self.reach) else 0.0

    def on_the_scale(self, limit: float) -> float:
        """A limit as it is told: no two scores lie further apart than their scale is long."""
        return max(-self.reach, min(self.reach, limit))

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "judge", "criteria"),
            **nonempty(system=self.system or self.answered_by),
            "outcome": self.outcome.value,
            "is_comparable": self.is_comparable,
            "means": [self.first, self.second],
            "difference": self._data(self.difference.estimate),
            "corrected": {**self._data(self.corrected), "method": self.corrected.method}
            if self.corrected
            else None,
            "not_corrected_because": self.uncorrected_because,
            "labels": self.labels,
            "rows_added_since_draw": self.added,
            "rows_skipped": self.skipped,
            "rows": self.rows,
            "independent": self.difference.units,
            **some_of(self, "missing", "unjudged", "pairing"),
            **nonempty(rows_with_lost_votes=self.open_votes),
            "rows_with_another_text": self.other_texts,
            "same_judge": self.same_judge,
            "p_value": _p_value(self),
            "p_value_adjusted": self.adjusted,
            "smallest_detectable": self.difference.smallest,
            "vote_noise": plain(self.noise),
            **some_of(self, "margin", "level", "notes"),
            **nonempty(slices=[self._slice(one) for one in self.slices]),
            **({"rows_in_another_slice": self.moved} if self.slices or self.moved else {}),
        }

    def _slice(self, one: RunComparison) -> JsonDict:
        return {
            "name": str(one.slice),
            "outcome": one.outcome.value,
            "means": [one.first, one.second],
            "difference": one._data(one.shown),
            "is_corrected": one.corrected is not None,
            "rows": one.rows,
            "labels": one.labels,
            "level_of_each": one.level,
            "pooled": one.pooled._asdict() if one.pooled else None,
        }

    def _data(self, one: Estimate) -> JsonDict:
        lower, upper = (
            None if limit is None else self.on_the_scale(limit) for limit in (one.lower, one.upper)
        )
        return {"value": one.value, "lower": lower, "upper": upper, "reason": one.reason}


_SETTINGS = ComparisonSettings()


def compare_runs(
    one: str | Path, two: str | Path, found: RunDiff, settings: ComparisonSettings = _SETTINGS
) -> list[RunComparison]:
    """A comparison for each judge and criteria that both runs have; ``found`` holds their rows,
    joined. Where it names a column, the slices of each stand below it: the intervals of all slices
    of all criteria hold together.
    """
    sides = (ComparedRun.of(one), ComparedRun.of(two))
    lines = [_Line(line, found, sides) for line in found.lines()]
    if settings.sequential:  # each criterion takes its part of the risk
        part = 1 - (1 - settings.level) / max(1, len(lines))
        own = replace(settings, level=part)
        return [replace(one.compare(own), level=settings.level) for one in lines]
    names = slice_names(sum(found.slices(), Counter()), found.by) if found.by and lines else None
    made = adjusted_for_all([one.compare(settings) for one in lines], settings)
    if names is None:
        return made
    each = [one.by_slice(names) for one in lines]
    count = sum(own.scores.units >= FEWEST for parts in each for own, _ in parts.series.values())
    apart = replace(settings, level=level_of_each(settings.level, count), noise=False)
    return [
        replace(
            whole,
            slices=_pooled(
                whole,
                [
                    replace(line.compare_series(series, pairing, apart), slice=name)
                    for name, (series, pairing) in parts.series.items()
                ],
            ),
            slicing=(*names.notes, *_moved_note(parts.moves, names.column, whole.pairing.paired)),
            moved=parts.moves.total(),
        )
        for whole, line, parts in zip(made, lines, each, strict=True)
    ]


def compare_several(
    base: str | Path, others: Mapping[str, RunDiff], settings: ComparisonSettings = _SETTINGS
) -> list[list[RunComparison]]:
    """Several runs with one: each folder → its rows, joined with those of ``base``. The intervals
    of all criteria of all runs hold together, and what is called better or worse is so by them.
    """
    first = ComparedRun.of(base)
    runs = [(found, (first, ComparedRun.of(folder))) for folder, found in others.items()]
    lines = [[_Line(line, found, sides) for line in found.lines()] for found, sides in runs]
    level = level_of_each(settings.level, sum(map(len, lines)))
    each = replace(settings, level=level, noise=False)
    return [[line.compare(each) for line in own] for own in lines]


class _SlicedSeries(NamedTuple):
    """The rows of both runs by one judge and criteria, divided into slices."""

    series: Mapping[str, tuple[PairedSeries, Pairing]]
    """Slice → its rows, the largest first."""
    moves: Counter[tuple[str, str]]
    """Slice in the first run, slice in the second → pairs that are in two slices."""


class _Line:
    """The rows of both runs by one judge and criteria."""

    def __init__(self, line: str, found: RunDiff, sides: tuple[ComparedRun, ComparedRun]) -> None:
        self._line, self._found, self._sides = line, found, sides
        self._judge, self._criteria, self._answered_by = json.loads(line)
        self._measure = sides[0].measures.get(self._criteria)
        both = [side.labels(self._judge, self._criteria) for side in sides]
        self._labels = [labels for labels in both if labels]
        self._older = list(
            dict.fromkeys(one.older for one in both if one is not None and one.older)
        )
        self._is_count = sides[1].counts(self._judge, self._criteria)

    def _series(self) -> PairedSeries:
        low, high = self._measure.range if self._measure else (0.0, 1.0)
        labels = self._labels if len(self._labels) == len(self._sides) else ()
        return PairedSeries(low, high, labels, self._is_count)

    def compare(self, settings: ComparisonSettings) -> RunComparison:
        series = self._series()
        outcomes = [] if series.labels else list(self._found.outcomes(self._line))
        if not series.add_outcomes(outcomes, lambda: self._found.places(self._line, MOST_ROWS)):
            for unit in self._found.units(self._line):
                series.add(unit)
        return self.compare_series(series, self._found.pairing(self._line), settings)

    def by_slice(self, names: SliceNames) -> _SlicedSeries:
        """Divide the rows into slices. A pair belongs to a slice if both of its rows do."""
        series: dict[str, PairedSeries] = defaultdict(self._series)
        paired: Counter[str] = Counter()
        moves: Counter[tuple[str, str]] = Counter()
        for unit in self._found.units(self._line):
            own = defaultdict(list)
            for row in unit:
                name = names.of(row.slice)
                if isinstance(row, Pair) and (now := names.of(row.slice_after)) != name:
                    moves[name, now] += 1
                else:
                    own[name].append(row)
            for name, rows_of_unit in own.items():
                series[name].add(rows_of_unit)
                paired[name] += sum(isinstance(row, Pair) for row in rows_of_unit)
        rows: list[Counter[str]] = []
        for side in self._found.slices(self._line):
            counts: Counter[str] = Counter()
            for value, number in side.items():
                counts[names.of(value)] += number
            rows.append(counts)
        for (before, now), number in moves.items():
            rows[0][before] -= number
            rows[1][now] -= number
        return _SlicedSeries(
            {
                name: (
                    series[name],
                    Pairing((rows[0][name], rows[1][name]), {"id": paired[name]}),
                )
                for name, _ in (rows[0] + rows[1]).most_common()
            },
            moves,
        )

    def compare_series(
        self, series: PairedSeries, pairing: Pairing, settings: ComparisonSettings
    ) -> RunComparison:
        """What the rows of a series come to."""
        scores, level = series.scores, settings.level
        sides, measure, criteria = self._sides, self._measure, self._criteria
        has_copies = len(series.texts) < len(series.labelled)
        clustered = self._found.cluster is not None or scores.units < scores.rows or has_copies
        system, why = _system(*self._found.systems(self._line))
        judges = list(zip(sides, series.judges, strict=True))
        other_scores = None if system or why else self._other_scores(series.judges)
        why = why or other_scores or ""
        reach = 1.0 if measure is None else measure.range[1] - measure.range[0]
        reach = math.inf if self._is_count else reach
        rows = 0 if why else scores.rows
        if settings.sequential and self._is_count:
            why = why or NO_BOUNDS
        difference = _refused(scores, level, why) if why else _difference(scores, settings, reach)
        refused = _uncorrected_because(series)
        corrected = None if refused or why else _corrected(series, settings, clustered=clustered)
        locks = [side.lock(name, criteria) for side, name in judges]
        one_order = bool(system) and any(side.one_order(name) for side, name in judges)
        notes = [
            *_notes(series, difference, pairing, same_judge=locks[0] == locks[1]),
            *rows_without_group(self._found.without_group, self._found.cluster or ""),
            *([refused] if refused else []),
            *(_correction_notes(series) if corrected else ()),
            *self._older,
            *self._changed_between(series.judges),
        ]
        noise = (
            noise_of_difference(
                [side.folder for side in sides], series.judges, series.places, measure, difference
            )
            if settings.noise and measure
            else None
        )
        made = RunComparison(
            judge=self._judge,
            criteria=criteria,
            first=_mean(scores.second, rows, is_count=self._is_count),
            second=_mean(scores.first, rows, is_count=self._is_count),
            difference=difference,
            corrected=corrected,
            uncorrected_because=refused,
            labels=len(series.labelled),
            added=series.added,
            skipped=len(series.skipped),
            missing=series.missing,
            alone=series.alone,
            open_votes=series.scores.open,
            unjudged=series.unjudged + pairing.skipped_alone,
            pairing=pairing,
            outcome=ComparisonOutcome.CANNOT_TELL,
            changed=series.changed,
            other_texts=series.other_texts,
            same_judge=locks[0] == locks[1],
            noise=noise,
            level=level,
            margin=settings.margin,
            reach=reach,
            is_comparable=other_scores is None,
            system=system,
            judges=series.judges,
            answered_by=self._answered_by,
            notes=(*notes, ONE_ORDER) if one_order else tuple(notes),
        )
        if self._is_count:
            made = replace(made, notes=(*made.notes, FEWER, *_count_limits(made)))
        return replace(made, outcome=_outcome(made))

    def _other_scores(self, judges: tuple[str, str]) -> Message | None:
        """Return why scores of both runs do not mean the same; None if they do."""
        sides = zip(self._sides, judges, strict=True)
        before, now = (side.option_scores(judge, self._criteria) for side, judge in sides)
        if any(side.is_imported for side in self._sides):  # it need not hold every option
            first, second = (_without_case(own) for own in (before, now))
            if shared := first.keys() & second.keys():
                before, now = ({name: own[name] for name in shared} for own in (first, second))
        return incomparable_because(before, now)

    def _changed_between(self, judges: tuple[str, str]) -> Iterator[Message]:
        """A judge that was found changed after one run was started and before the other was."""
        runs = [side.started for side in self._sides if side.started is not None]
        moments = {
            side.changed(judge) for side, judge in zip(self._sides, judges, strict=True) if judge
        }
        for moment in sorted(one for one in moments if one is not None):
            if len(runs) == 2 and min(runs) < moment <= max(runs):
                yield Message(
                    "the judge was found changed on {date}, after one run and before the other: "
                    "part of the difference may be the judge's",
                    date=moment_text(moment),
                )


def _without_case(scores: OptionScores) -> OptionScores:
    """Return the scores with lower-case names: imports spell Yes and No their own way."""
    return {name.casefold(): score for name, score in scores.items()}


NO_BOUNDS = Message(
    "a count has no most: no interval for it holds at every look; compare without --sequential"
)
FEWER = Message("a count is better the lower it is: the difference says how many fewer there are")


def _count_limits(found: RunComparison) -> Iterator[Message]:
    """Say what the limits of a count rest on, if any are shown."""
    if found.largest_count_change and found.changed:
        yield Message(
            "a count has no most: the interval holds if no row changes by more than {largest:g}",
            largest=found.largest_count_change,
        )


def _mean(total: float, rows: int, *, is_count: bool) -> float | None:
    if not rows:
        return None
    return 0.0 - total / rows if is_count else total / rows  # and never -0.0


def _moved_note(moves: Counter[tuple[str, str]], column: str, paired: int) -> Iterator[Message]:
    """Say how many pairs count in no slice, and where the most of them moved."""
    if moves:
        (before, now), most = moves.most_common(1)[0]
        yield plural(
            "{count:,} of {paired:,} rows changed its value in {column!r} between the runs and "
            "counts in no slice ({before} → {now}: {most:,})",
            "{count:,} of {paired:,} rows changed their value in {column!r} between the runs and "
            "count in no slice ({before} → {now}: {most:,})",
            moves.total(),
            paired=paired,
            column=column,
            before=before,
            now=now,
            most=most,
        )


def _pooled(whole: RunComparison, slices: Sequence[RunComparison]) -> tuple[RunComparison, ...]:
    """Each slice with its difference pulled towards that of all rows."""
    expected = whole.shown.value
    if expected is None or math.isinf(whole.reach):  # a count has no scale to pool on
        return tuple(slices)
    scale = 2 * whole.reach
    own = [
        OwnValue(
            None if one.shown.value is None else one.shown.value / scale,
            None
            if (width := one.shown.width) is None
            else width / 2 / z_two_sided(one.level) / scale,
            expected / scale,
        )
        for one in slices
    ]
    return tuple(
        replace(one, pooled=best and best._replace(value=best.value * scale))
        for one, best in zip(slices, pool(own), strict=True)
    )


def _system(one: Sequence[tuple[str, ...]], two: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Whose win rate is compared, and why none can be; both empty where no responses are compared
    with each other.
    """
    sides = [Contestants.of(own for own in side if own) for side in (one, two)]
    before, now = (
        side.names[0] if any(own) else "" for side, own in zip(sides, (one, two), strict=True)
    )
    if not before or not now:
        return "", ""
    if refusal := sides[0].refusal or sides[1].refusal:
        return "", refusal.text
    if before != now:
        return "", Message("another system stands first in either run")
    return before, ""


def _difference(scores: PairedScores, settings: ComparisonSettings, reach: float) -> Difference:
    level, margin = settings.level, settings.margin
    if settings.sequential:
        return scores.looked_at_often(level=level, margin=margin, reach=reach)
    return scores.compared(level=level, margin=margin, reach=reach)


def _refused(scores: PairedScores, level: float, why: str) -> Difference:
    return Difference(
        Estimate(None, None, None, scores.rows, "paired", level, why),
        ComparisonOutcome.CANNOT_TELL,
        None,
        None,
        scores.units,
    )


def _outcome(found: RunComparison) -> ComparisonOutcome:
    """Return what the shown limits say; they hold whatever the rows without a number are."""
    shown = found.shown
    if shown.lower is None or shown.upper is None:
        return ComparisonOutcome.CANNOT_TELL
    return decide_outcome(Interval(shown.lower, shown.upper), found.margin)


def _corrected(
    series: PairedSeries, settings: ComparisonSettings, *, clustered: bool
) -> Estimate | None:
    """PPI++ of the paired difference; of texts that differ, since people say the same of one text
    in both runs. Where it is looked at often, the labels alone. None if there are no such labels.

    The limits hold whatever the rows are that have no number or were added after the labels were
    drawn: half of the risk is for the share that they may have among rows like these, and they are
    at the end that a limit looks at. The limits hold whatever skipped rows are, too.
    """
    if not series.other_texts or not len(series.labelled):
        return None
    unknown = series.drawable.lost
    level = (1 + settings.level) / 2 if unknown else settings.level
    apart = _Apart.of(series)

    def estimate(end: Literal["lowest", "highest"] | None) -> Estimate:
        labels = _Labels.of(apart.others, end)
        if settings.sequential:
            found = labels.looked_at_often(level)
        else:
            clusters = (labels.units, labels.rest_units) if clustered else (None, None)
            found = corrected_difference(
                labels.values, labels.judged, labels.rest, level=level, clusters=clusters
            )
        return apart.with_rows(found)

    found = estimate(None)
    lower, upper = found.lower, found.upper
    if found.value is None or lower is None or upper is None:
        return None
    if len(apart.others.skipped):
        low, high = estimate("lowest").lower, estimate("highest").upper
        lower = lower if low is None else min(lower, low)
        upper = upper if high is None else max(upper, high)
    share = series.drawable.share_lost(level, sequential=settings.sequential) if unknown else 0.0
    lower, upper = lower - share * (1 + lower), upper + share * (1 - upper)
    value, lower, upper = (one * (series.high - series.low) for one in (found.value, lower, upper))
    return replace(found, value=value, lower=lower, upper=upper, level=settings.level)


class _DrawnRows(NamedTuple):
    """Rows that could be drawn in both runs."""

    labelled: PairColumns
    skipped: PairColumns
    rest: PairColumns

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(map(len, self))


class _Apart(NamedTuple):
    """The rows of texts with so many copies that labels of other texts say nothing of them."""

    others: _DrawnRows
    """The other rows, which are estimated."""
    rows: _DrawnRows

    @classmethod
    def of(cls, series: PairedSeries) -> _Apart:
        drawn = _DrawnRows(series.labelled, series.skipped, series.rest)
        large = series.large_texts()
        if not any(large):
            return cls(drawn, _DrawnRows(PairColumns(), PairColumns(), PairColumns()))
        parts = [columns.split(large) for columns in drawn]
        return cls(_DrawnRows(*(one for one, _ in parts)), _DrawnRows(*(two for _, two in parts)))

    @property
    def unknown(self) -> int:
        """Rows apart of which people could say more than one thing."""
        return sum(
            low < high
            for columns in self.rows
            for low, high in zip(columns.lowest, columns.highest, strict=True)
        )

    def with_rows(self, found: Estimate) -> Estimate:
        """Return the estimate of the other rows with these: known if they are labelled, anything
        that people could say if they are not. The value takes the latter for rows like the others.
        """
        if not self.rows.total or found.value is None or found.lower is None or found.upper is None:
            return found
        others, total = self.others.total, self.others.total + self.rows.total
        ends = [end for one in self.rows for end in zip(one.lowest, one.highest, strict=True)]
        least, most = (sum(own) for own in zip(*ends, strict=True))
        known = sum(low for low, high in ends if low == high)
        value = known + (others + self.unknown) * found.value
        return replace(
            found,
            value=min(most + others, max(least - others, value)) / total,
            lower=(least + others * found.lower) / total,
            upper=(most + others * found.upper) / total,
        )


@dataclass(frozen=True)
class _Labels:
    """The labels of a series, and the judge's differences of labelled and other rows."""

    values: list[float]
    judged: list[float]
    rest: list[float]
    units: list[int]
    rest_units: list[int]

    @classmethod
    def of(cls, rows: _DrawnRows, end: Literal["lowest", "highest"] | None) -> _Labels:
        """``end``: what skipped rows are taken for; None counts them as rows without a label."""
        labelled, skipped, rest = rows
        made = cls(
            list(labelled.lowest),
            list(labelled.judged),
            list(rest.judged),
            list(labelled.units),
            list(rest.units),
        )
        if end is None:
            made.rest.extend(skipped.judged)
            made.rest_units.extend(skipped.units)
        else:
            made.values.extend(skipped.lowest if end == "lowest" else skipped.highest)
            made.judged.extend(skipped.judged)
            made.units.extend(skipped.units)
        return made

    def looked_at_often(self, level: float) -> Estimate:
        """Estimate the difference by the labels alone, those of one unit as their mean."""
        by_unit = sorted(zip(self.units, self.values, strict=True), key=itemgetter(0))
        scores = PairedScores()
        for _, labels in groupby(by_unit, itemgetter(0)):
            scores.add((label, 0.0) for _, label in labels)
        return scores.looked_at_often(level=level).estimate


def _uncorrected_because(series: PairedSeries) -> Message | None:
    """Return why labels of both runs cannot correct a difference of texts; it depends on how many
    there are and how they were drawn, not on what they say.
    """
    if not series.labels or not series.other_texts:
        return None
    if not series.draws:
        return Message(
            "the labels do not correct the difference: all rows were added after they were drawn"
        )
    if series.is_grown:
        return Message(
            "the labels do not correct the difference: rows were added between them, so that rows "
            "had different chances to be drawn"
        )
    labels, texts = len(series.labelled), len(series.texts)
    if texts >= LEAST_LABELS:
        return None
    shortage = plural(
        "{count} row has labels in both runs; {fewest} are the fewest that correct the difference",
        "{count} rows have labels in both runs; {fewest} are the fewest that correct the "
        "difference",
        texts,
        fewest=LEAST_LABELS,
    )
    if labels == texts:
        return shortage
    return Message("{shortage} (the label of copies counts once)", shortage=shortage)


def _correction_notes(series: PairedSeries) -> list[Message]:
    rows = series.scores.rows
    return nonzero(
        plural(
            "{count:,} of {rows:,} rows was added after the labels were drawn: the interval holds "
            "whatever it is",
            "{count:,} of {rows:,} rows were added after the labels were drawn: the interval holds "
            "whatever they are",
            series.added,
            rows=rows,
        ),
        plural(
            "{count:,} row that was drawn in both runs was skipped or marked unsure: the interval "
            "holds whatever it is",
            "{count:,} rows that were drawn in both runs were skipped or marked unsure: the "
            "interval holds whatever they are",
            len(series.skipped),
        ),
        plural(
            "{count:,} row holds a text with many copies that has no label: the interval holds "
            "whatever it is",
            "{count:,} rows hold texts with many copies that have no label: the interval holds "
            "whatever they are",
            _Apart.of(series).unknown,
        ),
        plural(
            "{count:,} row has no label, since copies of its text were labelled differently",
            "{count:,} rows have no label, since copies of their texts were labelled differently",
            series.contradicted,
        ),
    )


def _notes(
    series: PairedSeries,
    found: Difference,
    pairing: Pairing,
    *,
    same_judge: bool,
) -> Iterator[str]:
    if found.estimate.reason and pairing.paired:
        yield found.estimate.reason
    if series.missing:
        yield plural(
            "{count:,} of {rows:,} rows has no number in one of the runs",
            "{count:,} of {rows:,} rows have no number in one of the runs",
            series.missing,
            rows=series.missing + series.scores.rows,
        )
    if series.scores.open:
        yield plural(
            "{count:,} of {rows:,} rows lacks votes of a panel that could change it: the interval "
            "holds whatever they are",
            "{count:,} of {rows:,} rows lack votes of a panel that could change them: the interval "
            "holds whatever they are",
            series.scores.open,
            rows=series.scores.rows,
        )
    if unjudged := series.unjudged + pairing.skipped_alone:
        yield plural(
            "{count:,} row was judged in neither run (skipped) and does not count",
            "{count:,} rows were judged in neither run (skipped) and do not count",
            unjudged,
        )
    if pairing.shared:
        yield Message(
            "{shared:,} rows share their id with others: those of one id were paired in their "
            "order, and count as one",
            shared=pairing.shared,
        )
    if pairing.other_questions:
        yield Message(
            "{other_questions:,} of {paired:,} pairs have another question in either run: are "
            "these the same rows?",
            other_questions=pairing.other_questions,
            paired=pairing.paired,
        )
    same_texts = not series.other_texts
    if series.scores.rows and same_texts and not same_judge:
        yield Message(
            "the texts are the same and the judges differ: this is a difference between the "
            "judges, not between the texts"
        )
    elif not same_judge:
        yield Message(
            "the judges differ as well as the texts: part of the difference may be theirs"
        )


def adjusted_for_all(
    found: list[RunComparison], settings: ComparisonSettings
) -> list[RunComparison]:
    """Over several criteria p-values are adjusted, so that all of them together are wrong no more
    often than one alone.
    """
    p_values = [_p_value(one) for one in found]
    known = [place for place, value in enumerate(p_values) if value is not None]
    adjusted = dict(zip(known, holm([p_values[place] or 0.0 for place in known]), strict=True))
    return [_adjusted(one, adjusted.get(place), settings.level) for place, one in enumerate(found)]


def _p_value(one: RunComparison) -> float | None:
    """Of the difference that is shown; where there is a margin, of one as far beyond it between
    runs that differ by no more.
    """
    limits = one.difference.limits
    if one.shown.lower is None or (one.corrected is None and not (one.margin and limits)):
        return one.difference.p_value
    if one.corrected is None and limits is not None:
        return limits.chance_within(one.margin)
    middle, error, freedom = _corrected_spread(one.shown)
    beyond = abs(middle) - one.margin
    if beyond <= 0:
        return 1.0
    return min(1.0, 2 * t_cdf(-beyond / error, freedom)) if error > 0 else 0.0


def upper_limits(found: Sequence[RunComparison], margin: float, level: float) -> list[float | None]:
    """The upper limit of each difference, by Holm's steps: all those below ``-margin`` together are
    so by chance no oftener than one alone would be. None where a difference has no limits.
    """
    known = [place for place, one in enumerate(found) if one.shown.lower is not None]
    order = sorted(known, key=lambda place: _chance_below(found[place], -margin))
    limits: list[float | None] = [None] * len(found)
    step, stopped = 0, False
    for place in order:
        limit = _upper(found[place], 1 - (1 - level) / (len(order) - step))
        limits[place], stopped = limit, stopped or limit >= -margin
        step += not stopped
    return limits


def _corrected_spread(shown: Estimate) -> tuple[float, float, int]:
    """The middle of a corrected interval, its standard error, and the degrees of freedom."""
    lower, upper = shown.lower or 0.0, shown.upper or 0.0
    freedom = max(1, shown.count - 1)
    return (
        (lower + upper) / 2,
        (upper - lower) / 2 / t_two_sided(shown.level, freedom),
        freedom,
    )


def _chance_below(one: RunComparison, bar: float) -> float:
    """The p-value of a true difference that is not below ``bar``; one-sided."""
    if one.corrected is None and one.difference.limits is not None:
        return one.difference.limits.chance_above(bar)
    middle, error, freedom = _corrected_spread(one.shown)
    return t_cdf((middle - bar) / error, freedom) if error > 0 else float(middle >= bar)


def _upper(one: RunComparison, level: float) -> float:
    if one.corrected is None and one.difference.limits is not None:
        return one.difference.limits.upper(level)
    middle, error, freedom = _corrected_spread(one.shown)
    return middle + t_two_sided(level, freedom) * error


def _adjusted(one: RunComparison, p_value: float | None, level: float) -> RunComparison:
    if p_value is None or one.outcome is ComparisonOutcome.CANNOT_TELL or p_value <= 1 - level:
        return replace(one, adjusted=p_value)
    note = Message(
        "by itself it would be called different; over all criteria that were compared it cannot "
        "be (Holm)"
    )
    return replace(
        one, adjusted=p_value, outcome=ComparisonOutcome.CANNOT_TELL, notes=(*one.notes, note)
    )
