"""Take events in exactly once, even if the process is killed: events, choices and the place in the
source are stored in one transaction.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from adjudge.core.aio.files import locked
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.ledger.file import refuse_links_below
from adjudge.errors import RunError
from adjudge.features.traffic.sampling import SampleChoice, Sampling
from adjudge.features.traffic.source import TrafficBatch, TrafficEvent, TrafficSource
from adjudge.features.traffic.store import FILE, TrafficStore, json_line
from adjudge.features.traffic.trace_assembly import row_of
from adjudge.messages import Message, reason_of
from adjudge.runs.traffic_rows import COLUMN

_LOCK = "traffic.lock"
_TABLES = {
    "cursors": "source TEXT PRIMARY KEY, value TEXT NOT NULL",
    "events": "key BLOB PRIMARY KEY",
    "days": "day TEXT, stratum TEXT, seen INTEGER NOT NULL, chosen INTEGER NOT NULL, "
    "PRIMARY KEY (day, stratum)",
    "rows": "day TEXT, number INTEGER, row TEXT NOT NULL, PRIMARY KEY (day, number)",
    "pieces": "trace TEXT, id TEXT, format TEXT NOT NULL, piece TEXT NOT NULL, "
    "is_root INTEGER NOT NULL, came REAL NOT NULL, PRIMARY KEY (trace, id)",
    "sent": "key TEXT PRIMARY KEY",
    "facts": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
}
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
class Taken:
    """Counts of one read of the source."""

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
    """Return the current date in UTC, by which budgets are counted."""
    return datetime.now(UTC).date().isoformat()


class Intake(TrafficStore):
    """The events of a source, in a database next to the runs of the days."""

    def take(self, source: TrafficSource, sampling: Sampling, day: str) -> tuple[Taken, bool]:
        """Take in the next batch, completely or not at all.

        The second value is True if there is more.
        """
        cursor = self._cursor(source)
        batch = source.read(cursor)
        if not batch.events and batch.cursor == cursor:
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
            # The trace is closed, and this span was not part of it: it came too late.
            elif self._is_new(f"{event.trace}/{event.id}"):
                taken += Taken(late=1)
        return taken

    def _keep_piece(self, event: TrafficEvent) -> None:
        """Store a span until its trace is complete."""
        is_new = self._is_new(f"{event.trace}/{event.id}")
        stored = self._held.execute(
            "SELECT piece, came FROM pieces WHERE trace = ? AND id = ?", (event.trace, event.id)
        ).fetchone()
        piece = json_line(event.row)
        # A span that is sent again unchanged must not make its trace wait longer.
        came = stored[1] if not is_new and stored and stored[0] == piece else time.time()
        self._held.execute(
            "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?, ?, ?)",
            (event.trace, event.id, event.format, piece, event.is_root, came),
        )

    def settle(self, sampling: Sampling, day: str, quiet: float) -> Taken:
        """Take in the traces that are complete.

        A trace is complete if its root has ended and nothing came for ``quiet`` seconds. Without a
        root, it is taken after ten times as long.
        """
        taken, now = Taken(), time.time()
        complete = self._held.execute(_WHOLE, (now - quiet, now - _NO_ROOT * quiet)).fetchall()
        for begin in range(0, len(complete), _AT_ONCE):
            with self._transaction():
                for (trace,) in complete[begin : begin + _AT_ONCE]:
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
        choice = sampling.choose(event, self._count_seen(day, stratum))
        self._held.execute(_COUNT, (day, stratum, choice is not None))
        if choice:
            self._keep(day, event, choice)
        return Taken(new=1, chosen=int(choice is not None))

    def _is_new(self, id: str) -> bool:
        """Remember an id; return True if it was not known before."""
        cursor = self._held.execute("INSERT OR IGNORE INTO events VALUES (?)", (_key(id),))
        return cursor.rowcount == 1

    def _is_known(self, id: str) -> bool:
        rows = self._held.execute("SELECT 1 FROM events WHERE key = ?", (_key(id),))
        return rows.fetchone() is not None

    @property
    def unfinished(self) -> int:
        """Number of traces that are not complete yet."""
        row = self._held.execute("SELECT count(DISTINCT trace) FROM pieces").fetchone()
        return int(row[0])

    def _count_seen(self, day: str, stratum: str) -> int:
        row = self._held.execute(
            "SELECT seen FROM days WHERE day = ? AND stratum = ?", (day, stratum)
        ).fetchone()
        return int(row[0]) if row else 0

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
            (day, day, json_line({**event.row, COLUMN: about})),
        )

    def _cursor(self, source: TrafficSource) -> JsonObject:
        row = self._held.execute(
            "SELECT value FROM cursors WHERE source = ?", (source.name,)
        ).fetchone()
        return object_in(json.loads(row[0])) if row else {}


@contextmanager
def open_intake(folder: Path) -> Iterator[Intake]:
    """Open the intake of ``folder``, creating it if needed. Only one process can hold it."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links_below(folder)
        with (
            locked(folder / _LOCK, wait=False) as is_locked,
            closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection,
        ):
            if not is_locked:
                raise RunError(
                    "another process is following {folder}: stop it, or use another folder",
                    folder=folder,
                )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            for name, columns in _TABLES.items():
                connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) WITHOUT ROWID")
            yield Intake(connection)
    except sqlite3.Error as error:
        raise RunError("{path} cannot be used: {error}", path=path, error=error) from error
    except BrokenPipeError:
        raise  # whoever read the output has gone
    except OSError as error:
        raise RunError(
            "{folder} cannot be used: {reason}", folder=folder, reason=reason_of(error)
        ) from error


def _key(id: str) -> bytes:
    return sha256(id.encode("utf-8", "surrogatepass")).digest()[:16]
