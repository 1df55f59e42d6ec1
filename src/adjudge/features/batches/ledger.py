"""What a run has sent in batches: a batch is in the ledger before anything of it is sent, and what
came of its requests before anybody reads it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light import light_dataclass
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.ledger import Ledger
from adjudge.core.ledger.rows import (
    CHECKSUM_SQL,
    COLUMNS,
    checked,
    columns_in,
    fact_text,
    insert,
    read_fact,
    select,
    with_checksum,
)
from adjudge.errors import RunError

FOLDER = "batches"
"""In a run's folder: what is about to be sent, and what was fetched."""
Statement = tuple[str, Sequence[object]]
_KEPT_BY_PROVIDERS = 29 * 86_400
"""Seconds for which providers keep a batch at most."""
_KEEP = insert("batches")
_KEEP_BALLOT = insert("batch_ballots")
_CONSUMED = "DELETE FROM batch_ballots WHERE ballot = ? AND state IN ('answered', 'retry')"
_ADRIFT = (
    "state = 'sent' AND batch NOT IN (SELECT id FROM batches WHERE state IN ('intended', "
    "'open', 'cancelling'))"
)
"""Requests whose batch was lost to damage."""


class BatchState(StrEnum):
    """How far a batch is, as the run knows."""

    INTENDED = "intended"
    """About to be sent, or sent: whoever was killed then did not learn which."""
    OPEN = "open"
    CANCELLING = "cancelling"
    COLLECTED = "collected"
    REJECTED = "rejected"
    """None of it was answered."""


UNDER_WAY = (BatchState.INTENDED, BatchState.OPEN, BatchState.CANCELLING)


@light_dataclass(frozen=True)
class Batch:
    """A batch as the ledger has it."""

    id: str
    provider: str
    model: str
    """The identity of the model that it asks."""
    account: str
    """A digest of who sent it."""
    state: BatchState
    created: float
    request_sha: str
    """Of the very bytes that are sent."""
    remote_id: str | None = None
    expires: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """As the provider told last."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """``requests``, ``reserved``, ``wording``, ``said``, ``asked``, ``organisation``;
    ``candidates`` among which it may be, ``unread``: how often each of them could not be read,
    ``others``: those that turned out not to be it; ``twice``: those that may be it where it was
    sent again, and ``again``: how many requests of it were.
    """

    @property
    def requests(self) -> int:
        return int(self.more.get("requests", 0))

    @property
    def asked(self) -> float:
        """When the provider was last asked to create it, and may have done so; 0 where that is out
        of the question.
        """
        return float(self.more.get("asked", self.created))

    @property
    def organisation(self) -> str:
        """Whose key sent it, where the provider told."""
        return str(self.more.get("organisation", ""))

    @property
    def paid_twice(self) -> int:
        """How many of its requests may have been paid twice."""
        return int(self.more.get("again", self.requests if self.more.get("twice") else 0))

    def with_more(self, **more: object) -> Batch:
        """The same, with this known of it."""
        return replace(self, more={**self.more, **more})

    def row(self) -> tuple[object, ...]:
        told = json.dumps(dict(self.counts)), fact_text(dict(self.more))
        known = (
            self.id,
            self.provider,
            self.model,
            self.account,
            self.state.value,
            self.created,
            self.request_sha,
        )
        return with_checksum(*known, self.remote_id, self.expires, *told)

    @classmethod
    def of(cls, row: Sequence[Any]) -> Batch:
        id, provider, model, account, state, created, sha, remote_id, expires, counts, more = row
        known = id, provider, model, account, BatchState(state), created, sha, remote_id, expires
        return cls(*known, json.loads(counts), read_fact(more))


class RequestState(StrEnum):
    """What is known of a request in a batch."""

    SENT = "sent"
    ANSWERED = "answered"
    FAILED = "failed"
    RETRY = "retry"


@light_dataclass(frozen=True)
class BatchBallot:
    ballot: bytes
    request: bytes
    """A digest of what is asked: a ballot may take more than one request."""
    batch: str
    attempt: int
    state: RequestState
    reply: str | None = None
    """What came of it, as JSON."""

    def row(self) -> tuple[object, ...]:
        return with_checksum(
            self.ballot, self.request, self.batch, self.attempt, self.state.value, self.reply
        )


class BatchTable:
    """The batches of a run that is under way."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def under_way(self) -> list[Batch]:
        """Batches that may still bring answers, the oldest first."""
        marks = ",".join("?" * len(UNDER_WAY))
        rows = self._ledger.rows(
            f"{select('batches')} WHERE state IN ({marks}) ORDER BY created, id", UNDER_WAY
        )
        return [Batch.of(checked("batches", row)) for row in rows]

    def remote_ids(self) -> set[str]:
        return {
            id
            for (id,) in self._ledger.rows(
                "SELECT remote_id FROM batches WHERE remote_id IS NOT NULL"
            )
        }

    def ids(self) -> set[str]:
        return {id for (id,) in self._ledger.rows("SELECT id FROM batches")}

    def find(self, ballot: bytes, request: bytes) -> BatchBallot | None:
        """What is known of a request."""
        return self._one("ballot = ? AND request = ?", (ballot, request))

    def find_alone(self, ballot: bytes) -> BatchBallot | None:
        """What is known of the one request of a ballot, however it was worded; None where there are
        several.
        """
        return self._one("ballot = ?", (ballot,))

    def _one(self, condition: str, values: Sequence[object]) -> BatchBallot | None:
        rows = self._ledger.rows(f"{select('batch_ballots')} WHERE {condition}", values)
        if len(rows) != 1:
            return None
        ballot, request, batch, attempt, state, reply = checked("batch_ballots", rows[0])
        return BatchBallot(ballot, request, batch, attempt, RequestState(state), reply)

    def wordings(self) -> set[object]:
        """How the prompts were worded that were sent."""
        return {
            read_fact(more).get("wording")
            for (more,) in self._ledger.rows("SELECT more FROM batches")
        }

    def waiting(self, state: RequestState) -> int:
        """How many requests are in this state."""
        ((count,),) = self._ledger.rows(
            "SELECT count(*) FROM batch_ballots WHERE state = ?", (state.value,)
        )
        return int(count)

    async def keep(self, batch: Batch, *others: Statement) -> None:
        """Store how far a batch is."""
        await self._ledger.write_all([(_KEEP, batch.row()), *others])

    async def intend(self, batch: Batch, requests: Iterable[BatchBallot]) -> None:
        """Store a batch with its requests, in one commit."""
        await self.keep(batch, *((_KEEP_BALLOT, one.row()) for one in requests))

    async def asked(self, batch: Batch) -> Batch:
        """Store that the provider is asked for it from now on, and may create it."""
        known = batch.with_more(asked=time.time())
        await self.keep(known)
        return known

    async def keep_spending(self, batch: Batch, spending: JsonObject) -> None:
        """Store how far a batch is, with what was spent by then, in one commit."""
        self._ledger.note_soon("spending", spending)
        await self.keep(batch)

    async def answer(self, requests: Iterable[BatchBallot], spending: JsonObject) -> None:
        """Store what came of requests, with what was spent by then, in one commit."""
        statements: list[Statement] = [(_KEEP_BALLOT, one.row()) for one in requests]
        self._ledger.note_soon("spending", spending)
        await self._ledger.write_all(statements)

    def unanswered(
        self, batch: str, reply: str, state: RequestState = RequestState.RETRY
    ) -> Statement:
        """What has the rest of a batch asked again, or failed; ``reply`` says why."""
        values = ", ".join(
            {"state": f"'{state}'", "reply": "?"}.get(name, name)
            for name in COLUMNS["batch_ballots"]
        )
        set_to = f"state = '{state}', reply = ?, checksum = {CHECKSUM_SQL}({values})"
        sent = f"SET {set_to} WHERE batch = ? AND state = 'sent'"
        return f"UPDATE batch_ballots {sent}", (reply, reply, batch)

    def let_go(self, batch: str) -> Statement:
        """What has a batch's requests forgotten, as if it had never been."""
        return "DELETE FROM batch_ballots WHERE batch = ? AND state = 'sent'", (batch,)

    def consumed(self, ballot: bytes) -> None:
        """Forget a reply whose vote is on the disk."""
        self._ledger.write_soon([(_CONSUMED, (ballot,))])

    async def forget_failures(self) -> None:
        """Have what failed before asked again."""
        await self._ledger.write_all(
            [(f"DELETE FROM batch_ballots WHERE state = 'failed' OR ({_ADRIFT})", ())]  # noqa: S608
        )


def asked_in(connection: sqlite3.Connection, ballots: Sequence[bytes]) -> set[bytes]:
    """Those of the ballots that batches have asked: an answer is there, or under way. An older
    ledger has no batches.
    """
    if not ballots or not columns_in(connection, "batch_ballots"):
        return set()
    marks = ",".join("?" * len(ballots))
    asked = (
        f"SELECT ballot FROM batch_ballots WHERE ballot IN ({marks}) "  # noqa: S608
        f"AND state IN ('sent', 'answered') AND NOT ({_ADRIFT})"
    )
    return {key for (key,) in connection.execute(asked, ballots)}


def collectable(batches: Iterable[Batch]) -> list[Batch]:
    """Those under way that are not too old to be at the provider still."""
    return [
        batch
        for batch in batches
        if batch.state in UNDER_WAY and time.time() - batch.created < _KEPT_BY_PROVIDERS
    ]


def batches_in(connection: sqlite3.Connection) -> list[Batch]:
    """The batches of a ledger, the oldest first; an older ledger has none."""
    if not columns_in(connection, "batches"):
        return []
    rows = connection.execute(f"{select('batches')} ORDER BY created, id").fetchall()
    found = []
    for row in rows:
        with suppress(ValueError, TypeError):  # a ledger may come from anybody
            found.append(Batch.of(checked("batches", row)))
    return found


def refuse_under_way(ledger: Ledger, folder: Path) -> None:
    """What a batch is asked already is not asked again one by one, and paid for twice."""
    if found := collectable(BatchTable(ledger).under_way()):
        raise RunError(
            "batches of this run are under way: {count}, with {sum} requests, which would "
            "be asked and paid for a second time: collect them with 'adjudge resume "
            "{folder}', or add --batch",
            count=len(found),
            sum=sum(one.requests for one in found),
            folder=folder,
        )


def refuse_to_fork(folder: Path) -> None:
    """Nor in a run that begins with the answers of another."""
    if not (folder / FILE).exists():
        return
    with connect(folder / FILE, writable=False) as connection:
        found = collectable(batches_in(connection))
    if found:
        raise RunError(
            "batches of {folder} are under way: {count}, with {sum} requests, which the "
            "fork would ask and pay for a second time: collect them first with 'adjudge "
            "resume {folder}'",
            folder=folder,
            count=len(found),
            sum=sum(one.requests for one in found),
        )
