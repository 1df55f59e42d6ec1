"""Comparison of two runs: their settings and the results of their rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import merge
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.core.domain.pairing import WAYS, Pairing
from adjudge.core.domain.record import StatusName
from adjudge.core.ledger.changes import change_lines, differences
from adjudge.core.ledger.file import holds_labels
from adjudge.runs.folder import run_facts
from adjudge.runs.judged_table import ALONE, JudgedTable, Side, judged_table
from adjudge.runs.report_facts import grouping_column

SKIPPED: StatusName = "skipped"
_ALONE = "\x01"
"""Begins what a row alone belongs to; no column's value and no id does."""
_MOST_OUTCOMES = 4096
"""Different outcomes of rows, and of pairs, that are remembered: scores may be any number."""


class JudgmentSummary(NamedTuple):
    """The outcome of a judgment."""

    status: str
    score: float | None
    chosen: str | int | None
    """The verdict, the option, or the better response."""
    possible: tuple[float, float] | None = None
    """The least and the most that the score, or the win rate of the first of two responses, would
    be with the votes that a panel lost; None if they could not change it. Of a row that has bounds
    instead of a score, these bounds.
    """
    left_out: str = "[]"
    """The models of a panel that did not count, as JSON."""

    @property
    def was_skipped(self) -> bool:
        """Return True if no judge was asked about the row."""
        return self.status == SKIPPED


class JudgedRow(NamedTuple):
    """A judgment of a run."""

    judge: str
    criteria: str
    row: int
    """Its place in the run, from 1."""
    id: str | None
    summary: JudgmentSummary
    systems: tuple[str, ...] = ()
    """The compared responses in the order of the first run; empty with a single response."""


@dataclass(frozen=True)
class Change:
    """A row whose outcome changed."""

    before: JudgedRow
    after: JudgedRow
    same_content: bool
    """False if only the name says that it is the same row, and the judged text is different."""


class Pair(NamedTuple):
    """A row that both runs judged."""

    before: JudgedRow
    after: JudgedRow
    identities: tuple[str, str]
    """The identity of the row's content in each run."""
    cluster: str
    """The group of the row: a column's value, or an id that several rows have. A row alone has a
    unique value.
    """
    slice: str = ""
    """The row's value in the column ``by``, in the first run."""
    slice_after: str = ""
    """Like ``slice``, in the second run."""
    ids: tuple[str | None, str | None] = (None, None)
    """The row's own id in either run, by which labels of copies are told apart."""
    numbers: tuple[int, int] = (0, 0)
    """The row's place in either run, from 0, among those that the judge judged by the criterion."""

    @property
    def names(self) -> tuple[str, str]:
        """The row's id in each run, or its position from 1 if it has none."""
        rows = (self.before.row, self.after.row)
        name_before, name_after = (id or str(row) for id, row in zip(self.ids, rows, strict=True))
        return name_before, name_after

    @property
    def is_alone(self) -> bool:
        """Return True if the row does not belong to a group."""
        return self.cluster.startswith(_ALONE)


class OutcomeCount(NamedTuple):
    """The number of pairs with a given outcome in the first run and in the second."""

    judges: tuple[str, str]
    before: JudgmentSummary
    after: JudgmentSummary
    other_texts: int
    """Pairs among them with different content in the two runs."""
    times: int


@dataclass(frozen=True, eq=False)
class PairOutcome:
    """The outcomes of a pair in both runs: rows without place, id and lost votes."""

    before: JudgedRow
    after: JudgedRow


class AlignedOutcome(NamedTuple):
    """The place and the outcome of a judgment, as the columns of a table of many runs need it."""

    judge: str
    row: int
    name: str
    """The id of the row; empty if it has none, or only a position."""
    outcome: tuple[str, float | None, str]
    """The status, the score and the verdict as JSON: equal for equal outcomes."""


class LoneRow(NamedTuple):
    """A row that only one of the runs judged."""

    cluster: str
    """Like that of a pair."""
    slice: str = ""


class RunDiff:
    """The differences between two runs. Rows are read from the table on demand."""

    def __init__(
        self,
        settings: list[str],
        table: JudgedTable,
        cluster: str | None = None,
        by: str | None = None,
    ) -> None:
        self.by = by
        """The column that rows are told apart by."""
        self.settings = settings
        """The differences of the configurations, one text per setting."""
        self.cluster = cluster
        """The column that says which rows belong together."""
        self.without_group = table.without_group
        """Rows that have nothing in that column; each counts as a group of its own. Of the two
        runs, the one with more of them.
        """
        self._table, self._lines = table.connection, table.lines
        self._outcome = lru_cache(_MOST_OUTCOMES)(self._read_outcome)

    @cached_property
    def compared(self) -> int:
        """The number of judgments that were paired."""
        (count,) = self._table.execute("SELECT count(*) FROM pairs").fetchone()
        return int(count)

    @cached_property
    def changed(self) -> int:
        """The number of paired judgments whose outcome changed."""
        query = f"SELECT coalesce(sum(times), 0) FROM {self._moves} WHERE "  # noqa: S608
        (count,) = self._table.execute(query + _ARE_DIFFERENT.format("before", "after")).fetchone()
        return int(count)

    @cached_property
    def _moves(self) -> str:
        """A table of the pairs, counted by their outcomes and by how they were paired."""
        self._table.execute(_COUNT_MOVES)
        return "moves"

    def alone(self, side: Side) -> int:
        """Count the judgments that exist only in the first (0) or the second (1) run."""
        return sum(line.rows[side] for line in self._lines.values()) - self.compared

    def changes(self) -> Iterator[Change]:
        """Yield the judgments whose outcome changed, in the order of the first run."""
        for *values, is_same_content in self._table.execute(
            f"SELECT {_BOTH}, a.content = b.content {_PAIRED} "
            f"WHERE {_ARE_DIFFERENT.format('a.outcome', 'b.outcome')} ORDER BY one"
        ):
            yield Change(*self._two(values), bool(is_same_content))

    def lines(self) -> list[str]:
        """Return the judges and criteria that both runs have, as JSON keys in the order of the
        first run.

        If several targets answered, each has its own key.
        """
        return [key for key, line in self._lines.items() if all(line.rows)]

    def judges(self) -> set[str]:
        """Return the judges with judgments in both runs."""
        return {json.loads(line)[0] for line in self.lines()}

    def pairing(self, line: str) -> Pairing:
        """Count how the rows of one judge and criterion were paired."""
        rows, number = self._lines[line].rows, self._lines[line].number
        query = "SELECT count(*) FROM judged WHERE line = ? AND shared GROUP BY side"
        shared = [count for (count,) in self._table.execute(query, (number,))]
        ways: dict[str, tuple[int, int]] = {
            way: counts
            for way, *counts in self._table.execute(
                f"SELECT way, sum(times), sum(other_questions) FROM {self._moves} "  # noqa: S608
                "WHERE line = ? GROUP BY way",
                (number,),
            )
        }
        paired = {way: ways[way][0] for way in WAYS if way in ways}
        has_alone = self._has_alone(line)
        skipped = self._skipped_alone(number) if has_alone else 0
        return Pairing(
            (rows[0], rows[1]),
            paired,
            max(shared, default=0),  # a row that both runs have is one row
            sum(other_questions for _, other_questions in ways.values()),
            skipped,
            self._topics_alone(number) if has_alone else (0, 0),
        )

    def _skipped_alone(self, number: int) -> int:
        query = (
            f"SELECT count(*) FROM judged WHERE {ALONE} AND line = :line "  # noqa: S608
            f"AND outcome IN ({_WITH_STATUS})"
        )
        (count,) = self._table.execute(query, {"line": number, "status": SKIPPED}).fetchone()
        return int(count)

    def _has_alone(self, line: str) -> bool:
        """Return True if rows of a judge and criterion have no counterpart."""
        (pairs,) = self._table.execute(
            f"SELECT coalesce(sum(times), 0) FROM {self._moves} WHERE line = ?",  # noqa: S608
            (self._lines[line].number,),
        ).fetchone()
        return sum(self._lines[line].rows) > 2 * int(pairs)

    def _topics_alone(self, number: int) -> tuple[int, int]:
        """Count each run's topics without a counterpart, of conversations of which both runs judged
        topics.
        """
        query = (
            f"SELECT sum(side = 0), sum(side = 1) FROM judged WHERE line = :line "  # noqa: S608
            f"AND {ALONE} AND topic_of IN (SELECT topic_of FROM judged WHERE line = :line "
            "GROUP BY topic_of HAVING count(DISTINCT side) = 2)"
        )
        before, now = self._table.execute(query, {"line": number}).fetchone()
        return before or 0, now or 0

    def systems(self, line: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Return each combination of systems that a judge compares by a criterion, for each run."""
        number = self._lines[line].number
        if not self._has_systems:
            return [()], [()]
        once = (
            "SELECT systems FROM judged JOIN outcomes USING (outcome) WHERE line = ? AND side = ? "
            "GROUP BY systems ORDER BY min(place)"
        )
        old_systems, new_systems = (
            [tuple(json.loads(names)) for (names,) in self._table.execute(once, (number, side))]
            for side in (0, 1)
        )
        return old_systems, new_systems

    @cached_property
    def _has_systems(self) -> bool:
        query = "SELECT 1 FROM outcomes WHERE systems <> '[]' LIMIT 1"
        return self._table.execute(query).fetchone() is not None

    def limits(self, line: str) -> tuple[float, float] | None:
        """Return the lowest and the highest score that the rows of a judge and criterion allow in
        both runs; None unless rows have limits of their own.
        """
        if not self._has_limits:
            return None
        query = (
            "SELECT min(low), max(high) FROM outcomes WHERE outcome IN "
            "(SELECT outcome FROM judged WHERE line = ?)"
        )
        low, high = self._table.execute(query, (self._lines[line].number,)).fetchone()
        return None if low is None else (low, high)

    @cached_property
    def _has_limits(self) -> bool:
        query = "SELECT 1 FROM outcomes WHERE low IS NOT NULL LIMIT 1"
        return self._table.execute(query).fetchone() is not None

    def gone(self) -> list[tuple[str, str, str]]:
        """Return (judge, criterion, system) of everything that only the first run has."""
        return [tuple(json.loads(key)) for key, line in self._lines.items() if not line.rows[1]]

    def added(self) -> list[tuple[str, str, str]]:
        """Return (judge, criterion, system) of everything that only the second run has."""
        return [tuple(json.loads(key)) for key, line in self._lines.items() if not line.rows[0]]

    def pairs(self, line: str | None = None) -> Iterator[Pair]:
        """Yield the rows that both runs judged by one judge and criterion, group by group.

        Without ``line``, yield all pairs in the order of the first run.
        """
        unit_of_pair = (
            "coalesce(a.cluster, b.cluster, CASE WHEN a.shared OR b.shared THEN a.name END, "
            f"'{_ALONE}' || a.place)"
        )
        query = (
            f"SELECT {_BOTH}, {_IDENTITIES}, a.id, b.id, a.number, b.number, a.slice, "
            f"b.slice, {unit_of_pair} AS unit {_PAIRED} WHERE :line IS NULL OR a.line = :line "
            f"ORDER BY {'unit, ' if line else ''}a.place"
        )
        number = self._lines[line].number if line else None
        for (
            *values,
            old_identity,
            new_identity,
            old_id,
            new_id,
            old_number,
            new_number,
            slice,
            slice_after,
            cluster,
        ) in self._table.execute(query, {"line": number}):
            ids, numbers = (old_id, new_id), (old_number, new_number)
            yield Pair(
                *self._two(values),
                (old_identity, new_identity),
                cluster,
                slice,
                slice_after,
                ids,
                numbers,
            )

    def outcomes_in_order(
        self, *, identities: bool = False
    ) -> Iterator[tuple[PairOutcome, int, tuple[str, str]]]:
        """Yield the outcome of each pair, which is usually the same object for equal ones, its
        place for ``pair_at``, and its identities if they are asked for, in the order of the first
        run.

        It takes a fraction of the time of ``pairs``.
        """
        asked = _IDENTITIES if identities else "'', ''"
        query = f"SELECT one, a.outcome, b.outcome, {asked} {_PAIRED} ORDER BY one"
        outcomes: dict[tuple[int, int], PairOutcome] = {}
        for place, before, after, old_identity, new_identity in self._table.execute(query):
            outcome = outcomes.get((before, after))
            if outcome is None:
                if len(outcomes) >= _MOST_OUTCOMES:
                    outcomes.clear()
                both = (self._outcome(number).without_row for number in (before, after))
                outcome = outcomes[before, after] = PairOutcome(*both)
            yield outcome, place, (old_identity, new_identity)

    def pair_at(self, place: int) -> tuple[JudgedRow, JudgedRow]:
        """Return a pair by its place; see ``outcomes_in_order``."""
        query = f"SELECT {_BOTH} {_PAIRED} WHERE one = ?"
        return self._two(self._table.execute(query, (place,)).fetchone())

    def aligned(
        self,
    ) -> Iterator[tuple[str, AlignedOutcome | None, AlignedOutcome | None]]:
        """Yield every judgment of both runs: its judge and criterion as a JSON key, and its outcome
        in each run, None for a run without it.

        The order is that of the first run; what only the second run has comes last.
        """
        keys = {line.number: key for key, line in self._lines.items()}
        columns = ("outcome", "row", "CASE WHEN {0}.named THEN {0}.name ELSE '' END")
        first, second = (
            ", ".join(name.format(run) if "{" in name else f"{run}.{name}" for name in columns)
            for run in "ab"
        )
        base = (
            f"SELECT a.line, {first}, {second} FROM judged a LEFT JOIN pairs ON one = a.place "  # noqa: S608
            "LEFT JOIN judged b ON b.place = two WHERE a.side = 0 ORDER BY a.place"
        )
        for line, *values in self._table.execute(base):
            after = None if values[3] is None else self._aligned(*values[3:])
            yield keys[line], self._aligned(*values[:3]), after
        others = (
            f"SELECT a.line, {first} FROM judged a WHERE a.side = 1 AND {ALONE} "  # noqa: S608
            "ORDER BY a.place"
        )
        for line, *values in self._table.execute(others) if self.alone(1) else ():
            yield keys[line], None, self._aligned(*values)

    def outcomes(self, line: str) -> Iterator[OutcomeCount]:
        """Count how often each outcome in the first run became each outcome in the second.

        Yields nothing if counts are not enough: if rows are grouped or unpaired, or a panel lost
        votes. The order is that of ``pairs``.
        """
        number = self._lines[line].number
        uncountable = (
            "cluster IS NOT NULL OR shared OR outcome IN "
            "(SELECT outcome FROM outcomes WHERE least IS NOT NULL OR left_out <> '[]')"
        )
        if self._has_alone(line):
            uncountable += f" OR ({ALONE} AND outcome NOT IN ({_WITH_STATUS}))"
        uncountable_rows = f"SELECT 1 FROM judged WHERE line = :line AND ({uncountable}) LIMIT 1"  # noqa: S608
        values = {"line": number, "status": SKIPPED}
        if self._table.execute(uncountable_rows, values).fetchone():
            return
        moves = (
            f"SELECT before, after, sum(other_texts), sum(times) FROM {self._moves} "  # noqa: S608
            "WHERE line = ? GROUP BY before, after ORDER BY min(first)"
        )
        for before, after, other_texts, times in self._table.execute(moves, (number,)):
            old_outcome, new_outcome = self._outcome(before), self._outcome(after)
            yield OutcomeCount(
                (old_outcome.judge, new_outcome.judge),
                old_outcome.summary,
                new_outcome.summary,
                other_texts,
                times,
            )

    def places(self, line: str, most: int) -> list[tuple[int, int]]:
        """Return the positions in each run, from 1, of the first pairs in the order of ``pairs``
        that both have a score.
        """
        query = (
            f"SELECT a.row, b.row {_PAIRED} WHERE a.line = :line AND a.outcome IN ({_WITH_STATUS}) "
            f"AND b.outcome IN ({_WITH_STATUS}) ORDER BY CAST(one AS TEXT) LIMIT :most"
        )
        values = {"line": self._lines[line].number, "status": "scored", "most": most}
        return [(old_row, new_row) for old_row, new_row in self._table.execute(query, values)]

    def units(self, line: str) -> Iterator[list[Pair | LoneRow]]:
        """Yield the rows of one judge and criterion group by group: pairs, and unpaired rows that
        were not skipped.
        """
        unit_of_row = f"coalesce(cluster, CASE WHEN shared THEN name END, '{_ALONE}' || place)"
        query = (
            f"SELECT {unit_of_row} AS unit, slice FROM judged "  # noqa: S608
            f"WHERE {ALONE} AND line = :line AND outcome NOT IN ({_WITH_STATUS}) ORDER BY unit"
        )
        values = {"line": self._lines[line].number, "status": SKIPPED}
        found = self._table.execute(query, values) if self._has_alone(line) else ()
        lone_rows = (LoneRow(*row) for row in found)
        rows: Iterator[Pair | LoneRow] = self.pairs(line)
        if first := next(lone_rows, None):
            rows = merge(rows, chain((first,), lone_rows), key=_cluster_of)
        for _, unit in groupby(rows, _cluster_of):
            yield list(unit)

    def slices(self, line: str | None = None) -> tuple[Counter[str], Counter[str]]:
        """Count each run's rows per value of the column ``by``, for one line or all.

        A row counts once, however many lines have it.
        """
        counts = (
            "SELECT slice, max(rows) FROM (SELECT slice, line, count(*) AS rows FROM judged "
            "WHERE side = ? AND (? IS NULL OR line = ?) GROUP BY slice, line) GROUP BY slice"
        )
        number = self._lines[line].number if line else None
        old_counts, new_counts = (
            Counter(dict(self._table.execute(counts, (side, number, number)))) for side in (0, 1)
        )
        return old_counts, new_counts

    def only_in(self, side: Side) -> Iterator[JudgedRow]:
        """Yield the judgments that exist only in this run."""
        query = (
            f"SELECT {', '.join(_COLUMNS)} FROM judged "  # noqa: S608
            f"WHERE side = ? AND {ALONE} ORDER BY place"
        )
        for values in self._table.execute(query, (side,)) if self.alone(side) else ():
            yield self._row(*values)

    def _read_outcome(self, number: int) -> _Outcome:
        query = "SELECT * FROM outcomes WHERE outcome = ?"
        _, judge, criteria, *values = self._table.execute(query, (number,)).fetchone()
        status, score, chosen, systems, least, most, left_out, *_ = values
        possible = None if least is None or most is None else (least, most)
        return _Outcome(
            judge,
            criteria,
            JudgmentSummary(status, score, json.loads(chosen), possible, left_out),
            () if systems == "[]" else tuple(json.loads(systems)),
            (status, score, chosen),
        )

    def _row(self, outcome: int, row: int, name: str) -> JudgedRow:
        judge, criteria, summary, systems, _ = self._outcome(outcome)
        return JudgedRow(judge, criteria, row, name or None, summary, systems)

    def _two(self, values: Sequence[Any]) -> tuple[JudgedRow, JudgedRow]:
        half = len(_COLUMNS)
        return self._row(*values[:half]), self._row(*values[half:])

    def _aligned(self, outcome: int, row: int, name: str) -> AlignedOutcome:
        known = self._outcome(outcome)
        return AlignedOutcome(known.judge, row, name, known.as_stored)


class _Outcome(NamedTuple):
    """An outcome of the table, which many rows may have."""

    judge: str
    criteria: str
    summary: JudgmentSummary
    systems: tuple[str, ...]
    as_stored: tuple[str, float | None, str]
    """The status, the score, and the verdict as JSON."""

    @property
    def without_row(self) -> JudgedRow:
        """The outcome as a row without place and id."""
        summary = JudgmentSummary(*self.summary[:3])
        return JudgedRow(self.judge, self.criteria, 0, None, summary, self.systems)


def _cluster_of(row: Pair | LoneRow) -> str:
    return row.cluster


_COLUMNS = ("outcome", "row", "name")
_BOTH = ", ".join(f"{run}.{column}" for run in ("a", "b") for column in _COLUMNS)
_IDENTITIES = "coalesce(a.identity, a.content), coalesce(b.identity, b.content)"
_PAIRED = "FROM pairs JOIN judged a ON a.place = one JOIN judged b ON b.place = two"
_COUNT_MOVES = (
    "CREATE TABLE moves AS SELECT line, before, after, way, sum(is_other_text) AS other_texts, "  # noqa: S608
    "sum(is_other_question) AS other_questions, count(*) AS times, "
    "min(CAST(one AS TEXT)) AS first FROM ("
    "SELECT one, a.line AS line, a.outcome AS before, b.outcome AS after, way, "
    f"{_IDENTITIES.replace(', coalesce(b', ' <> coalesce(b')} AS is_other_text, "
    f"coalesce(a.question <> b.question, 0) AS is_other_question {_PAIRED} "
    "LIMIT -1) GROUP BY line, before, after, way"
)
"""Counts the pairs. They are sorted for that, and texts are compared before: hence the limit."""
_WITH_STATUS = "SELECT outcome FROM outcomes WHERE status = :status"
_ARE_DIFFERENT = (
    "{0} <> {1} AND EXISTS (SELECT 1 FROM outcomes c, outcomes d "
    "WHERE c.outcome = {0} AND d.outcome = {1} AND (c.status IS NOT d.status "
    "OR c.score IS NOT d.score OR c.chosen IS NOT d.chosen))"
)


@contextmanager
def run_diff(
    one: str | Path,
    two: str | Path,
    cluster: str | None = None,
    id: str | None = None,
    by: str | None = None,
    *,
    labelled: bool = False,
) -> Iterator[RunDiff]:
    """Compare two run folders. Raises a SetupError if no row has anything in the column ``id``.

    ``cluster``: the column whose equal values form groups of rows; by default that of both runs'
    gates. ``id``: the column that names
    rows if the runs themselves do not. ``by``: the column whose values are reported separately.
    ``labelled``: True if labels of other runs will be looked up, too. Without any labels, the
    identities of pairs only tell whether their texts differ.
    """
    runs = (run_facts(one), run_facts(two))
    columns = {grouping_column(run.facts) for run in runs}
    if cluster is None and len(columns) == 1:
        cluster = columns.pop() or None
    configurations = (runs[0].configuration, runs[1].configuration)
    settings = list(change_lines(differences(*configurations), *configurations))
    identities = labelled or holds_labels(one) or holds_labels(two)
    with judged_table((one, two), runs, cluster or "", id, by, identities=identities) as table:
        yield RunDiff(settings, table, cluster=cluster, by=by)
