"""One ``Session`` for all that is asked in one stream of judgments: who answers, who is told, and
the run that it belongs to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Reply, Request
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.gateway.model import Model, Replying
from adjudge.errors import ModelError

if TYPE_CHECKING:
    from adjudge.core.ledger.ledger import Ledger


class Deferred(Exception):
    """What was asked will be answered later: whoever needs it comes back. Not an error, and never a
    vote.
    """


class NoRoom(Deferred):
    """It waits for a larger budget. What was paid for so far is to be kept."""


class Backend(Protocol):
    """Another way from a request to its reply."""

    def complete(self, request: Request, model: Model) -> Replying:
        """Answer, raise a ModelError, or raise Deferred."""
        ...

    def kept(self, ballot: bytes) -> None:
        """The vote on this ballot is on the disk."""
        ...


class SharedVotes(Protocol):
    """Who answers a judge's ballots."""

    async def answer_once(self, ballot: Ballot) -> Vote:
        """What other ballots need before they can be asked: once for all of them."""
        ...

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """The vote that was cast on each before, or None."""
        ...

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Keep the votes that one request brought, all or none of them."""
        ...


@light_dataclass(frozen=True, kw_only=True)
class Call:
    """A model was asked. Tries that were repeated are one call; a kept reply is none."""

    model: str
    request: Request
    ballot: Ballot | None
    """What the call was for; None where it was for no vote of one row."""
    started: int
    """Nanoseconds since 1970, waiting for a free place included."""
    ended: int
    reply: Reply | None = None
    error: ModelError | None = None


OnCall = Callable[[Call], None]
Companion = Callable[[Ballot], Ballot | None]
"""Another criterion that is asked about the same rows: a ballot → that criterion's ballot about the
same row, or None if it does not judge that row so.
"""


@light_dataclass()
class PartialAsk:
    """A ballot that a run asks, and how far that has come."""

    key: bytes
    """What its vote is found by."""
    vote: Vote | None = None
    """The unreadable vote whose repair a halt or a failed call cut off: kept by the run, and where
    the ballot goes on from when it is asked once more.
    """
    is_kept: bool = False
    """True if the vote is in the ledger already, since it came with others."""
    run: OpenRun | None = None
    """The run that asks it. Its ledger is written to before something is sent that must not be
    sent twice.
    """


class OpenRun:
    """A run under way: its ledger, and what it may still spend."""

    def __init__(
        self, ledger: Ledger, open_budget: OpenBudget, *, retry_failed: bool = False
    ) -> None:
        self.ledger = ledger
        self.open_budget = open_budget
        self.retry_failed = retry_failed
        self.under_way: dict[bytes, asyncio.Future[Vote] | None] = {}
        """Ballots that are being asked; a promise where somebody else waits for the same."""


@light_dataclass(frozen=True)
class EnclosingRun:
    """A run that whatever is asked inside belongs to: writers, criteria, models as tools."""

    run: OpenRun
    keys: list[bytes]
    """Of the ballots, for the record of what they led to."""


@light_dataclass(frozen=True)
class SampleNumbers:
    """How criteria are sampled."""

    first: int = 0
    """The number of the first sample: other numbers are other samples, also for a cache and for
    seeds.
    """
    count: int | None = None
    """Samples per model; None: as each criterion says."""
    on_result: Callable[[Any], None] | None = None
    """Called with every result."""


@light_dataclass(frozen=True)
class Session:
    """What holds for all that is asked in a stream. A stream inside another one has what it does
    not set itself.
    """

    judge: object = None
    """The judge that is at work."""
    votes: SharedVotes | None = None
    """Who answers its ballots."""
    work: object = None
    """What the judge itself keeps for as long as it is at work."""
    run: EnclosingRun | None = None
    backend: Backend | None = None
    """Who answers in place of the models."""
    on_call: OnCall | None = None
    """Called with every call to a model."""
    partial: PartialAsk | None = None
    """The ballot that is being asked, where a run keeps its votes."""
    sampling: SampleNumbers = SampleNumbers()
    beside: Sequence[Ballot] = ()
    """The ballots of an item that are asked at once."""
    companions: Sequence[Companion] = ()
    """The other criteria that are asked about the same rows."""

    def asking(self, partial: PartialAsk) -> Session:
        """The same for one ballot; quicker than ``replace``."""
        asking = object.__new__(Session)
        vars(asking).update(vars(self), partial=partial)
        return asking

    def with_beside(self, ballots: Sequence[Ballot]) -> Session:
        """Like this, for ballots of an item that are asked at once."""
        asking = object.__new__(Session)
        vars(asking).update(vars(self), beside=ballots)
        return asking


# it is frozen
_current: ContextVar[Session] = ContextVar("session", default=Session())  # noqa: B039
session = _current.get
"""The session of whoever calls: it travels with the stream's tasks, also through functions of the
user's.
"""


class OpenedSession:
    """Have all that is asked inside belong to ``changed``."""

    def __init__(self, changed: Session) -> None:
        self._changed = changed

    def __enter__(self) -> None:
        self._token = _current.set(self._changed)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


@contextmanager
def collecting_keys(keys: list[bytes]) -> Iterator[None]:
    """Have the keys of all that is asked inside put into ``keys``; there are none where no run
    encloses it.
    """
    now = session()
    run = EnclosingRun(now.run.run, keys) if now.run else None
    with OpenedSession(replace(now, run=run)):
        yield
