"""Requests under way at a provider, sent many at once: until they are answered, or too old to be
there, nothing asks them again and pays for them twice.
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
from typing import Any, Literal

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.ledger import Ledger
from adjudge.core.ledger.rows import (
    checked,
    columns_in,
    fact_text,
    read_fact,
    select,
    with_checksum,
)
from adjudge.errors import RunError

_KEPT_BY_PROVIDERS = 29 * 86_400
"""Seconds for which providers keep a batch at most."""
Orphans = Literal["adopt", "resubmit"]
"""What to do with a batch of which nobody knows whether it was sent."""
BATCHES = "batches"
"""In a run's folder: what is about to be sent, and what was fetched."""
ADRIFT = (
    "state = 'sent' AND batch NOT IN (SELECT id FROM batches WHERE state IN ('intended', "
    "'open', 'cancelling'))"
)
"""Requests whose batch was lost to damage."""


class BatchState(StrEnum):
    """How far a batch is, as the run knows."""

    INTENDED = "intended"
    """About to be sent, or sent: a process that was killed at this moment cannot tell which."""
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


def batches_under_way(ledger: Ledger) -> list[Batch]:
    """Batches of an open run that may still bring answers, the oldest first."""
    marks = ",".join("?" * len(UNDER_WAY))
    rows = ledger.rows(
        f"{select('batches')} WHERE state IN ({marks}) ORDER BY created, id", UNDER_WAY
    )
    return [Batch.of(checked("batches", row)) for row in rows]


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
    if found := collectable(batches_under_way(ledger)):
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


def asked_in(connection: sqlite3.Connection, ballots: Sequence[bytes]) -> set[bytes]:
    """Return the ballots that batches have asked: an answer is there, or under way.

    An older ledger has no batches.
    """
    if not ballots or not columns_in(connection, "batch_ballots"):
        return set()
    marks = ",".join("?" * len(ballots))
    asked = (
        f"SELECT ballot FROM batch_ballots WHERE ballot IN ({marks}) "  # noqa: S608
        f"AND state IN ('sent', 'answered') AND NOT ({ADRIFT})"
    )
    return {key for (key,) in connection.execute(asked, ballots)}
