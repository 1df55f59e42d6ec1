"""Requests in a provider's batches: while they may be answered, nothing asks them again and pays
twice.
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
from typing import TYPE_CHECKING, Any, Literal

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.rows import (
    columns_in,
    fact_text,
    read_fact,
    select,
    verify_row,
    with_checksum,
)
from adjudge.errors import RunError

if TYPE_CHECKING:
    from adjudge.core.ledger.ledger import Ledger

# Seconds after which no provider keeps a batch.
_KEPT_BY_PROVIDERS = 29 * 86_400
Orphans = Literal["adopt", "resubmit"]
"""The treatment of a batch that was possibly not sent."""
BATCHES = "batches"
"""Folder in a run's folder for requests to be sent and fetched results."""
ADRIFT = (
    "state = 'sent' AND batch NOT IN (SELECT id FROM batches WHERE state IN ('intended', "
    "'open', 'cancelling'))"
)
"""Requests whose batch was lost to damage."""


class BatchState(StrEnum):
    """The state of a batch, as far as the run knows."""

    INTENDED = "intended"
    """About to be sent, or sent: after a kill at this moment it is unknown which."""
    OPEN = "open"
    CANCELLING = "cancelling"
    COLLECTED = "collected"
    REJECTED = "rejected"
    """The provider answered none of its requests."""


UNDER_WAY = (BatchState.INTENDED, BatchState.OPEN, BatchState.CANCELLING)


@light_dataclass(frozen=True)
class Batch:
    """A batch as the ledger stores it."""

    id: str
    provider: str
    model: str
    """The identity of the model that it asks."""
    account: str
    """A digest of the account that sent it."""
    state: BatchState
    created: float
    request_sha: str
    """The SHA-256 of the exact bytes that are sent."""
    remote_id: str | None = None
    expires: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """The provider's latest counts."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """``requests``, ``reserved``, ``wording``, ``said``, ``asked``, ``organisation``.

    ``candidates``: the provider's batches that may be this one; ``unread``: how often each could
    not be read; ``others``: candidates that were another batch; ``twice``: possible first copies if
    it was sent again, with ``again`` of its requests.
    """

    @property
    def requests(self) -> int:
        return int(self.more.get("requests", 0))

    @property
    def asked(self) -> float:
        """The last time the provider was asked to create it and may have done so; 0 if it cannot
        have.
        """
        return float(self.more.get("asked", self.created))

    @property
    def organisation(self) -> str:
        """The owner of the key that sent the batch, if the provider reported it."""
        return str(self.more.get("organisation", ""))

    @property
    def paid_twice(self) -> int:
        """The number of its requests that may have been paid twice."""
        return int(self.more.get("again", self.requests if self.more.get("twice") else 0))

    def with_more(self, **more: object) -> Batch:
        """Return the batch with further facts."""
        return replace(self, more={**self.more, **more})

    def row(self) -> tuple[object, ...]:
        json_columns = json.dumps(dict(self.counts)), fact_text(dict(self.more))
        columns = (
            self.id,
            self.provider,
            self.model,
            self.account,
            self.state.value,
            self.created,
            self.request_sha,
        )
        return with_checksum(*columns, self.remote_id, self.expires, *json_columns)

    @classmethod
    def of(cls, row: Sequence[Any]) -> Batch:
        id, provider, model, account, state, created, sha, remote_id, expires, counts, more = row
        columns = id, provider, model, account, BatchState(state), created, sha, remote_id, expires
        return cls(*columns, json.loads(counts), read_fact(more))


def batches_under_way(ledger: Ledger) -> list[Batch]:
    """Return batches of an open run that may still bring answers, the oldest first."""
    marks = ",".join("?" * len(UNDER_WAY))
    rows = ledger.rows(
        f"{select('batches')} WHERE state IN ({marks}) ORDER BY created, id", UNDER_WAY
    )
    return [Batch.of(verify_row("batches", row)) for row in rows]


def collectable(batches: Iterable[Batch]) -> list[Batch]:
    """Return the batches under way that the provider may still have."""
    return [
        batch
        for batch in batches
        if batch.state in UNDER_WAY and time.time() - batch.created < _KEPT_BY_PROVIDERS
    ]


def batches_in(connection: sqlite3.Connection) -> list[Batch]:
    """Return the readable batches of a ledger, the oldest first; an older ledger has none."""
    if not columns_in(connection, "batches"):
        return []
    rows = connection.execute(f"{select('batches')} ORDER BY created, id").fetchall()
    batches = []
    for row in rows:
        with suppress(ValueError, TypeError):  # a ledger may come from anyone
            batches.append(Batch.of(verify_row("batches", row)))
    return batches


def refuse_under_way(ledger: Ledger, folder: Path) -> None:
    """Raise a RunError if batches are under way: their requests would be asked again and paid
    twice.
    """
    if batches := collectable(batches_under_way(ledger)):
        raise RunError(
            "batches of this run are under way: {count}, with {sum} requests that would be sent "
            "and paid for a second time. Collect them with 'adjudge resume {folder}', or add "
            "--batch",
            count=len(batches),
            sum=sum(batch.requests for batch in batches),
            folder=folder,
        )


def refuse_to_fork(folder: Path) -> None:
    """Like ``refuse_under_way``, for the source of a fork."""
    if not (folder / FILE).exists():
        return
    with connect(folder / FILE, writable=False) as connection:
        batches = collectable(batches_in(connection))
    if batches:
        raise RunError(
            "batches of {folder} are under way: {count}, with {sum} requests that the fork would "
            "send and pay for a second time. Collect them first with 'adjudge resume {folder}'",
            folder=folder,
            count=len(batches),
            sum=sum(batch.requests for batch in batches),
        )


def asked_in(connection: sqlite3.Connection, ballots: Sequence[bytes]) -> set[bytes]:
    """Return the ballots that batches have asked: an answer exists, or is under way.

    An older ledger has no batches.
    """
    if not ballots or not columns_in(connection, "batch_ballots"):
        return set()
    marks = ",".join("?" * len(ballots))
    query = (
        f"SELECT ballot FROM batch_ballots WHERE ballot IN ({marks}) "  # noqa: S608
        f"AND state IN ('sent', 'answered') AND NOT ({ADRIFT})"
    )
    return {key for (key,) in connection.execute(query, ballots)}
