"""The record of a run's questions and answers: one SQLite file, written by one process, readable by
all.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Any, TypeVar

from adjudge.core.domain.frozen_mapping import NOTHING, json_text
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import JudgmentRecord, SecondOpinionRecord
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.ledger.changes import judge_changes
from adjudge.core.ledger.codec import judgment_row, vote_of, vote_row, with_opinion
from adjudge.core.ledger.commit_thread import CommitThread, Row
from adjudge.core.ledger.file import (
    FILE,
    connect,
    ledger_error,
    open_ledger,
    read_meta,
    under_lock,
    used_in,
    write_meta,
)
from adjudge.core.ledger.records import judgment_rows, records
from adjudge.core.ledger.rows import (
    checked_key,
    checksum_matches,
    fact_text,
    insert,
    kept_input,
    read_fact,
    select,
    storable,
    verify_row,
    with_checksum,
)
from adjudge.errors import RunError
from adjudge.version import __version__

POOLED_BY = "pooled_by"
"""The fact that names the version of adjudge that pooled every judgment of a run; an empty text if
there were several.
"""
_BITS = 1 << 22
_KEYS = 250_000


class BloomFilter:
    """A Bloom filter that grows: half a megabyte for 250,000 keys, then twice as much for twice as
    many, and so on.

    Each full part takes about one in eighty unknown keys for known.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[mmap, int]] = []
        # It starts small because the first access to a page of memory costs more than the lookup.
        self._room = 0

    def add(self, key: bytes) -> None:
        """Add a key. Keys are hashes, so their own bits serve as hash values."""
        if not self._room:
            self._grow()
        self._room -= 1
        bits, mask = self._parts[-1]
        number = int.from_bytes(key[:8], "little")
        for bit in (number & mask, (number >> 32) & mask):
            bits[bit >> 3] |= 1 << (bit & 7)

    def _grow(self) -> None:
        doubled = len(self._parts)
        # mmap takes memory only for pages that are written, and returns all of it when closed.
        self._parts.append((mmap(-1, (_BITS << doubled) // 8), (_BITS << doubled) - 1))
        self._room = _KEYS << doubled

    def __contains__(self, key: bytes) -> bool:
        number = int.from_bytes(key[:8], "little")
        for bits, mask in self._parts:
            low_bit, high_bit = number & mask, (number >> 32) & mask
            if bits[low_bit >> 3] >> (low_bit & 7) & bits[high_bit >> 3] >> (high_bit & 7) & 1:
                return True
        return False


_Read = TypeVar("_Read")
# Rows that may wait to be written before the caller has to wait.
_MOST_WAITING = 5000
_KEEP_VOTE = insert("votes", "ABORT")
_RECALL = f"{select('votes')} WHERE ballot IN ({{}}) AND outcome <> 'model_error' ORDER BY number"
_RECALL_ALL = f"{select('votes')} WHERE ballot IN ({{}}) ORDER BY number"
_KNOWN = (
    "SELECT ballots, status, id, json_extract(result, '$.votes_valid'), instance, "  # noqa: S608
    "json_extract(result, '$.input') "
    f"FROM judgments WHERE judge = ? AND number = ? AND {checksum_matches('judgments')}"
)
_NOTE = insert("meta")
_KEEP_JUDGMENT = insert("judgments")


def _check_fork(folder: Path, configuration: JsonObject, fork_of: Path | None) -> None:
    """Raise a RunError, before a folder is made, if the source run is missing or its answers came
    from another judge.
    """
    if fork_of is None or (folder / FILE).exists():
        return
    if not (fork_of / FILE).exists():
        raise RunError("{fork_of} contains no run to fork", fork_of=fork_of)
    try:
        with connect(fork_of / FILE, writable=False) as connection:
            stored = object_in(read_meta(connection).get("configuration"))
    except sqlite3.Error as error:
        raise ledger_error(fork_of / FILE, error) from error
    if changes := judge_changes(stored, configuration):
        raise RunError(
            "the answers in {fork_of} do not apply, because the judge changed: {own}. Run "
            "without the fork",
            fork_of=fork_of,
            own="; ".join(map(str, changes)),
        )


def _is_pooled_alike(connection: sqlite3.Connection) -> bool:
    """Return True if this version pooled all judgments of a run, and note if it did not."""
    version = read_meta(connection, POOLED_BY).get(POOLED_BY)
    if version not in (__version__, ""):
        write_meta(connection, {POOLED_BY: ""})
    return version == __version__


def _is_row(instance: Instance, kept_fields: str, kept_row: str | None) -> bool:
    """Return True if a judgment is stored with the texts and columns that its row has now.

    Columns that no model is shown may change while the votes stay.
    """
    row, fields = instance.input, instance.fields
    now = kept_input(row, fields) if row else None
    return kept_fields == json_text(dict(fields)) and now == (
        None if kept_row is None else json.loads(kept_row)
    )


class Ledger:
    """The votes of a run by their ballots, and the judgments by their positions.

    When ``keep`` returns, its rows are on disk.
    """

    def __init__(
        self,
        folder: Path,
        configuration: JsonObject,
        *,
        fork_of: Path | None = None,
        facts: JsonObject = NOTHING,
        lasting: bool = True,
    ) -> None:
        """Open the ledger of a folder, or create it.

        ``facts``: stored in a new ledger when it is created. ``lasting``: True if a commit waits
        until it is on the disk.
        """
        self.path = folder / FILE
        with ExitStack() as stack:
            _check_fork(folder, configuration, fork_of)
            stack.enter_context(under_lock(folder))
            self.is_new = not self.path.exists()
            begun_by = {POOLED_BY: __version__}
            connection, self.wordings = stack.enter_context(
                open_ledger(folder, configuration, fork_of, {**facts, **begun_by}, lasting=lasting)
            )
            self._is_pooled_alike = _is_pooled_alike(connection)
            # A connection of its own: the other one belongs to the commit thread from here on.
            self._reader = stack.enter_context(connect(self.path, writable=False))
            ((self._rows_at_start,),) = self.rows(
                "SELECT coalesce(max(number) + 1, 0) FROM judgments"
            )
            ((newest,),) = self.rows("SELECT coalesce(max(number), 0) FROM votes")
            self._numbers = count(newest + 1)
            self._maybe_known = self._known_so_far()
            self._writer = CommitThread(
                connection, lambda error: str(ledger_error(self.path, error))
            )
            stack.callback(self._writer.close)
            # Only now, so that an error above releases the lock and both connections.
            self._held = stack.pop_all()

    def close(self) -> None:
        """Write everything that is still waiting, and close the file."""
        self._held.close()

    def recall(
        self, ballots: Sequence[Ballot], keys: Sequence[bytes], *, failed_calls: bool = False
    ) -> list[Vote | None]:
        """Return the last vote on each ballot, or None.

        A failed call is not an answer: it is asked again, unless ``failed_calls`` includes them.
        """
        likely = [key for key in keys if key in self._maybe_known]
        if not likely:
            return [None] * len(ballots)
        query = _RECALL_ALL if failed_calls else _RECALL
        rows = self.rows(query.format(",".join("?" * len(likely))), likely)
        rows_by_key = {row[1]: row for row in rows}
        return [
            self._vote(ballot, rows_by_key[key]) if key in rows_by_key else None
            for ballot, key in zip(ballots, keys, strict=True)
        ]

    def keep(self, key: bytes, vote: Vote) -> Awaitable[None]:
        """Store a vote; it is on the disk when the result has been awaited."""
        number, now = next(self._numbers), time.time()

        def row() -> Sequence[object]:
            return vote_row(number, key, vote.record(), now)

        # Metadata from a custom judge may change before the row is written, so encode it now.
        return self._write_vote(key, row() if vote.metadata else row)

    async def keep_all(self, votes: Sequence[tuple[bytes, Vote]]) -> None:
        """Store several votes in one commit; they are on the disk when this returns."""
        now = time.time()
        # Only the last row is awaited: all of them are in the same commit.
        *rows, last = [
            vote_row(next(self._numbers), key, vote.record(), now) for key, vote in votes
        ]
        for key, _ in votes:
            self._maybe_known.add(key)
        for row in rows:
            self._writer.put(_KEEP_VOTE, row)
        await self._writer.write(_KEEP_VOTE, last)

    def _write_vote(self, key: bytes, row: Row) -> Awaitable[None]:
        self._maybe_known.add(key)
        return self._writer.write(_KEEP_VOTE, row)

    def judgments(self, judge: str, numbers: range) -> list[JudgmentRecord]:
        """Return the judgments at these places, with their votes.

        There are none if another version of adjudge may have pooled one of the run's.
        """
        if not self._is_pooled_alike or numbers.start >= self._rows_at_start:
            return []
        stored = records(self._reader, votes=True, judge=storable(judge), numbers=numbers)
        try:
            return list(stored)
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error

    async def keep_judgment(
        self,
        judge: str,
        number: int,
        result: Result,
        keys: Sequence[bytes],
        answers: Sequence[bytes] = (),
    ) -> None:
        """Store the judgment of a row unless it is stored already; ``answers``: the keys of its
        targets' answers.
        """
        ballots = b"".join(keys)
        if number < self._rows_at_start:
            # votes_valid reveals votes that were asked again: they were not valid before.
            now = (
                ballots,
                result.status.value,
                storable(result.instance.id),
                result.votes_valid,
            )
            stored = self.rows(_KNOWN, (storable(judge), number))
            if [row[:4] for row in stored] == [now] and _is_row(result.instance, *stored[0][4:]):
                return
        repaired = any(vote.repairs for vote in result.votes)
        self._writer.hold(
            _KEEP_JUDGMENT,
            lambda: judgment_row(
                result.record(judge, number), ballots, b"".join(answers), repaired=repaired
            ),
        )
        # Judgments come faster than a slow disk takes them: memory must not grow with the run.
        if self._writer.waiting > _MOST_WAITING:
            await self._writer.flush()

    def keep_opinion(self, judge: str, number: int, opinion: SecondOpinionRecord) -> None:
        """Store another model's opinion with a judgment, with the next commit."""
        row = next(judgment_rows(self._reader, judge=storable(judge), index=number), None)
        if row is None:
            return  # its row was dropped from the data meanwhile
        self._writer.put(_KEEP_JUDGMENT, self._read(lambda: with_opinion(row, opinion)))

    async def finish(self, judge: str, rows: int) -> None:
        """All rows were processed; drop judgments of rows that no longer exist."""
        self._writer.put(
            "DELETE FROM judgments WHERE judge = ? AND number >= ?", (storable(judge), rows)
        )

    async def note(self, name: str, value: JsonValue) -> None:
        """Keep a fact about the run."""
        await self._writer.write(_NOTE, with_checksum(name, fact_text(value)))

    async def note_all(self, facts: JsonObject) -> None:
        """Keep facts about the run, all in one commit."""
        for name, value in facts.items():
            self.note_soon(name, value)
        await self._writer.flush()

    def note_soon(self, name: str, value: JsonValue) -> None:
        """Keep a fact with the next commit."""
        self._writer.put(_NOTE, with_checksum(name, fact_text(value)))

    def fact(self, name: str) -> Any:
        """Return a fact about the run, or None."""
        rows = self.rows(f"{select('meta')} WHERE name = ?", (name,))
        return self._read(lambda: read_fact(verify_row("meta", rows[0])[1])) if rows else None

    async def flush(self) -> None:
        """Wait until everything is on disk."""
        await self._writer.flush()

    def usage_by_model(self) -> dict[str, Usage]:
        """Sum up the usage of replies per model."""
        try:
            return used_in(self._reader)
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error

    async def write_all(self, rows: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Execute several statements in one commit; they are on the disk when this returns."""
        self.write_soon(rows)
        await self._writer.flush()

    def write_soon(self, rows: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Execute several statements with the next commit."""
        for sql, values in rows:
            self._writer.put(sql, values)

    def _vote(self, ballot: Ballot, row: Sequence[object]) -> Vote:
        return self._read(lambda: Vote.of(ballot, vote_of(verify_row("votes", row))))

    def _read(self, read: Callable[[], _Read]) -> _Read:
        """Read a row; raise a ledger error if its content is invalid."""
        # The checksum was right, so the damage happened before it was computed.
        try:
            return read()
        except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:
            raise ledger_error(self.path, sqlite3.DatabaseError(str(error))) from error

    def _known_so_far(self) -> BloomFilter:
        known_keys = BloomFilter()
        try:
            for (key,) in self._reader.execute("SELECT ballot FROM votes"):
                known_keys.add(checked_key(key))
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error
        return known_keys

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise ledger_error(self.path, error) from error
