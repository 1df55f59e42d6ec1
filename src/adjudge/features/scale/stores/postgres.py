"""A store in Postgres: plain processes share a run by leased ranges of rows.

A worker takes a free range (``SKIP LOCKED``), holds it while it lives, and releases it when it is
judged. A dead worker is known by its lost connection, or else by its expired lease: another takes
the range, and the dead one's answers are in the table.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import RunError, SetupError
from adjudge.features.scale.stores.lines import line_of, record_of
from adjudge.features.scale.stores.postgres_server import PostgresServer
from adjudge.features.scale.stores.store import (
    Record,
    RowRange,
    StoredVote,
    Values,
    WriterSession,
    is_new,
    refuse_other_judges,
)
from adjudge.messages import Message

if TYPE_CHECKING:
    from psycopg import Connection

_LOG = logging.getLogger("adjudge")
LEASE_SECONDS = 300
"""Seconds for which a silent worker keeps its ranges."""
GONE_AFTER = 10.0
"""Seconds in which a worker whose connection is gone may come back: the server may have been
started anew.
"""
_READ_AT_ONCE = 2000
# The advisory lock under which the tables are made.
_LOCK = 6_003_023
# The tables, each with a column. If they exist, nothing is created, since only their owner may do
# that.
_NEEDED = (
    ("adjudge_runs", "widest"),
    ("adjudge_records", "line"),
    ("adjudge_workers", "tokens"),
    ("adjudge_lanes", "cut"),
    ("adjudge_ranges", "rows"),
)
_FOUND = """SELECT count(*) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"""
# True if the lock of a worker is held; it is released with the worker's connection.
_CONNECTED = """EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = (hashtext({run})::bigint & 4294967295)
    AND objid::bigint = (hashtext({holder})::bigint & 4294967295))"""
_GUARD = "SELECT pg_try_advisory_lock(hashtext(%s), hashtext(%s)) WHERE NOT " + _CONNECTED.format(
    run="%s", holder="%s"
)
_GONE = f"""SELECT DISTINCT holder FROM adjudge_ranges AS held
    WHERE run = %s AND NOT done AND holder IS NOT NULL AND holder <> %s
    AND NOT {_CONNECTED.format(run="held.run", holder="held.holder")}"""  # noqa: S608
_BURY = """UPDATE adjudge_workers SET until = now() - interval '1 second'
    WHERE run = %s AND holder = %s AND until IS NOT NULL"""
_BEGIN = """INSERT INTO adjudge_runs (run, configuration, widest) VALUES (%s, %s, 0)
    ON CONFLICT DO NOTHING"""
_APPEND = """INSERT INTO adjudge_records (run, writer, session, first_row, last_row, line)
    VALUES (%s, %s, %s, %s, %s, %s)"""
_NEAR = "first_row BETWEEN %s AND %s AND last_row >= %s"
# Found by their rows; + 0 has the server sort the few of them, in place of going through all
# records in their order.
_VOTES_AND_OWN, _VOTES = (
    (
        f"SELECT number, line FROM adjudge_records WHERE run = %s AND number > %s "  # noqa: S608
        f"AND {near} ORDER BY number + 0 LIMIT %s"
    )
    for near in (f"(writer = %s OR ({_NEAR}))", _NEAR)
)
_WIDER = "UPDATE adjudge_runs SET widest = %s WHERE run = %s AND widest < %s"
_RECORDS = """SELECT number, line FROM adjudge_records
    WHERE run = %s AND number > %s AND (%s::text IS NULL OR writer = %s)
    ORDER BY number LIMIT %s"""
_OFFER = """INSERT INTO adjudge_ranges AS known (run, first_row, last_row, rows)
    VALUES (%s, %s, %s, %s)
    ON CONFLICT (run, first_row) DO UPDATE
    SET last_row = excluded.last_row, rows = excluded.rows, done = false, holder = NULL
    WHERE known.rows IS DISTINCT FROM excluded.rows"""
_TAKE = """UPDATE adjudge_ranges SET holder = %s, until = now() + make_interval(secs => %s)
    WHERE (run, first_row) IN (
        SELECT run, first_row FROM adjudge_ranges
        WHERE run = %s AND NOT done AND (holder IS NULL OR holder = %s OR until < now())
        ORDER BY first_row LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING first_row, last_row"""
_HOLD = """UPDATE adjudge_ranges SET until = now() + make_interval(secs => %s)
    WHERE run = %s AND holder = %s AND NOT done"""
_JOIN = """INSERT INTO adjudge_workers (run, holder, writer, until)
    VALUES (%s, %s, %s, now() + make_interval(secs => %s))
    ON CONFLICT DO NOTHING"""
_ALIVE = """UPDATE adjudge_workers SET until = now() + make_interval(secs => %s)
    WHERE run = %s AND holder = %s AND until >= now() RETURNING holder"""
_DONE = "UPDATE adjudge_ranges SET done = true WHERE run = %s AND first_row = %s"
_GIVE_BACK = "UPDATE adjudge_ranges SET holder = NULL WHERE run = %s AND holder = %s AND NOT done"
_LEFT = "SELECT count(*) FROM adjudge_ranges WHERE run = %s AND NOT done"


class PostgresStore:
    """Records and ranges in three tables. ``url`` names the run after a #:
    ``postgresql://host/database#NAME``.
    """

    def __init__(self, url: str) -> None:
        if find_spec("psycopg") is None:
            raise SetupError("a store in Postgres needs psycopg: pip install 'adjudge[postgres]'")
        self._url, _, self.run = url.partition("#")
        if not self.run:
            raise SetupError(
                "{partition} does not name a run: write postgresql://host/database#NAME",
                partition=self.name.partition(",")[0],
            )
        self.server = PostgresServer(self._url, self.name)
        self._widest = -1
        """Largest distance between rows of one of our appends, if the server knows it."""
        self._missed: dict[str, float] = {}
        """Worker without a connection → since when, as far as we have seen."""

    @property
    def name(self) -> str:
        """The server and the database, without credentials."""
        parts = urlsplit(self._url)
        server = f"postgresql://{parts.hostname or ''}{parts.path}"
        return Message("{server}, run {run}", server=server, run=self.run)

    def begin(self, configuration: JsonObject) -> JsonObject:
        """Create the tables and register the run, if needed; return its configuration.

        Raise OtherConfiguration if the registered run has another one.
        """
        with self.server.opened() as connection, connection.transaction():
            # One process at a time makes the tables.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not self._has_tables(connection):
                self._make_tables(connection)
            connection.execute(_BEGIN, (self.run, json.dumps(configuration)))
        configuration_stored, _ = self.begun_with()
        refuse_other_judges(
            self.name,
            configuration_stored,
            configuration,
            Message("or give the run another name after the #"),
        )
        return configuration_stored

    def _has_tables(self, connection: Connection) -> bool:
        return all(
            (connection.execute(_FOUND, table_and_column).fetchone() or (0,))[0]
            for table_and_column in _NEEDED
        )

    def _make_tables(self, connection: Connection) -> None:
        from psycopg.errors import InsufficientPrivilege

        text = (Path(__file__).parents[1] / "data" / "postgres.sql").read_text(encoding="utf-8")
        try:
            connection.execute(text)
        except InsufficientPrivilege as error:
            raise RunError(
                "the store {name} lacks adjudge's tables, and this role may not create them "
                "({splitlines}). Start a run there once with a role that may, and grant this "
                "role SELECT, INSERT and UPDATE on them",
                name=self.name,
                splitlines=str(error).splitlines()[0],
            ) from error

    def begun_with(self) -> tuple[JsonObject, float]:
        """Return the configuration, and when the run was begun."""
        with self.server.opened() as connection:
            query = "SELECT configuration, started FROM adjudge_runs WHERE run = %s"
            row = connection.execute(query, (self.run,)).fetchone()
        if row is None:
            raise RunError("{name} contains no partitions", name=self.name)
        return json.loads(row[0]), float(row[1])

    def append(self, session: WriterSession, span: RowRange, records: Sequence[Record]) -> None:
        """Write all records in one transaction, which is on the server's disk when this returns."""
        rows = [(self.run, *session, *span, line_of(record)) for record in records]
        wide = span.last - span.first

        def write(connection: Connection) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL synchronous_commit = on")
                cursor.executemany(_APPEND, rows)
                if wide > self._widest:
                    cursor.execute(_WIDER, (wide, self.run, wide))

        self.server.try_again(write)
        self._widest = max(self._widest, wide)

    def votes(self, span: RowRange, writer: str, seen: set[str]) -> Iterator[Values]:
        """Yield votes about these rows and, the first time, also all votes by ``writer``."""
        last, first_row, includes_own = 0, self._first_near(span), is_new(writer, seen)
        while rows := self.server.rows(
            _VOTES_AND_OWN if includes_own else _VOTES,
            (
                self.run,
                last,
                *([writer] if includes_own else []),
                first_row,
                span.last,
                span.first,
                _READ_AT_ONCE,
            ),
        ):
            for number, line in rows:
                last = number
                record = record_of(line)
                if isinstance(record, StoredVote) and str(number) not in seen:
                    seen.add(str(number))
                    yield record.values

    def _first_near(self, span: RowRange) -> int:
        """Return the lowest first row that a record about these rows can have."""
        query = "SELECT widest FROM adjudge_runs WHERE run = %s"
        row = self.server.first(query, (self.run,))
        return 0 if row is None else max(0, span.first - int(row[0]))

    def records(self, writer: str | None = None) -> Iterator[Record]:
        """Yield all records, or those of ``writer``, the oldest first."""
        last = 0
        while rows := self.server.rows(_RECORDS, (self.run, last, writer, writer, _READ_AT_ONCE)):
            last = rows[-1][0]
            yield from (record_of(line) for _, line in rows)

    def offer(self, ranges: Sequence[tuple[RowRange, str]]) -> None:
        """Register ranges of rows, each with a hash of its rows.

        A range whose rows changed is judged again.
        """
        offered = [(self.run, *span, rows) for span, rows in ranges]
        self.server.try_again(lambda connection: connection.cursor().executemany(_OFFER, offered))

    def take(self, holder: str, seconds: float = LEASE_SECONDS) -> RowRange | None:
        """Take a free range for this many seconds; return None if none is free now."""
        query_values = (holder, seconds, self.run, holder)
        row = self.server.first(_TAKE, query_values)
        if row is None and self._release_dead_workers(holder):
            row = self.server.first(_TAKE, query_values)
        return RowRange(*row) if row else None

    def guard(self, holder: str) -> None:
        """Show others that ``holder`` is alive as long as this store is connected.

        Call it repeatedly.
        """
        key = (self.run, holder)
        self.server.once(lambda connection: connection.execute(_GUARD, (*key, *key)))

    def _release_dead_workers(self, holder: str) -> bool:
        """Release rows held by workers whose connection has been gone for a while.

        Return True if there were any.
        """
        now, gone = (
            time.monotonic(),
            {name for (name,) in self.server.rows(_GONE, (self.run, holder))},
        )
        self._missed = {name: self._missed.get(name, now) for name in gone}
        dead = [name for name, since in self._missed.items() if now - since >= GONE_AFTER]
        for name in dead:
            _LOG.info("a worker of %s is gone: its rows are free", self.name)
            self.server.execute(_BURY, (self.run, name))
            self.give_back(name)
        return bool(dead)

    def join(self, holder: str, writer: str, seconds: float = LEASE_SECONDS) -> None:
        """Register a further process, which writes under this name."""
        self.server.execute(_JOIN, (self.run, holder, writer, seconds))

    def hold(self, holder: str, seconds: float = LEASE_SECONDS) -> bool:
        """Extend the lease of ``holder``.

        Return False if it had expired, so that others may have its rows.
        """

        def held(connection: Connection) -> bool:
            alive = connection.execute(_ALIVE, (seconds, self.run, holder)).fetchone() is not None
            if alive:
                connection.execute(_HOLD, (seconds, self.run, holder))
            return alive

        return self.server.try_again(held)

    def done(self, span: RowRange) -> None:
        self.server.execute(_DONE, (self.run, span.first))

    def give_back(self, holder: str) -> None:
        """Release the unfinished ranges of ``holder`` at once."""
        self.server.execute(_GIVE_BACK, (self.run, holder))

    def left(self) -> int:
        """Return the number of ranges that are not judged, held or not."""
        return int(self.server.rows(_LEFT, (self.run,))[0][0])
