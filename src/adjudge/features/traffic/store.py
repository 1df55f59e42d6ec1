"""What following keeps beside the runs of the days: counts, chosen rows, verdicts written back."""

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
    """What came of a stratum on a day."""

    day: str
    stratum: str
    seen: int
    chosen: int


class TrafficStore:
    """The file of one source's events."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._held = connection

    def days(self) -> list[str]:
        """The days on which something was chosen, the first one first."""
        return [day for (day,) in self._held.execute("SELECT DISTINCT day FROM rows ORDER BY day")]

    def counts(self) -> list[StratumCount]:
        """What came of each stratum on each day."""
        found = self._held.execute("SELECT day, stratum, seen, chosen FROM days ORDER BY 1, 2")
        return [StratumCount(*one) for one in found]

    def chosen_on(self, day: str) -> int:
        """How many rows of a day were chosen."""
        found = self._held.execute("SELECT count(*) FROM rows WHERE day = ?", (day,)).fetchone()
        return int(found[0])

    def has_traces(self, day: str) -> bool:
        """Whether the rows of a day were put together of spans."""
        found = self._held.execute("SELECT row FROM rows WHERE day = ? LIMIT 1", (day,)).fetchone()
        return found is not None and TRAJECTORY in json.loads(found[0])

    def write_rows(self, day: str, path: Path, *, as_trajectories: bool = False) -> None:
        """The rows of a day as a data file, which grows at its end."""
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _whole_lines(path)
        rows = self._held.execute(
            "SELECT row FROM rows WHERE day = ? AND number >= ? ORDER BY number", (day, held)
        )
        with path.open("a", encoding="utf-8") as file:
            for (row,) in rows:
                line = line_of(json.loads(row), as_trajectory=as_trajectories)
                file.write(f"{json_line(line)}\n")

    def fact(self, name: str) -> JsonObject:
        """Something that is kept between two looks; empty where nothing is."""
        found = self._held.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return object_in(json.loads(found[0])) if found else {}

    def keep_fact(self, name: str, value: JsonObject) -> None:
        self._held.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def was_sent(self, key: str) -> bool:
        """Whether a verdict was written back."""
        found = self._held.execute("SELECT 1 FROM sent WHERE key = ?", (key,))
        return found.fetchone() is not None

    def mark_sent(self, keys: Sequence[str]) -> None:
        with self._transaction():
            self._held.executemany(
                "INSERT OR IGNORE INTO sent VALUES (?)", [(one,) for one in keys]
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
    """The events of a folder, read while another process may follow."""
    path = folder / FILE
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            yield TrafficStore(connection)
    except sqlite3.Error as error:
        raise RunError("{path} cannot be used: {error}", path=path, error=error) from error


def json_line(row: JsonObject) -> str:
    """A row as one line of JSON; what is half of a character is written as its code."""
    text = json.dumps(row, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(row)
    return text


def _whole_lines(path: Path) -> int:
    """How many lines a file holds; what was written of one more, by a process that was killed, is
    cut off.
    """
    if not path.exists():
        return 0
    lines = end = 0
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, end = lines + 1, end + len(line)
        file.truncate(end)
    return lines
