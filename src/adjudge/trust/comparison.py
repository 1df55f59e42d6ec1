"""Compare two runs over the rows that both judged: better, worse, or cannot tell."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict

from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import incomparable_because
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.pairing import Pairing, PairingShape
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
from adjudge.trust.slices import PooledShape
from adjudge.trust.usable_labels import moment_text, nonzero
from adjudge.trust.vote_values import MOST_ROWS, noise_of_difference

LEAST_LABELS = 20
"""Rows that people labelled in both runs; fewer correct nothing."""


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """Settings of a comparison of runs."""

    level: float = 0.95
    margin: float = 0.0
    """Better or worse is said only of differences beyond it."""
    sequential: bool = False
    """True if the comparison may be looked at repeatedly while rows are added."""
    noise: bool = True
    """Look at the votes, for how much of the width they are."""


class DifferenceShape(TypedDict):
    """A difference with its limits, or why there are none."""

    value: float | None
    lower: float | None
    upper: float | None
    reason: str
    method: NotRequired[str]


class VoteNoiseShape(TypedDict):
    """The part of the difference that may be noise of the votes."""

    share: float | None
    half_width: float | None
    with_votes: Annotated[Mapping[str, float] | None, "votes a row: the half-width with so many"]


class ComparedSliceShape(TypedDict):
    """A comparison of one slice. The intervals of all slices of all criteria hold together."""

    name: str
    outcome: Literal["better", "worse", "cannot tell"]
    means: Sequence[float | None]
    difference: DifferenceShape
    is_corrected: bool
    rows: int
    labels: int
    level_of_each: float
    pooled: Annotated[PooledShape | None, "the difference pulled towards that of all rows"]


class ComparisonShape(TypedDict):
    """The second run minus the first, by one judge and criterion."""

    judge: str
    criteria: str
    system: NotRequired[Annotated[str, "of compared responses: whose win rate it is"]]
    outcome: Literal["better", "worse", "cannot tell"]
    is_comparable: Annotated[
        bool, "false if the options, what they score, or the compared systems differ"
    ]
    means: Sequence[float | None]
    difference: DifferenceShape
    corrected: Annotated[
        DifferenceShape | None, "by the labels of rows that people labelled in both runs"
    ]
    not_corrected_because: Annotated[str | None, "why labels of both runs do not correct it"]
    labels: int
    rows_added_since_draw: Annotated[
        int, "rows that were added after the labels were drawn; the corrected limits hold anyway"
    ]
    rows_skipped: Annotated[
        int, "drawn rows that were skipped or marked unsure; the corrected limits hold anyway"
    ]
    rows: Annotated[int, "with a number in both runs"]
    independent: int
    missing: Annotated[int, "pairs of which one has no number, or both failed"]
    unjudged: Annotated[int, "rows that neither run judged, since they were skipped"]
    pairing: PairingShape
    rows_with_lost_votes: NotRequired[
        Annotated[int, "rows whose number lost votes could change; the limits hold"]
    ]
    rows_with_another_text: int
    same_judge: bool
    p_value: float | None
    p_value_adjusted: float | None
    smallest_detectable: Annotated[
        float | None,
        "what these rows would show in 80% of comparisons; null with rows without a number, a "
        "margin or a correction by labels",
    ]
    vote_noise: VoteNoiseShape | None
    margin: float
    level: float
    notes: Sequence[str]
    slices: NotRequired[Annotated[Sequence[ComparedSliceShape], "with --by"]]
    rows_in_another_slice: NotRequired[
        Annotated[int, "with --by: rows with another value in either run; they are in no slice"]
    ]


@dataclass(frozen=True, kw_only=True)
class RunComparison(JudgeCriterion, HtmlRepr):
    """The second run minus the first, for one judge and criterion."""

    first: float | None
    second: float | None
    """The means over the rows that have a number in both; None where responses of several systems
    have none together.
    """
    difference: Difference
    corrected: Estimate | None = None
    """The difference corrected by rows that people labelled in both runs."""
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
    """Rows whose number lost votes could change in one of the runs. The
    interval holds whatever these votes are.
    """
    unjudged: int = 0
    """Rows that neither run judged: skipped in both, or skipped in one and absent from the other.
    They are not compared.
    """
    pairing: Pairing = Pairing((0, 0), {})
    """The pairs of rows that were compared."""
    outcome: ComparisonOutcome
    """The outcome for the second run, by the corrected difference if there is one."""
    adjusted: float | None = None
    """The p-value, adjusted for all criteria that were compared (Holm)."""
    changed: int = 0
    """Rows whose number differs between the runs."""
    other_texts: int = 0
    """Rows whose text differs between the runs."""
    same_judge: bool = True
    judge_changes: tuple[str, ...] = ()
    """The part of the ``notes`` that say that the judge changed between the starts of the runs."""
    noise: VoteNoise | None = None
    level: float = 0.95
    margin: float = 0.0
    reach: float = 1.0
    """The greatest possible difference of two scores."""
    is_comparable: bool = True
    """False if the options differ between the runs, or what they score: means and differences say
    nothing then.
    """
    system: str = ""
    """The system whose win rate it is, for compared responses."""
    judges: tuple[str, str] = ("", "")
    """The judge's name in each run."""
    answered_by: str = ""
    """The system that gave the answers, if several targets answered: each is compared with itself.
    """
    notes: tuple[str, ...] = ()
    slice: str = ""
    """The name of the slice; empty for all rows."""
    pooled: PooledValue | None = None
    """The slice's difference, pulled towards that of all rows."""
    slices: tuple[RunComparison, ...] = ()
    """The same apart for each slice; their intervals, and those of other criteria, hold
    together.
    """
    slicing: tuple[str, ...] = ()
    """Sentences on how rows were divided into slices."""
    moved: int = 0
    """Pairs that are in another slice in either run. They count in no slice."""

    @property
    def name(self) -> str:
        return of_system(super().name, self.answered_by)

    @property
    def rows(self) -> int:
        """The number of rows that have a number in both runs."""
        return self.difference.estimate.count

    @property
    def without(self) -> int:
        """The number of rows that lack a number or a counterpart in one run, so could have any
        value.

        Rows that neither run judged are not included.
        """
        return self.missing + self.alone

    @property
    def is_unchanged(self) -> bool:
        """Return True if both runs have the same answers and the same judgments."""
        is_known = bool(self.rows) and self.difference.estimate.value is not None
        return is_known and not (
            self.changed or self.other_texts or self.without or self.open_votes
        )

    @property
    def is_between_judges(self) -> bool:
        """Return True if different judges judged the same texts: the texts are then neither better
        nor worse.
        """
        return not self.same_judge and not self.other_texts and self.corrected is None

    @property
    def shown(self) -> Estimate:
        """The difference that the outcome is based on."""
        return self.corrected or self.difference.estimate

    @property
    def smallest(self) -> float | None:
        """The smallest difference that these rows would show in 80% of comparisons.

        None if it does not describe the outcome: labels correct the difference, rows lack a number,
        or there is a margin.
        """
        return None if self.corrected else self.difference.smallest

    @property
    def largest_count_change(self) -> float:
        """The largest change per row that the limits for counts allow for; 0 without such limits.

        It is the largest observed change, but at least 1.
        """
        limits = self.difference.limits
        return limits.reach if limits is not None and math.isinf(self.reach) else 0.0

    def on_the_scale(self, limit: float) -> float:
        """Clip a limit for display: scores cannot differ by more than the length of their scale."""
        return max(-self.reach, min(self.reach, limit))

    def to_dict(self) -> JsonDict:
        document = fill(
            ComparisonShape,
            self,
            system=self.system or self.answered_by,
            means=[self.first, self.second],
            difference=self._data(self.difference.estimate),
            corrected=self._data(self.corrected, method=self.corrected.method)
            if self.corrected
            else None,
            not_corrected_because=self.uncorrected_because,
            rows_added_since_draw=self.added,
            rows_skipped=self.skipped,
            independent=self.difference.units,
            rows_with_lost_votes=self.open_votes,
            rows_with_another_text=self.other_texts,
            p_value=_p_value(self),
            p_value_adjusted=self.adjusted,
            smallest_detectable=self.smallest,
            vote_noise=self.noise,
            slices=[self._slice(part) for part in self.slices],
            rows_in_another_slice=self.moved,
        )
        if self.slices:  # where rows were cut into slices, 0 says that no row is left out
            document["rows_in_another_slice"] = self.moved
        return document

    def _slice(self, part: RunComparison) -> JsonDict:
        return fill(
            ComparedSliceShape,
            part,
            name=part.slice,
            means=[part.first, part.second],
            difference=part._data(part.shown),
            is_corrected=part.corrected is not None,
            level_of_each=part.level,
            pooled=part.pooled._asdict() if part.pooled else None,
        )

    def _data(self, estimate: Estimate, method: str = "") -> JsonDict:
        lower, upper = (
            None if limit is None else self.on_the_scale(limit)
            for limit in (estimate.lower, estimate.upper)
        )
        return fill(DifferenceShape, estimate, lower=lower, upper=upper, method=method)


_SETTINGS = ComparisonSettings()


def compare_runs(
    old_folder: str | Path,
    new_folder: str | Path,
    found: RunDiff,
    settings: ComparisonSettings = _SETTINGS,
) -> list[RunComparison]:
    """Compare each judge and criterion that both runs have.

    ``found``: the paired rows. If it names a column, each comparison has slices, with intervals
    that hold simultaneously over all slices and criteria.
    """
    sides = (ComparedRun.of(old_folder), ComparedRun.of(new_folder))
    lines = [_Line(key, found, sides) for key in found.lines()]
    if settings.sequential:  # each criterion takes its part of the risk
        part = 1 - (1 - settings.level) / max(1, len(lines))
        part_settings = replace(settings, level=part)
        return [replace(line.compare(part_settings), level=settings.level) for line in lines]
    names = slice_names(sum(found.slices(), Counter()), found.by) if found.by and lines else None
    comparisons = adjusted_for_all([line.compare(settings) for line in lines], settings)
    if names is None:
        return comparisons
    sliced = [line.by_slice(names) for line in lines]
    count = sum(
        series.scores.units >= FEWEST for parts in sliced for series, _ in parts.series.values()
    )
    slice_settings = replace(settings, level=level_of_each(settings.level, count), noise=False)
    return [
        replace(
            comparison,
            slices=_pool_slices(
                comparison,
                [
                    replace(line.compare_series(series, pairing, slice_settings), slice=name)
                    for name, (series, pairing) in parts.series.items()
                ],
            ),
            slicing=(
                *names.notes,
                *_moved_note(parts.moves, names.column, comparison.pairing.paired),
            ),
            moved=parts.moves.total(),
        )
        for comparison, line, parts in zip(comparisons, lines, sliced, strict=True)
    ]


def compare_several(
    base: str | Path, others: Mapping[str, RunDiff], settings: ComparisonSettings = _SETTINGS
) -> list[list[RunComparison]]:
    """Compare several runs with one base run.

    ``others``: folder → its rows, paired with those of ``base``. The intervals and outcomes hold
    simultaneously over all runs and criteria.
    """
    base_run = ComparedRun.of(base)
    runs = [(diff, (base_run, ComparedRun.of(folder))) for folder, diff in others.items()]
    lines = [[_Line(key, diff, sides) for key in diff.lines()] for diff, sides in runs]
    level = level_of_each(settings.level, sum(map(len, lines)))
    settings_of_each = replace(settings, level=level, noise=False)
    return [[line.compare(settings_of_each) for line in lines_of_run] for lines_of_run in lines]


class _SlicedSeries(NamedTuple):
    """The rows of both runs by one judge and criterion, divided into slices."""

    series: Mapping[str, tuple[PairedSeries, Pairing]]
    """Slice → its rows, the largest first."""
    moves: Counter[tuple[str, str]]
    """Slice in the first run, slice in the second → pairs that are in two slices."""


class _Line:
    """The rows of both runs by one judge and criterion."""

    def __init__(self, line: str, diff: RunDiff, sides: tuple[ComparedRun, ComparedRun]) -> None:
        self._line, self._found, self._sides = line, diff, sides
        self._judge, self._criteria, self._answered_by = json.loads(line)
        self._measure = sides[0].measures.get(self._criteria)
        labels_of_sides = [side.labels(self._judge, self._criteria) for side in sides]
        self._labels = [run_labels for run_labels in labels_of_sides if run_labels]
        self._older = list(
            dict.fromkeys(
                note
                for run_labels in labels_of_sides
                if run_labels is not None
                for note in run_labels.left_out
            )
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
        """Divide the rows into slices. A pair is in a slice only if both of its rows are."""
        series: dict[str, PairedSeries] = defaultdict(self._series)
        paired: Counter[str] = Counter()
        moves: Counter[tuple[str, str]] = Counter()
        for unit in self._found.units(self._line):
            rows_by_slice = defaultdict(list)
            for row in unit:
                name = names.of(row.slice)
                if isinstance(row, Pair) and (new_slice := names.of(row.slice_after)) != name:
                    moves[name, new_slice] += 1
                else:
                    rows_by_slice[name].append(row)
            for name, rows_of_unit in rows_by_slice.items():
                series[name].add(rows_of_unit)
                paired[name] += sum(isinstance(row, Pair) for row in rows_of_unit)
        rows: list[Counter[str]] = []
        for side in self._found.slices(self._line):
            counts: Counter[str] = Counter()
            for value, number in side.items():
                counts[names.of(value)] += number
            rows.append(counts)
        for (old_slice, new_slice), number in moves.items():
            rows[0][old_slice] -= number
            rows[1][new_slice] -= number
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
        """Compare the rows of a series."""
        scores, level = series.scores, settings.level
        sides, measure, criteria = self._sides, self._measure, self._criteria
        has_copies = len(series.texts) < len(series.labelled)
        clustered = self._found.cluster is not None or scores.units < scores.rows or has_copies
        systems = self._found.systems(self._line)
        system, refusal = _system(*systems)
        judges = list(zip(sides, series.judges, strict=True))
        other_scores = None if system or refusal else self._other_scores(series.judges)
        refusal = refusal or other_scores or ""
        reach = 1.0 if measure is None else measure.range[1] - measure.range[0]
        if (limits_of_rows := self._found.limits(self._line)) is not None:
            reach = max(reach, limits_of_rows[1] - limits_of_rows[0])
        reach = math.inf if self._is_count else reach
        rows = 0 if refusal else scores.rows
        if settings.sequential and self._is_count:
            refusal = refusal or NO_BOUNDS
        elif settings.sequential and (limits_of_rows or UNIT) != UNIT:
            refusal = refusal or NO_SCALE
        compare = scores.looked_at_often if settings.sequential else scores.compared
        difference = (
            _no_difference(scores, level, refusal)
            if refusal
            else compare(level=level, margin=settings.margin, reach=reach)
        )
        locks = [side.lock(name, criteria) for side, name in judges]
        of_judges = scores.rows and not series.other_texts and locks[0] != locks[1]
        uncorrected = OF_JUDGES if of_judges else _why_uncorrected(series)
        corrected = (
            None if uncorrected or refusal else _correct(series, settings, clustered=clustered)
        )
        one_order = bool(system) and any(side.one_order(name) for side, name in judges)
        notes = [
            *_notes(series, difference, pairing),
            *([BOTH_DIFFER] if series.other_texts and locks[0] != locks[1] else []),
            *rows_without_group(self._found.without_group, self._found.cluster or ""),
            *([uncorrected] if uncorrected else []),
            *(_correction_notes(series) if corrected else ()),
            *self._older,
            *(changes := tuple(self._changed_between(series.judges))),
        ]
        noise = (
            noise_of_difference(
                [side.folder for side in sides], series.judges, series.places, measure, difference
            )
            if settings.noise and measure
            else None
        )
        comparison = RunComparison(
            judge=self._judge,
            criteria=criteria,
            first=_mean(scores.second, rows, is_count=self._is_count),
            second=_mean(scores.first, rows, is_count=self._is_count),
            difference=difference,
            corrected=corrected,
            uncorrected_because=uncorrected,
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
            judge_changes=changes,
            noise=noise,
            level=level,
            margin=settings.margin,
            reach=reach,
            is_comparable=other_scores is None and _are_same(*systems),
            system=system,
            judges=series.judges,
            answered_by=self._answered_by,
            notes=(*notes, ONE_ORDER) if one_order else tuple(notes),
        )
        if self._is_count:
            comparison = replace(comparison, notes=(*comparison.notes, *_count_notes(comparison)))
        limits = comparison.shown
        if limits.lower is None or limits.upper is None:
            return comparison
        # the limits hold whatever the rows without a number are
        outcome = decide_outcome(Interval(limits.lower, limits.upper), comparison.margin)
        return replace(comparison, outcome=outcome)

    def _other_scores(self, judges: tuple[str, str]) -> Message | None:
        """Return why scores do not mean the same in both runs; None if they do."""
        sides = zip(self._sides, judges, strict=True)
        old_scores, new_scores = (
            side.option_scores(judge, self._criteria) for side, judge in sides
        )
        if any(side.is_imported for side in self._sides):  # it need not hold every option
            # imports spell Yes and No their own way
            old_folded, new_folded = (
                {name.casefold(): score for name, score in scores.items()}
                for scores in (old_scores, new_scores)
            )
            if shared := old_folded.keys() & new_folded.keys():
                old_scores, new_scores = (
                    {name: scores[name] for name in shared} for scores in (old_folded, new_folded)
                )
        return incomparable_because(old_scores, new_scores)

    def _changed_between(self, judges: tuple[str, str]) -> Iterator[Message]:
        """Yield notes on changes of the judge between the starts of the two runs."""
        runs = [side.started for side in self._sides if side.started is not None]
        moments = {
            side.changed(judge) for side, judge in zip(self._sides, judges, strict=True) if judge
        }
        for moment in sorted(change for change in moments if change is not None):
            if len(runs) == 2 and min(runs) < moment <= max(runs):
                yield Message(
                    "the judge was found to have changed on {date}, after one run and before the "
                    "other: part of the difference may be the judge's",
                    date=moment_text(moment),
                )


NO_BOUNDS = Message(
    "a count has no maximum: no interval for it holds at every look; compare without --sequential"
)
UNIT = (0.0, 1.0)
NO_SCALE = Message(
    "scores can lie outside 0 to 1, and how far is known only from the judged rows: no interval "
    "holds at every look; compare without --sequential"
)
OF_JUDGES = Message(
    "the texts are the same and the judges differ: this is a difference between the judges, not "
    "between the texts, and labels cannot correct it"
)
BOTH_DIFFER = Message(
    "both the judges and the texts differ, so part of the difference may come from the judges"
)
FEWER = Message("lower counts are better: the difference says how many fewer there are")


def _mean(total: float, rows: int, *, is_count: bool) -> float | None:
    if not rows:
        return None
    return 0.0 - total / rows if is_count else total / rows  # and never -0.0


def _moved_note(moves: Counter[tuple[str, str]], column: str, paired: int) -> Iterator[Message]:
    """Yield a note on pairs that are in no slice, with the most frequent move."""
    if moves:
        (old_slice, new_slice), most = moves.most_common(1)[0]
        yield plural(
            "{count:,} of {paired:,} rows changed its value in {column!r} between the runs and "
            "counts in no slice ({before} → {now}: {most:,})",
            "{count:,} of {paired:,} rows changed their value in {column!r} between the runs and "
            "count in no slice ({before} → {now}: {most:,})",
            moves.total(),
            paired=paired,
            column=column,
            before=old_slice,
            now=new_slice,
            most=most,
        )


def _pool_slices(
    comparison: RunComparison, slices: Sequence[RunComparison]
) -> tuple[RunComparison, ...]:
    """Return the slices with their differences pulled towards that of all rows. Counts are not
    pooled.
    """
    expected = comparison.shown.value
    if expected is None or math.isinf(comparison.reach):  # a count has no scale to pool on
        return tuple(slices)
    scale = 2 * comparison.reach
    values = [
        OwnValue(
            None if part.shown.value is None else part.shown.value / scale,
            None
            if (width := part.shown.width) is None
            else width / 2 / z_two_sided(part.level) / scale,
            expected / scale,
        )
        for part in slices
    ]
    return tuple(
        replace(part, pooled=best and best._replace(value=best.value * scale))
        for part, best in zip(slices, pool(values), strict=True)
    )


def _system(
    old_rows: Sequence[tuple[str, ...]], new_rows: Sequence[tuple[str, ...]]
) -> tuple[str, str]:
    """Return whose win rate is compared, and why none can be.

    Both are empty if no responses are compared.
    """
    sides = [Contestants.of(names for names in rows if names) for rows in (old_rows, new_rows)]
    old_system, new_system = (
        side.names[0] if any(rows) else ""
        for side, rows in zip(sides, (old_rows, new_rows), strict=True)
    )
    if not old_system or not new_system:
        return "", ""
    if refusal := sides[0].refusal or sides[1].refusal:
        return "", refusal.text
    if old_system != new_system:
        return "", Message("a different system comes first in each run")
    old_opponent, new_opponent = (", ".join(side.names[1:]) for side in sides)
    if old_opponent != new_opponent:
        return "", Message(
            "the opponent of {system} changed ({before} before, {now} now), and a win rate depends "
            "on the opponent",
            system=old_system,
            before=old_opponent,
            now=new_opponent,
        )
    return old_system, ""


def _are_same(old_rows: Sequence[tuple[str, ...]], new_rows: Sequence[tuple[str, ...]]) -> bool:
    """Return True if both runs compare the same systems, or one of them compares none."""
    old_names, new_names = (
        {name for names in rows for name in names} for rows in (old_rows, new_rows)
    )
    return not old_names or not new_names or old_names == new_names


def _no_difference(scores: PairedScores, level: float, why: str) -> Difference:
    return Difference(
        Estimate(None, None, None, scores.rows, "paired", level, why),
        ComparisonOutcome.CANNOT_TELL,
        None,
        None,
        scores.units,
    )


def _correct(
    series: PairedSeries, settings: ComparisonSettings, *, clustered: bool
) -> Estimate | None:
    """Correct the paired difference with PPI++, or with labels alone if it is looked at repeatedly.

    None without labels in both runs, or if no text differs: people give equal texts the same answer
    in both runs. The limits hold whatever the answers would be for skipped rows, rows without a
    number, and rows added after the labels were drawn.
    """
    if not series.other_texts or not len(series.labelled):
        return None
    unknown = series.drawable.lost
    level = (1 + settings.level) / 2 if unknown else settings.level
    apart = _Apart.of(series)

    def estimate(skipped_at: Literal["lowest", "highest"] | None) -> Estimate:
        labels = _Labels.of(apart.others, skipped_at)
        if settings.sequential:
            estimate_of_rest = labels.looked_at_often(level)
        else:
            clusters = (labels.units, labels.rest_units) if clustered else (None, None)
            estimate_of_rest = corrected_difference(
                labels.values, labels.judged, labels.rest, level=level, clusters=clusters
            )
        return apart.with_rows(estimate_of_rest)

    corrected = estimate(None)
    lower, upper = corrected.lower, corrected.upper
    if corrected.value is None or lower is None or upper is None:
        return None
    if len(apart.others.skipped):
        low, high = estimate("lowest").lower, estimate("highest").upper
        lower = lower if low is None else min(lower, low)
        upper = upper if high is None else max(upper, high)
    # Half of the risk (see level) is for the share that lost rows may have among rows like these;
    # they are at the end that a limit looks at.
    share = series.drawable.share_lost(level, sequential=settings.sequential) if unknown else 0.0
    lower, upper = lower - share * (1 + lower), upper + share * (1 - upper)
    value, lower, upper = (
        number * (series.high - series.low) for number in (corrected.value, lower, upper)
    )
    return replace(corrected, value=value, lower=lower, upper=upper, level=settings.level)


class _DrawnRows(NamedTuple):
    """The rows that could be drawn in both runs."""

    labelled: PairColumns
    skipped: PairColumns
    rest: PairColumns

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(map(len, self))


class _Apart(NamedTuple):
    """Rows split into texts with so many copies that other labels cannot estimate them, and the
    rest.
    """

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
        return cls(
            _DrawnRows(*(small_part for small_part, _ in parts)),
            _DrawnRows(*(large_part for _, large_part in parts)),
        )

    @property
    def unknown(self) -> int:
        """The number of separate rows whose answer people's labels do not fix."""
        return sum(
            low < high
            for columns in self.rows
            for low, high in zip(columns.lowest, columns.highest, strict=True)
        )

    def with_rows(self, estimate: Estimate) -> Estimate:
        """Add these rows to the estimate of the other rows.

        Labelled rows are known; the limits allow any answer for the others, and the value assumes
        that they are like the other rows.
        """
        if (
            not self.rows.total
            or estimate.value is None
            or estimate.lower is None
            or estimate.upper is None
        ):
            return estimate
        count_others, total = self.others.total, self.others.total + self.rows.total
        ends = [
            end
            for columns in self.rows
            for end in zip(columns.lowest, columns.highest, strict=True)
        ]
        least, most = (sum(limits) for limits in zip(*ends, strict=True))
        # rows with one possible value are known; the others count like the estimated rows
        known_sum = sum(low for low, high in ends if low == high)
        value = known_sum + (count_others + self.unknown) * estimate.value
        return replace(
            estimate,
            value=min(most + count_others, max(least - count_others, value)) / total,
            lower=(least + count_others * estimate.lower) / total,
            upper=(most + count_others * estimate.upper) / total,
        )


@dataclass(frozen=True)
class _Labels:
    """A series' labels, and the judge's differences on labelled and other rows."""

    values: list[float]
    judged: list[float]
    rest: list[float]
    units: list[int]
    rest_units: list[int]

    @classmethod
    def of(cls, rows: _DrawnRows, end: Literal["lowest", "highest"] | None) -> _Labels:
        """Collect the labels. ``end``: the value assumed for skipped rows; None treats them as
        unlabelled.
        """
        labelled, skipped, unlabelled = rows
        collected = cls(
            list(labelled.lowest),
            list(labelled.judged),
            list(unlabelled.judged),
            list(labelled.units),
            list(unlabelled.units),
        )
        if end is None:
            collected.rest.extend(skipped.judged)
            collected.rest_units.extend(skipped.units)
        else:
            collected.values.extend(skipped.lowest if end == "lowest" else skipped.highest)
            collected.judged.extend(skipped.judged)
            collected.units.extend(skipped.units)
        return collected

    def looked_at_often(self, level: float) -> Estimate:
        """Estimate the difference from labels alone, using one mean per unit."""
        by_unit = sorted(zip(self.units, self.values, strict=True), key=itemgetter(0))
        scores = PairedScores()
        for _, labels in groupby(by_unit, itemgetter(0)):
            scores.add((label, 0.0) for _, label in labels)
        return scores.looked_at_often(level=level).estimate


def _why_uncorrected(series: PairedSeries) -> Message | None:
    """Return why labels in both runs cannot correct the difference; None if they can, or if there
    are none.

    This depends on the number of labels and how they were drawn, not on their answers.
    """
    if not series.labels or not series.other_texts:
        return None
    if not series.draws:
        return Message(
            "the labels do not correct the difference: all rows were added after they were drawn"
        )
    if series.is_grown:
        return Message(
            "the labels do not correct the difference: rows were added between them, so rows had "
            "different chances to be drawn"
        )
    labels, texts = len(series.labelled), len(series.texts)
    if texts >= LEAST_LABELS:
        return None
    shortage = plural(
        "{count} row has labels in both runs; at least {fewest} are needed to correct the "
        "difference",
        "{count} rows have labels in both runs; at least {fewest} are needed to correct the "
        "difference",
        texts,
        fewest=LEAST_LABELS,
    )
    if labels == texts:
        return shortage
    return Message("{shortage} (the label of copies counts once)", shortage=shortage)


def _count_notes(comparison: RunComparison) -> Iterator[Message]:
    """Yield notes on counts: fewer are better, and the interval assumes a largest change."""
    yield FEWER
    if comparison.largest_count_change and comparison.changed:
        yield Message(
            "a count has no maximum: the interval holds if no row changes by more than {largest:g}",
            largest=comparison.largest_count_change,
        )


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
            "{count:,} row has no label, because copies of its text were labelled differently",
            "{count:,} rows have no label, because copies of their texts were labelled differently",
            series.contradicted,
        ),
    )


def _notes(
    series: PairedSeries,
    difference: Difference,
    pairing: Pairing,
) -> Iterator[str]:
    if difference.estimate.reason and pairing.paired:
        yield difference.estimate.reason
    if series.missing:
        yield plural(
            "{count:,} of {rows:,} rows has no number in one of the runs",
            "{count:,} of {rows:,} rows have no number in one of the runs",
            series.missing,
            rows=series.missing + series.scores.rows,
        )
    if series.scores.open:
        yield plural(
            "{count:,} of {rows:,} rows lacks votes that could change it: the interval "
            "holds whatever they are",
            "{count:,} of {rows:,} rows lack votes that could change them: the interval "
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
            "{other_questions:,} of {paired:,} pairs have different questions in the two runs: "
            "are these the same rows?",
            other_questions=pairing.other_questions,
            paired=pairing.paired,
        )


def adjusted_for_all(
    comparisons: list[RunComparison], settings: ComparisonSettings
) -> list[RunComparison]:
    """Adjust p-values over all criteria (Holm), so that the risk of any false result stays that of
    one test.
    """
    p_values = [_p_value(comparison) for comparison in comparisons]
    places = [place for place, value in enumerate(p_values) if value is not None]
    adjusted = dict(zip(places, holm([p_values[place] or 0.0 for place in places]), strict=True))
    return [
        _adjust(comparison, adjusted.get(place), settings.level)
        for place, comparison in enumerate(comparisons)
    ]


def _p_value(comparison: RunComparison) -> float | None:
    """Return the p-value of the shown difference.

    With a margin, it is the chance of a difference this far beyond the margin if the runs differ by
    no more than that.
    """
    limits = comparison.difference.limits
    if comparison.shown.lower is None or (
        comparison.corrected is None and not (comparison.margin and limits)
    ):
        return comparison.difference.p_value
    if comparison.corrected is None and limits is not None:
        return limits.chance_within(comparison.margin)
    middle, error, freedom = _corrected_spread(comparison.shown)
    beyond = abs(middle) - comparison.margin
    if beyond <= 0:
        return 1.0
    return min(1.0, 2 * t_cdf(-beyond / error, freedom)) if error > 0 else 0.0


def upper_limits(
    comparisons: Sequence[RunComparison], margin: float, level: float
) -> list[float | None]:
    """Return the upper limit of each difference by Holm's procedure; None for a difference without
    limits.

    The risk that any limit below ``-margin`` is wrong is no larger than for a single one.
    """
    places = [
        place for place, comparison in enumerate(comparisons) if comparison.shown.lower is not None
    ]
    order = sorted(places, key=lambda place: _chance_below(comparisons[place], -margin))
    limits: list[float | None] = [None] * len(comparisons)
    # Holm: the risk of each step depends on the limits that passed before it
    step, stopped = 0, False
    for place in order:
        limit = _upper_limit(comparisons[place], 1 - (1 - level) / (len(order) - step))
        limits[place], stopped = limit, stopped or limit >= -margin
        step += not stopped
    return limits


def _corrected_spread(shown: Estimate) -> tuple[float, float, int]:
    """Return a corrected interval's middle, its standard error, and the degrees of freedom."""
    lower, upper = shown.lower or 0.0, shown.upper or 0.0
    freedom = max(1, shown.count - 1)
    return (
        (lower + upper) / 2,
        (upper - lower) / 2 / t_two_sided(shown.level, freedom),
        freedom,
    )


def _chance_below(comparison: RunComparison, bar: float) -> float:
    """Return the one-sided p-value against a true difference of ``bar`` or more."""
    if comparison.corrected is None and comparison.difference.limits is not None:
        return comparison.difference.limits.chance_above(bar)
    middle, error, freedom = _corrected_spread(comparison.shown)
    return t_cdf((middle - bar) / error, freedom) if error > 0 else float(middle >= bar)


def _upper_limit(comparison: RunComparison, level: float) -> float:
    if comparison.corrected is None and comparison.difference.limits is not None:
        return comparison.difference.limits.upper(level)
    middle, error, freedom = _corrected_spread(comparison.shown)
    return middle + t_two_sided(level, freedom) * error


def _adjust(comparison: RunComparison, p_value: float | None, level: float) -> RunComparison:
    if (
        p_value is None
        or comparison.outcome is ComparisonOutcome.CANNOT_TELL
        or p_value <= 1 - level
    ):
        return replace(comparison, adjusted=p_value)
    note = Message(
        "alone it would count as different; corrected for all compared criteria it does not (Holm)"
    )
    return replace(
        comparison,
        adjusted=p_value,
        outcome=ComparisonOutcome.CANNOT_TELL,
        notes=(*comparison.notes, note),
    )
