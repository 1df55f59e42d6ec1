"""Comparison of two runs: their settings and the results of their rows.

Every command, gate and page pairs rows here: by their id; else by the fields that are not judged,
if these identify one row; else by a text that no other row has; else by position, if both runs
have the same number of rows left. The keys of both runs are in a temporary SQLite file, and pairs
are read group by group, so memory does not grow with the number of rows.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.pairing import WAYS, Pairing, Way
from adjudge.core.domain.record import Fields, JudgmentRecord, StatusName
from adjudge.core.domain.repetition import PART_OF, ROW, TRIAL, JoinedUnits, Unit, unit_of
from adjudge.core.domain.slices import value_in
from adjudge.core.ledger.changes import change_lines, differences, renamed_judges
from adjudge.core.ledger.codec import StoredOutcome
from adjudge.errors import SetupError
from adjudge.runs.folder import outcomes_of, records_of, run_facts

Side = Literal[0, 1]
SKIPPED: StatusName = "skipped"
_PLACE = re.compile(r"((.*\.\w+|stdin):|row )\d+( \(\d+\))?( turn \d+)?")
"""Ids of rows without a name: their positions, which say nothing about their content."""
_NOTHING = ("", "None", "nan", "NaN", "NaT")
"""Texts of an empty cell, which names no row."""
_ALONE = "\x01"
"""Begins what a row alone belongs to; no column's value and no id does."""
_ANSWER = "response"
_QUESTION = "user_input"
_AT_ONCE = 256
"""Rows that are read before they are written: reading and writing in turn takes a fifth longer."""
_MOST_OUTCOMES = 4096
"""Different outcomes of pairs that are remembered: scores may be any number."""
_SHORT = 60
"""Characters of a question that is kept instead of a digest."""
_TABLE = (
    "CREATE TABLE judged (place INTEGER PRIMARY KEY, side INTEGER, judge TEXT, criteria "
    "TEXT, line TEXT, row INTEGER, name TEXT, "
    "named INTEGER, question BLOB, beside BLOB, content BLOB, status TEXT, score REAL, "
    "chosen TEXT, identity TEXT, cluster TEXT, "
    "systems TEXT, least REAL, most REAL, left_out TEXT, slice TEXT, id TEXT, number INTEGER, "
    "partner INTEGER, way TEXT, shared INTEGER)"
)


_INSERT = f"INSERT INTO judged VALUES (NULL,{','.join('?' * 22)},NULL,NULL,NULL)"  # noqa: S608 - marks alone


class JudgmentSummary(NamedTuple):
    """The outcome of a judgment."""

    status: str
    score: float | None
    chosen: str | int | None
    """The verdict, the option, or the better response."""
    possible: tuple[float, float] | None = None
    """The least and the most that the score, or the win rate of the first of two responses, would
    be with the votes that a panel lost; None if they could not change it.
    """
    left_out: str = "[]"
    """The models of a panel that did not count, as JSON."""

    @property
    def was_skipped(self) -> bool:
        """Return True if no judge was asked about the row."""
        return self.status == SKIPPED


@light_dataclass(frozen=True)
class JudgedRow:
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
        table: sqlite3.Connection,
        cluster: str | None = None,
        by: str | None = None,
        without_group: int = 0,
    ) -> None:
        self.by = by
        """The column that rows are told apart by."""
        self.settings = settings
        """The differences of the configurations, one text per setting."""
        self.cluster = cluster
        """The column that says which rows belong together."""
        self.without_group = without_group
        """Rows that have nothing in that column; each counts as a group of its own. Of the two
        runs, the one with more of them.
        """
        self._table = table

    @property
    def compared(self) -> int:
        """The number of judgments that were paired."""
        return self._count("side = 0 AND partner IS NOT NULL")

    @property
    def changed(self) -> int:
        """The number of paired judgments whose outcome changed."""
        (count,) = self._table.execute(f"SELECT count(*) {_CHANGED}").fetchone()
        return int(count)

    def alone(self, side: Side) -> int:
        """Count the judgments that exist only in the first (0) or the second (1) run."""
        return self._count(f"side = {side} AND partner IS NULL")

    def changes(self) -> Iterator[Change]:
        """Yield the judgments whose outcome changed, in the order of the first run."""
        for *values, is_same_content in self._table.execute(
            f"SELECT {_BOTH}, a.content = b.content {_CHANGED} ORDER BY a.place"
        ):
            yield Change(*_two(values), bool(is_same_content))

    def lines(self) -> list[str]:
        """Return the judges and criteria that both runs have, as JSON keys in the order of the
        first run.

        If several targets answered, each has its own key.
        """
        both = (
            "SELECT line FROM judged GROUP BY line HAVING count(DISTINCT side) = 2 ORDER BY "
            "min(place)"
        )
        return [line for (line,) in self._table.execute(both)]

    def judges(self) -> set[str]:
        """Return the judges with judgments in both runs."""
        return {json.loads(line)[0] for line in self.lines()}

    def pairing(self, line: str) -> Pairing:
        """Count how the rows of one judge and criterion were paired."""
        rows = [self._count(f"side = {side} AND line = ?", line) for side in (0, 1)]
        counts = (
            "SELECT way, count(*) FROM judged WHERE side = 0 AND line = ? AND partner IS NOT "
            "NULL GROUP BY way"
        )
        pairs_by_way = dict(self._table.execute(counts, (line,)))
        # a row that both runs have is one row
        shared = max(self._count(f"side = {side} AND shared AND line = ?", line) for side in (0, 1))
        other_questions = (
            f"SELECT count(*) {_PAIRED} AND a.line = ? AND a.question IS NOT NULL AND "
            "a.question <> b.question"
        )
        (changed_questions,) = self._table.execute(other_questions, (line,)).fetchone()
        ways = {way: pairs_by_way[way] for way in WAYS if way in pairs_by_way}
        skipped = self._count("partner IS NULL AND line = ? AND status = ?", line, SKIPPED)
        return Pairing((rows[0], rows[1]), ways, shared, changed_questions, skipped)

    def systems(self, line: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Return each combination of systems that a judge compares by a criterion, for each run."""
        once = (
            "SELECT systems FROM judged WHERE line = ? AND side = ? GROUP BY systems ORDER BY "
            "min(place)"
        )
        old_systems, new_systems = (
            [tuple(json.loads(names)) for (names,) in self._table.execute(once, (line, side))]
            for side in (0, 1)
        )
        return old_systems, new_systems

    def gone(self) -> list[tuple[str, str, str]]:
        """Return (judge, criterion, system) of everything that only the first run has."""
        query = "SELECT line FROM judged GROUP BY line HAVING max(side) = 0 ORDER BY min(place)"
        return [tuple(json.loads(line)) for (line,) in self._table.execute(query)]

    def added(self) -> list[tuple[str, str, str]]:
        """Return (judge, criterion, system) of everything that only the second run has."""
        query = "SELECT line FROM judged GROUP BY line HAVING min(side) = 1 ORDER BY min(place)"
        return [tuple(json.loads(line)) for (line,) in self._table.execute(query)]

    def pairs(self, line: str | None = None) -> Iterator[Pair]:
        """Yield the rows that both runs judged by one judge and criterion, group by group.

        Without ``line``, yield all pairs in the order of the first run.
        """
        unit_of_pair = (
            "coalesce(a.cluster, b.cluster, CASE WHEN a.shared OR b.shared THEN a.name END, "
            f"'{_ALONE}' || a.place)"
        )
        query = (
            f"SELECT {_BOTH}, a.identity, b.identity, a.id, b.id, a.number, b.number, a.slice, "
            f"b.slice, {unit_of_pair} AS unit {_PAIRED} AND (:line IS NULL OR a.line = :line) "
            f"ORDER BY {'unit, ' if line else ''}a.place"
        )
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
        ) in self._table.execute(query, {"line": line}):
            ids, numbers = (old_id, new_id), (old_number, new_number)
            yield Pair(
                *_two(values),
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
        """Yield the outcome of each pair, which is the same object for all equal ones, its place
        for ``pair_at``, and its identities if they are asked for, in the order of the first run.

        It takes a fraction of the time of ``pairs``.
        """
        columns = [f"{run}.{name}" for run in "ab" for name in _PAIR_OUTCOME]
        asked = "a.identity, b.identity" if identities else "'', ''"
        query = f"SELECT a.place, {asked}, {', '.join(columns)} {_PAIRED} ORDER BY a.place"
        outcomes: dict[tuple[object, ...], PairOutcome] = {}
        half = len(_PAIR_OUTCOME)
        for place, old_identity, new_identity, *values in self._table.execute(query):
            key = tuple(values)
            outcome = outcomes.get(key)
            if outcome is None:
                if len(outcomes) >= _MOST_OUTCOMES:
                    outcomes.clear()
                both = values[:half], values[half:]
                outcome = outcomes[key] = PairOutcome(*(_outcome_row(*side) for side in both))
            yield outcome, place, (old_identity, new_identity)

    def pair_at(self, place: int) -> tuple[JudgedRow, JudgedRow]:
        """Return a pair by its place; see ``outcomes_in_order``."""
        query = f"SELECT {_BOTH} {_PAIRED} AND a.place = ?"
        return _two(self._table.execute(query, (place,)).fetchone())

    def aligned(
        self,
    ) -> Iterator[tuple[str, AlignedOutcome | None, AlignedOutcome | None]]:
        """Yield every judgment of both runs: its judge and criterion as a JSON key, and its outcome
        in each run, None for a run without it.

        The order is that of the first run; what only the second run has comes last.
        """
        columns = ("judge", "row", "CASE WHEN {0}.named THEN {0}.name ELSE '' END", *_OUTCOME[1:])
        both = ", ".join(
            name.format(run) if "{" in name else f"{run}.{name}" for run in "ab" for name in columns
        )
        query = (
            f"SELECT a.line, {both} FROM judged a "  # noqa: S608 - constant texts
            "LEFT JOIN judged b ON b.place = a.partner WHERE a.side = {0} {1} ORDER BY a.place"
        )
        for line, *values in self._table.execute(query.format(0, "")):
            yield line, _aligned(values[:6]), None if values[7] is None else _aligned(values[6:])
        for line, *values in self._table.execute(query.format(1, "AND a.partner IS NULL")):
            yield line, None, _aligned(values[:6])

    def outcomes(self, line: str) -> Iterator[OutcomeCount]:
        """Count how often each outcome in the first run became each outcome in the second.

        Yields nothing if counts are not enough: if rows are grouped or unpaired, or a panel lost
        votes. The order is that of ``pairs``.
        """
        uncountable_rows = (
            "SELECT 1 FROM judged WHERE line = :line AND (cluster IS NOT NULL OR shared "
            "OR (partner IS NULL AND status <> :skipped) "
            "OR least IS NOT NULL OR left_out <> '[]') LIMIT 1"
        )
        if self._table.execute(uncountable_rows, {"line": line, "skipped": SKIPPED}).fetchone():
            return
        columns = ", ".join(f"{run}.{name}" for run in "ab" for name in _OUTCOME)
        for *values, other_texts, times in self._table.execute(
            f"SELECT {columns}, sum(a.identity <> b.identity), count(*) "
            f"{_PAIRED} AND a.line = ? GROUP BY {columns} ORDER BY min('{_ALONE}' || a.place)",
            (line,),
        ):
            old_outcome, new_outcome = values[:4], values[4:]
            yield OutcomeCount(
                (str(old_outcome[0]), str(new_outcome[0])),
                JudgmentSummary(old_outcome[1], old_outcome[2], _verdict_in(old_outcome[3])),
                JudgmentSummary(new_outcome[1], new_outcome[2], _verdict_in(new_outcome[3])),
                other_texts,
                times,
            )

    def places(self, line: str, most: int) -> list[tuple[int, int]]:
        """Return the positions in each run, from 1, of the first pairs in the order of ``pairs``
        that both have a score.
        """
        query = (
            f"SELECT a.row, b.row {_PAIRED} AND a.line = ? AND a.status = 'scored' "
            f"AND b.status = 'scored' ORDER BY '{_ALONE}' || a.place LIMIT ?"
        )
        return [(old_row, new_row) for old_row, new_row in self._table.execute(query, (line, most))]

    def units(self, line: str) -> Iterator[list[Pair | LoneRow]]:
        """Yield the rows of one judge and criterion group by group: pairs, and unpaired rows that
        were not skipped.
        """
        unit_of_row = f"coalesce(cluster, CASE WHEN shared THEN name END, '{_ALONE}' || place)"
        query = (
            f"SELECT {unit_of_row} AS unit, slice FROM judged "  # noqa: S608
            "WHERE partner IS NULL AND line = ? AND status <> ? ORDER BY unit"
        )
        lone_rows = (LoneRow(*values) for values in self._table.execute(query, (line, SKIPPED)))
        rows: Iterator[Pair | LoneRow] = merge(self.pairs(line), lone_rows, key=_cluster_of)
        for _, unit in groupby(rows, _cluster_of):
            yield list(unit)

    def slices(self, line: str | None = None) -> tuple[Counter[str], Counter[str]]:
        """Count each run's rows per value of the column ``by``, for one line or all."""
        counts = (
            "SELECT slice, count(*) FROM judged WHERE side = ? AND (? IS NULL OR line = ?) "
            "GROUP BY slice"
        )
        old_counts, new_counts = (
            Counter(dict(self._table.execute(counts, (side, line, line)))) for side in (0, 1)
        )
        return old_counts, new_counts

    def only_in(self, side: Side) -> Iterator[JudgedRow]:
        """Yield the judgments that exist only in this run."""
        query = (
            f"SELECT {', '.join(_COLUMNS)} FROM judged "  # noqa: S608
            "WHERE side = ? AND partner IS NULL ORDER BY place"
        )
        for values in self._table.execute(query, (side,)):
            yield _judged_row(*values)

    def _count(self, which: str, *values: str) -> int:
        (count,) = self._table.execute(
            f"SELECT count(*) FROM judged WHERE {which}",  # noqa: S608 - constant texts
            values,
        ).fetchone()
        return int(count)


def _aligned(values: list[Any]) -> AlignedOutcome:
    judge, row, name, status, score, chosen = values
    return AlignedOutcome(judge, row, name, (status, score, chosen))


def _cluster_of(row: Pair | LoneRow) -> str:
    return row.cluster


_OUTCOME = ("judge", "status", "score", "chosen")
_COLUMNS = (
    *("judge", "criteria", "row", "name", "status", "score", "chosen", "systems"),
    *("least", "most", "left_out"),
)
_PAIR_OUTCOME = ("judge", "criteria", "status", "score", "chosen", "systems")
_BOTH = ", ".join(f"{run}.{column}" for run in ("a", "b") for column in _COLUMNS)
_PAIRED = "FROM judged a JOIN judged b ON b.place = a.partner WHERE a.side = 0"
_CHANGED = (
    f"{_PAIRED} AND (a.status IS NOT b.status OR a.score IS NOT b.score OR a.chosen IS NOT "
    "b.chosen)"
)


@contextmanager
def run_diff(
    one: str | Path,
    two: str | Path,
    cluster: str | None = None,
    id: str | None = None,
    by: str | None = None,
) -> Iterator[RunDiff]:
    """Compare two run folders. Raises a SetupError if no row has anything in the column ``id``.

    ``cluster``: the column whose equal values form groups of rows. ``id``: the column that names
    rows if the runs themselves do not. ``by``: the column whose values are reported separately.
    """
    infos = [run_facts(folder) for folder in (one, two)]
    old_configuration, new_configuration = (info.configuration for info in infos)
    settings = list(
        change_lines(
            differences(old_configuration, new_configuration), old_configuration, new_configuration
        )
    )
    systems = _Systems(info.judge_configurations for info in infos)
    units = _Units(cluster or "")
    with closing(sqlite3.connect("")) as table:  # a file that is gone with the process
        table.execute("PRAGMA journal_mode = OFF")  # nothing of it outlives the process
        table.execute(_TABLE)
        for side, folder in enumerate((one, two)):
            rows = _rows_of(folder, side, systems, units, id, by)
            while some := list(islice(rows, _AT_ONCE)):
                table.executemany(_INSERT, some)
            units.count_side()
        units.join(table)
        if id and not table.execute("SELECT 1 FROM judged WHERE named = 2 LIMIT 1").fetchone():
            raise SetupError(
                "no row of {one} or {two} has a value in column {id!r}", one=one, two=two, id=id
            )
        _join_single_systems(table)
        _join_renamed_judges(table, renamed_judges(old_configuration, new_configuration))
        _pair(table)
        yield RunDiff(settings, table, cluster=cluster, by=by, without_group=units.without)


class _Units:
    """Collects the groups of the rows in both runs."""

    def __init__(self, column: str) -> None:
        self.column, self._joined = column, JoinedUnits()
        self._empty: set[int] = set()
        self.without = 0
        """The most rows of a run that have nothing in the column."""

    def add(self, row: JudgmentRecord) -> Unit:
        if self.column and row.group(self.column) is None:
            if row.index == 0:
                row.cell(self.column)  # a column that the first row does not have is a mistake
            self._empty.add(row.index)
        unit = unit_of(row, self.column)
        self._joined.add(unit)
        return unit

    def count_side(self) -> None:
        """Count the rows without a group, after all rows of one run were added."""
        self.without = max(self.without, len(self._empty))
        self._empty.clear()

    def join(self, table: sqlite3.Connection) -> None:
        """Give all rows of a group the same value in the table."""
        table.create_function("joined", 1, self._joined.cluster, deterministic=True)
        table.execute("UPDATE judged SET cluster = joined(cluster) WHERE cluster IS NOT NULL")


class _Systems:
    """Puts named responses into the order in which the first run compared them."""

    def __init__(self, made: Iterable[Mapping[str, JudgeConfiguration]]) -> None:
        self._judged: dict[tuple[str, str], str] = {}
        """(judge, criteria) → the field with the responses."""
        self._ranges: dict[tuple[str, str], tuple[float, float]] = {}
        for judge, configuration in (entry for run in made for entry in run.items()):
            for criterion in configuration.criteria:
                line = (judge, str(criterion.get("name", "")))
                self._judged.setdefault(line, str(criterion.get("to_evaluate_field", _ANSWER)))
                self._ranges.setdefault(line, configuration.score_range(line[1]))
        self._order: dict[tuple[str, str], list[str]] = {}

    def judged_field(self, line: tuple[str, str]) -> str:
        """Return the field that is judged by a judge and criterion."""
        return self._judged.get(line, _ANSWER)

    def score_range(self, line: tuple[str, str]) -> tuple[float, float]:
        """Return the lowest and highest possible score for a judge and criterion."""
        return self._ranges.get(line, (0.0, 1.0))

    def as_in_the_first_run(self, row: JudgmentRecord) -> JudgmentRecord:
        """Return the judgment with responses and winner in the first run's order.

        It stays unchanged if it is no comparison, or if the systems differ.
        """
        detail, line = row.detail, (row.judge, row.criterion)
        if not detail.is_comparison:
            return row
        systems = list(detail.named_systems)
        if len(set(systems)) < len(systems):
            return row
        order, field = (
            _in_the_order_of(self._first(line, systems), systems),
            self.judged_field(line),
        )
        texts = row.fields.get(field, "")
        if order == systems or isinstance(texts, str) or len(texts) != len(systems):
            return row
        fields = {**row.fields, field: tuple(texts[systems.index(name)] for name in order)}
        return replace(row, fields=fields, detail=detail.reorder(order))

    def _first(self, line: tuple[str, str], systems: list[str]) -> list[str]:
        """Return the order to follow: that of the line's first row, or of the only other judge with
        this criterion.
        """
        if line not in self._order:
            orders_of_namesakes = [
                order for (_, criteria), order in self._order.items() if criteria == line[1]
            ]
            self._order[line] = orders_of_namesakes[0] if len(orders_of_namesakes) == 1 else systems
        return self._order[line]


def _in_the_order_of(order: list[str], systems: list[str]) -> list[str]:
    """Return ``systems`` in ``order``. If two systems share only one with ``order``, it keeps its
    position there.
    """
    if sorted(order) == sorted(systems):
        return order
    shared = [name for name in order if name in systems]
    moved = (
        len(order) == len(systems) == 2
        and len(shared) == 1
        and order.index(shared[0]) != systems.index(shared[0])
    )
    return systems[::-1] if moved else systems


def _rows_of(
    folder: str | Path,
    side: int,
    systems: _Systems,
    units: _Units,
    id: str | None,
    by: str | None,
) -> Iterator[tuple[object, ...]]:
    """Yield the table rows for one run.

    Records are only built if a column is read or a row is not plain, which is rare.
    """
    needs_records = bool(units.column or id or by)
    rows = records_of(folder) if needs_records else outcomes_of(folder, _is_plain)
    lines: dict[tuple[str, str], _PlainLine] = {}
    for row in rows:
        key = row.judge, row.criterion
        line = lines.get(key)
        if line is None:
            line = lines[key] = _PlainLine(key, systems)
        line.rows += 1
        if isinstance(row, JudgmentRecord):
            values = _values(side, systems.as_in_the_first_run(row), systems, units.add(row), id)
            yield *values, value_in(row, by) if by else "", row.id, line.rows - 1
        else:
            yield _plain_values(side, row, line)


class _PlainLine:
    """The values that all rows of one judge and criterion share."""

    def __init__(self, key: tuple[str, str], systems: _Systems) -> None:
        self.text = _json_text((*key, ""))
        self.judged_field = systems.judged_field(key)
        self.rows = 0
        """The number of these rows so far in this run."""


def _is_plain(row: StoredOutcome) -> bool:
    """Return True if a row is independent of others and its id is not a position in a file."""
    id = row.id or ""
    may_be_place = ":" in id or id.startswith("row ")
    return not may_be_place and not any(name in row.input for name in (TRIAL, ROW, PART_OF))


def _plain_values(side: int, row: StoredOutcome, line: _PlainLine) -> tuple[object, ...]:
    """Return the table row for a plain row."""
    judge, place, id, fields, _, criterion, status, score, verdict = row
    identity = identity_of(fields)
    return (
        side,
        judge,
        criterion,
        line.text,
        place + 1,
        id or "",
        1 if id else 0,
        *_keys(fields, line.judged_field, identity),
        status,
        score,
        _json_text(verdict),
        identity,
        None,
        "[]",
        *_NOTHING_LOST,
        "",
        id,
        line.rows - 1,
    )


def _values(
    side: int, row: JudgmentRecord, systems: _Systems, unit: Unit, id: str | None
) -> tuple[object, ...]:
    criterion, identity = row.criterion, row.identity
    name, name_rank = _name(row, id)
    return (
        side,
        row.judge,
        criterion,
        _json_text((row.judge, criterion, row.answered_by)),
        row.row,
        name,
        name_rank,
        *_keys(row.fields, systems.judged_field((row.judge, criterion)), identity),
        row.status,
        row.score,
        _json_text(row.choice),
        identity,
        unit[0] if unit else None,
        _json_text(row.detail.named_systems),
        *_possible(row, systems.score_range((row.judge, criterion))),
    )


def _keys(
    fields: Fields, judged_field: str, identity: str
) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Return the keys for pairing rows without ids: the question, all fields that are not judged,
    and all fields.
    """
    if not fields:
        return None, None, None
    shape = _shape((*fields,), judged_field)
    question_text = fields[_QUESTION] if shape.has_question else None
    question = _question_key(question_text) if question_text else None
    if question and shape.other_names == (_QUESTION,):
        beside: bytes | None = question
    else:
        others = {name: fields[name] for name in shape.other_names}
        beside = _digest(others) if others else None
    # a digest of sorted fields, so that of two runs with another order of fields is the same
    content = bytes.fromhex(identity) if shape.is_sorted else _digest(fields)
    return question, beside, content


class _Shape(NamedTuple):
    """What is known of a row's keys by the names of its fields."""

    other_names: tuple[str, ...]
    """The fields that are not judged."""
    has_question: bool
    is_sorted: bool


@lru_cache(maxsize=1024)
def _shape(names: tuple[str, ...], judged_field: str) -> _Shape:
    others = tuple(name for name in names if name not in (_ANSWER, judged_field))
    return _Shape(others, _QUESTION in others, names == tuple(sorted(names)))


def _question_key(text: str | tuple[str, ...]) -> bytes:
    """Return a unique key for a question. A short question is its own key, which saves hashing."""
    if isinstance(text, str) and len(text) <= _SHORT:
        return b"=" + text.encode("utf-8", "surrogatepass")
    return _digest({_QUESTION: text})


_NOTHING_LOST = (None, None, "[]")
"""What lost votes allow if there are none."""


def _possible(
    row: JudgmentRecord, scale: tuple[float, float]
) -> tuple[float | None, float | None, str]:
    """Return the bounds that lost votes allow for the compared number, and the models they belong
    to.
    """
    if not row.excluded_models:
        return _NOTHING_LOST
    ends = (0.0, 1.0) if row.possible_win_rates else row.possible_scores(scale)
    return *(ends or (None, None)), _json_text(tuple(sorted(row.lost_models)))


@lru_cache(maxsize=1024, typed=True)
def _json_text(value: str | int | tuple[str, ...] | None) -> str:
    """Return a verdict or names as JSON, cached because most rows share a few values."""
    return json.dumps(value)


@lru_cache(maxsize=1024)
def _verdict_in(text: str) -> str | int | None:
    """Parse a verdict written by ``_json_text``."""
    verdict: str | int | None = json.loads(text)
    return verdict


def _digest(fields: Fields) -> bytes:
    """Return a digest that does not depend on the order of the fields."""
    return bytes.fromhex(identity_of({name: fields[name] for name in sorted(fields)}))


def _name(row: JudgmentRecord, column: str | None) -> tuple[str, int]:
    """Return a row's name and its quality: 2 from ``column``, 1 from its own id, 0 if only a
    position.
    """
    if column:
        with suppress(SetupError):
            cell = str(row.cell(column)).strip()
            return (_of_system(cell, row), 2) if cell not in _NOTHING else (row.id or "", 0)
    return row.id or "", int(is_named(row))


def is_named(row: JudgmentRecord) -> bool:
    """Return True if a row's id is more than its position in a file."""
    if not row.id:
        return False
    return not is_place(row.id) or row.id in map(str, row.input.values())


def is_place(id: str) -> bool:
    """Return True if an id looks like a file position, which rows without ids get."""
    return _PLACE.fullmatch(id) is not None


def _of_system(name: str, row: JudgmentRecord) -> str:
    """Return a name that includes the system and repetition if a target answered the row."""
    if "answered_row" not in row.input:
        return name
    return json.dumps([name, row.input.get("system"), row.input.get("repeat")])


def _join_single_systems(table: sqlite3.Connection) -> None:
    """Ignore the systems' names if each run has only one."""
    query = "SELECT DISTINCT side, judge, criteria, line FROM judged"
    lines = table.execute(query).fetchall()
    systems = Counter(tuple(judged_by) for *judged_by, _ in lines)
    if max(systems.values(), default=0) < 2:
        for _, judge, criterion, line in lines:
            _rename_line(table, line, json.dumps([judge, criterion, ""]))


def _rename_line(table: sqlite3.Connection, old: str, new: str) -> None:
    if new != old:
        table.execute("UPDATE judged SET line = ? WHERE line = ?", (new, old))


def _join_renamed_judges(table: sqlite3.Connection, renamed: Mapping[str, str]) -> None:
    """Match criteria across different judge names if each run has exactly one judge for them.

    ``renamed``: old name → new name of judges that were only renamed.
    """
    for old, new in renamed.items():
        table.execute(
            "UPDATE judged SET line = json_array(?, CASE criteria WHEN ? THEN ? ELSE criteria END, "
            "json_extract(line, '$[2]')) WHERE side = 1 AND judge = ?",
            (old, new, old, new),
        )
    for (line,) in table.execute("SELECT DISTINCT line FROM judged").fetchall():
        _rename_line(table, line, json.dumps(json.loads(line)))  # as it is written elsewhere
    query = "SELECT DISTINCT side, criteria, json_extract(line, '$[2]'), line FROM judged"
    lines = table.execute(query).fetchall()
    common_lines = {line_row[3] for line_row in lines if line_row[0] == 0} & {
        line_row[3] for line_row in lines if line_row[0] == 1
    }
    unpaired = [line_row for line_row in lines if line_row[3] not in common_lines]
    for _, *criterion_and_system, line in [line_row for line_row in unpaired if line_row[0] == 0]:
        old_lines, new_lines = (
            [line_row for line_row in unpaired if line_row[:3] == (side, *criterion_and_system)]
            for side in (0, 1)
        )
        if len(old_lines) == len(new_lines) == 1:
            table.execute(
                "UPDATE judged SET line = ? WHERE side = 1 AND line = ?", (line, new_lines[0][3])
            )


def _pair(table: sqlite3.Connection) -> None:
    """Assign each row its counterpart in the other run, if there is one.

    Rows that share an id are paired in order, those with equal text or question first. By fields or
    text, only unique rows and exact copies are paired. Of the rest, rows with the same other fields
    are paired by position if both runs have equally many.
    """
    alone = "SELECT line FROM judged WHERE named GROUP BY line HAVING count(DISTINCT side) = 1"
    # ids of one run alone
    table.execute(f"UPDATE judged SET named = 0 WHERE named AND line IN ({alone})")  # noqa: S608
    # the usual case; one indexed join instead of four grouped ones
    if _ids_are_unique(table):
        _join_unique_ids(table)
    else:
        _join(table, "id", "line, name, content", "named")
        _join(table, "id", "line, name, beside", "named AND beside IS NOT NULL")
        _join(table, "id", "line, name, question", "named AND question IS NOT NULL")
        _join(table, "id", "line, name", "named")
        table.execute(
            "UPDATE judged SET shared = 1 WHERE named AND (side, line, name) IN "
            "(SELECT side, line, name FROM judged WHERE named "
            "GROUP BY side, line, name HAVING count(*) > 1)"
        )
    if not table.execute("SELECT 1 FROM judged WHERE partner IS NULL LIMIT 1").fetchone():
        return
    by_id = "line IN (SELECT line FROM judged WHERE way = 'id' GROUP BY line)"
    unnamed = f"NOT (named AND {by_id})"  # ids of which none is in both runs name no rows
    _join(
        table,
        "fields",
        "line, beside",
        f"beside IS NOT NULL AND {unnamed}",
        "own = 1 AND others = 1",
    )
    _join(
        table,
        "fields",
        "line, question",
        f"question IS NOT NULL AND {unnamed}",
        "own = 1 AND others = 1",
    )
    _join(table, "text", "line, content", unnamed, "own = 1 AND others = 1")
    _join(table, "text", "line, content", f"{unnamed} AND (line, beside) IN ({_COPIES})")
    _join(table, "place", "line, kind", "NOT named", "own = others")


def _ids_are_unique(table: sqlite3.Connection) -> bool:
    """Create the index for ``_join_unique_ids``. If rows of a run share an id, drop it and return
    False.
    """
    table.execute("CREATE INDEX by_id ON judged (name, side, line) WHERE named")
    shared = (
        "SELECT 1 FROM judged WHERE named GROUP BY name, side, line HAVING count(*) > 1 LIMIT 1"
    )
    if table.execute(shared).fetchone() is None:
        return True
    table.execute("DROP INDEX by_id")
    return False


def _join_unique_ids(table: sqlite3.Connection) -> None:
    """Like ``_join`` by id, but in one step, since unique ids make other keys unnecessary."""
    table.executescript(
        "CREATE TEMP TABLE pair AS SELECT a.place AS one, b.place AS two FROM judged a "
        "CROSS JOIN judged b ON b.name = a.name AND b.side = 1 AND b.line = a.line AND b.named "
        "WHERE a.side = 0 AND a.named;"
        "UPDATE judged SET partner = two, way = 'id' FROM pair WHERE place = one;"
        "UPDATE judged SET partner = one, way = 'id' FROM pair WHERE place = two;"
        "DROP TABLE pair; DROP INDEX by_id;"
    )


_COPIES = (
    "SELECT line, beside FROM judged WHERE partner IS NULL GROUP BY line, beside HAVING "
    "count(DISTINCT content) = 1"
)
"""Rows that are the same in everything."""


def _join(table: sqlite3.Connection, way: Way, keys: str, which: str, count: str = "TRUE") -> None:
    """Pair unpaired rows that are equal in ``keys``, in the order of their positions.

    ``which``: SQL condition on rows. ``count``: SQL condition on the number of equal rows in the
    first (``own``) and second (``others``) run.
    """
    names = keys.replace("kind", "coalesce(beside, x'') AS kind")
    script = (
        f"CREATE TEMP TABLE free AS SELECT place, side, {names} "  # noqa: S608 - texts of ours
        f"FROM judged WHERE partner IS NULL AND {which};"
        f"CREATE TEMP TABLE kind AS SELECT {keys}, sum(side = 0) AS own, sum(side = 1) AS "
        f"others FROM free GROUP BY {keys} "
        f"HAVING own AND others AND ({count});"
        f"CREATE TEMP TABLE nth AS SELECT place, side, {keys}, row_number() OVER (PARTITION "
        f"BY side, {keys} ORDER BY place) AS n "
        f"FROM free JOIN kind USING ({keys});"
        f"CREATE INDEX temp.alike ON nth (side, {keys}, n);"
        "CREATE TEMP TABLE pair AS SELECT a.place AS one, b.place AS two FROM nth a "
        f"JOIN nth b USING ({keys}, n) WHERE a.side = 0 AND b.side = 1;"
        f"UPDATE judged SET partner = two, way = '{way}' FROM pair WHERE place = one;"
        f"UPDATE judged SET partner = one, way = '{way}' FROM pair WHERE place = two;"
        "DROP TABLE free; DROP TABLE kind; DROP TABLE nth; DROP TABLE pair;"
    )
    table.executescript(script)


def _two(values: list[Any]) -> tuple[JudgedRow, JudgedRow]:
    half = len(_COLUMNS)
    return _judged_row(*values[:half]), _judged_row(*values[half:])


def _outcome_row(
    judge: str, criteria: str, status: str, score: float | None, chosen: str, systems: str
) -> JudgedRow:
    return _judged_row(judge, criteria, 0, "", status, score, chosen, systems, *_NOTHING_LOST)


def _judged_row(
    judge: str,
    criteria: str,
    row: int,
    name: str,
    status: str,
    score: float | None,
    chosen: str,
    systems: str,
    least: float | None,
    most: float | None,
    left_out: str,
) -> JudgedRow:
    possible = None if least is None or most is None else (least, most)
    return JudgedRow(
        judge,
        criteria,
        row,
        name or None,
        JudgmentSummary(status, score, _verdict_in(chosen), possible, left_out),
        () if systems == "[]" else tuple(json.loads(systems)),
    )
