"""Around code that is not ours: whatever it raises becomes a ModelError, so that one bad call is one failed vote."""

from __future__ import annotations

import asyncio

from adjudge.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError


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
