"""The one thread that writes to a run's ledger: what waits together is committed together."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

from adjudge.errors import RunError

Row = tuple[str, Sequence[object], "asyncio.Future[None] | None"]
_LARGEST_GROUP = 1000
_RIDE = 0.1
"""Seconds for which rows that nobody waits for are held back, to be committed along with one that
somebody does.
"""


class CommitThread:
    """Rows go in from the event loop; whoever wants to know awaits the commit.

    SQLite's own wait covers a busy ledger.
    """

    def __init__(
        self, connection: sqlite3.Connection, complain: Callable[[Exception], str]
    ) -> None:
        self._connection = connection
        self._complain = complain
        self._loop = asyncio.get_running_loop()
        self._rows: list[Row] = []
        self._later: asyncio.TimerHandle | None = None
        self._soon = False
        self._queue: SimpleQueue[list[Row] | None] = SimpleQueue()
        self._given = self._committed = 0
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._work, name="adjudge ledger", daemon=True)
        self._thread.start()

    def put(self, sql: str, values: Sequence[object]) -> None:
        """Have a row written soon; ``flush`` tells when it is."""
        self._check()
        self._rows.append((sql, values, None))
        if self._later is None:
            self._later = self._loop.call_later(_RIDE, self._hand_over)

    async def write(self, sql: str, values: Sequence[object]) -> None:
        """Have a row written, and wait until it is on the disk."""
        self._check()
        done: asyncio.Future[None] = self._loop.create_future()
        self._rows.append((sql, values, done))
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._hand_over)  # along with what else comes up just now
        await done  # whoever is cancelled meanwhile leaves the row to be written

    @property
    def waiting(self) -> int:
        """About how many rows wait."""
        return self._given + len(self._rows) - self._committed

    async def flush(self) -> None:
        """Wait until all that was put before is on the disk."""
        await self.write("DELETE FROM votes WHERE 0", ())

    def close(self) -> None:
        """Write what is left, and end the thread."""
        self._hand_over()
        self._queue.put(None)
        self._thread.join()

    def _hand_over(self) -> None:
        if self._later:
            self._later.cancel()
        self._later, self._soon = None, False
        if self._rows:
            self._given += len(self._rows)
            self._queue.put(self._rows)
            self._rows = []

    def _check(self) -> None:
        if self._failure is not None:
            raise RunError(self._failure)

    def _work(self) -> None:
        last = False
        while not last:
            rows, last = self._next_group()
            self._commit(rows)

    def _next_group(self) -> tuple[list[Row], bool]:
        """All that waits, and whether nothing will follow."""
        rows: list[Row] = []
        given = self._queue.get()
        with suppress(Empty):
            while given is not None:
                rows += given
                if len(rows) >= _LARGEST_GROUP:
                    break
                given = self._queue.get_nowait()
        return rows, given is None

    def _commit(self, rows: list[Row]) -> None:
        if not rows:
            return
        try:
            if self._failure is None:
                self._write(rows)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever
            self._failure = self._complain(error)
        self._committed += len(rows)
        waiting = [done for *_, done in rows if done is not None]
        if waiting and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, waiting, self._failure)

    def _write(self, rows: list[Row]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for sql, group in _by_statement(rows).items():
                self._connection.executemany(sql, group)
            self._connection.execute("COMMIT")
        except Exception:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _by_statement(rows: list[Row]) -> dict[str, list[Sequence[object]]]:
    """Rows of one kind go in together: rows of different kinds never meet."""
    groups: dict[str, list[Sequence[object]]] = {}
    for sql, values, _ in rows:
        groups.setdefault(sql, []).append(values)
    return groups


def _settle(waiting: list[asyncio.Future[None]], failure: str | None) -> None:
    for done in waiting:
        if done.done():
            continue
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(RunError(failure))
