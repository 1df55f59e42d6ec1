"""The single thread that writes to a run's ledger: rows that wait together are committed
together.
"""

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
"""The values of a row, or a function that makes them: making many at once is faster."""
# Seconds for which rows without a waiting caller are held back.
# A commit writes whole pages, however little is new in them.
_HELD = 0.1


class _Group:
    """Rows of one commit, by statement, with the callers that wait for them."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.waiting: list[tuple[asyncio.Future[None], str, Row]] = []


def values_of(row: Row) -> Sequence[object]:
    return row() if callable(row) else row


class CommitThread:
    """Takes rows from the event loop and commits them in a thread; callers await the commit.

    SQLite's own timeout covers a busy ledger.
    """

    def __init__(
        self, connection: sqlite3.Connection, complain: Callable[[BaseException], str]
    ) -> None:
        self._connection = connection
        self._complain = complain
        self._loop = asyncio.get_running_loop()
        # Two groups, since only votes have callers that wait. Judgments can be made again from
        # their votes, so they may wait for company.
        self._next, self._held = _Group(), _Group()
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self.waiting = 0
        """Rows that are not on the disk yet, as far as the event loop knows."""
        self._queue: SimpleQueue[_Group | None] = SimpleQueue()
        self._failure: str | None = None
        # A daemon: if the interpreter is torn down without ``close``, it must not hang in ``join``.
        self._thread = threading.Thread(target=self._work, name="adjudge ledger", daemon=True)
        self._thread.start()

    def put(self, sql: str, row: Row) -> None:
        """Write a row with the next commit."""
        self._add(self._next, sql, row)

    def hold(self, sql: str, row: Row) -> None:
        """Write a row when many have gathered, or soon; ``flush`` waits for it."""
        self._add(self._held, sql, row)

    def write(self, sql: str, row: Row) -> asyncio.Future[None]:
        """Write a row; the result can be awaited until it is on the disk.

        A caller that is cancelled meanwhile does not stop the row from being written.
        """
        group, done = self._next, self._loop.create_future()
        self._add(group, sql, row)
        # The row is kept a second time, so that it can be written alone if its group fails.
        group.waiting.append((done, sql, row))
        if len(group.waiting) == 1 and not self._busy:
            # After this turn of the loop, so that rows of other tasks join the commit.
            self._loop.call_soon(self._hand_over)
        return done

    async def flush(self) -> None:
        """Wait until all earlier rows are on the disk."""
        self._release()
        # A statement without effect, since ``write`` returns after the commit of its group.
        await self.write("DELETE FROM votes WHERE 0", ())

    def close(self) -> None:
        """Write the remaining rows, and end the thread."""
        self._release()
        self._queue.put(self._next)
        self._queue.put(None)
        self._thread.join()

    def _add(self, group: _Group, sql: str, row: Row) -> None:
        if self._failure is not None:
            raise RunError(self._failure)
        group.rows[sql].append(row)
        self.waiting += 1
        # One timer for both groups: ``put`` has no caller that would hand its rows over.
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
        """Hand the next group to the thread, one at a time; rows that come meanwhile form the group
        after it.
        """
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
                # After a failure nothing more is written: a later row could refer to one that is
                # missing.
                if group.rows and self._failure is None:
                    self._commit(group)
            except BaseException as error:  # noqa: BLE001 - otherwise callers would wait forever
                self._failure = self._complain(error)
            with suppress(RuntimeError):  # the loop is closed, so no caller waits
                self._loop.call_soon_threadsafe(self._settle, group)

    def _commit(self, group: _Group) -> None:
        try:
            self._write([(sql, [*map(values_of, rows)]) for sql, rows in group.rows.items()])
        except sqlite3.OperationalError:  # the file's fault, not a row's
            raise
        # One row that cannot be encoded or written must not lose the others: write them singly.
        except BaseException:
            for _, sql, row in group.waiting:
                with suppress(BaseException):
                    self._write([(sql, [values_of(row)])])
            raise

    def _write(self, made: list[tuple[str, list[Sequence[object]]]]) -> None:
        try:
            # Takes the write lock at once. A deferred transaction would fail with SQLITE_BUSY in
            # its middle, where SQLite's timeout does not help.
            self._connection.execute("BEGIN IMMEDIATE")
            for sql, rows in made:
                self._connection.executemany(sql, rows)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
