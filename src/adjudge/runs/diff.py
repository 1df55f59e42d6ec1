"""How two runs differ: their settings, and what became of the rows that both have.

Rows are joined by what they are, never by their place: the same content under the same criteria, and rows whose content
changed by the name they were given. The keys of both runs lie in a temporary file, so that memory does not grow with rows.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from adjudge.domain.instance import Instance
from adjudge.errors import SetupError
from adjudge.ledger.changes import differences
from adjudge.runs.folder import cell_of_column, judgments, run_info

Side = Literal[0, 1]
_PLACE = re.compile(r"((.*\.\w+|stdin):|row )\d+( \(\d+\))?")
"""What rows without a name are called: by their place, which says nothing of what they are."""
_TABLE = (
    "CREATE TABLE judged (place INTEGER PRIMARY KEY, side INTEGER, judge TEXT, criteria TEXT, line TEXT, row INTEGER, name TEXT, "
    "named INTEGER, content BLOB, status TEXT, score REAL, chosen TEXT, identity TEXT, cluster TEXT, partner INTEGER)"
)
_ALIKE = ("line, content, name", "line, content")
"""What makes two rows the same, the surest first."""
_ONE_OF_ITS_NAME = (
    "named AND (line, name) NOT IN (SELECT line, name FROM judged WHERE named GROUP BY side, line, name HAVING count(*) > 1)"
)


class Came(NamedTuple):
    """What a judgment came to."""

    status: str
    score: float | None
    chosen: str | int | None
    """The verdict, the option, or the better response."""

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Came:
        """As the ledger holds it."""
        said = (result.get(name) for name in ("verdict", "option", "selected_option"))
        return cls(result["status"], result["score"], next((one for one in said if one is not None), None))


@dataclass(frozen=True)
class JudgedRow:
    """One judgment of a run."""

    judge: str
    criteria: str
    row: int
    """Its place in the run, from 1."""
    id: str | None
    came: Came


@dataclass(frozen=True)
class Change:
    """A row that came out otherwise."""

    before: JudgedRow
    after: JudgedRow
    same_content: bool
    """False where only the name says that it is the same row: the text that was judged is another."""


class Pair(NamedTuple):
    """A row that both runs judged."""

    before: JudgedRow
    after: JudgedRow
    identities: tuple[str, str]
    """Of the row's content in either run."""
    cluster: str | None
    """What rows that belong together share, where a column says it."""


class RunDiff:
    """How two runs differ. Rows are read as they are asked for."""

    def __init__(self, settings: list[str], table: sqlite3.Connection) -> None:
        self.settings = settings
        """What differs in the configuration, one text a setting."""
        self._table = table

    @property
    def compared(self) -> int:
        """Judgments that both runs have."""
        return self._count("side = 0 AND partner IS NOT NULL")

    @property
    def changed(self) -> int:
        """Those of them that came out otherwise."""
        (count,) = self._table.execute(f"SELECT count(*) {_CHANGED}").fetchone()
        return int(count)

    def alone(self, side: Side) -> int:
        """Judgments that only the first (0) or the second (1) run has."""
        return self._count(f"side = {side} AND partner IS NULL")

    def changes(self) -> Iterator[Change]:
        """The judgments that came out otherwise, in the order of the first run."""
        columns = ", ".join(f"{run}.{column}" for run in ("a", "b") for column in _COLUMNS)
        for *values, same in self._table.execute(f"SELECT {columns}, a.content = b.content {_CHANGED} ORDER BY a.place"):
            half = len(_COLUMNS)
            yield Change(_judged(*values[:half]), _judged(*values[half:]), bool(same))

    def lines(self) -> list[str]:
        """The judges and criteria that both runs have, in the order of the first run."""
        both = "SELECT line FROM judged WHERE side = 0 AND partner IS NOT NULL GROUP BY line ORDER BY min(place)"
        return [line for (line,) in self._table.execute(both)]

    def pairs(self, line: str) -> Iterator[Pair]:
        """The rows of one judge and criteria that both runs judged, in the order of the first run."""
        columns = ", ".join(f"{run}.{column}" for run in ("a", "b") for column in _COLUMNS)
        wanted = f"SELECT {columns}, a.identity, b.identity, a.cluster {_PAIRED} AND a.line = ? ORDER BY a.place"
        half = len(_COLUMNS)
        for *values, one, two, cluster in self._table.execute(wanted, (line,)):
            yield Pair(_judged(*values[:half]), _judged(*values[half:]), (one, two), cluster)

    def only_in(self, side: Side) -> Iterator[JudgedRow]:
        """The judgments that only one run has."""
        wanted = f"SELECT {', '.join(_COLUMNS)} FROM judged WHERE side = ? AND partner IS NULL ORDER BY place"  # noqa: S608
        for values in self._table.execute(wanted, (side,)):
            yield _judged(*values)

    def _count(self, which: str) -> int:
        (count,) = self._table.execute(f"SELECT count(*) FROM judged WHERE {which}").fetchone()  # noqa: S608 - constant texts
        return int(count)


_COLUMNS = ("judge", "criteria", "row", "name", "status", "score", "chosen")
_PAIRED = "FROM judged a JOIN judged b ON b.place = a.partner WHERE a.side = 0"
_CHANGED = f"{_PAIRED} AND (a.status IS NOT b.status OR a.score IS NOT b.score OR a.chosen IS NOT b.chosen)"


@contextmanager
def run_diff(one: str | Path, two: str | Path, cluster: str | None = None) -> Iterator[RunDiff]:
    """Compare two run folders. ``cluster``: the column whose rows belong together."""
    made = [run_info(folder).configuration for folder in (one, two)]
    settings = [str(change) for change in differences(*made)]
    systems = _Systems(made[0])
    with closing(sqlite3.connect("")) as table:  # a file that is gone with the process
        table.execute(_TABLE)
        for side, folder in enumerate((one, two)):
            rows = (_values(side, systems.as_in_the_first_run(row), cluster) for row in judgments(folder))
            table.executemany(f"INSERT INTO judged VALUES (NULL,{','.join('?' * 13)},NULL)", rows)  # noqa: S608 - only marks
        _join_renamed_judges(table)
        for keys in _ALIKE:
            _join(table, keys)
        _join(table, "line, name", _ONE_OF_ITS_NAME)
        yield RunDiff(settings, table)


class _Systems:
    """Has responses that are known by their systems' names stand in the order in which the first run compared them."""

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self._judged: dict[tuple[str, str], str] = {}
        """(judge, criteria) → the field with the responses."""
        for judge, own in configuration.get("judges", {}).items():
            for one in own.get("criteria") or ():
                self._judged[judge, one.get("name", "")] = one.get("to_evaluate_field", "response")
        self._order: dict[tuple[str, str], list[str]] = {}

    def as_in_the_first_run(self, row: dict[str, Any]) -> dict[str, Any]:
        """The judgment, its responses and its winner put into that order; as it is where the names are others."""
        line, own = (row["judge"], str(row.get("criteria") or "")), row.get("systems")
        if not isinstance(own, list) or len(set(own)) < len(own):
            return row
        order, field = self._order.setdefault(line, own), self._judged.get(line, "response")
        texts, chosen = row["fields"].get(field), row.get("selected_option")
        if order == own or sorted(order) != sorted(own) or not isinstance(texts, list) or len(texts) != len(own):
            return row
        fields = {**row["fields"], field: [texts[own.index(name)] for name in order]}
        return {**row, "fields": fields, "selected_option": order.index(own[chosen]) if isinstance(chosen, int) else chosen}


def _values(side: int, row: Mapping[str, Any], cluster: str | None) -> tuple[object, ...]:
    name, criteria = row["id"] or "", str(row.get("criteria") or "")
    content = hashlib.sha256(json.dumps(row["fields"], sort_keys=True).encode()).digest()[:16]
    came = Came.of(row)
    line = json.dumps([row["judge"], criteria])
    named = bool(name) and not _PLACE.fullmatch(name)
    said = (came.status, came.score, json.dumps(came.chosen))
    together = None if cluster is None else _cluster(row, cluster)
    return side, row["judge"], criteria, line, row["row"], name, named, content, *said, Instance(row["fields"]).identity, together


def _cluster(row: Mapping[str, object], column: str) -> str:
    """A column that the first row has not is a mistake; a later row without it stands alone."""
    try:
        return str(cell_of_column(row, column))
    except SetupError:
        if row["row"] == 1:
            raise
        return f"row {row['row']} has none"


def _join_renamed_judges(table: sqlite3.Connection) -> None:
    """Criteria that one judge of each run has, and under another name: the judges are compared."""
    lines = table.execute("SELECT DISTINCT side, judge, criteria, line FROM judged").fetchall()
    both = {line for side, _, _, line in lines if side == 0} & {line for side, _, _, line in lines if side == 1}
    for _, _, criteria, line in [one for one in lines if one[0] == 0 and one[3] not in both]:
        own = [one for one in lines if one[0] == 0 and one[2] == criteria and one[3] not in both]
        others = [one for one in lines if one[0] == 1 and one[2] == criteria and one[3] not in both]
        if len(own) == len(others) == 1:
            table.execute("UPDATE judged SET line = ? WHERE side = 1 AND line = ?", (line, others[0][3]))


def _join(table: sqlite3.Connection, keys: str, which: str = "TRUE") -> None:
    """Make partners of rows that have no partner yet and are alike in ``keys``; equal rows in the order they stand."""
    number = f"row_number() OVER (PARTITION BY side, {keys} ORDER BY place) AS number"
    script = (
        f"CREATE TEMP TABLE free AS SELECT place, side, {keys}, {number} FROM judged WHERE partner IS NULL AND {which};"  # noqa: S608 - texts of ours
        f"CREATE INDEX temp.alike ON free (side, {keys}, number);"
        "CREATE TEMP TABLE pair AS SELECT a.place AS one, b.place AS two FROM free a "
        f"JOIN free b USING ({keys}, number) WHERE a.side = 0 AND b.side = 1;"
        "CREATE INDEX temp.ones ON pair (one); CREATE INDEX temp.twos ON pair (two);"
        "UPDATE judged SET partner = (SELECT two FROM pair WHERE one = place) WHERE place IN (SELECT one FROM pair);"
        "UPDATE judged SET partner = (SELECT one FROM pair WHERE two = place) WHERE place IN (SELECT two FROM pair);"
        "DROP TABLE free; DROP TABLE pair;"
    )
    table.executescript(script)


def _judged(judge: str, criteria: str, row: int, name: str, status: str, score: float | None, chosen: str) -> JudgedRow:
    return JudgedRow(judge, criteria, row, name or None, Came(status, score, json.loads(chosen)))
