"""Read the judgments of a ledger as records, checked one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.ledger.alike import (
    AlikeGroup,
    AlikeOutcome,
    AlikeRows,
    alike_outcomes,
)
from adjudge.core.ledger.codec import (
    StoredOutcome,
    StoredVerdict,
    judgment_of,
    outcome_in,
    verdict_in,
    vote_of,
)
from adjudge.core.ledger.rows import KEY_BYTES, LARGEST, select, verifier, verify_row
from adjudge.messages import Message

_VOTES = f"{select('votes')} WHERE ballot IN ({{}}) ORDER BY number"
# Judgments, and ballots, whose votes are looked up at once: few, since a judgment may hold a
# trajectory.
_AT_ONCE = 64
SEVERAL_VOTES = "SELECT 1 FROM votes GROUP BY ballot HAVING count(*) > 1 LIMIT 1"
"""A query that finds something if a ballot has several votes."""
_IN_ORDER = f"{select('votes')} WHERE number > ? ORDER BY number LIMIT ?"
# Votes that were read ahead and not asked for. If there are more, the order is another one.
_MOST_AHEAD = 1024
_TRAJECTORY = '"trajectory"'
# Reading thousands of steps takes long; SQLite skips them.
_WITHOUT_STEPS = "SELECT json_remove(?, '$.trajectory')"


def records(
    ledger: sqlite3.Connection,
    *,
    votes: bool = False,
    judge: str | None = None,
    index: int | None = None,
    criterion: str | None = None,
    numbers: range | None = None,
    trajectory: bool = True,
    seen: VotesSeen | None = None,
) -> Iterator[JudgmentRecord]:
    """Yield every judgment, by judge and row.

    ``votes``: with their votes; ``judge``, ``index``, ``criterion``, ``numbers``: only these;
    ``trajectory``: False leaves out the trajectories of agents; ``seen``: notes which votes were
    read.
    """
    rows = judgment_rows(ledger, judge=judge, index=index, criterion=criterion, numbers=numbers)
    if not votes:
        yield from (_record(ledger, row, None, trajectory) for row in rows)
        return
    is_whole = judge is None and index is None and numbers is None
    stored_votes = (_VotesInOrder if is_whole else _Votes)(ledger)
    while some := list(islice(rows, _AT_ONCE)):
        votes_of_rows = stored_votes.of_rows(some)
        if seen is not None:
            seen.add(votes_of_rows)
        for row, row_votes in zip(some, votes_of_rows, strict=True):
            yield _record(ledger, row, tuple(map(vote_of, row_votes)), trajectory)


def groups_or_records(
    ledger: sqlite3.Connection, seen: VotesSeen
) -> Iterator[list[JudgmentRecord | AlikeGroup]]:
    """Yield every judgment with its votes, by judge and row, some at a time: as its record, or
    without one in a group of rows that are like others.

    ``seen``: notes which votes were read.
    """
    alike, stored_votes = AlikeRows(), _VotesInOrder(ledger)
    rows = judgment_rows(ledger)
    while some := list(islice(rows, _AT_ONCE)):
        votes_of_rows = stored_votes.of_rows(some)
        seen.add(votes_of_rows)
        judgments: list[JudgmentRecord | AlikeGroup] = []
        for found in alike.groups(some, votes_of_rows):
            if isinstance(found, AlikeGroup):
                judgments.append(found)
            else:
                row, row_votes = found
                record = _record(ledger, row, tuple(map(vote_of, row_votes)), trajectory=True)
                judgments.append(record)
        yield judgments


def verdicts(
    ledger: sqlite3.Connection,
    judge: str,
    is_enough: Callable[[StoredVerdict], bool],
    columns: Collection[str] = (),
) -> Iterator[StoredVerdict | JudgmentRecord]:
    """Yield the verdict of each of a judge's judgments, in the order of rows.

    Yield the whole record instead if the judgment has no bare verdict, if that is not enough, or
    if the row may have one of ``columns``.
    """
    keys = tuple(f'"{column}":' for column in columns)
    for row in judgment_rows(ledger, judge=judge):
        verdict = verdict_in(row)
        if verdict is not None and not any(key in row[-1] for key in keys) and is_enough(verdict):
            yield verdict
        else:
            yield _record(ledger, row, None, True)


def outcomes(ledger: sqlite3.Connection) -> Iterator[StoredOutcome | JudgmentRecord]:
    """Yield the outcome of every judgment, by judge and row; the whole record if the bare outcome
    is missing.
    """
    for row in judgment_rows(ledger):
        yield outcome_in(row) or _record(ledger, row, None, True)


def alike_or_records(ledger: sqlite3.Connection) -> Iterator[AlikeOutcome | JudgmentRecord]:
    """Yield every judgment, by judge and row: its outcome, or its record if it is no usual one, or
    if its row belongs to others.
    """
    for found in alike_outcomes(judgment_rows(ledger)):
        yield found if isinstance(found, AlikeOutcome) else _record(ledger, found, None, True)


class VotesSeen:
    """Remembers which votes were read, and so checked: at most two bytes per vote of the ledger."""

    def __init__(self, ledger: sqlite3.Connection) -> None:
        newest, votes = ledger.execute(
            "SELECT coalesce(max(number), 0), count(*) FROM votes"
        ).fetchone()
        self._ledger, self._votes = ledger, votes
        # A ledger may come from anyone: votes with larger numbers count as unread.
        self._is_read = bytearray(max(0, min(newest, 2 * votes)) + 1)

    def add(self, votes_of_rows: Iterable[Iterable[Sequence[Any]]]) -> None:
        """Mark votes as read."""
        numbers = [vote[0] for votes in votes_of_rows for vote in votes]
        if numbers and min(numbers) >= 0 and max(numbers) < len(self._is_read):
            for number in numbers:
                self._is_read[number] = 1

    def check_rest(self) -> None:
        """Verify the checksums of votes that were not read."""
        if self._is_read.count(1) == self._votes:
            return
        for row in self._ledger.execute(select("votes")):
            number = row[0]
            if not 0 <= number < len(self._is_read) or not self._is_read[number]:
                verify_row("votes", row)


def _record(
    ledger: sqlite3.Connection,
    row: Sequence[object],
    votes: tuple[VoteRecord, ...] | None,
    trajectory: bool,
) -> JudgmentRecord:
    *other_columns, result = row
    if not trajectory and _TRAJECTORY in str(result):
        row = (*other_columns, *ledger.execute(_WITHOUT_STEPS, (result,)).fetchone())
    record = judgment_of(row, votes)
    if record.scored or record.reason is not None:
        return record
    # The first edition stored the reason for a missing score with the votes.
    row_votes = votes_on(ledger, row[4]) if votes is None else votes
    return replace(record, reason=next((vote.reason for vote in row_votes if vote.reason), None))


def judgment_rows(
    ledger: sqlite3.Connection,
    *,
    judge: str | None = None,
    index: int | None = None,
    criterion: str | None = None,
    numbers: range | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield the stored rows of the judgments; ``numbers``: only these places."""
    if index is not None and not 0 <= index <= LARGEST:
        return iter(())
    filters: dict[str, object] = {"judge": judge, "number": index, "criterion": criterion}
    conditions = [f"{name} = :{name}" for name, value in filters.items() if value is not None]
    if numbers is not None:
        filters |= {"first": numbers.start, "end": numbers.stop}
        conditions.append("number >= :first AND number < :end")
    which = " AND ".join(conditions)
    query = f"{select('judgments')} WHERE {which or 'TRUE'} ORDER BY judge, number"
    return map(verifier("judgments"), ledger.execute(query, filters))


def row_checksum(ledger: sqlite3.Connection, judge: str, index: int) -> object:
    """Return a judgment's checksum, which changes when it is rewritten; None if there is no
    judgment.
    """
    query = "SELECT checksum FROM judgments WHERE judge = ? AND number = ?"
    return (ledger.execute(query, (judge, index)).fetchone() or (None,))[0]


def votes_on(ledger: sqlite3.Connection, ballots: object) -> tuple[VoteRecord, ...]:
    """Return the last vote on each ballot of a judgment."""
    keys = _ballots(ballots)
    newest = _newest_votes(ledger, keys)
    return tuple(vote_of(newest[key]) for key in keys if key in newest)


def _ballots(column: object) -> list[bytes]:
    """Return the keys of a judgment's ballots; raise SQLite's error if they are damaged."""
    if not isinstance(column, bytes):
        raise sqlite3.DatabaseError(Message("a judgment does not name its ballots"))
    if len(column) == KEY_BYTES:
        return [column]
    return [column[place : place + KEY_BYTES] for place in range(0, len(column), KEY_BYTES)]


def _newest_votes(
    ledger: sqlite3.Connection, keys: Sequence[bytes]
) -> dict[bytes, tuple[object, ...]]:
    """Return the row of the last vote on each ballot that has one."""
    newest: dict[bytes, tuple[object, ...]] = {}
    for place in range(0, len(keys), _AT_ONCE):
        some = keys[place : place + _AT_ONCE]
        marks = ",".join("?" * len(some))
        newest |= {row[1]: row for row in ledger.execute(_VOTES.format(marks), some)}
    verify = verifier("votes")
    return {key: verify(row) for key, row in newest.items()}


class _Votes:
    """Looks up votes."""

    def __init__(self, ledger: sqlite3.Connection) -> None:
        self._ledger = ledger

    def of_rows(self, rows: Sequence[Sequence[object]]) -> list[list[tuple[Any, ...]]]:
        """Return the last vote on each ballot of some judgments, given as stored rows."""
        ballots = [_ballots(row[4]) for row in rows]
        newest = self.newest([*chain.from_iterable(ballots)])
        return [[newest[key] for key in keys if key in newest] for keys in ballots]

    def newest(self, keys: Sequence[bytes]) -> Mapping[bytes, tuple[Any, ...]]:
        """Return the row of the last vote on each ballot that has one."""
        return _newest_votes(self._ledger, keys)


class _VotesInOrder(_Votes):
    """Looks up votes, and reads ahead: most votes are in the order of the judgments by them, and
    reading in order takes half the time.
    """

    def __init__(self, ledger: sqlite3.Connection) -> None:
        super().__init__(ledger)
        self._ahead: dict[bytes, tuple[Any, ...]] = {}
        self._place = 0
        # of several votes on a ballot only the last one counts
        self._are_several = ledger.execute(SEVERAL_VOTES).fetchone() is not None

    def newest(self, keys: Sequence[bytes]) -> Mapping[bytes, tuple[Any, ...]]:
        if self._are_several or len(self._ahead) > _MOST_AHEAD:
            return super().newest(keys)
        rows = self._ledger.execute(_IN_ORDER, (self._place, len(keys))).fetchall()
        verified = list(map(verifier("votes"), rows))
        self._place = rows[-1][0] if rows else self._place
        of_ballots = {row[1]: row for row in verified}
        if not self._ahead and [*of_ballots] == keys:  # the usual case
            return of_ballots
        self._ahead.update(of_ballots)
        votes = {key: vote for key in keys if (vote := self._ahead.pop(key, None)) is not None}
        if missing := [key for key in dict.fromkeys(keys) if key not in votes]:
            votes |= super().newest(missing)
        return votes


def votes_of(ledger: sqlite3.Connection, judge: str, index: int) -> tuple[VoteRecord, ...]:
    """Return the votes of one judgment."""
    row = next(judgment_rows(ledger, judge=judge, index=index), None)
    return votes_on(ledger, row[4]) if row else ()
