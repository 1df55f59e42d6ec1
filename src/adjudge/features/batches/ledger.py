"""The batches of a run in its ledger.

A batch is stored before anything of it is sent, and the outcomes of its requests before a judge
reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.ledger import Ledger
from adjudge.core.ledger.pending import ADRIFT, Batch, batches_under_way
from adjudge.core.ledger.rows import (
    CHECKSUM_SQL,
    COLUMNS,
    insert,
    read_fact,
    select,
    verify_row,
    with_checksum,
)

Statement = tuple[str, Sequence[object]]
_KEEP = insert("batches")
_KEEP_BALLOT = insert("batch_ballots")
_CONSUMED = "DELETE FROM batch_ballots WHERE ballot = ? AND state IN ('answered', 'retry')"


class RequestState(StrEnum):
    """State of a request in a batch."""

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
    """The outcome, as JSON."""

    def row(self) -> tuple[object, ...]:
        return with_checksum(
            self.ballot, self.request, self.batch, self.attempt, self.state.value, self.reply
        )


class BatchTable:
    """The ledger's tables of batches and their requests."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def under_way(self) -> list[Batch]:
        """Return the batches that may still return replies, oldest first."""
        return batches_under_way(self._ledger)

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
        """Return the stored request; None if there is none."""
        return self._one("ballot = ? AND request = ?", (ballot, request))

    def find_alone(self, ballot: bytes) -> BatchBallot | None:
        """Return a ballot's only request, whatever its wording; None if there are none or
        several.
        """
        return self._one("ballot = ?", (ballot,))

    def _one(self, condition: str, values: Sequence[object]) -> BatchBallot | None:
        rows = self._ledger.rows(f"{select('batch_ballots')} WHERE {condition}", values)
        if len(rows) != 1:
            return None
        ballot, request, batch, attempt, state, reply = verify_row("batch_ballots", rows[0])
        return BatchBallot(ballot, request, batch, attempt, RequestState(state), reply)

    def wordings(self) -> set[object]:
        """Return the prompt-wording versions of the batches sent so far."""
        return {
            read_fact(more).get("wording")
            for (more,) in self._ledger.rows("SELECT more FROM batches")
        }

    def waiting(self, state: RequestState) -> int:
        """Count the requests in this state."""
        ((count,),) = self._ledger.rows(
            "SELECT count(*) FROM batch_ballots WHERE state = ?", (state.value,)
        )
        return int(count)

    async def keep(self, batch: Batch, *others: Statement) -> None:
        """Store the state of a batch."""
        await self._ledger.write_all([(_KEEP, batch.row()), *others])

    async def intend(self, batch: Batch, requests: Iterable[BatchBallot]) -> None:
        """Store a batch with its requests, in one commit."""
        await self.keep(batch, *((_KEEP_BALLOT, request.row()) for request in requests))

    async def asked(self, batch: Batch) -> Batch:
        """Record that the provider is about to receive this batch, and may create it."""
        batch_asked = batch.with_more(asked=time.time())
        await self.keep(batch_asked)
        return batch_asked

    async def keep_spending(self, batch: Batch, spending: JsonObject) -> None:
        """Store the state of a batch with the spending so far, in one commit."""
        self._ledger.note_soon("spending", spending)
        await self.keep(batch)

    async def answer(self, requests: Iterable[BatchBallot], spending: JsonObject) -> None:
        """Store the outcomes of requests and the spending so far, in one commit."""
        statements: list[Statement] = [(_KEEP_BALLOT, request.row()) for request in requests]
        self._ledger.note_soon("spending", spending)
        await self._ledger.write_all(statements)

    def unanswered(
        self, batch: str, reply: str, state: RequestState = RequestState.RETRY
    ) -> Statement:
        """Return the statement that marks a batch's unanswered requests as to be retried, or as
        ``state``.

        ``reply`` holds the reason.
        """
        values = ", ".join(
            {"state": f"'{state}'", "reply": "?"}.get(name, name)
            for name in COLUMNS["batch_ballots"]
        )
        set_to = f"state = '{state}', reply = ?, checksum = {CHECKSUM_SQL}({values})"
        sent = f"SET {set_to} WHERE batch = ? AND state = 'sent'"
        return f"UPDATE batch_ballots {sent}", (reply, reply, batch)

    def let_go(self, batch: str) -> Statement:
        """Return the statement that deletes a batch's unanswered requests, so they are planned
        again.
        """
        return "DELETE FROM batch_ballots WHERE batch = ? AND state = 'sent'", (batch,)

    def consumed(self, ballot: bytes) -> None:
        """Forget the replies to a ballot whose vote is stored."""
        self._ledger.write_soon([(_CONSUMED, (ballot,))])

    async def forget_failures(self) -> None:
        """Delete failed requests, so that they are sent again."""
        await self._ledger.write_all(
            [(f"DELETE FROM batch_ballots WHERE state = 'failed' OR ({ADRIFT})", ())]  # noqa: S608
        )
