"""The last links before a provider: an attempt that hangs is ended, and what code that is not ours raises is a ModelError."""

from __future__ import annotations

import asyncio

from adjudge.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError, Unavailable
from adjudge.gateway.model import Layer, Model


class Timed(Layer):
    """Gives each attempt the same time; waiting for a free place is not counted."""

    def __init__(self, inner: Model, timeout: float) -> None:
        super().__init__(inner)
        self.timeout = timeout

    async def complete(self, request: Request) -> Reply:
        """The reply, if it comes in time."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self.inner.complete(request)
        except TimeoutError:
            raise Unavailable(f"no reply within {self.timeout:g} s", model=self.name) from None


class Guarded:
    """Someone else's model object; only ``complete`` is required of it."""

    def __init__(self, model: object) -> None:
        self._model = model
        self.name: str = getattr(model, "name", type(model).__name__)
        self.capabilities: Capabilities = getattr(model, "capabilities", Capabilities())

    async def complete(self, request: Request) -> Reply:
        """Pass on, and name what went wrong."""
        try:
            reply: object = await self._model.complete(request)  # type: ignore[attr-defined]
        except ModelError:
            raise
        except asyncio.CancelledError:
            if _cancelled_by_us():
                raise
            raise ModelError("it was cancelled from within", model=self.name) from None
        except Exception as error:
            raise ModelError(f"it raised {type(error).__name__}: {error}", model=self.name) from error
        if not isinstance(reply, Reply):
            raise ModelError(f"it returned {type(reply).__name__}, not a Reply", model=self.name)
        return reply


def _cancelled_by_us() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
