"""The one thread that writes to a run's ledger: what waits together is committed together."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue

from adjudge.errors import RunError

Row = Sequence[object] | Callable[[], Sequence[object]]
"""Its values, or what makes them: many are made together in less time than one by one."""
_HELD = 0.1
"""Seconds for which rows that nobody waits for are held back: a commit writes whole pages, whatever
is new in them.
"""


class _Group:
    """Rows of one commit by their statement, those of different kinds never meet; and who waits."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.waiting: list[tuple[asyncio.Future[None], str, Row]] = []


def values_of(row: Row) -> Sequence[object]:
    return row() if callable(row) else row


class CommitThread:
    """Rows go in from the event loop; whoever wants to know awaits the commit.

    SQLite's own wait covers a busy ledger.
    """

    def __init__(
        self, connection: sqlite3.Connection, complain: Callable[[BaseException], str]
    ) -> None:
        self._connection = connection
        self._complain = complain
        self._loop = asyncio.get_running_loop()
        self._next, self._held = _Group(), _Group()
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self.waiting = 0
        """Rows that are not on the disk yet, as far as the event loop knows."""
        self._queue: SimpleQueue[_Group | None] = SimpleQueue()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._work, name="adjudge ledger", daemon=True)
        self._thread.start()

    def put(self, sql: str, row: Row) -> None:
        """Have a row written along with the next that somebody waits for."""
        self._add(self._next, sql, row)

    def hold(self, sql: str, row: Row) -> None:
        """Have a row written when many are together, or soon; ``flush`` tells when it is."""
        self._add(self._held, sql, row)

    def write(self, sql: str, row: Row) -> asyncio.Future[None]:
        """Have a row written; who waits for what this returns knows that it is on the disk.

        Whoever is cancelled meanwhile leaves the row to be written.
        """
        group, done = self._next, self._loop.create_future()
        self._add(group, sql, row)
        group.waiting.append((done, sql, row))
        if len(group.waiting) == 1 and not self._busy:
            self._loop.call_soon(self._hand_over)  # along with what else comes up just now
        return done

    async def flush(self) -> None:
        """Wait until all that was given before is on the disk."""
        self._release()
        await self.write("DELETE FROM votes WHERE 0", ())

    def close(self) -> None:
        """Write what is left, and end the thread."""
        self._release()
        self._queue.put(self._next)
        self._queue.put(None)
        self._thread.join()

    def _add(self, group: _Group, sql: str, row: Row) -> None:
        if self._failure is not None:
            raise RunError(self._failure)
        group.rows[sql].append(row)
        self.waiting += 1
        if self._timer is None:
            self._timer = self._loop.call_later(_HELD, self._release_and_hand_over)

    def _release(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        for sql, rows in self._held.rows.items():
            self._next.rows[sql] += rows
        self._held = _Group()

    def _release_and_hand_over(self) -> None:
        self._release()
        self._hand_over()

    def _hand_over(self) -> None:
        """One group at a time: what comes meanwhile is the next."""
        if self._next.rows and not self._busy:
            self._busy = True
            self._queue.put(self._next)
            self._next = _Group()

    def _settle(self, group: _Group) -> None:
        self._busy = False
        self.waiting -= sum(map(len, group.rows.values()))
        for done, *_ in group.waiting:
            if done.done():
                continue
            if self._failure is None:
                done.set_result(None)
            else:
                done.set_exception(RunError(self._failure))
        self._hand_over()

    def _work(self) -> None:
        while (group := self._queue.get()) is not None:
            try:
                if group.rows and self._failure is None:
                    self._commit(group)
            except BaseException as error:  # noqa: BLE001 - nobody may wait for ever
                self._failure = self._complain(error)
            with suppress(RuntimeError):  # the loop is closed, so there is nobody to be told
                self._loop.call_soon_threadsafe(self._settle, group)

    def _commit(self, group: _Group) -> None:
        try:
            self._write([(sql, [*map(values_of, rows)]) for sql, rows in group.rows.items()])
        except sqlite3.OperationalError:  # the file's fault, not a row's
            raise
        except BaseException:  # a row that cannot be made or written takes no other along
            for _, sql, row in group.waiting:
                with suppress(BaseException):
                    self._write([(sql, [values_of(row)])])
            raise

    def _write(self, made: list[tuple[str, list[Sequence[object]]]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for sql, rows in made:
                self._connection.executemany(sql, rows)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
