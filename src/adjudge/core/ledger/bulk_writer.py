"""Fill a new ledger in one go with judgments from elsewhere.

Rows are written as they come and not held in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import Result
from adjudge.core.ledger.codec import judgment_row, vote_row
from adjudge.core.ledger.file import FILE, connect, ledger_error, make_tables, write_meta
from adjudge.core.ledger.rows import insert

_ROWS_A_COMMIT = 2000
_VOTE, _JUDGMENT = insert("votes", "ABORT"), insert("judgments", "ABORT")
_KNOWN = "SELECT 1 FROM votes WHERE ballot = ?"


class BulkLedger:
    """The ledger of an imported run while it is made."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers = count(1)
        self._written = 0

    def add(
        self,
        judge: str,
        number: int,
        result: Result,
        keys: Sequence[bytes],
        at: float | None = None,
    ) -> None:
        """Keep a judgment with its votes; ``number`` from 0."""
        for key, vote in zip(keys, result.votes, strict=True):
            self._write(_VOTE, vote_row(next(self._numbers), key, vote.record(), at))
        self._write(
            _JUDGMENT, judgment_row(result.record(judge, number, votes=True), b"".join(keys))
        )

    def add_record(self, record: JudgmentRecord, keys: Sequence[bytes]) -> None:
        """Keep an exported judgment with its votes; votes that exist already stay."""
        for key, vote in zip(keys, record.votes or (), strict=True):
            if not self._connection.execute(_KNOWN, (key,)).fetchone():
                self._write(_VOTE, vote_row(next(self._numbers), key, vote, vote.at))
        self._write(_JUDGMENT, judgment_row(record, b"".join(keys)))

    def finish(self, facts: JsonObject) -> None:
        """Keep the facts about the run, and commit."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        write_meta(self._connection, facts)
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _write(self, sql: str, row: Sequence[object]) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(sql, row)
        self._written += 1
        if self._written % _ROWS_A_COMMIT == 0:
            self._connection.execute("COMMIT")


@contextmanager
def bulk_ledger(folder: Path) -> Iterator[BulkLedger]:
    """Make a ledger in ``folder``, which must not have one yet, and yield it to be filled."""
    path = folder / FILE
    try:
        with connect(path) as connection:
            make_tables(connection, path)
            yield BulkLedger(connection)
    except sqlite3.Error as error:
        raise ledger_error(path, error) from error
