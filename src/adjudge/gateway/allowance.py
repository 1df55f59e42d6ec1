"""What a run may spend, and whether it is to go on: asked right before each request is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from adjudge.domain.message import Reply, Request, Usage
from adjudge.errors import BudgetSpent, RunStopped, SetupError
from adjudge.gateway.limited import expected_tokens
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
    """Counts what is spent and says no when it is enough."""

    def __init__(self, budget: Budget | None = None, prices: PriceTable | None = None) -> None:
        self.budget = budget or Budget()
        self.prices = prices or PriceTable.load()
        self.spent = Spent()
        self._reserved = Spent()
        self._largest: dict[str, Spent] = {}
        self._halt: BudgetSpent | RunStopped | None = None

    def stop(self, reason: str) -> None:
        """Send nothing more; what is under way is waited for."""
        self._halt = self._halt or RunStopped(reason)

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

    @contextmanager
    def sending(self, model: str, request: Request) -> Iterator[list[Usage]]:
        """Set aside what a request may cost while it is under way; what it did cost is put into the list."""
        held = self._expected(model, request)
        self._check(held)
        usage: list[Usage] = []
        self._reserved += held
        try:
            yield usage
        finally:
            self._reserved -= held
            took = self.cost(model, usage[0]) if usage else Spent(calls=1)
            self.spent += took
            self._largest[model] = max(self._largest.get(model, Spent()), took, key=lambda one: one.tokens)

    def _expected(self, model: str, request: Request) -> Spent:
        """By the prompt's length, and no less than the largest request so far took."""
        prompt, answer = expected_tokens(request)
        guessed = self.cost(model, Usage(1, prompt, answer))
        return max(guessed, self._largest.get(model, guessed), key=lambda one: one.tokens)

    def _check(self, wanted: Spent) -> None:
        self.go_on()
        after = self.spent + self._reserved + wanted
        for what, limit, value in (
            ("calls", self.budget.max_calls, after.calls),
            ("tokens", self.budget.max_tokens, after.tokens),
            ("usd", self.budget.max_usd, after.usd),
        ):
            if limit is not None and value > limit:
                self._halt = BudgetSpent(f"the budget is spent: max_{what}={limit}")
                raise self._halt


current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)
"""The allowance of the run that asks; it travels with the run's tasks."""


class Allowed(Layer):
    """Passes on what the run that asks still may spend."""

    async def complete(self, request: Request) -> Reply:
        """Ask, or raise BudgetSpent or RunStopped without asking."""
        allowance = current.get()
        if allowance is None:
            return await self.inner.complete(request)
        with allowance.sending(self.name, request) as used:
            reply = await self.inner.complete(request)
            used.append(reply.usage)
        return reply
