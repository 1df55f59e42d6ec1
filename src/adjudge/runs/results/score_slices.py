"""A judge's scores apart for each slice of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import fmean

from adjudge.core.domain.frozen import nonempty, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repeated import Unit
from adjudge.core.domain.slices import MOST, slice_rows, value_in
from adjudge.errors import SetupError
from adjudge.features.agents.item import TRAJECTORY
from adjudge.messages import Message
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
    level: float = _LEVEL
    """The level at which all of them hold together."""
    system: str = ""
    """The compared system whose win rates these are; empty: scores."""

    @property
    def name(self) -> str:
        name = JudgeCriterion(self.judge, self.criterion).name
        if not self.system:
            return name
        return Message("win rate of {system} by {name}", system=self.system, name=name)

    def to_dict(self) -> JsonDict:
        return {
            "criterion": self.criterion,
            **nonempty(system=self.system),
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
    rows lack the column are left out if others have it. ``sureness``: which rows belong together.
    """
    by_criterion: dict[str, list[JudgmentRecord]] = {}
    for one in records:
        by_criterion.setdefault(one.criterion, []).append(one)
    with_it = {
        name: own for name, own in by_criterion.items() if any(value_in(one, column) for one in own)
    }
    return [
        _slices(name, own, column, configuration.score_range(name), sureness)
        for name, own in (with_it or by_criterion).items()
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
    sureness = GateConfidence(cluster=cluster)
    return tuple(
        slices
        for judge, own in by_judge.items()
        for scored in score_slices(
            own, column, configurations.get(judge, JudgeConfiguration()), sureness
        )
        for slices in _tables(scored, own, sureness)
    )


def _tables(
    scored: ScoreSlices, records: Sequence[JudgmentRecord], sureness: GateConfidence
) -> list[ScoreSlices]:
    """The slices of scores, else the win rates of each compared system, else why there are none."""
    if any(one.scores for one in scored.slices):
        return [scored]
    own = [one for one in records if one.criterion == scored.criterion]
    systems = dict.fromkeys(name for one in own for name in one.detail.system_names)
    if systems and any(one.scored for one in own):
        return [_win_rates(name, own, scored.column, sureness) for name in systems]
    return [replace(scored, slices=(), notes=(Message("No slices: no row has a score."),))]


def _win_rates(
    system: str, records: Sequence[JudgmentRecord], column: str, sureness: GateConfidence
) -> ScoreSlices:
    """The win rate of one system per slice; as in the whole, a tie counts a half."""

    def rate_of(one: JudgmentRecord) -> float | None:
        named = zip(one.detail.system_names, one.detail.system_results, strict=True)
        return next((result.winrate for name, result in named if name == system), None)

    own = [one for one in records if system in one.detail.system_names]
    found = _slices(own[0].criterion, own, column, (0.0, 1.0), sureness, rate_of)
    return replace(found, system=system)


def _slices(
    criterion: str,
    records: Sequence[JudgmentRecord],
    column: str,
    scale: tuple[float, float],
    sureness: GateConfidence,
    value_of: Callable[[JudgmentRecord], float | None] = attrgetter("score"),
) -> ScoreSlices:
    slicing = slice_rows([value_in(one, column) for one in records], column)
    rows = Counter(slicing.of_rows)
    scores: Mapping[str, list[float]] = {name: [] for name in slicing.names}
    units: Mapping[str, list[Unit]] = {name: [] for name in slicing.names}
    for one, name in zip(records, slicing.of_rows, strict=True):
        if one.scored and (value := value_of(one)) is not None:
            scores[name].append(value)
            units[name].append(sureness.unit(one))
    each = level_of_each(_LEVEL, len(scores))
    plain = not any(one.detail.is_count for one in records)
    found = tuple(
        ScoreSlice(
            name,
            rows[name],
            len(own),
            fmean(own) if own else None,
            scaled_interval(own, scale, level=each, clusters=sureness.clusters(units[name]))
            if plain
            else None,
        )
        for name, own in scores.items()
    )
    return ScoreSlices(criterion, found, slicing.notes, column, records[0].judge, each)
