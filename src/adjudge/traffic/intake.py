"""What came and what was chosen of it, kept together with the place in the source: an event is
taken in once, whoever is killed when.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from adjudge.aio.files import locked
from adjudge.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.errors import RunError
from adjudge.messages import Message, reason_of
from adjudge.runs.traffic_rows import COLUMN
from adjudge.traffic.sampling import SampleChoice, Sampling
from adjudge.traffic.source import TrafficBatch, TrafficEvent, TrafficSource
from adjudge.traffic.whole import TRAJECTORY, line_of, row_of

FILE = "traffic.sqlite"
_LOCK = "traffic.lock"
_TABLES = """
CREATE TABLE IF NOT EXISTS cursors (source TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (key BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS days (
    day TEXT, stratum TEXT, seen INTEGER NOT NULL, chosen INTEGER NOT NULL,
    PRIMARY KEY (day, stratum)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
    day TEXT, number INTEGER, row TEXT NOT NULL, PRIMARY KEY (day, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pieces (
    trace TEXT, id TEXT, format TEXT NOT NULL, piece TEXT NOT NULL, is_root INTEGER NOT NULL,
    came REAL NOT NULL, PRIMARY KEY (trace, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_COUNT = (
    "INSERT INTO days VALUES (?, ?, 1, ?) ON CONFLICT (day, stratum) "
    "DO UPDATE SET seen = seen + 1, chosen = chosen + excluded.chosen"
)


_NO_ROOT = 10
_AT_ONCE = 100
"""Traces that are taken together, all of them or none."""
_WHOLE = (
    "SELECT trace FROM pieces GROUP BY trace "
    "HAVING (max(is_root) AND max(came) <= ?) OR max(came) <= ?"
)


@dataclass(frozen=True, slots=True)
class StratumCount:
    """What came of a stratum on a day."""

    day: str
    stratum: str
    seen: int
    chosen: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What one look at the source brought."""

    new: int = 0
    again: int = 0
    """Events that were taken in before."""
    chosen: int = 0
    late: int = 0
    """Spans of traces that had been taken for whole."""
    bad: tuple[str, ...] = ()

    def __add__(self, other: Taken) -> Taken:
        return Taken(
            self.new + other.new,
            self.again + other.again,
            self.chosen + other.chosen,
            self.late + other.late,
            self.bad + other.bad,
        )


def today() -> str:
    """The day in UTC, by which budgets count."""
    return datetime.now(UTC).date().isoformat()


class Intake:
    """The events of a source, in a file of its own beside the runs of the days."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._held = connection

    def take(self, source: TrafficSource, sampling: Sampling, day: str) -> tuple[Taken, bool]:
        """What came since the last look, all of it or nothing; and whether there is more."""
        before = self._cursor(source)
        batch = source.read(before)
        if not batch.events and batch.cursor == before:
            return Taken(bad=tuple(batch.bad)), False
        with self._transaction():
            taken = self._take(batch, sampling, day)
            self._held.execute(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?)",
                (source.name, json.dumps(batch.cursor)),
            )
        return taken, batch.more

    def _take(self, batch: TrafficBatch, sampling: Sampling, day: str) -> Taken:
        taken = Taken(bad=tuple(batch.bad))
        for event in batch.events:
            if not event.trace:
                taken += self._take_event(event, sampling, day)
            elif not self._is_known(event.trace):
                self._keep_piece(event)
            elif self._is_new(f"{event.trace}/{event.id}"):
                taken += Taken(late=1)
        return taken

    def _keep_piece(self, event: TrafficEvent) -> None:
        """A span that came before is replaced, and does not make its trace wait for longer."""
        is_new = self._is_new(f"{event.trace}/{event.id}")
        known = self._held.execute(
            "SELECT piece, came FROM pieces WHERE trace = ? AND id = ?", (event.trace, event.id)
        ).fetchone()
        piece = _line(event.row)
        came = known[1] if not is_new and known and known[0] == piece else time.time()
        self._held.execute(
            "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?, ?, ?)",
            (event.trace, event.id, event.format, piece, event.is_root, came),
        )

    def settle(self, sampling: Sampling, day: str, quiet: float) -> Taken:
        """The traces that are whole: their root has ended, and nothing has come for ``quiet``
        seconds. One whose root does not come is taken as it is after ten times as long.
        """
        taken, now = Taken(), time.time()
        whole = self._held.execute(_WHOLE, (now - quiet, now - _NO_ROOT * quiet)).fetchall()
        for begin in range(0, len(whole), _AT_ONCE):
            with self._transaction():
                for (trace,) in whole[begin : begin + _AT_ONCE]:
                    taken += self._take_trace(trace, sampling, day)
        return taken

    def _take_trace(self, trace: str, sampling: Sampling, day: str) -> Taken:
        spans = self._held.execute(
            "SELECT piece, format FROM pieces WHERE trace = ? ORDER BY came", (trace,)
        ).fetchall()
        self._held.execute("DELETE FROM pieces WHERE trace = ?", (trace,))
        try:
            row = row_of(trace, spans[0][1], [piece for piece, _ in spans])
        except ValueError as error:
            self._is_new(trace)
            return Taken(bad=(Message("trace {trace}: {error}", trace=trace, error=error),))
        return self._take_event(TrafficEvent(trace, row), sampling, day)

    def _take_event(self, event: TrafficEvent, sampling: Sampling, day: str) -> Taken:
        if not self._is_new(event.id):
            return Taken(again=1)
        stratum = sampling.stratum_of(event.row)
        choice = sampling.choose(event, self._seen(day, stratum))
        self._held.execute(_COUNT, (day, stratum, choice is not None))
        if choice:
            self._keep(day, event, choice)
        return Taken(new=1, chosen=int(choice is not None))

    def _is_new(self, id: str) -> bool:
        """Whether it was not there before; from now on it is known."""
        found = self._held.execute("INSERT OR IGNORE INTO events VALUES (?)", (_key(id),))
        return found.rowcount == 1

    def _is_known(self, id: str) -> bool:
        found = self._held.execute("SELECT 1 FROM events WHERE key = ?", (_key(id),))
        return found.fetchone() is not None

    @property
    def unfinished(self) -> int:
        """Traces that are not whole yet."""
        found = self._held.execute("SELECT count(DISTINCT trace) FROM pieces").fetchone()
        return int(found[0])

    def _seen(self, day: str, stratum: str) -> int:
        found = self._held.execute(
            "SELECT seen FROM days WHERE day = ? AND stratum = ?", (day, stratum)
        ).fetchone()
        return int(found[0]) if found else 0

    def _keep(self, day: str, event: TrafficEvent, choice: SampleChoice) -> None:
        about: JsonDict = {
            "id": event.id,
            "at": event.at,
            "weight": choice.weight,
            "stratum": choice.stratum,
            "uniform": choice.is_uniform,
        }
        self._held.execute(
            "INSERT INTO rows VALUES "
            "(?, (SELECT coalesce(max(number) + 1, 0) FROM rows WHERE day = ?), ?)",
            (day, day, _line({**event.row, COLUMN: about})),
        )

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
                file.write(f"{_line(line)}\n")

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

    def _cursor(self, source: TrafficSource) -> JsonObject:
        found = self._held.execute(
            "SELECT value FROM cursors WHERE source = ?", (source.name,)
        ).fetchone()
        return object_in(json.loads(found[0])) if found else {}

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
def open_intake(folder: Path) -> Iterator[Intake]:
    """The intake that is kept in ``folder``, made where there is none; one process holds it."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            locked(folder / _LOCK, wait=False) as held,
            closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection,
        ):
            if not held:
                raise RunError(
                    "{folder} is followed by another process: stop it, or use another folder",
                    folder=folder,
                )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_TABLES)
            yield Intake(connection)
    except sqlite3.Error as error:
        raise RunError("{path} cannot be used: {error}", path=path, error=error) from error
    except BrokenPipeError:
        raise  # whoever read the output has gone
    except OSError as error:
        raise RunError(
            "{folder} cannot be used: {reason}", folder=folder, reason=reason_of(error)
        ) from error


@contextmanager
def reading_intake(folder: Path) -> Iterator[Intake]:
    """The events of a folder, read while another process may follow."""
    path = folder / FILE
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            yield Intake(connection)
    except sqlite3.Error as error:
        raise RunError("{path} cannot be used: {error}", path=path, error=error) from error


def _key(id: str) -> bytes:
    return sha256(id.encode("utf-8", "surrogatepass")).digest()[:16]


def _line(row: JsonObject) -> str:
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
