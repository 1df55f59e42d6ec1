"""The judgments of two runs in a temporary SQLite file, each with its counterpart.

Every command, gate and page pairs rows here: by their id; else by the fields that are not judged,
if these identify one row; else by a text that no other row has; else by position, if both runs
have the same number of rows left. Topics of a conversation are paired only if they have the same
messages: two runs may split it differently. Pairs are read group by group, so memory does not
grow with the number of rows.
"""

from __future__ import annotations

import builtins
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, islice
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Literal, NamedTuple

from adjudge.core.domain.frozen_mapping import json_text
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.pairing import Way
from adjudge.core.domain.record import Fields, JudgmentRecord
from adjudge.core.domain.repetition import (
    PART_OF,
    TOPIC_MESSAGES,
    JoinedUnits,
    Unit,
    unit_of,
)
from adjudge.core.domain.slices import value_in
from adjudge.core.ledger.alike import AlikeOutcome
from adjudge.core.ledger.changes import renamed_judges
from adjudge.core.ledger.codec import StoredOutcome
from adjudge.core.ledger.rows import packer
from adjudge.errors import SetupError
from adjudge.runs.folder import RunFacts, alike_outcomes_of, records_of

Side = Literal[0, 1]
SIDES: tuple[Side, Side] = (0, 1)
_PLACE = re.compile(r"((.*\.\w+|stdin):|row )\d+( \(\d+\))?( (turn|topic) \d+)?")
"""Ids of rows without a name: their positions, which say nothing about their content."""
_NOTHING = ("", "None", "nan", "NaN", "NaT")
"""Texts of an empty cell, which names no row."""
_ANSWER = "response"
_QUESTION = "user_input"
_AT_ONCE = 256
"""Rows that are read before they are written: reading and writing in turn takes a fifth longer."""
_MOST_OUTCOMES = 4096
"""Different outcomes that are remembered: scores may be any number."""
_SHORT = 200
"""Characters of a text that is kept instead of a digest."""
_TABLES = (
    "CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY, judge TEXT, criteria TEXT, status TEXT, "
    "score REAL, chosen TEXT, systems TEXT, least REAL, most REAL, left_out TEXT, low REAL, "
    "high REAL);"
    "CREATE TABLE judged (place INTEGER PRIMARY KEY, side INTEGER, line INTEGER, "
    "outcome INTEGER, row INTEGER, number INTEGER, name TEXT, named INTEGER, question TEXT, "
    "beside TEXT, content TEXT, identity TEXT, id TEXT, cluster TEXT, topic_of TEXT, "
    "slice TEXT DEFAULT '', shared INTEGER);"
    "CREATE TABLE pairs (one INTEGER PRIMARY KEY, two INTEGER NOT NULL, way TEXT);"
)
_OUTCOME = "INSERT INTO outcomes VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
# An empty text stands for NULL: sqlite3 takes several times longer to pass None, or bytes.
_ROW = (
    "INSERT INTO judged (side, line, outcome, row, number, name, named, question, beside, content, "
    "identity, id{}) VALUES (?,?,?,?,?,?,?,nullif(?,''),nullif(?,''),nullif(?,''),nullif(?,''),{})"
)
_INSERTS = {
    11: _ROW.format("", "nullif(?6,'')"),
    15: _ROW.format(", cluster, topic_of, slice", "?,?,?,?"),
}
"""Number of values → how they are written. A plain row has no id but its name, and no group."""
_Outcome = tuple[object, ...]
"""The columns of ``outcomes``, without the number."""


@dataclass
class Line:
    """A judge and criterion of both runs, and the system that answered if there are several."""

    number: int
    """By which its rows are found."""
    rows: list[int] = field(default_factory=lambda: [0, 0])
    """The number of rows in each run."""
    named: list[bool] = field(default_factory=lambda: [False, False])
    """True for a run whose rows have names."""


class JudgedTable(NamedTuple):
    """The rows of two runs, paired."""

    connection: sqlite3.Connection
    lines: Mapping[str, Line]
    """Judge, criterion and system as JSON → its rows, in the order of the first run."""
    without_group: int
    """The most rows of a run that have nothing in the column of groups."""


@contextmanager
def judged_table(
    folders: tuple[str | Path, str | Path],
    runs: tuple[RunFacts, RunFacts],
    cluster: str,
    id: str | None,
    by: str | None,
    *,
    identities: bool,
) -> Iterator[JudgedTable]:
    """Read two runs and pair their rows; see ``run_diff``."""
    systems = _Systems(run.judge_configurations for run in runs)
    units = _Units(cluster)
    with closing(sqlite3.connect("")) as table:  # a file that is gone with the process
        table.execute("PRAGMA journal_mode = OFF")  # nothing of it outlives the process
        table.executescript(_TABLES)
        lines, outcomes = _Lines(), _Outcomes()
        for side in SIDES:
            run = _Side(side, lines, outcomes, systems, units, identities)
            rows = _rows_of(folders[side], run, id, by)
            while some := list(islice(rows, _AT_ONCE)):
                outcomes.write(table)
                for size, alike in groupby(some, len):
                    table.executemany(_INSERTS[size], alike)
            units.count_side()
        units.join(table)
        if id and not table.execute("SELECT 1 FROM judged WHERE named = 2 LIMIT 1").fetchone():
            raise SetupError(
                "no row of {one} or {two} has a value in column {id!r}",
                one=folders[0],
                two=folders[1],
                id=id,
            )
        lines.join_single_systems()
        lines.join_renamed_judges(renamed_judges(*(run.configuration for run in runs)))
        joined = lines.write(table)
        _pair(table, joined.values())
        yield JudgedTable(table, joined, units.without)


class _Outcomes:
    """Numbers outcomes. Equal ones get the same number, unless there are very many."""

    def __init__(self) -> None:
        self._numbers: dict[_Outcome, int] = {}
        self._new: list[tuple[object, ...]] = []
        self._last = 0

    def number(self, outcome: _Outcome) -> int:
        number = self._numbers.get(outcome)
        if number is None:
            if len(self._numbers) >= _MOST_OUTCOMES:
                self._numbers.clear()
            self._last = number = self._numbers[outcome] = self._last + 1
            self._new.append((number, *outcome))
        return number

    def write(self, table: sqlite3.Connection) -> None:
        """Write the outcomes that are new since the last time."""
        table.executemany(_OUTCOME, self._new)
        self._new.clear()


class _LineOfRun:
    """The rows that one judge of a run judged by one criterion, of one system."""

    def __init__(self, side: Side, key: tuple[str, str, str], number: int) -> None:
        self.side, self.number = side, number
        self.judge, self.criterion, self.system = key
        self.key = key
        """Its judge, criterion and system as they are called in the first run."""
        self.rows = 0
        self.is_named = False


class _Lines:
    """The lines of both runs, in the order of their first rows."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._all: dict[tuple[Side, str, str, str], _LineOfRun] = {}

    def get(self, side: Side, judge: str, criterion: str, system: str) -> _LineOfRun:
        """Return the line that a row belongs to."""
        line = self._all.get((side, judge, criterion, system))
        if line is None:
            key = (judge, criterion, system)
            number = self._numbers.setdefault(key, len(self._numbers) + 1)
            line = self._all[side, judge, criterion, system] = _LineOfRun(side, key, number)
        return line

    def join_single_systems(self) -> None:
        """Ignore the systems' names if each run has only one."""
        systems = Counter((line.side, line.judge, line.criterion) for line in self._all.values())
        if max(systems.values(), default=0) < 2:
            for line in self._all.values():
                line.key = (line.judge, line.criterion, "")

    def join_renamed_judges(self, renamed: Mapping[str, str]) -> None:
        """Match criteria across different judge names if each run has exactly one judge for them.

        ``renamed``: old name → new name of judges that were only renamed.
        """
        old_names = {new: old for old, new in renamed.items()}
        of_runs = [[line for line in self._all.values() if line.side == side] for side in (0, 1)]
        for line in of_runs[1]:
            if (name := old_names.get(line.judge)) is not None:
                criterion = name if line.criterion == line.judge else line.criterion
                line.key = (name, criterion, line.key[2])
        common = {line.key for line in of_runs[0]} & {line.key for line in of_runs[1]}
        keys_by_criterion: list[dict[tuple[str, str], set[tuple[str, str, str]]]] = [{}, {}]
        for keys, lines in zip(keys_by_criterion, of_runs, strict=True):
            for line in lines:
                if line.key not in common:
                    keys.setdefault((line.criterion, line.key[2]), set()).add(line.key)
        for about, old_keys in keys_by_criterion[0].items():
            new_keys = keys_by_criterion[1].get(about, set())
            if len(old_keys) == len(new_keys) == 1:
                for line in of_runs[1]:
                    if line.key in new_keys:
                        line.key = next(iter(old_keys))

    def write(self, table: sqlite3.Connection) -> dict[str, Line]:
        """Give the rows of a line the same number in both runs, and return the lines."""
        joined: dict[str, Line] = {}
        renumbered = []
        for line in self._all.values():
            both = joined.setdefault(json.dumps(line.key), Line(len(joined) + 1))
            both.rows[line.side] += line.rows
            both.named[line.side] |= line.is_named
            if both.number != line.number:
                renumbered.append((line.side, line.number, both.number))
        if renumbered:
            table.execute("CREATE TEMP TABLE renumbered (side INTEGER, old INTEGER, new INTEGER)")
            table.executemany("INSERT INTO renumbered VALUES (?,?,?)", renumbered)
            table.execute(
                "UPDATE judged SET line = new FROM renumbered AS other "
                "WHERE judged.side = other.side AND judged.line = old"
            )
        return joined


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


class _Side(NamedTuple):
    """What is known while the rows of a run are read."""

    side: Side
    lines: _Lines
    outcomes: _Outcomes
    systems: _Systems
    units: _Units
    identities: bool
    """True if labels will be looked up by the identities of rows."""


def _rows_of(
    folder: str | Path, run: _Side, id: str | None, by: str | None
) -> Iterator[tuple[object, ...]]:
    """Yield the table rows for one run.

    Records are only built if a column is read or a row is not plain, which is rare.
    """
    needs_records = bool(run.units.column or id or by)
    rows = records_of(folder) if needs_records else alike_outcomes_of(folder)
    criteria: dict[tuple[str, str], _Criterion] = {}
    # ``id`` of a shared outcome → the outcome, which must stay alive, its criterion and number
    kinds: dict[int, tuple[StoredOutcome, _Criterion, int]] = {}
    for found in rows:
        if isinstance(found, AlikeOutcome):
            like = found.like
            kind = kinds.get(id_of(like))
            if kind is None:
                if len(kinds) >= _MOST_OUTCOMES:
                    kinds.clear()
                criterion = _criterion(criteria, like, run)
                kind = kinds[id_of(like)] = (like, criterion, criterion.number(like))
            _, criterion, outcome = kind
            if values := criterion.plain_values(outcome, found):
                yield values
                criterion.rows += 1
                continue
        record = found.record if isinstance(found, AlikeOutcome) else found
        criterion = _criterion(criteria, record, run)
        in_order = run.systems.as_in_the_first_run(record)
        values = _values(in_order, run, criterion.rows, id, run.units.add(record))
        yield *values, value_in(record, by) if by else ""
        criterion.rows += 1


id_of = builtins.id  # below, ``id`` is the name of a column


def _criterion(
    criteria: dict[tuple[str, str], _Criterion], row: StoredOutcome | JudgmentRecord, run: _Side
) -> _Criterion:
    key = (row.judge, row.criterion)
    criterion = criteria.get(key)
    if criterion is None:
        criterion = criteria[key] = _Criterion(key, run)
    return criterion


class _Criterion:
    """The values that the plain rows of one judge and criterion of a run share."""

    def __init__(self, key: tuple[str, str], run: _Side) -> None:
        self._key, self._run = key, run
        self._judged_field = run.systems.judged_field(key)
        self._shape = _shape((), self._judged_field)
        self._line: _LineOfRun | None = None
        self.rows = 0
        """The number of these rows so far, plain or not."""

    def number(self, row: StoredOutcome) -> int:
        """Return the number of the outcome of a plain row."""
        lost = (*_NOTHING_LOST, *_NO_LIMITS)
        judged = (*self._key, row.status, row.score, _json_text(row.verdict))
        return self._run.outcomes.number((*judged, "[]", *lost))

    def plain_values(self, outcome: int, row: AlikeOutcome) -> tuple[object, ...] | None:
        """Return the table row for a plain row; None for a row with an id that looks like a
        position in a file, but that a column may hold.
        """
        _, fields, stored = row
        id, is_named = stored[2] or "", 0
        if id:
            if (":" in id or id.startswith("row ")) and is_place(id):
                text = encode_basestring_ascii(id)[1:-1]
                if text in stored[3] or stored[-1].count(text) > 1:
                    return None
            else:
                is_named = 1
        line = self._line
        if line is None:
            line = self._line = self._run.lines.get(self._run.side, *self._key, "")
        line.rows += 1
        if is_named:
            line.is_named = True
        names = (*fields,)
        shape = self._shape
        if shape.names != names:
            shape = self._shape = _shape(names, self._judged_field)
        values = (line.side, line.number, outcome, stored[1] + 1, self.rows, id, is_named)
        return values + _keys(fields, shape, identities=self._run.identities)


def _values(
    row: JudgmentRecord, run: _Side, number: int, id: str | None, unit: Unit
) -> tuple[object, ...]:
    key = (row.judge, row.criterion)
    name, name_rank = _name(row, id)
    line = run.lines.get(run.side, *key, row.answered_by)
    line.rows += 1
    line.is_named = line.is_named or bool(name_rank)
    topic, conversation = row.input.get(TOPIC_MESSAGES), row.input.get(PART_OF)
    shape = _shape((*row.fields,), run.systems.judged_field(key))
    question, beside, content, identity = _keys(row.fields, shape, identities=run.identities)
    if topic is not None:  # the fields beside it say where it begins, not where it ends
        question, beside = (part and f"{part} {topic}" for part in (question, beside))
    choice, systems = _json_text(row.choice), _json_text(row.detail.named_systems)
    lost = (*_possible(row, run.systems.score_range(key)), *(row.detail.limits or _NO_LIMITS))
    return (
        line.side,
        line.number,
        run.outcomes.number((*key, row.status, row.score, choice, systems, *lost)),
        row.row,
        number,
        name,
        name_rank,
        question,
        beside,
        content,
        identity,
        row.id,
        unit[0] if unit else None,
        None if topic is None else str(conversation),
    )


def _keys(fields: Fields, shape: _Shape, *, identities: bool) -> tuple[str, str, str, str]:
    """Return the keys for pairing rows without ids: the question, all fields that are not judged,
    and all fields; then the identity, by which labels are found, or what tells contents apart as it
    does.

    They are empty if there are none, and the last one if it says the same as the one before.
    """
    question = beside = ""
    if shape.only_other is not None:
        beside = _text_key(shape.only_other, fields[shape.only_other])
    elif shape.other_names:
        beside = _digest({name: fields[name] for name in shape.other_names})
    if shape.has_question and (text := fields[_QUESTION]):
        question = beside if shape.only_other == _QUESTION else _text_key(_QUESTION, text)
    digest = identity_of if identities else _digest
    if shape.is_sorted:
        return question, beside, digest(fields), ""
    # of two runs with another order of fields, the content is the same, and not the identity
    content = digest({name: fields[name] for name in sorted(fields)}) if fields else ""
    return question, beside, content, digest(fields)


class _Shape(NamedTuple):
    """What is known of a row's keys by the names of its fields."""

    names: tuple[str, ...]
    other_names: tuple[str, ...]
    """The fields that are not judged, sorted."""
    only_other: str | None
    """The only such field; None if there are several or none."""
    has_question: bool
    is_sorted: bool


@lru_cache(maxsize=1024)
def _shape(names: tuple[str, ...], judged_field: str) -> _Shape:
    others = tuple(name for name in names if name not in (_ANSWER, judged_field))
    only_other = others[0] if len(others) == 1 and others[0].isprintable() else None
    is_sorted = bool(names) and names == tuple(sorted(names))
    return _Shape(names, tuple(sorted(others)), only_other, _QUESTION in others, is_sorted)


def _text_key(name: str, text: str | tuple[str, ...]) -> str:
    """Return a unique key for a field. A short text is its own key, which saves hashing."""
    if type(text) is str and len(text) <= _SHORT and text.isprintable():
        return f"{len(name)}:{name}={text}"
    return _digest({name: text})


_NOTHING_LOST = (None, None, "[]")
"""What lost votes allow if there are none."""
_NO_LIMITS = (None, None)
"""The lowest and the highest score of a row, unless it has limits of its own."""


def _possible(
    row: JudgmentRecord, scale: tuple[float, float]
) -> tuple[float | None, float | None, str]:
    """Return the bounds that lost votes and missing verdicts allow for the compared number, and the
    models that lost all votes with the number of lost votes.
    """
    if row.status in ("failed", "abstained") and row.detail.has_bounds:
        return *row.missing_score(scale), _json_text(tuple(sorted(row.lost_models)))
    if not row.scored or not row.lost_votes:
        return _NOTHING_LOST
    ends = (0.0, 1.0) if row.possible_win_rates else row.possible_scores(scale)
    lost = (*sorted(row.lost_models), str(row.lost_votes))
    return *(ends or (None, None)), _json_text(lost)


@lru_cache(maxsize=1024, typed=True)
def _json_text(value: str | int | tuple[str, ...] | None) -> str:
    """Return a verdict or names as JSON, cached because most rows share a few values."""
    return json.dumps(value)


def _digest(texts: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return a digest of texts and their names in their order."""
    # Several times faster than ``identity_of``.
    try:
        packed = packer()(texts)
    except UnicodeEncodeError:  # half a surrogate pair
        packed = json_text(texts).encode()
    return blake2b(packed, digest_size=16).hexdigest()


def _name(row: JudgmentRecord, column: str | None) -> tuple[str, int]:
    """Return a row's name and its quality: 2 from ``column``, 1 from its own id, 0 if only a
    position.
    """
    if column:
        with suppress(SetupError):
            cell = str(row.cell(column)).strip()
            if cell not in _NOTHING:
                return _of_system(cell + _part_name(row), row), 2
            return row.id or "", 0
    if row.input.get(TOPIC_MESSAGES) is not None and row.input.get(PART_OF) is not None:
        return f"{row.input[PART_OF]}{_part_name(row)}", int(is_named(row))
    return row.id or "", int(is_named(row))


def _part_name(row: JudgmentRecord) -> str:
    """Return what tells a turn or topic from the other parts of its conversation; empty for a whole
    row. Topics are told apart by their messages, since another run may number them differently.
    """
    whole, topic = row.input.get(PART_OF), row.input.get(TOPIC_MESSAGES)
    if topic is not None:
        return f" messages {topic}"
    return "" if whole is None else (row.id or "").removeprefix(str(whole))


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


def _pair(table: sqlite3.Connection, lines: Iterable[Line]) -> None:
    """Assign each row its counterpart in the other run, if there is one.

    Rows that share an id are paired in order, those with equal text or question first. By fields or
    text, only unique rows and exact copies are paired. Of the rest, rows with the same other fields
    are paired by position if both runs have equally many.
    """
    for line in lines:
        if any(line.named) and not all(line.named):  # ids of one run alone
            table.execute("UPDATE judged SET named = 0 WHERE named AND line = ?", (line.number,))
    if not _join_unique_ids(table):
        _join(table, "id", "line, name, content", "named")
        _join(table, "id", "line, name, beside", "named AND beside IS NOT NULL")
        _join(table, "id", "line, name, question", "named AND question IS NOT NULL")
        _join(table, "id", "line, name", "named")
        table.execute(
            "UPDATE judged SET shared = 1 WHERE named AND (side, line, name) IN "
            "(SELECT side, line, name FROM judged WHERE named "
            "GROUP BY side, line, name HAVING count(*) > 1)"
        )
    (rows, pairs) = table.execute(
        "SELECT (SELECT count(*) FROM judged), (SELECT count(*) FROM pairs)"
    ).fetchone()
    if rows == 2 * pairs:
        return
    by_id = (
        "line IN (SELECT line FROM judged JOIN pairs ON place = one WHERE way = 'id' GROUP BY line)"
    )
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


def _join_unique_ids(table: sqlite3.Connection) -> bool:
    """Pair rows by id in one step, since unique ids make other keys unnecessary; return False if
    rows of a run share an id.
    """
    # Not a unique index: without a journal, one that fails halfway damages the table.
    table.execute("CREATE INDEX names ON judged (name, line, side) WHERE named")
    shared = (
        "SELECT 1 FROM judged INDEXED BY names WHERE named GROUP BY name, line, side "
        "HAVING count(*) > 1 LIMIT 1"
    )
    if table.execute(shared).fetchone():
        table.execute("DROP INDEX names")
        return False
    table.execute(
        "INSERT INTO pairs SELECT a.place, b.place, 'id' FROM judged a CROSS JOIN judged b "
        "INDEXED BY names ON b.name = a.name AND b.line = a.line AND b.side = 1 AND b.named "
        "WHERE a.side = 0 AND a.named ORDER BY a.place"
    )
    table.execute("DROP INDEX names")
    return True


ALONE = "place NOT IN (SELECT one FROM pairs) AND place NOT IN (SELECT two FROM pairs)"
"""SQL condition on rows without a counterpart."""
_COPIES = (
    f"SELECT line, beside FROM judged WHERE {ALONE} GROUP BY line, beside HAVING "  # noqa: S608
    "count(DISTINCT content) = 1"
)
"""Rows that are the same in everything."""


def _join(table: sqlite3.Connection, way: Way, keys: str, which: str, count: str = "TRUE") -> None:
    """Pair unpaired rows that are equal in ``keys``, in the order of their positions.

    ``which``: SQL condition on rows. ``count``: SQL condition on the number of equal rows in the
    first (``own``) and second (``others``) run.
    """
    names = keys.replace("kind", "coalesce(beside, '') AS kind")
    script = (
        f"CREATE TEMP TABLE free AS SELECT place, side, {names} "  # noqa: S608 - texts of ours
        f"FROM judged WHERE {ALONE} AND {which};"
        f"CREATE TEMP TABLE kind AS SELECT {keys}, sum(side = 0) AS own, sum(side = 1) AS "
        f"others FROM free GROUP BY {keys} "
        f"HAVING own AND others AND ({count});"
        f"CREATE TEMP TABLE nth AS SELECT place, side, {keys}, row_number() OVER (PARTITION "
        f"BY side, {keys} ORDER BY place) AS n "
        f"FROM free JOIN kind USING ({keys});"
        f"CREATE INDEX temp.alike ON nth (side, {keys}, n);"
        f"INSERT INTO pairs SELECT a.place, b.place, '{way}' FROM nth a "
        f"JOIN nth b USING ({keys}, n) WHERE a.side = 0 AND b.side = 1;"
        "DROP TABLE free; DROP TABLE kind; DROP TABLE nth;"
    )
    table.executescript(script)
