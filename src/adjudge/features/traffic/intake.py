"""What came and what was chosen of it, kept together with the place in the source: an event is
taken in once, whoever is killed when.
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


class Intake(TrafficStore):
    """The events of a source, taken into a file of its own beside the runs of the days."""

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
        piece = json_line(event.row)
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
            (day, day, json_line({**event.row, COLUMN: about})),
        )

    def _cursor(self, source: TrafficSource) -> JsonObject:
        found = self._held.execute(
            "SELECT value FROM cursors WHERE source = ?", (source.name,)
        ).fetchone()
        return object_in(json.loads(found[0])) if found else {}


@contextmanager
def open_intake(folder: Path) -> Iterator[Intake]:
    """The intake that is kept in ``folder``, made where there is none; one process holds it."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links_below(folder)
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
