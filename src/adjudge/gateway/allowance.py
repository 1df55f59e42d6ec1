"""What a run may spend, and whether it is to go on: asked right before each request is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from adjudge.domain.message import Reply, Request, Usage
from adjudge.errors import BudgetSpent, RunStopped, SetupError
from adjudge.gateway.expected import expected_tokens
from adjudge.gateway.model import Layer
from adjudge.gateway.prices import PriceTable


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on what a whole run may cost, what it cost before an interruption included. None: no limit."""

    max_usd: float | None = None
    max_calls: int | None = None
    """Requests that are sent, repeated ones included."""
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_usd", "max_calls", "max_tokens"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise SetupError(f"{name} must not be below zero: {value}")


@dataclass(frozen=True, slots=True)
class Spent:
    """What something cost."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known; ``usd`` is without them."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd, self.unpriced + other.unpriced)

    def __sub__(self, other: Spent) -> Spent:
        return self + Spent(-other.calls, -other.tokens, -other.usd, -other.unpriced)


class Allowance:
    """Counts what is spent and says no when it is enough. Lives on the home loop."""

    def __init__(self, budget: Budget | None = None, prices: PriceTable | None = None) -> None:
        self.budget = budget or Budget()
        self.prices = prices or PriceTable.load()
        self.spent = Spent()
        self.failed_calls = 0
        """Requests that brought no reply; they are in no vote."""
        self._reserved = Spent()
        self._larger: dict[str, tuple[float, float]] = {}
        """Model → how many times as long as expected its prompts and its answers were at most."""
        self._halt: BudgetSpent | RunStopped | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def stop(self, reason: str) -> None:
        """Send nothing more; what is under way is waited for."""
        self._end(RunStopped(reason))

    def go_on(self) -> None:
        """Raise what ended the run, if it has ended."""
        if self._halt is not None:
            raise self._halt

    def cost(self, model: str, usage: Usage) -> Spent:
        """What ``usage`` comes to."""
        tokens, usd = usage.prompt_tokens + usage.completion_tokens, self.prices.cost(model, usage)
        return Spent(usage.calls, tokens, usd or 0.0, usage.calls if usd is None else 0)

    def add(self, model: str, usage: Usage) -> None:
        """Count what was spent elsewhere, such as before an interruption."""
        self.spent += self.cost(model, usage)

    @asynccontextmanager
    async def sending(self, model: str, request: Request) -> AsyncIterator[list[Usage]]:
        """Set aside what a request may cost while it is under way; what it did cost is put into the list."""
        held = self._held(model, request)
        await self._room_for(held)
        usage: list[Usage] = []
        self._reserved += held
        try:
            yield usage
        finally:
            self._reserved -= held
            took = self.cost(model, usage[0]) if usage else Spent(calls=1)
            self.failed_calls += not usage
            self.spent += took
            self._learn(model, request, usage)
            self._wake()

    async def pause(self, seconds: float) -> None:
        """Sleep; a halt ends it at once."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            self.go_on()
            await self._woken(left)
        self.go_on()

    def _held(self, model: str, request: Request) -> Spent:
        prompt, answer = expected_tokens(request)
        longer, wordier = self._larger.get(model, (1.0, 1.0))
        return self.cost(model, Usage(1, round(prompt * longer), round(answer * wordier)))

    def _learn(self, model: str, request: Request, used: list[Usage]) -> None:
        prompt, answer = expected_tokens(request)
        longer, wordier = self._larger.get(model, (0.0, 0.0))
        for usage in used:
            self._larger[model] = max(longer, usage.prompt_tokens / prompt), max(wordier, usage.completion_tokens / answer)

    async def _room_for(self, wanted: Spent) -> None:
        """Wait while only what is under way stands in the way: it may turn out smaller than what was set aside for it."""
        self.go_on()
        while self._passed(self.spent + self._reserved + wanted):
            if limit := self._passed(self.spent + wanted):
                self._end(BudgetSpent(f"the budget is spent: {limit}"))
            self.go_on()
            await self._woken(None)
        self.go_on()

    def _passed(self, after: Spent) -> str | None:
        """The limit that this would pass."""
        limits = (
            ("calls", self.budget.max_calls, after.calls),
            ("tokens", self.budget.max_tokens, after.tokens),
            ("usd", self.budget.max_usd, after.usd),
        )
        return next((f"max_{what}={limit}" for what, limit, value in limits if limit is not None and value > limit), None)

    def _end(self, halt: BudgetSpent | RunStopped) -> None:
        self._halt = self._halt or halt
        self._wake()

    async def _woken(self, seconds: float | None) -> None:
        """Until something is given back or the run ends, or the time is up."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await asyncio.wait([change], timeout=seconds)
        finally:
            self._waiting.discard(change)

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)


current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)
"""The allowance of the run that asks; it travels with the run's tasks."""


def go_on() -> None:
    """Raise what ended the run that asks, if it has ended."""
    if (allowance := current.get()) is not None:
        allowance.go_on()


async def pause(seconds: float) -> None:
    """Sleep, no longer than the run that asks goes on."""
    allowance = current.get()
    await (allowance.pause(seconds) if allowance is not None else asyncio.sleep(seconds))


class Allowed(Layer):
    """Passes on what the run that asks still may spend."""

    async def complete(self, request: Request) -> Reply:
        """Ask, or raise BudgetSpent or RunStopped without asking."""
        allowance = current.get()
        if allowance is None:
            return await self.inner.complete(request)
        async with allowance.sending(self.name, request) as used:
            reply = await self.inner.complete(request)
            used.append(reply.usage)
        return reply
