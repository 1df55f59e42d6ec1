"""A judge's scores per slice of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import TRAJECTORY
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit
from adjudge.core.domain.slices import MOST, Slicing, slice_rows, value_in
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.results.contests import ContestTally, one_order_message
from adjudge.runs.results.summary import UNSURE, GateConfidence
from adjudge.stats.intervals import Interval, interval_of_bounds, scaled_interval
from adjudge.stats.slices import level_of_each

_LEVEL = 0.95
_SYSTEM = "system"
"""The column with the name of the system, in rows of targets."""


@dataclass(frozen=True)
class ScoreSlice:
    """The rows with one value in a column."""

    name: str
    rows: int
    scores: int
    mean: float | None
    """Over the rows with a score."""
    interval: Interval | None
    """None with few scores, for counts, and for scores off their scale. If rows have bounds, it
    holds whatever their scores are.
    """
    between: tuple[float, float] | None = None
    """The least and the most that the mean over all rows can be, if rows have bounds instead of a
    score.
    """

    def to_dict(self) -> JsonDict:
        limits = self.interval
        return {
            **some_of(self, "name", "rows", "scores"),
            "value": self.mean,
            "lower": limits.lower if limits else None,
            "upper": limits.upper if limits else None,
            **({"between": list(self.between)} if self.between else {}),
        }


@dataclass(frozen=True)
class ScoreSlices:
    """All slices of one criterion by one column, with simultaneous intervals."""

    criterion: str
    slices: tuple[ScoreSlice, ...]
    notes: tuple[Message, ...]
    column: str
    judge: str
    each: float
    """The level of the interval of each slice."""
    system: str = ""
    """For a comparison: the system whose win rate is shown."""
    level: float = _LEVEL
    """The level at which all of them hold together."""
    answered_by: str = ""
    """The system whose answers they are, if several answered."""

    @property
    def name(self) -> str:
        return of_system(JudgeCriterion(self.judge, self.criterion).name, self.answered_by)

    def to_dict(self) -> JsonDict:
        return {
            "criterion": of_system(self.criterion, self.answered_by),
            "system": self.system or None,
            "slices": [slice_of_scores.to_dict() for slice_of_scores in self.slices],
            "notes": list(self.notes),
        }


def slice_columns(records: Iterable[JudgmentRecord]) -> list[str]:
    """Return the columns suited to grouping rows, those with the fewest values first."""
    values_by_column: dict[str, set[str]] = {}
    rows: Counter[str] = Counter()
    for record in records:
        rows[record.criterion] += 1
        for column in {**record.fields, **record.input}:
            if len(values_of_column := values_by_column.setdefault(str(column), set())) <= MOST:
                values_of_column.add(_value(record, str(column)))
    values_by_column.pop(TRAJECTORY, None)  # each row has its own
    most = min(MOST, max(rows.values(), default=0) - 1)
    counts = {name: len(values - {""}) for name, values in values_by_column.items()}
    return sorted(
        (name for name, count in counts.items() if 2 <= count <= most), key=counts.__getitem__
    )


def _value(record: JudgmentRecord, column: str) -> str:
    try:
        return value_in(record, column)
    except SetupError:  # it holds several values
        return ""


def score_slices(
    records: Sequence[JudgmentRecord],
    column: str,
    configuration: JudgeConfiguration,
    sureness: GateConfidence = UNSURE,
) -> list[ScoreSlices]:
    """Return the mean of each slice, the largest first, for each criterion of a judge.

    Criteria whose rows lack the column are left out if others have it. Comparisons of two systems
    show the win rate of the first; with more systems, each has its win rate. Answers of several
    systems are shown separately. ``sureness``: defines the groups of rows.
    """
    groups = _groups(records)
    with_it = {
        name: group
        for name, group in groups.items()
        if any(value_in(record, column) for record in group)
    }
    return [
        replace(slices, answered_by=system)
        for (criterion, system), group in (with_it or groups).items()
        for slices in _slices(
            criterion,
            group,
            slice_rows([value_in(record, column) for record in group], column),
            configuration.score_range(criterion),
            sureness,
        )
    ]


def _groups(
    records: Iterable[JudgmentRecord], *, by_system: bool = True
) -> dict[tuple[str, str], list[JudgmentRecord]]:
    """Return (criterion, system whose answers they are if several answered) → judgments."""
    groups: dict[tuple[str, str], list[JudgmentRecord]] = {}
    for record in records:
        system = record.answered_by if by_system else ""
        groups.setdefault((record.criterion, system), []).append(record)
    if len({system for _, system in groups}) > 1:
        return groups
    return {(criterion, ""): group for (criterion, _), group in groups.items()}


@dataclass(frozen=True)
class CrossedSlices:
    """The scores of one criterion by two columns, with intervals that hold simultaneously."""

    criterion: str
    names: tuple[str, ...]
    """The slices by the first column."""
    across: tuple[str, ...]
    """The slices by the second column."""
    cells: Mapping[tuple[str, str], ScoreSlice]
    """(first, second) → the rows with both values; pairs without rows are missing."""
    notes: tuple[Message, ...]
    each: float
    """The level of the interval of each cell."""
    system: str = ""
    """For a comparison: the system whose win rate is shown."""
    level: float = _LEVEL
    """The level at which all of them hold together."""
    answered_by: str = ""
    """The system whose answers they are, if several answered."""

    def lower(self, name: str) -> list[str]:
        """Return the second values whose interval lies below that of another one in this slice."""
        limits = {
            other: cell.interval
            for other in self.across
            if (cell := self.cells.get((name, other))) and cell.interval
        }
        highest = max((interval.lower for interval in limits.values()), default=0.0)
        return [other for other, interval in limits.items() if interval.upper < highest]

    def to_dict(self) -> JsonDict:
        return {
            "criterion": of_system(self.criterion, self.answered_by),
            "system": self.system or None,
            "across": list(self.across),
            "slices": [
                {
                    "name": name,
                    "cells": [
                        cell.to_dict() if (cell := self.cells.get((name, other))) else None
                        for other in self.across
                    ],
                    "lower": self.lower(name),
                }
                for name in self.names
            ],
            "notes": list(self.notes),
            "each": self.each,
        }


def crossed_slices(
    records: Sequence[JudgmentRecord],
    column: str,
    across: str,
    configuration: JudgeConfiguration,
) -> list[CrossedSlices]:
    """Return the mean of the rows with each pair of values, for each criterion of a judge.

    Criteria whose rows lack one of the columns are left out. Answers of several systems are shown
    separately: beside each other if one of the columns is the system.
    """
    crossed = []
    by_system = _SYSTEM not in (column, across)
    for (criterion, system), group in _groups(records, by_system=by_system).items():
        first = [value_in(record, column) for record in group]
        second = [value_in(record, across) for record in group]
        if not any(first) or not any(second):
            continue
        rows, columns = slice_rows(first, column), slice_rows(second, across)
        # keys are numbers, because a slice's name may be any text
        keys = {
            f"{row_number}:{column_number}": (name, other)
            for row_number, name in enumerate(rows.names)
            for column_number, other in enumerate(columns.names)
        }
        key_of = {pair: key for key, pair in keys.items()}
        pairs = zip(rows.of_rows, columns.of_rows, strict=True)
        slicing = Slicing(
            f"{column}, {across}",
            tuple(key_of[pair] for pair in pairs),
            (*rows.notes, *columns.notes),
        )
        crossed += [
            CrossedSlices(
                criterion,
                tuple(rows.names),
                tuple(sorted(columns.names)),
                {keys[part.name]: part for part in slices.slices},
                slices.notes,
                slices.each,
                slices.system,
                answered_by=system,
            )
            for slices in _slices(
                criterion, group, slicing, configuration.score_range(criterion), UNSURE
            )
        ]
    return crossed


def score_slices_by_judge(
    records: Iterable[JudgmentRecord],
    column: str,
    corrected: Collection[JudgeCriterion],
    configurations: Mapping[str, JudgeConfiguration],
    cluster: str = "",
) -> tuple[ScoreSlices, ...]:
    """Return the slices of every judge and criterion in a run.

    Those in ``corrected`` are left out, because their slices are shown with the labels.
    """
    corrected_lines = {(item.judge, item.criteria) for item in corrected}
    by_judge: dict[str, list[JudgmentRecord]] = {}
    for item in records:
        if (item.judge, item.criterion) not in corrected_lines:
            by_judge.setdefault(item.judge, []).append(item)
    return tuple(
        slices
        if any(part.scores or part.between for part in slices.slices)
        else replace(slices, slices=(), notes=(Message("No slices: no row has a score."),))
        for judge, records_of_judge in by_judge.items()
        for slices in score_slices(
            records_of_judge,
            column,
            configurations.get(judge, JudgeConfiguration()),
            GateConfidence(cluster=cluster),
        )
    )


def _slices(
    criterion: str,
    records: Sequence[JudgmentRecord],
    slicing: Slicing,
    scale: tuple[float, float],
    sureness: GateConfidence,
) -> Iterator[ScoreSlices]:
    statuses = zip(slicing.of_rows, records, strict=True)
    rows = Counter(name for name, record in statuses if record.status != "skipped")
    skipped = len(records) - rows.total()
    names = list(dict.fromkeys(name for record in records for name in record.systems))
    # the win rate of the second of two systems is 1 less that of the first
    systems = names if len(names) > 2 else names[:1] or [""]
    slice_level = level_of_each(_LEVEL, len(slicing.names) * len(systems))
    has_intervals = not any(record.detail.is_count for record in records)
    notes = (
        *slicing.notes,
        *(_skipped_note(skipped) if skipped else ()),
        *_one_order_note(records),
    )
    for record in records:
        if (limits := record.detail.limits) is not None:
            scale = min(scale[0], limits[0]), max(scale[1], limits[1])
    for system in systems:
        scores_by_slice = {name: _SliceScores() for name in slicing.names}
        for record, name in zip(records, slicing.of_rows, strict=True):
            scores_by_slice[name].add(record, system, scale, sureness.unit(record))
        score_slices_found = tuple(
            ScoreSlice(
                name,
                rows[name],
                scores.scored,
                scores.mean,
                scores.interval((0.0, 1.0) if system else scale, slice_level, sureness)
                if has_intervals
                else None,
                scores.between,
            )
            for name, scores in scores_by_slice.items()
        )
        yield ScoreSlices(
            criterion,
            score_slices_found,
            notes,
            slicing.column,
            records[0].judge,
            slice_level,
            system,
        )


class _SliceScores:
    """The scores of the rows of a slice, and the bounds of those that have bounds instead."""

    def __init__(self) -> None:
        self._scores: list[float] = []
        self._lows: list[float] = []
        self._highs: list[float] = []
        self._units: list[Unit] = []

    def add(
        self, record: JudgmentRecord, system: str, scale: tuple[float, float], unit: Unit
    ) -> None:
        score = _number(record, system)
        if score is not None:
            low = high = score
            self._scores.append(score)
        elif record.detail.has_bounds and record.status != "skipped":
            low, high = record.missing_score(scale)
        else:
            return
        self._lows.append(low)
        self._highs.append(high)
        self._units.append(unit)

    @property
    def scored(self) -> int:
        return len(self._scores)

    @property
    def mean(self) -> float | None:
        return fmean(self._scores) if self._scores else None

    @property
    def between(self) -> tuple[float, float] | None:
        if self._lows == self._highs:
            return None
        return fmean(self._lows), fmean(self._highs)

    def interval(
        self, scale: tuple[float, float], level: float, sureness: GateConfidence
    ) -> Interval | None:
        clusters = sureness.clusters(self._units)
        return interval_of_bounds(
            lambda values: scaled_interval(values, scale, level=level, clusters=clusters),
            self._lows,
            self._highs,
        )


def _number(record: JudgmentRecord, system: str) -> float | None:
    """Return a row's score, or a system's win rate on it; None if there is none."""
    if not record.scored:
        return None
    if not system:
        return record.score
    rates = zip(record.systems, record.detail.system_results, strict=True)
    return next((result.winrate for name, result in rates if name == system), None)


def _one_order_note(records: Sequence[JudgmentRecord]) -> Iterator[Message]:
    tally = ContestTally()
    for record in records:
        tally.add(record)
    if (summary := tally.summary()).one_order:
        yield one_order_message(summary)


def _skipped_note(count: int) -> tuple[Message]:
    return (
        plural(
            "{count} row was skipped",
            "{count} rows were skipped",
            count,
        ),
    )
