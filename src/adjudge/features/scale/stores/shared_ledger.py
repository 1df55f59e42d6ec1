"""A ledger that one of many processes writes: known to it at once, and to the others through the
store.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.domain.message import Usage
from adjudge.core.domain.results import Result
from adjudge.core.ledger.codec import judgment_row
from adjudge.core.ledger.commit_thread import Row, values_of
from adjudge.core.ledger.ledger import Ledger
from adjudge.core.ledger.rows import verify_row, with_checksum
from adjudge.features.scale.stores.store import (
    AccountRecord,
    Record,
    RowRange,
    Store,
    StoredJudgment,
    StoredVote,
    WriterSession,
)

_SPENDING = "spending"


@dataclass(frozen=True)
class Buffer:
    """The limits of what may wait to be written together.

    If the process is killed, the questions behind waiting records are asked again.
    """

    records: int = 500
    seconds: float = 1.0

    @property
    def strict(self) -> bool:
        """True if every answer is in the store before it is used."""
        return self.records <= 1


class SharedLedger(Ledger):
    """Votes of this process, and of others about the same rows, in a scratch file; new ones go to
    the store.
    """

    def __init__(
        self,
        store: Store,
        writer: str,
        configuration: JsonObject,
        buffer: Buffer | None = None,
        *,
        started_anew: bool = True,
    ) -> None:
        """Open the ledger; with ``started_anew``, also read what earlier processes of this name
        wrote.
        """
        self.store = store
        self._before = writer if started_anew else ""
        self.session = WriterSession(writer, uuid4().hex[:12])
        self._buffer = buffer or Buffer()
        begun_with = store.begin(configuration)
        self._scratch = TemporaryDirectory(prefix="adjudge-", ignore_cleanup_errors=True)
        super().__init__(Path(self._scratch.name), begun_with, lasting=False)
        self._span = RowRange(0, 0)
        self._seen: set[str] = set()
        self._places: Sequence[tuple[int, int]] = ()
        self._outbox: list[Record] = []
        self._later: asyncio.TimerHandle | None = None
        self._shipping = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "adjudge store")
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def begin(self, span: RowRange) -> None:
        """Load others' answers about the next rows, so that they are not asked again."""
        await self._ship()
        self._span = span
        rows = await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: list(self.store.votes(span, self._before, self._seen))
        )
        for row in rows:
            values = self._read(lambda row=row: verify_row("votes", row))  # type: ignore[misc]
            await super()._write_vote(values[1], with_checksum(next(self._numbers), *values[1:]))

    def place(self, places: Sequence[tuple[int, int]]) -> None:
        """Set the places (row, nth) of the next judgments by number."""
        self._places = places

    def close(self) -> None:
        """Write waiting records and release the store."""
        if self._later:
            self._later.cancel()
        self._thread.shutdown(wait=True)
        try:
            if self._outbox and self._failure is None:
                self.store.append(self.session, self._span, self._outbox)
        finally:
            super().close()
            self._scratch.cleanup()

    async def keep_judgment(
        self,
        judge: str,
        number: int,
        result: Result,
        keys: Sequence[bytes],
        answers: Sequence[bytes] = (),
    ) -> None:
        """Store a judgment."""
        row, nth = self._places[number]
        repaired = any(vote.repairs for vote in result.votes)
        record = result.record(judge)
        values = judgment_row(record, b"".join(keys), b"".join(answers), repaired=repaired)
        await self._add(StoredJudgment(row, nth, time.time(), values), wait=False)

    async def finish(self, judge: str, rows: int) -> None:
        """Do nothing: other processes have other rows."""

    async def note(self, name: str, value: JsonValue) -> None:
        """Store the run's spending; it is in the store when this returns.

        Other facts are ignored.
        """
        # Only the account is written: the other facts are equal in all processes.
        self.note_soon(name, value)
        await self._ship()

    async def note_all(self, facts: JsonObject) -> None:
        """Store the run's spending if it is among the facts; ignore the others."""
        for name, value in facts.items():
            self.note_soon(name, value)
        await self._ship()

    def note_soon(self, name: str, value: JsonValue) -> None:
        """Store the run's spending with the next write; ignore other facts."""
        if name == _SPENDING and isinstance(value, Mapping):
            self._outbox.append(AccountRecord(self.session.id, json.loads(json.dumps(value))))

    def fact(self, name: str) -> None:
        """Return nothing, since this process has just begun."""

    def used(self) -> dict[str, Usage]:
        """Return nothing, since the usage of others is in their accounts."""
        return {}

    async def flush(self) -> None:
        """Wait until everything is in the store."""
        await super().flush()
        await self._ship()

    async def _write_vote(self, key: bytes, row: Row) -> None:
        values = values_of(row)
        await super()._write_vote(key, values)
        await self._add(StoredVote(tuple(values)), wait=self._buffer.strict)

    async def _add(self, record: Record, *, wait: bool) -> None:
        if self._failure is not None:
            raise self._failure
        self._outbox.append(record)
        if wait or len(self._outbox) >= max(self._buffer.records, 2):
            await self._ship()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(
                self._buffer.seconds, self._ship_soon
            )

    def _ship_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self._ship())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ship(self) -> None:
        """Write all pending rows as one segment."""
        # Records that arrive meanwhile go with the next piece.
        async with self._shipping:
            if self._later:
                self._later.cancel()
                self._later = None
            if self._failure is not None:
                raise self._failure
            if not self._outbox:
                return
            records, self._outbox = self._outbox, []
            append = self._thread.submit(self.store.append, self.session, self._span, records)
            try:
                # A cancelled caller must not lose records that are already on their way.
                await asyncio.shield(asyncio.wrap_future(append))
            except Exception as error:
                self._failure = error
                raise
