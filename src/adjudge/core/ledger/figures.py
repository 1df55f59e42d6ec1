"""What one judge's judgments of a run come to: counts, means, and what pictures are drawn of."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.stats.intervals import Interval, scaled_interval

_BARS = 20
_MOST_SCORES = 100_000
"""Scores of whose mean an interval is computed: of more it is narrower than ±0.004."""
_MOST_ANSWERS = 300
"""Kinds of answers of which a picture is drawn."""


class Mean(NamedTuple):
    """Of scores by one criteria."""

    value: float
    scores: int
    interval: Interval | None
    """None of few scores, of those outside their scale, of counts, and of so many that it would be
    no wider than the figure's last digit.
    """
    is_count: bool = False
    """Whether it is a mean of counts: 0 is the good end, and there is no other."""


class OrderFigures(NamedTuple):
    """What asking in both orders changed."""

    rows: int
    turned: int
    """Rows whose verdict changed with the order."""
    flip_rate: float | None
    """Share of the votes that change with the order."""
    noise_rate: float | None
    """Share that differs within one order: the noise floor."""


class AnswerCount(NamedTuple):
    """How often something was answered."""

    answer: str
    rows: int
    score: float | None
    """What it is worth, from 0 to 1; None where it has no score, or another range."""


@dataclass(frozen=True)
class Figures:
    """What one judge's judgments come to."""

    statuses: Mapping[str, int]
    mean: Mean | None
    """None where there are several criteria: a mean over them says nothing."""
    means: Mapping[str, Mean]
    """Of each of several criteria."""
    verdicts: Mapping[str, int]
    """How often each was decided, the most frequent first."""
    histogram: list[tuple[float, float, int]]
    """(from, to, how many scores); none over several criteria."""
    order: OrderFigures | None = None
    answers: Mapping[str, list[AnswerCount]] = field(default_factory=dict)
    """Criterion → its verdicts, the worst first."""
    dimensions: Mapping[str, list[AnswerCount]] = field(default_factory=dict)
    """Of RAG answers: dimension → its scores, the lowest first."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """Of RAG answers: rule of the composite → rows."""


def figures_of(
    connection: sqlite3.Connection,
    judge: str,
    configuration: JudgeConfiguration,
    *,
    whole: bool = True,
) -> Figures:
    """Counts and scores are read from the index alone, where the ledger has it, in one pass.

    ``configuration``: of the judge. ``whole``: with what only the judgments themselves say, each of
    which is read.
    """
    several = len(configuration.criteria) > 1
    low, high = _ends(connection, judge)
    scale = _scale(connection, judge)
    width = (high - low) / _BARS or 1.0
    statuses: Counter[str] = Counter()
    bars: Counter[int] = Counter()
    name = configuration.criteria[0].get("name") if configuration.criteria else ""
    scores = _Scores(configuration.score_range(str(name)))
    groups = "SELECT status, score, count(*) FROM judgments WHERE judge = ? GROUP BY status, score"
    for status, score, count in connection.execute(groups, (judge,)):
        statuses[status] += count
        if status == "scored" and score is not None:
            bars[min(int((score - low) / width), _BARS - 1)] += count
            scores.add(score, count, scale)
    means = (
        _means(connection, judge, configuration) if whole and (several or scale.is_special) else {}
    )
    return Figures(
        dict(statuses),
        None if several else next(iter(means.values()), scores.mean()),
        means if several else {},
        _verdicts(connection, judge) if whole else {},
        [(low + bar * width, low + (bar + 1) * width, bars[bar]) for bar in range(_BARS)]
        if bars and not several
        else [],
        _order(connection, judge) if whole else None,
        _answers(connection, judge) if whole else {},
        _dimensions(connection, judge) if whole else {},
        _rules(connection, judge) if whole else {},
    )


class _Scale(NamedTuple):
    """What scores are: counts or not, and which of them belong together."""

    is_count: bool
    cluster: str | None
    """The task that the row is a trial of, or the row that was answered several times; None if the
    row is independent. Like ``unit_of`` without a column.
    """

    @property
    def is_special(self) -> bool:
        return self.is_count or self.cluster is not None


_SCALE = (
    "coalesce(json_extract(result, '$.count'), 0), coalesce(CASE WHEN json_type(result, "
    "'$.input.trial') IS NOT NULL THEN nullif(trim(json_extract(result, '$.input.task_id')), '') "
    "END, '' || json_extract(result, '$.input.answered_row'))"
)


def _scale(connection: sqlite3.Connection, judge: str) -> _Scale:
    """Of the first score of a judge."""
    query = (
        f"SELECT {_SCALE} FROM judgments "  # noqa: S608 - texts of ours
        "WHERE judge = ? AND status = 'scored' AND score IS NOT NULL ORDER BY score LIMIT 1"
    )
    is_count, cluster = connection.execute(query, (judge,)).fetchone() or (False, None)
    return _Scale(bool(is_count), cluster)


class _Scores:
    def __init__(self, ends: tuple[float, float]) -> None:
        self._ends = ends
        self._total, self._count, self._values = 0.0, 0, array("d")
        self._clusters: list[str | int] = []
        self._is_count = False

    def add(self, score: float, count: int, scale: _Scale) -> None:
        self._total += score * count
        self._count += count
        self._is_count |= scale.is_count
        if self._count <= _MOST_SCORES:
            self._values.extend([score] * count)
            alone = range(self._count - count, self._count)
            self._clusters += alone if scale.cluster is None else [scale.cluster] * count

    def mean(self) -> Mean | None:
        if not self._count:
            return None
        known = len(self._values) == self._count
        several = len({*self._clusters}) < self._count
        together = self._clusters if several else None
        return Mean(
            self._total / self._count,
            self._count,
            scaled_interval(self._values, self._ends, clusters=together)
            if known and not self._is_count
            else None,
            self._is_count,
        )


def _means(
    connection: sqlite3.Connection, judge: str, configuration: JudgeConfiguration
) -> dict[str, Mean]:
    found: dict[str, _Scores] = {}
    groups = (
        f"SELECT criterion AS asked, score, count(*), {_SCALE} FROM judgments "  # noqa: S608
        "WHERE judge = ? AND status = 'scored' AND score IS NOT NULL GROUP BY asked, score, 4, 5"
    )
    for asked, score, count, is_count, cluster in connection.execute(groups, (judge,)):
        scale = _Scale(bool(is_count), cluster)
        if asked not in found:
            found[asked] = _Scores(configuration.score_range(asked))
        found[asked].add(score, count, scale)
    return {asked: mean for asked, scores in found.items() if (mean := scores.mean())}


def _verdicts(connection: sqlite3.Connection, judge: str) -> dict[str, int]:
    query = (
        "SELECT verdict AS said, count(*) FROM judgments WHERE judge = ? GROUP BY said "
        "ORDER BY 2 DESC LIMIT 30"
    )
    return {said: count for said, count in connection.execute(query, (judge,)) if said is not None}


def _answers(connection: sqlite3.Connection, judge: str) -> dict[str, list[AnswerCount]]:
    query = (
        "SELECT criterion, verdict, count(*), avg(score) FROM judgments "  # noqa: S608
        "WHERE judge = ? AND status = 'scored' AND verdict IS NOT NULL "
        f"GROUP BY criterion, verdict ORDER BY criterion, avg(score), verdict LIMIT {_MOST_ANSWERS}"
    )
    found: dict[str, list[AnswerCount]] = {}
    for criterion, said, count, score in connection.execute(query, (judge,)):
        found.setdefault(criterion, []).append(AnswerCount(said, count, _worth(score)))
    return found


def _dimensions(connection: sqlite3.Connection, judge: str) -> dict[str, list[AnswerCount]]:
    query = (Path(__file__).parent / "data" / "dimension_scores.sql").read_text(encoding="utf-8")
    found: dict[str, list[AnswerCount]] = {}
    for name, score, count, worth in connection.execute(query, (judge, _MOST_ANSWERS)):
        found.setdefault(name, []).append(AnswerCount(str(score), count, _worth(worth)))
    return found


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
    """Of the histogram: from 0 to 1 where the scores are, else from the lowest to the highest."""
    end = (
        "SELECT {}(score) FROM judgments WHERE judge = ? AND status = 'scored' AND score IS NOT "
        "NULL"
    )
    lowest, highest = (
        connection.execute(end.format(name), (judge,)).fetchone()[0] for name in ("min", "max")
    )
    return (0.0, 1.0) if lowest is None or (lowest >= 0 and highest <= 1) else (lowest, highest)
