"""Sessions: the source of answers for a stream of judgments, its listeners, and its run."""

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
    """Raised if an answer will come later, so the caller has to ask again then.

    It is not an error, and never a vote.
    """


class NoRoom(Deferred):
    """Raised when an answer waits for a larger budget. The replies paid for so far must be kept."""


class Backend(Protocol):
    """Answers requests in place of the models, such as a batch API."""

    def complete(self, request: Request, model: Model) -> Replying:
        """Return the reply, raise a ModelError, or raise Deferred."""
        ...

    def kept(self, ballot: bytes) -> None:
        """Called when the vote on this ballot is on the disk."""
        ...


class SharedVotes(Protocol):
    """The source of a judge's votes, for its own ballots and for those they depend on."""

    async def answer_once(self, ballot: Ballot) -> Vote:
        """Return the vote on a ballot that other ballots need first; it is asked once for all of
        them.
        """
        ...

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """Return the earlier vote on each ballot, or None."""
        ...

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Keep the votes of one request, all or none of them."""
        ...


@light_dataclass(frozen=True, kw_only=True)
class Call:
    """One call to a model. Retries belong to the same call; a cached reply is not a call."""

    model: str
    request: Request
    ballot: Ballot | None
    """The ballot of the call; None if it was not for a vote on one row."""
    started: int
    """Nanoseconds since 1970, before waiting for a free slot."""
    ended: int
    reply: Reply | None = None
    error: ModelError | None = None


OnCall = Callable[[Call], None]
Companion = Callable[[Ballot], Ballot | None]
"""Another criterion about the same rows: maps a ballot to that criterion's ballot about the same
row, or to None if it does not judge that row this way.
"""


@light_dataclass()
class PartialAsk:
    """A ballot that a run is asking, with its progress."""

    key: bytes
    """The key of its vote."""
    vote: Vote | None = None
    """The unreadable vote whose repair a halt or a failed call interrupted. The run keeps it and
    resumes from it.
    """
    is_kept: bool = False
    """True if the vote is in the ledger already, since one request brought several."""
    run: OpenRun | None = None
    """The run that asks it. Requests that must not be sent twice are noted in its ledger first."""


class OpenRun:
    """A run under way: its ledger and its remaining budget."""

    def __init__(
        self,
        ledger: Ledger,
        open_budget: OpenBudget,
        *,
        retry_failed: bool = False,
        retry_only: frozenset[bytes] | None = None,
    ) -> None:
        self.ledger = ledger
        self.open_budget = open_budget
        self.retry_failed = retry_failed
        self.retry_only = retry_only
        """The only ballots to ask again if their answer had no verdict or the call failed."""
        self.under_way: dict[bytes, asyncio.Future[Vote] | None] = {}
        """Ballots that are being asked; with a future if another task waits for the same."""


@light_dataclass(frozen=True)
class EnclosingRun:
    """A run that records every call made inside it, such as those of writers, criteria and models
    as tools.
    """

    run: OpenRun
    keys: list[bytes]
    """Keys of the ballots, for the record of the enclosing judgment."""


@light_dataclass(frozen=True)
class SampleNumbers:
    """Assigns numbers to the samples of criteria."""

    first: int = 0
    """The number of the first sample. Other numbers mean other samples, for caches and seeds
    too.
    """
    count: int | None = None
    """Samples per model; None: as each criterion says."""
    on_result: Callable[[Any], None] | None = None
    """Called with every result."""


@light_dataclass(frozen=True)
class Session:
    """Settings of all calls in a stream. A stream inside another one inherits what it does not
    set.
    """

    judge: object = None
    """The judge that is at work."""
    votes: SharedVotes | None = None
    """The source of its votes."""
    work: object = None
    """Data of the judge for the time of its work."""
    run: EnclosingRun | None = None
    backend: Backend | None = None
    """Answers in place of the models."""
    on_call: OnCall | None = None
    """Called with every call to a model."""
    partial: PartialAsk | None = None
    """The ballot that is being asked, if a run keeps its votes."""
    sampling: SampleNumbers = SampleNumbers()
    siblings: Sequence[Ballot] = ()
    """The ballots of an item that are asked at once."""
    companions: Sequence[Companion] = ()
    """The other criteria that are asked about the same rows."""

    def asking(self, partial: PartialAsk) -> Session:
        """Return the session for one ballot; faster than ``replace``."""
        asking = object.__new__(Session)
        vars(asking).update(vars(self), partial=partial)
        return asking

    def with_siblings(self, ballots: Sequence[Ballot]) -> Session:
        """Return the session for ballots of an item that are asked at once; faster than
        ``replace``.
        """
        asking = object.__new__(Session)
        vars(asking).update(vars(self), siblings=ballots)
        return asking


# B039 warns of mutable defaults, but a Session is frozen.
_current: ContextVar[Session] = ContextVar("session", default=Session())  # noqa: B039
session = _current.get
"""Returns the caller's session: it travels with the stream's tasks, even through user functions."""


class OpenedSession:
    """Makes ``changed`` the session of all calls inside the block."""

    def __init__(self, changed: Session) -> None:
        self._changed = changed

    def __enter__(self) -> None:
        self._token = _current.set(self._changed)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


@contextmanager
def collecting_keys(keys: list[bytes]) -> Iterator[None]:
    """Collect the keys of all calls inside the block in ``keys``; collect nothing without an
    enclosing run.
    """
    now = session()
    run = EnclosingRun(now.run.run, keys) if now.run else None
    with OpenedSession(replace(now, run=run)):
        yield
