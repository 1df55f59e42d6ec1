"""Request → reply. The one place a model is asked; a backend of the engine may answer in its place."""

from __future__ import annotations

from collections.abc import Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from adjudge.domain.message import Reply, Request
from adjudge.domain.vote import Vote
from adjudge.gateway.model import Model


class Deferred(Exception):
    """What was asked will be answered later: whoever needs it comes back. Not an error, and never a vote."""


class Backend(Protocol):
    """Another way from a request to its reply."""

    async def complete(self, request: Request, model: Model) -> Reply:
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
    """Where a run is to keep the ballot's replies: the unreadable vote whose repair a halt or a failed call cut off is put in
    here, and is taken out again to go on from when the ballot is asked once more."""


so_far: ContextVar[SoFar | None] = ContextVar("so_far", default=None)
backend: ContextVar[Backend | None] = ContextVar("backend", default=None)
"""Who answers in place of the models; it travels with the run's tasks."""


def reply_to(request: Request, model: Model) -> Coroutine[object, object, Reply]:
    """What the model answers. For those whose own machinery reads it; everybody else asks for a vote."""
    other = backend.get()
    return model.complete(request) if other is None else other.complete(request, model)
