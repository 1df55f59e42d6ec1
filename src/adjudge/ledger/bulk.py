"""A new ledger that is filled in one go with judgments that were made elsewhere.

Rows pass; nothing of them is kept in memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from adjudge.domain.frozen import json_text
from adjudge.domain.record import JudgmentRecord
from adjudge.domain.results import Result
from adjudge.domain.vote import Vote
from adjudge.ledger.codec import NOT_EXPORTED, judgment_row
from adjudge.ledger.file import FILE, connect, migrate, trouble, write_meta
from adjudge.ledger.ledger import vote_row
from adjudge.ledger.rows import COLUMNS, insert, sealed, storable

_ROWS_A_COMMIT = 2000
_VOTE, _JUDGMENT = insert("votes", "ABORT"), insert("judgments", "ABORT")
_KNOWN = "SELECT 1 FROM votes WHERE ballot = ?"
_NOT_EXPORTED = ("number", "ballot", "prompt", "cached_tokens", "more")


class BulkLedger:
    """The ledger of an imported run, while it is made."""

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
            self._add_vote(key, vote, at)
        self._write(_JUDGMENT, judgment_row(result.record(judge, number), b"".join(keys)))

    def add_record(
        self, record: JudgmentRecord, votes: Sequence[Mapping[str, object]], keys: Sequence[bytes]
    ) -> None:
        """Keep a judgment and votes as an export shows them, so that they are exported the same
        again. Votes that are there already stay.
        """
        for key, vote in zip(keys, votes, strict=True):
            if not self._connection.execute(_KNOWN, (key,)).fetchone():
                self._write(_VOTE, _exported_vote(next(self._numbers), key, vote))
        self._write(_JUDGMENT, judgment_row(record, b"".join(keys)))

    def finish(self, facts: Mapping[str, object]) -> None:
        """Keep what there is to know about the run, and commit."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        write_meta(self._connection, facts)
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _add_vote(self, key: bytes, vote: Vote, at: float | None) -> None:
        self._write(_VOTE, vote_row(next(self._numbers), key, vote, at))

    def _write(self, sql: str, row: Sequence[object]) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(sql, row)
        self._written += 1
        if self._written % _ROWS_A_COMMIT == 0:
            self._connection.execute("COMMIT")


@contextmanager
def bulk_ledger(folder: Path) -> Iterator[BulkLedger]:
    """A new ledger in ``folder``, which holds none."""
    path = folder / FILE
    try:
        with connect(path) as connection:
            migrate(connection, path)
            yield BulkLedger(connection)
    except sqlite3.Error as error:
        raise trouble(path, error) from error


def _exported_vote(number: int, key: bytes, vote: Mapping[str, object]) -> tuple[object, ...]:
    """What an export leaves out, the prompt's hash and the cached tokens, is not known."""
    shown = [name for name in COLUMNS["votes"] if name not in _NOT_EXPORTED]
    known = {*shown, "more"}
    rest = {
        **_held(vote.get("more")),
        **{name: value for name, value in vote.items() if name not in known},
    }
    values: dict[str, object] = {
        **dict.fromkeys(COLUMNS["votes"]),
        **NOT_EXPORTED,
        **{name: vote[name] for name in shown if name in vote},
    }
    values.update(number=number, ballot=key, more=json_text(rest) if rest else None)
    return sealed(
        *(
            float(value) if name in ("latency", "at") else _kept(value)  # type: ignore[arg-type]
            for name, value in values.items()
        )
    )


def _held(more: object) -> dict[str, object]:
    """What an export shows twice: under their own names, where no column has these, and together in
    writing.
    """
    try:
        held = json.loads(more) if isinstance(more, str) else None
    except ValueError:
        return {}
    return held if isinstance(held, dict) else {}


def _kept(value: object) -> object:
    return storable(value) if isinstance(value, str) else value
