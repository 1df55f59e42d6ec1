"""Request → reply by another way than asking the model: a backend of the engine, and what it knows
of the ballot.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from adjudge.domain.message import Request
from adjudge.domain.vote import Vote
from adjudge.gateway.model import Model, Replying


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


@dataclass
class SoFar:
    """A ballot that a run asks."""

    key: bytes
    """What its vote is found by."""
    begun: list[Vote] = field(default_factory=list)
    """Where a run is to keep the ballot's replies: the unreadable vote whose repair a halt or a
    failed call cut off is put in here, and is taken out again to go on from when the ballot is
    asked once more.
    """


so_far: ContextVar[SoFar | None] = ContextVar("so_far", default=None)
backend: ContextVar[Backend | None] = ContextVar("backend", default=None)
"""Who answers in place of the models; it travels with the run's tasks."""
