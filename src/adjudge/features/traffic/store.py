"""The database of followed traffic: counts, chosen rows, and verdicts that were written back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.errors import RunError
from adjudge.features.traffic.trace_assembly import TRAJECTORY, line_of

FILE = "traffic.sqlite"


@dataclass(frozen=True, slots=True)
class StratumCount:
    """Events of a stratum on a day."""

    day: str
    stratum: str
    seen: int
    chosen: int


class TrafficStore:
    """The file of one source's events."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._held = connection

    def days(self) -> list[str]:
        """Return the days with chosen rows, the earliest first."""
        return [day for (day,) in self._held.execute("SELECT DISTINCT day FROM rows ORDER BY day")]

    def counts(self) -> list[StratumCount]:
        """Return the counts per stratum and day."""
        rows = self._held.execute("SELECT day, stratum, seen, chosen FROM days ORDER BY 1, 2")
        return [StratumCount(*row) for row in rows]

    def chosen_on(self, day: str) -> int:
        """Return how many rows of a day were chosen."""
        row = self._held.execute("SELECT count(*) FROM rows WHERE day = ?", (day,)).fetchone()
        return int(row[0])

    def has_traces(self, day: str) -> bool:
        """Return True if the rows of a day were assembled from spans."""
        row = self._held.execute("SELECT row FROM rows WHERE day = ? LIMIT 1", (day,)).fetchone()
        return row is not None and TRAJECTORY in json.loads(row[0])

    def write_rows(self, day: str, path: Path, *, as_trajectories: bool = False) -> None:
        """Append a day's rows that a data file does not have yet."""
        path.parent.mkdir(parents=True, exist_ok=True)
        written_lines = _whole_lines(path)
        rows = self._held.execute(
            "SELECT row FROM rows WHERE day = ? AND number >= ? ORDER BY number",
            (day, written_lines),
        )
        with path.open("a", encoding="utf-8") as file:
            for (row,) in rows:
                line = line_of(json.loads(row), as_trajectory=as_trajectories)
                file.write(f"{json_line(line)}\n")

    def fact(self, name: str) -> JsonObject:
        """Return a stored value, or an empty object."""
        row = self._held.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return object_in(json.loads(row[0])) if row else {}

    def keep_fact(self, name: str, value: JsonObject) -> None:
        self._held.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def was_sent(self, key: str) -> bool:
        """Return True if a verdict was written back."""
        rows = self._held.execute("SELECT 1 FROM sent WHERE key = ?", (key,))
        return rows.fetchone() is not None

    def mark_sent(self, keys: Sequence[str]) -> None:
        with self._transaction():
            self._held.executemany(
                "INSERT OR IGNORE INTO sent VALUES (?)", [(key,) for key in keys]
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._held.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._held.execute("ROLLBACK")
            raise
        self._held.execute("COMMIT")


@contextmanager
def reading_store(folder: Path) -> Iterator[TrafficStore]:
    """Open the events of a folder for reading; another process may follow at the same time."""
    path = folder / FILE
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            yield TrafficStore(connection)
    except sqlite3.Error as error:
        raise RunError("{path} cannot be used: {error}", path=path, error=error) from error


def json_line(row: JsonObject) -> str:
    """Return a row as one line of JSON."""
    text = json.dumps(row, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair cannot be written as UTF-8, so it is escaped.
        return json.dumps(row)
    return text


def _whole_lines(path: Path) -> int:
    """Return the number of complete lines, and cut off a partial last one."""
    if not path.exists():
        return 0
    lines = end = 0
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, end = lines + 1, end + len(line)
        # A process that was killed may have left part of a line.
        file.truncate(end)
    return lines
