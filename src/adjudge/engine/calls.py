"""The one way a model is asked, and who is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar

from adjudge.domain.light import light_dataclass
from adjudge.domain.message import Reply, Request
from adjudge.domain.vote import Ballot
from adjudge.engine.reply import backend
from adjudge.errors import HALTS, ModelError
from adjudge.gateway.model import Model, Replying


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
on_call: ContextVar[OnCall | None] = ContextVar("on_call", default=None)
"""Who is told of every call that is made in this context."""


def complete(request: Request, model: Model, ballot: Ballot | None = None) -> Replying:
    """What the model answers."""
    told = on_call.get()
    return _reply(request, model) if told is None else _told_of(request, model, ballot, told)


def _reply(request: Request, model: Model) -> Replying:
    other = backend.get()
    return model.complete(request) if other is None else other.complete(request, model)


async def _told_of(request: Request, model: Model, ballot: Ballot | None, told: OnCall) -> Reply:
    started = time.time_ns()
    try:
        reply = await _reply(request, model)
    except HALTS:
        raise  # nobody was asked
    except ModelError as error:
        told(Call(model=model.name, request=request, ballot=ballot, started=started, ended=time.time_ns(), error=error))
        raise
    if reply.usage.calls:
        told(Call(model=model.name, request=request, ballot=ballot, started=started, ended=time.time_ns(), reply=reply))
    return reply
