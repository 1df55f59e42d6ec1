"""The judgments of a ledger, as records: checked as they are read, one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.ledger.codec import judgment_of, vote_of
from adjudge.core.ledger.rows import KEY_BYTES, LARGEST, checked, select
from adjudge.messages import Message

_NEWEST = f"{select('votes')} WHERE ballot = ? ORDER BY number DESC LIMIT 1"
_WITHOUT_STEPS = "SELECT json_remove(?, '$.trajectory')"
"""Thousands of steps take long to read: SQLite passes over them."""


def records(
    ledger: sqlite3.Connection,
    *,
    votes: bool = False,
    judge: str | None = None,
    index: int | None = None,
    criterion: str | None = None,
    trajectory: bool = True,
) -> Iterator[JudgmentRecord]:
    """Every judgment, by judge and row; on request with its votes, of one ``judge``, and of that
    the one at ``index``, or those by one ``criterion``; without the ``trajectory`` of an agent
    where nobody looks at it.
    """
    return (
        record_in(ledger, row, votes=votes, trajectory=trajectory)
        for row in judgment_rows(ledger, judge=judge, index=index, criterion=criterion)
    )


def record_in(
    ledger: sqlite3.Connection,
    row: Sequence[object],
    *,
    votes: bool = False,
    trajectory: bool = True,
) -> JudgmentRecord:
    """The judgment that a row holds."""
    cast = votes_on(ledger, row[4]) if votes else None
    if not trajectory:
        *others, result = row
        row = (*others, *ledger.execute(_WITHOUT_STEPS, (result,)).fetchone())
    found = judgment_of(row, cast)
    if found.scored or found.reason is not None:
        return found
    known = (
        votes_on(ledger, row[4]) if cast is None else cast
    )  # where the first edition kept why there is no score
    return replace(found, reason=next((vote.reason for vote in known if vote.reason), None))


def judgment_rows(
    ledger: sqlite3.Connection,
    *,
    judge: str | None = None,
    index: int | None = None,
    criterion: str | None = None,
) -> Iterator[tuple[object, ...]]:
    """The rows of the same, as they are kept."""
    if index is not None and not 0 <= index <= LARGEST:
        return iter(())
    wanted = {"judge": judge, "number": index, "criterion": criterion}
    which = " AND ".join(f"{name} = :{name}" for name, value in wanted.items() if value is not None)
    query = f"{select('judgments')} WHERE {which or 'TRUE'} ORDER BY judge, number"
    return (checked("judgments", row) for row in ledger.execute(query, wanted))


def row_checksum(ledger: sqlite3.Connection, judge: str, index: int) -> object:
    """Another when a judgment was written anew; None where there is none."""
    query = "SELECT checksum FROM judgments WHERE judge = ? AND number = ?"
    return (ledger.execute(query, (judge, index)).fetchone() or (None,))[0]


def votes_on(ledger: sqlite3.Connection, ballots: object) -> tuple[VoteRecord, ...]:
    """The last vote on each ballot of a judgment."""
    return tuple(vote_of(row) for row in vote_rows(ledger, ballots))


def vote_rows(ledger: sqlite3.Connection, ballots: object) -> list[tuple[object, ...]]:
    """The rows of the same, as they are kept."""
    if not isinstance(ballots, bytes):
        raise sqlite3.DatabaseError(Message("a judgment does not say which ballots it is by"))
    keys = [ballots[place : place + KEY_BYTES] for place in range(0, len(ballots), KEY_BYTES)]
    found = (ledger.execute(_NEWEST, (key,)).fetchone() for key in keys)
    return [checked("votes", row) for row in found if row]


def votes_of(ledger: sqlite3.Connection, judge: str, index: int) -> tuple[VoteRecord, ...]:
    """The votes of one judgment."""
    row = next(judgment_rows(ledger, judge=judge, index=index), None)
    return votes_on(ledger, row[4]) if row else ()
