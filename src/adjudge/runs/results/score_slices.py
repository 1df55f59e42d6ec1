"""A judge's scores apart for each slice of the rows."""

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
from adjudge.core.domain.slices import MOST, slice_rows, value_in
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.results.contests import ContestTally, one_order_message
from adjudge.runs.results.summary import UNSURE, GateConfidence
from adjudge.stats.intervals import Interval, scaled_interval
from adjudge.stats.slices import level_of_each

_LEVEL = 0.95


@dataclass(frozen=True)
class ScoreSlice:
    """The rows that hold one value."""

    name: str
    rows: int
    scores: int
    mean: float | None
    interval: Interval | None
    """None of few scores, of counts and of those outside 0 to 1."""

    def to_dict(self) -> JsonDict:
        limits = self.interval
        return {
            **some_of(self, "name", "rows", "scores"),
            "value": self.mean,
            "lower": limits.lower if limits else None,
            "upper": limits.upper if limits else None,
        }


@dataclass(frozen=True)
class ScoreSlices:
    """All slices of one criterion by one column. Their intervals hold together."""

    criterion: str
    slices: tuple[ScoreSlice, ...]
    notes: tuple[Message, ...]
    column: str
    judge: str
    each: float
    """The level of the interval of each slice."""
    system: str = ""
    """Of a comparison: the system whose win rate is shown."""
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
            "slices": [one.to_dict() for one in self.slices],
            "notes": list(self.notes),
        }


def slice_columns(records: Iterable[JudgmentRecord]) -> list[str]:
    """Columns that put rows together, those with the fewest values first."""
    seen: dict[str, set[str]] = {}
    rows: Counter[str] = Counter()
    for record in records:
        rows[record.criterion] += 1
        for column in {**record.fields, **record.input}:
            if len(known := seen.setdefault(str(column), set())) <= MOST:
                known.add(_value(record, str(column)))
    seen.pop(TRAJECTORY, None)  # each row has its own
    most = min(MOST, max(rows.values(), default=0) - 1)
    found = {name: len(values - {""}) for name, values in seen.items()}
    return sorted(
        (name for name, count in found.items() if 2 <= count <= most), key=found.__getitem__
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
    """The mean of each slice by each criterion of a judge, the largest slice first; criteria whose
    rows lack the column are left out if others have it. A comparison of two systems has the win
    rate of the first, one of more systems that of each. Answers of several systems are shown apart.
    ``sureness``: which rows belong together.
    """
    several = len({one.answered_by for one in records}) > 1
    groups: dict[tuple[str, str], list[JudgmentRecord]] = {}
    for one in records:
        system = one.answered_by if several else ""
        groups.setdefault((one.criterion, system), []).append(one)
    with_it = {
        name: own for name, own in groups.items() if any(value_in(one, column) for one in own)
    }
    return [
        replace(slices, answered_by=system)
        for (criterion, system), own in (with_it or groups).items()
        for slices in _slices(
            criterion, own, column, configuration.score_range(criterion), sureness
        )
    ]


def score_slices_by_judge(
    records: Iterable[JudgmentRecord],
    column: str,
    corrected: Collection[JudgeCriterion],
    configurations: Mapping[str, JudgeConfiguration],
    cluster: str = "",
) -> tuple[ScoreSlices, ...]:
    """The slices of every judge and criterion of a run, apart from those in ``corrected``, whose
    slices are shown with what labels say.
    """
    known = {(one.judge, one.criteria) for one in corrected}
    by_judge: dict[str, list[JudgmentRecord]] = {}
    for one in records:
        if (one.judge, one.criterion) not in known:
            by_judge.setdefault(one.judge, []).append(one)
    return tuple(
        slices if any(one.scores for one in slices.slices) else _without_table(slices)
        for judge, own in by_judge.items()
        for slices in score_slices(
            own,
            column,
            configurations.get(judge, JudgeConfiguration()),
            GateConfidence(cluster=cluster),
        )
    )


def _without_table(slices: ScoreSlices) -> ScoreSlices:
    """Say why there is no table."""
    return replace(slices, slices=(), notes=(Message("No slices: no row has a score."),))


def _slices(
    criterion: str,
    records: Sequence[JudgmentRecord],
    column: str,
    scale: tuple[float, float],
    sureness: GateConfidence,
) -> Iterator[ScoreSlices]:
    slicing = slice_rows([value_in(one, column) for one in records], column)
    statuses = zip(slicing.of_rows, records, strict=True)
    rows = Counter(name for name, one in statuses if one.status != "skipped")
    skipped = len(records) - rows.total()
    names = list(dict.fromkeys(name for one in records for name in one.systems))
    # the win rate of the second of two systems is 1 less that of the first
    systems = names if len(names) > 2 else names[:1] or [""]
    each = level_of_each(_LEVEL, len(slicing.names) * len(systems))
    plain = not any(one.detail.is_count for one in records)
    notes = (
        *slicing.notes,
        *(_skipped_note(skipped) if skipped else ()),
        *_one_order_note(records),
    )
    for system in systems:
        scores: Mapping[str, list[float]] = {name: [] for name in slicing.names}
        units: Mapping[str, list[Unit]] = {name: [] for name in slicing.names}
        for one, name in zip(records, slicing.of_rows, strict=True):
            if (score := _number(one, system)) is not None:
                scores[name].append(score)
                units[name].append(sureness.unit(one))
        found = tuple(
            ScoreSlice(
                name,
                rows[name],
                len(own),
                fmean(own) if own else None,
                scaled_interval(
                    own,
                    (0.0, 1.0) if system else scale,
                    level=each,
                    clusters=sureness.clusters(units[name]),
                )
                if plain
                else None,
            )
            for name, own in scores.items()
        )
        yield ScoreSlices(criterion, found, notes, column, records[0].judge, each, system)


def _number(one: JudgmentRecord, system: str) -> float | None:
    """Return the score of a row, or the win rate of a system on it; None if there is none."""
    if not one.scored:
        return None
    if not system:
        return one.score
    rates = zip(one.systems, one.detail.system_results, strict=True)
    return next((result.winrate for name, result in rates if name == system), None)


def _one_order_note(records: Sequence[JudgmentRecord]) -> Iterator[Message]:
    tally = ContestTally()
    for one in records:
        tally.add(one)
    if (found := tally.summary()).one_order:
        yield one_order_message(found)


def _skipped_note(count: int) -> tuple[Message]:
    return (
        plural(
            "{count} row was not to be judged (skipped)",
            "{count} rows were not to be judged (skipped)",
            count,
        ),
    )
