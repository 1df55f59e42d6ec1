"""The last links before a provider: an attempt that hangs is ended, and what code that is not ours raises is a ModelError."""

from __future__ import annotations

import asyncio

from adjudge.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError, Unavailable
from adjudge.gateway.model import Layer, Model


class _Attempt:
    """A request under way, and when its time is up."""

    __slots__ = ("cancelling", "expired", "task", "until")

    def __init__(self, task: asyncio.Task[object], until: float) -> None:
        self.task = task
        self.until = until
        self.cancelling = task.cancelling()
        self.expired = False

    def expire(self) -> None:
        self.expired = True
        self.task.cancel()

    @property
    def cancelled_by_others(self) -> bool:
        return self.task.cancelling() - self.expired > self.cancelling


class Timed(Layer):
    """Gives each attempt the same time; waiting for a free place is not counted.

    Who began first runs out of time first, so one timer is enough for all of them: one each would take as long as all other
    layers together.
    """

    def __init__(self, inner: Model, timeout: float) -> None:
        super().__init__(inner)
        self.timeout = timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self._attempts: dict[_Attempt, None] = {}
        """In the order in which they began."""
        self._timer: asyncio.TimerHandle | None = None

    async def complete(self, request: Request) -> Reply:
        """The reply, if it comes in time."""
        attempt = self._begin()
        try:
            return await self.inner.complete(request)
        except asyncio.CancelledError:
            if not attempt.expired or attempt.cancelled_by_others:
                raise
            raise Unavailable(f"no reply within {self.timeout:g} s", model=self.name) from None
        finally:
            self._attempts.pop(attempt, None)
            if attempt.expired:
                attempt.task.uncancel()

    def _begin(self) -> _Attempt:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        if loop is not self._loop:  # a forked process starts empty: what was under way stayed with the parent
            self._loop, self._attempts, self._timer = loop, {}, None
        attempt = _Attempt(task, loop.time() + self.timeout)
        self._attempts[attempt] = None
        if self._timer is None:
            self._timer = loop.call_at(attempt.until, self._expire, loop)
        return attempt

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what has run out of time, and wait for the next."""
        self._timer = None
        waiting = [attempt for attempt in self._attempts if not attempt.expired]
        for attempt in waiting:
            if attempt.until > loop.time():
                self._timer = loop.call_at(attempt.until, self._expire, loop)
                return
            attempt.expire()


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
