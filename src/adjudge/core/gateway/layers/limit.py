"""Links that hold requests back: concurrency, requests per minute, budget and time limit."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Mapping
from contextvars import Context
from dataclasses import replace
from numbers import Real
from time import monotonic
from typing import NamedTuple, Protocol

from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers.account import LONGEST_ANSWER, expected_tokens, with_counts
from adjudge.core.gateway.layers.budget import Budget, caller, pause, raise_if_halted
from adjudge.core.gateway.model import Layer, Model, Replying
from adjudge.errors import ModelError, RateLimited, Unavailable
from adjudge.plugins import package_of


class ConcurrencyLimit:
    """Admits at most ``limit`` requests at once.

    The limit is halved if the provider says "too many", and grows back by one per full round.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        # A rejection that was sent before the last cut says nothing about the new limit: a burst of
        # a hundred rejections halves it once, not a hundred times.
        self._cut_at = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None

    async def enter(self) -> None:
        """Wait for a place, first come first served."""
        loop = asyncio.get_running_loop()
        # A forked process starts empty: the requests inside stayed with the parent.
        if loop is not self._loop:
            self._loop, self.inside, self._waiting = loop, 0, deque()
        # Nobody overtakes: a request that comes while others wait goes to the end of the queue.
        if self.inside < int(self.limit) and not self._waiting:
            self.inside += 1
            return
        place: asyncio.Future[None] = loop.create_future()
        self._waiting.append(place)
        try:
            await place  # _admit has counted this request already
        except asyncio.CancelledError:
            # Admitted and cancelled in the same turn of the loop: the place was counted, so give it
            # back.
            if place.done() and not place.cancelled():
                self.leave()
            raise  # _admit skips a cancelled place

    __aenter__ = enter

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def widen(self, most: int) -> None:
        """Set a new limit, and admit as many requests."""
        self.most, self.limit = most, float(most)
        self._admit()

    def leave(self) -> None:
        """Give the place back, and admit the next request."""
        self.inside -= 1
        if self._waiting:
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self.inside < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.inside += 1
                place.set_result(None)

    def went_well(self) -> None:
        if self.limit < self.most:
            # One more place per full round: each of ``limit`` requests adds its part.
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._admit()

    def too_many(self, started: float) -> None:
        """Halve the limit, unless the rejected request started before the last cut."""
        if started > self._cut_at:
            self.limit = max(1.0, self.limit / 2)
            self._cut_at = monotonic()


class Pace:
    """Spreads requests or tokens evenly over each minute."""

    def __init__(self, per_minute: float) -> None:
        self.seconds_each = 60.0 / per_minute
        self._next = 0.0

    async def wait(self, amount: float) -> None:
        """Wait until ``amount`` more fits."""
        # Unused time is not saved up. Otherwise a pause would be followed by a burst that the
        # provider rejects.
        start = max(monotonic(), self._next)
        self._next = start + amount * self.seconds_each
        await pause(max(0.0, start - monotonic()))

    def correct(self, amount: float) -> None:
        """Charge the amount that an estimate missed, or refund what it overstated."""
        self._next += amount * self.seconds_each


class SharedPace(Protocol):
    """One pace for a model that several processes ask."""

    async def wait(self, tokens: int) -> None:
        """Wait until one more request of about ``tokens`` tokens fits."""
        ...

    def slow_down(self, seconds: float | None) -> None:
        """Make all processes hold back after "too many", for ``seconds`` if the provider named a
        time.
        """
        ...


class Rate(NamedTuple):
    """Limits per minute of a model's provider; None: not limited."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


NO_RATE = Rate()


class Limited(Layer):
    """Holds a request back until there is room for it."""

    def __init__(self, inner: Model, max_concurrency: int, rate: Rate = NO_RATE) -> None:
        super().__init__(inner)
        self.gate = ConcurrencyLimit(max_concurrency)
        self.rate = rate
        self.shared: SharedPace | None = None
        """Replaces the local pace if other processes ask the same model."""
        self._requests = Pace(rate.requests_per_minute) if rate.requests_per_minute else None
        self._tokens = Pace(rate.tokens_per_minute) if rate.tokens_per_minute else None

    async def complete(self, request: Request) -> Reply:
        """Pass the request on when there is room, and adapt the limit to the outcome."""
        await self.gate.enter()
        started = monotonic()
        try:
            paced = self.shared or self._requests or self._tokens
            reply = await (self._send_paced(request) if paced else self.inner.complete(request))
        except RateLimited as error:
            self.gate.too_many(started)
            if self.shared:
                self.shared.slow_down(error.retry_after)
            raise
        else:
            self.gate.went_well()
            return reply
        finally:
            self.gate.leave()

    async def _send_paced(self, request: Request) -> Reply:
        raise_if_halted()
        if self.shared:
            await self.shared.wait(sum(expected_tokens(request)))
            return await self.inner.complete(request)
        if self._requests:
            await self._requests.wait(1)
        if not self._tokens:
            return await self.inner.complete(request)
        expected = sum(expected_tokens(request))
        await self._tokens.wait(expected)
        reply = await self.inner.complete(request)
        # The length of the answer was a guess. The next request waits for the difference.
        self._tokens.correct(reply.usage.prompt_tokens + reply.usage.completion_tokens - expected)
        return reply


def limits_of(model: Model) -> Limited | None:
    """Return the Limited link of a model's chain, if there is one."""
    while isinstance(model, Layer) and not isinstance(model, Limited):
        model = model.inner
    return model if isinstance(model, Limited) else None


class _Attempt:
    """A request under way and its deadline."""

    __slots__ = ("cancelling", "expired", "task", "until")

    def __init__(self, task: asyncio.Task[object], until: float) -> None:
        self.task = task
        self.until = until
        # The number of cancellations before, to tell ours from one of the caller.
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

    The oldest attempt expires first, so one timer is enough for all: a timer per attempt would cost
    as much time as all other layers together.
    """

    def __init__(self, inner: Model, timeout: float) -> None:
        super().__init__(inner)
        self.timeout = timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self._attempts: dict[_Attempt, None] = {}
        """In the order of their start; used as an ordered set."""
        self._timer: asyncio.TimerHandle | None = None

    async def complete(self, request: Request) -> Reply:
        """Return the reply, or raise Unavailable if it is late."""
        attempt = self._begin()
        try:
            return await self.inner.complete(request)
        except asyncio.CancelledError:
            # Only our own timeout becomes an error; a cancellation from outside goes on.
            if not attempt.expired or attempt.cancelled_by_others:
                raise
            late = Unavailable(
                "no reply within {timeout:g} s", model=self.name, timeout=self.timeout
            )
            late.may_have_cost = True
            raise late from None
        finally:
            self._attempts.pop(attempt, None)
            if attempt.expired:
                # Take back our own cancel(), or the task would still count as cancelled.
                attempt.task.uncancel()

    def _begin(self) -> _Attempt:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        # A forked process starts empty: requests under way stayed with the parent.
        if loop is not self._loop:
            self._loop, self._attempts, self._timer = loop, {}, None
        attempt = _Attempt(task, loop.time() + self.timeout)
        self._attempts[attempt] = None
        if self._timer is None:
            self._wait_for(attempt, loop)
        return attempt

    def _wait_for(self, attempt: _Attempt, loop: asyncio.AbstractEventLoop) -> None:
        # An empty context: the caller's context would keep its run in memory until the timer fires.
        self._timer = loop.call_at(attempt.until, self._expire, loop, context=Context())

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel expired attempts, and set the timer for the next one."""
        self._timer = None
        waiting = [attempt for attempt in self._attempts if not attempt.expired]
        for attempt in waiting:
            if attempt.until > loop.time():
                self._wait_for(attempt, loop)
                return
            attempt.expire()


class Guarded:
    """A user's model object; only ``complete`` is required."""

    def __init__(self, model: object) -> None:
        self._model = model
        self.name: str = getattr(model, "name", type(model).__name__)
        self.capabilities: Capabilities = getattr(model, "capabilities", Capabilities())

    async def complete(self, request: Request) -> Reply:
        """Pass the request on. Other exceptions and invalid replies become ModelErrors that name
        the model.
        """
        try:
            reply: object = await self._model.complete(request)  # type: ignore[attr-defined]
        except ModelError:
            raise
        except asyncio.CancelledError:
            if _cancelled_by_us():
                raise
            raise ModelError("it cancelled itself", model=self.name) from None
        except Exception as error:
            failure = ModelError(
                "it raised {name}: {error}", model=self.name, name=type(error).__name__, error=error
            )
            # Only the model's author knows if something was paid before that.
            failure.may_have_cost = True
            raise failure from error
        if not isinstance(reply, Reply):
            raise ModelError(
                "it returned {name}, not a Reply", model=self.name, name=type(reply).__name__
            )
        if wrong := _wrong_part(reply):
            raise ModelError(
                "it returned a Reply whose {part} is {value!r}",
                model=self.name,
                part=wrong,
                value=getattr(reply, wrong),
            )
        return reply


# Details of a reply that votes keep.
_NAMES = ("model", "system_fingerprint")


def _wrong_part(reply: Reply) -> str | None:
    """Return the first part of a reply that cannot be used for a vote, or None."""
    is_right = {
        "text": isinstance(reply.text, str),
        "usage": isinstance(reply.usage, Usage),
        "latency": isinstance(reply.latency, Real) and math.isfinite(reply.latency),
        "details": isinstance(reply.details, Mapping)
        and all(isinstance(reply.details.get(name), str | None) for name in _NAMES),
    }
    return next((part for part, right in is_right.items() if not right), None)


class GuardedPlugin(Guarded):
    """A plugin's model, named by the requested id so that its replies can be stored."""

    def __init__(self, model: object, name: str) -> None:
        super().__init__(model)
        self.name = name
        self.identity = f"{getattr(model, 'identity', name)} [{package_of(type(model))}]"
        """With the plugin's version, because another version may answer differently."""


def _cancelled_by_us() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class Allowed(Layer):
    """Passes on requests that the run's budget still allows."""

    def complete(self, request: Request) -> Replying:
        """Ask, or raise BudgetSpent, RunStopped or ModelUnusable without asking."""
        open_budget = caller().budget
        if open_budget is None:
            return self._send_counted(request)
        limited_request, budget = request, open_budget.budget
        # A model in this process costs nothing per token.
        if budget.limits_size and not self.provider.capabilities.exact_logprobs:
            limited_request = with_token_limit(request, budget)
            if self.provider.capabilities.writes_cache:
                open_budget.sizes.cache_writers.add(self.name)
        return open_budget.send(self.name, request, lambda: self.inner.complete(limited_request))

    async def _send_counted(self, request: Request) -> Reply:
        return with_counts(self.name, request, await self.inner.complete(request))


def with_token_limit(request: Request, budget: Budget) -> Request:
    """Limit the length of the answer if money or tokens are limited, unless the request does so
    itself.
    """
    return (
        replace(request, max_tokens=LONGEST_ANSWER)
        if request.max_tokens is None and budget.limits_size
        else request
    )
