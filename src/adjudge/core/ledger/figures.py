"""Figures of one judge's judgments in a run: counts, means, and the data of charts."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import KIND
from adjudge.core.domain.repetition import PART_OF, ROW, TASK, TRIAL, Unit, clusters_of, unit_of
from adjudge.core.ledger.codec import kind_has_bounds
from adjudge.core.ledger.records import records
from adjudge.stats.intervals import Interval, scaled_interval

_BARS = 20
# Most scores for which an interval is computed: with more it is narrower than ±0.004.
_MOST_SCORES = 100_000
# Most rows whose limits are read: more take too long for a list of runs.
_MOST_LIMITS = 20_000
# Most rows that are read to see if they belong together, in runs too large to read every row.
_MOST_SAMPLED = 1_000
# Most different answers in a chart.
_MOST_ANSWERS = 300


class Mean(NamedTuple):
    """The mean of scores by one criterion, of one system if several answered."""

    value: float | None
    """Over the scored rows; None if no row has a score."""
    scores: int
    interval: Interval | None
    """None for few scores, scores outside their scale, counts, rows with bounds, and so many scores
    that it would be no wider than the last digit of the mean.
    """
    is_count: bool = False
    """True for a mean of counts: 0 is the good end, and there is no other."""
    conversations: int = 0
    """Conversations that the rows are turns or topics of; 0 if they are whole rows."""
    between: tuple[float, float] | None = None
    """The least and the most that the mean over all rows can be, if rows have bounds instead of a
    score.
    """


class OrderFigures(NamedTuple):
    """The effect of asking in both orders."""

    rows: int
    turned: int
    """Rows whose verdict changed with the order."""
    flip_rate: float | None
    """Share of the votes that change with the order."""
    noise_rate: float | None
    """Share that differs within one order: the noise floor."""


class AnswerCount(NamedTuple):
    """The number of times that one answer was given."""

    answer: str
    rows: int
    score: float | None
    """Its score from 0 to 1; None if it has no score, or another range."""


@dataclass(frozen=True)
class Figures:
    """The figures of one judge's judgments."""

    statuses: Mapping[str, int]
    mean: Mean | None
    """None for several criteria or systems: a mean over them says nothing."""
    means: Mapping[str, Mean]
    """The mean by each of several criteria and systems, named as in reports: ``name [system]``."""
    verdicts: Mapping[str, int]
    """Verdict → count, the most frequent first."""
    histogram: list[tuple[float, float, int]]
    """(from, to, number of scores); none over several criteria."""
    order: OrderFigures | None = None
    answers: Mapping[str, list[AnswerCount]] = field(default_factory=dict)
    """Criterion, and system if there are several → its verdicts, the worst first."""
    dimensions: Mapping[str, list[AnswerCount]] = field(default_factory=dict)
    """Dimension of RAG answers → its scores, the lowest first."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """Rule of RAG answers' composite → rows."""
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name in ``means`` and ``answers`` → its criterion and system."""


def figures_of(
    connection: sqlite3.Connection,
    judge: str,
    configuration: JudgeConfiguration,
    *,
    whole: bool = True,
    charts: bool = True,
    column: str = "",
) -> Figures:
    """Return a judge's figures.

    ``configuration``: the judge's own. ``whole``: also read every judgment for the figures that
    need it; counts and scores come from the index alone, in one pass. ``charts``: also count
    verdicts, dimensions and rules, if ``whole``. ``column``: rows that share its value belong
    together.
    """
    several = len(configuration.criteria) > 1
    low, high = _ends(connection, judge)
    looked_at = -1 if whole else _MOST_SAMPLED
    scale = _scale(connection, judge, column, looked_at)
    # if all scores are equal, any width puts them into one bar
    width = (high - low) / _BARS or 1.0
    statuses: Counter[str] = Counter()
    bars: Counter[int] = Counter()
    name = configuration.criteria[0].get("name") if configuration.criteria else ""
    bounded = bounded_rows(connection, judge, limits=True)
    ends = bounded.widen(configuration.score_range(str(name)))
    scores = _Scores(ends, column, bounded)
    groups = "SELECT status, score, count(*) FROM judgments WHERE judge = ? GROUP BY status, score"
    for status, score, count in connection.execute(groups, (judge,)):
        statuses[status] += count
        if status == "scored" and score is not None:
            # the highest score belongs to the last bar, not to one beyond it
            bars[min(int((score - low) / width), _BARS - 1)] += count
            scores.add(score, count, scale)
    systems = _systems(connection, judge, looked_at) if scale.is_special else []
    if len(systems) < 2:
        systems = []
    means = (
        _means(connection, judge, configuration, column, systems)
        if whole and (several or scale.is_special)
        else {}
    )
    charts &= whole
    answers = _answers(connection, judge, by_system=bool(systems)) if charts else {}
    is_one = not (several or systems)
    return Figures(
        dict(statuses),
        next(iter(means.values()), scores.mean()) if is_one else None,
        {} if is_one else {of_system(*part): mean for part, mean in means.items()},
        _verdicts(connection, judge) if charts else {},
        [(low + bar * width, low + (bar + 1) * width, bars[bar]) for bar in range(_BARS)]
        if bars and is_one
        else [],
        _order(connection, judge) if charts else None,
        {of_system(*part): counts for part, counts in answers.items()},
        _dimensions(connection, judge) if charts else {},
        _rules(connection, judge) if charts else {},
        {of_system(*part): part for part in (*answers, *means)},
    )


_Part = tuple[str, str]
"""A criterion, and a system if several answered."""


class _Scale(NamedTuple):
    """The scale of a score: a count or not, and the groups that its row shares with other rows."""

    is_count: bool
    unit: Unit
    """Like ``unit_of``."""

    @property
    def is_special(self) -> bool:
        return self.is_count or bool(self.unit)


_PART = f"{PART_OF}="
_INPUT = "json_extract(result, '$.input.{}')".format
# Like ``JudgmentRecord.answered_by``.
_SYSTEM = (
    f"CASE WHEN json_type(result, '$.input.{ROW}') IS NULL THEN '' "
    f"ELSE coalesce({_INPUT('system')}, '') END"
)
# Like ``unit_of`` without a column.
_SCALE = (
    "coalesce(json_extract(result, '$.count'), 0), "
    f"CASE WHEN json_type(result, '$.input.{TRIAL}') IS NOT NULL "
    f"THEN '{TASK}=' || nullif(trim({_INPUT(TASK)}), '') END, "
    f"'{ROW}=' || {_INPUT(ROW)}, '{PART_OF}=' || {_INPUT(PART_OF)}"
)


def _scale(connection: sqlite3.Connection, judge: str, column: str, most: int) -> _Scale:
    """Return the scale of a judge's scores: of the first that is a count or shares a group with
    other rows, among ``most`` rows; -1: all.
    """
    query = (
        f"SELECT {_SCALE} FROM (SELECT result FROM judgments "  # noqa: S608 - texts of ours
        "WHERE judge = ? AND status = 'scored' AND score IS NOT NULL LIMIT ?)"
    )
    cursor = connection.execute(query, (judge, most))
    for is_count, *shared in cursor:
        if is_count or any(value is not None for value in shared):
            return _Scale(bool(is_count), _unit([column or None, *shared]))
    return _Scale(is_count=False, unit=_unit([column or None]))


def _unit(shared: Iterable[str | None]) -> Unit:
    return tuple(value for value in shared if value is not None)


class BoundedRows(NamedTuple):
    """Rows that have bounds instead of a score, and the limits of all rows' scores."""

    rows: int = 0
    lowest: float = 0.0
    """The sum of their lower bounds, and the most by which votes that a panel lost could lower the
    scores of the other rows.
    """
    highest: float = 0.0
    limits: tuple[float, float] | None = None
    """None if they are those of the scale, or unknown."""

    def widen(self, scale: tuple[float, float]) -> tuple[float, float]:
        """Return the scale including these limits."""
        low, high = self.limits or scale
        return min(low, scale[0]), max(high, scale[1])

    def between(self, total: float, count: int) -> tuple[float, float] | None:
        """Return the range of the mean of all rows, ``count`` of which have scores that add up to
        ``total``; None if they do not change it.
        """
        if not self.rows or self.lowest == self.highest:
            return None
        rows = count + self.rows
        return (total + self.lowest) / rows, (total + self.highest) / rows


_NO_BOUNDS = BoundedRows()


def bounded_rows(
    connection: sqlite3.Connection, judge: str, *, limits: bool = False, system: str | None = None
) -> BoundedRows:
    """Return the rows of a judge that have bounds; none if its kind of result has no bounds.

    ``limits``: with the limits of all rows' scores. ``system``: only the rows it answered.
    """
    of = "json_extract(result, '$.{}')".format
    query = f"SELECT {of(KIND)} FROM judgments WHERE judge = ? AND status != 'skipped' LIMIT 1"  # noqa: S608
    first_row = connection.execute(query, (judge,)).fetchone()
    if first_row is None or not kind_has_bounds(first_row[0]):
        return _NO_BOUNDS
    query = f"SELECT 1 FROM judgments WHERE judge = ? AND {of('excluded_models')} != '{{}}' LIMIT 1"  # noqa: S608
    if connection.execute(query, (judge,)).fetchone():
        count, lowest, highest = _ends_with_lost_votes(connection, judge, system)
    else:
        count, lowest, highest = _ends_of_rows(connection, judge, system)
    if not limits:
        return BoundedRows(count, lowest, highest)
    query = (
        f"SELECT count(*), count({of('least')}), min({of('least')}), max({of('most')}) "  # noqa: S608
        "FROM (SELECT result FROM judgments WHERE judge = ? AND status != 'skipped' LIMIT ?)"
    )
    rows, known, least, most = connection.execute(query, (judge, _MOST_LIMITS + 1)).fetchone()
    is_known = known == rows and rows <= _MOST_LIMITS
    return BoundedRows(count, lowest, highest, (least, most) if is_known else None)


def _ends_of_rows(
    connection: sqlite3.Connection, judge: str, system: str | None
) -> tuple[int, float, float]:
    of = "json_extract(result, '$.{}')".format
    query = (
        f"SELECT count(*), total({of('lower')}), total({of('upper')}) FROM judgments "  # noqa: S608
        "WHERE judge = :judge AND status IN ('failed', 'abstained') "
        f"AND (:system IS NULL OR {_SYSTEM} = :system)"
    )
    values = {"judge": judge, "system": system}
    count, lowest, highest = connection.execute(query, values).fetchone()
    return count, lowest, highest


def _ends_with_lost_votes(
    connection: sqlite3.Connection, judge: str, system: str | None
) -> tuple[int, float, float]:
    count, lowest, highest = 0, 0.0, 0.0
    for record in records(connection, judge=judge, trajectory=False):
        if record.status == "skipped" or system not in (None, record.answered_by):
            continue
        if not record.scored:
            low, high = record.missing_score()
            count += 1
        elif record.score is not None and (ends := record.possible_scores()) is not None:
            low, high = ends[0] - record.score, ends[1] - record.score
        else:
            continue
        lowest += low
        highest += high
    return count, lowest, highest


class _Scores:
    def __init__(
        self, ends: tuple[float, float], column: str, bounded: BoundedRows = _NO_BOUNDS
    ) -> None:
        self._ends, self._column, self._bounded = ends, column, bounded
        self._total, self._count, self._values = 0.0, 0, array("d")
        self._units: list[Unit] = []
        self._conversations: set[str] = set()
        self._is_count = False

    def add(self, score: float, count: int, scale: _Scale) -> None:
        self._total += score * count
        self._count += count
        self._is_count |= scale.is_count
        self._conversations |= {shared for shared in scale.unit if shared.startswith(_PART)}
        if self._count <= _MOST_SCORES:
            self._values.extend([score] * count)
            self._units += [scale.unit] * count

    def mean(self) -> Mean | None:
        between = self._bounded.between(self._total, self._count)
        if not self._count:
            return Mean(None, 0, None, between=between) if between else None
        is_complete = len(self._values) == self._count
        clusters = clusters_of(self._units)
        if clusters and not self._column and len(set(clusters)) == len(clusters):
            clusters = None
        return Mean(
            self._total / self._count,
            self._count,
            scaled_interval(self._values, self._ends, clusters=clusters)
            if is_complete and not self._is_count and not between
            else None,
            self._is_count,
            len(self._conversations),
            between,
        )


def _systems(connection: sqlite3.Connection, judge: str, most: int) -> list[str]:
    """Return the systems that answered a judge's rows, the first to answer first.

    ``most``: rows that are looked at; -1: all.
    """
    query = (
        f"SELECT {_SYSTEM} AS system FROM (SELECT number, result FROM judgments "  # noqa: S608
        "WHERE judge = ? AND status != 'skipped' LIMIT ?) GROUP BY system ORDER BY min(number)"
    )
    return [str(system) for (system,) in connection.execute(query, (judge, most))]


def _means(
    connection: sqlite3.Connection,
    judge: str,
    configuration: JudgeConfiguration,
    column: str,
    systems: Sequence[str | None],
) -> dict[_Part, Mean]:
    """Return the mean by each criterion, of each of these systems; of all rows if there are none.

    A system without a score has a mean without a value.
    """
    bounded = {
        system: bounded_rows(connection, judge, limits=True, system=system)
        for system in systems or [None]
    }
    parts: dict[tuple[str, str | None], _Scores] = {}
    for criterion, answered_by, score, count, scale in _scores(connection, judge, column):
        system = answered_by if systems else None
        if (criterion, system) not in parts:
            limits = bounded[system]
            ends = limits.widen(configuration.score_range(criterion))
            parts[criterion, system] = _Scores(ends, column, limits)
        parts[criterion, system].add(score, count, scale)
    means: dict[_Part, Mean] = {}
    for criterion in dict.fromkeys(criterion for criterion, _ in parts):
        for system, limits in bounded.items():
            scores = parts.get((criterion, system))
            mean = scores.mean() if scores else Mean(None, 0, None, between=limits.between(0.0, 0))
            if mean:
                means[criterion, system or ""] = mean
    return means


def _scores(
    connection: sqlite3.Connection, judge: str, column: str
) -> Iterator[tuple[str, str, float, int, _Scale]]:
    """Yield (criterion, system, score, count, scale)."""
    if column:  # it may be a field, or a path, which only a record finds
        for record in records(connection, judge=judge, trajectory=False):
            if record.status == "scored" and record.score is not None:
                scale = _Scale(record.detail.is_count, unit_of(record, column))
                yield record.criterion, record.answered_by, record.score, 1, scale
        return
    groups = (
        f"SELECT criterion AS asked, {_SYSTEM}, score, count(*), {_SCALE} "  # noqa: S608
        "FROM judgments WHERE judge = ? AND status = 'scored' AND score IS NOT NULL "
        "GROUP BY asked, 2, score, 5, 6, 7, 8"
    )
    for criterion, system, score, count, is_count, *shared in connection.execute(groups, (judge,)):
        yield criterion, str(system), score, count, _Scale(bool(is_count), _unit(shared))


def _verdicts(connection: sqlite3.Connection, judge: str) -> dict[str, int]:
    query = (
        "SELECT verdict AS said, count(*) FROM judgments WHERE judge = ? GROUP BY said "
        "ORDER BY 2 DESC LIMIT 30"
    )
    return {
        verdict: count
        for verdict, count in connection.execute(query, (judge,))
        if verdict is not None
    }


def _answers(
    connection: sqlite3.Connection, judge: str, *, by_system: bool
) -> dict[_Part, list[AnswerCount]]:
    system = _SYSTEM if by_system else "''"
    query = (
        f"SELECT criterion, {system}, verdict, count(*), avg(score) FROM judgments "  # noqa: S608
        "WHERE judge = ? AND status = 'scored' AND verdict IS NOT NULL "
        f"GROUP BY criterion, 2, verdict ORDER BY criterion, 2, avg(score), verdict "
        f"LIMIT {_MOST_ANSWERS}"
    )
    counts: dict[_Part, list[AnswerCount]] = {}
    for criterion, answered_by, verdict, count, score in connection.execute(query, (judge,)):
        part = criterion, str(answered_by)
        counts.setdefault(part, []).append(AnswerCount(verdict, count, _worth(score)))
    return counts


def _dimensions(connection: sqlite3.Connection, judge: str) -> dict[str, list[AnswerCount]]:
    query = (Path(__file__).parent / "data" / "dimension_scores.sql").read_text(encoding="utf-8")
    counts: dict[str, list[AnswerCount]] = {}
    for name, score, count, worth in connection.execute(query, (judge, _MOST_ANSWERS)):
        counts.setdefault(name, []).append(AnswerCount(str(score), count, _worth(worth)))
    return counts


def _rules(connection: sqlite3.Connection, judge: str) -> dict[str, int]:
    query = (
        "SELECT json_extract(result, '$.composite.rule') AS rule, count(*) FROM judgments "
        "WHERE judge = ? AND rule IS NOT NULL GROUP BY rule ORDER BY 2 DESC LIMIT 30"
    )
    return {str(rule): count for rule, count in connection.execute(query, (judge,))}


def _worth(score: float | None) -> float | None:
    return score if score is not None and 0 <= score <= 1 else None


def _order(connection: sqlite3.Connection, judge: str) -> OrderFigures | None:
    of = "json_extract(result, '$.positional_bias.{}')".format
    query = (
        f"SELECT count({of('detected')}), total({of('detected')}), "  # noqa: S608
        f"avg({of('flip_rate')}), avg({of('noise_rate')}) "
        "FROM judgments WHERE judge = ?"
    )
    rows, turned, flips, noise = connection.execute(query, (judge,)).fetchone()
    return OrderFigures(rows, int(turned), flips, noise) if rows else None


def _ends(connection: sqlite3.Connection, judge: str) -> tuple[float, float]:
    """Return the range of the histogram: 0 to 1 if the scores fit, else from the lowest to the
    highest.
    """
    end = (
        "SELECT {}(score) FROM judgments WHERE judge = ? AND status = 'scored' AND score IS NOT "
        "NULL"
    )
    lowest, highest = (
        connection.execute(end.format(name), (judge,)).fetchone()[0] for name in ("min", "max")
    )
    return (0.0, 1.0) if lowest is None or (lowest >= 0 and highest <= 1) else (lowest, highest)
