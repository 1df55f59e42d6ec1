"""One rate limit and one budget for many workers, given out in small parts.

Nothing here knows Ray.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple, Protocol

from adjudge.core.gateway.http import http_client
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import Budget, More, OpenBudget, pause
from adjudge.core.gateway.layers.limit import Pace, Rate, SharedPace, limits_of
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable

_LEASE_SECONDS = 0.5
"""For so long all workers together are busy with what they hold."""
_UNLIMITED = 10_000
_LOOK_AGAIN = 1.0
"""Seconds after which a worker without a rate limit asks whether to hold back."""
_HEADROOM = 0.97
"""Of the limit is given out: requests that are sent evenly do not arrive so."""
_RECOVERY = 0.95
_SLOWEST = 64.0
_LATE = 0.1
"""Seconds after its slot at which a request waits for another, once: many that are late arrive
together.
"""
_PATIENCE = 5.0
"""Seconds before a limiter that is gone is looked for again."""


class LimiterLostError(Exception):
    """The one who gives out the parts does not answer."""


def seconds_each(rate: Rate, tokens: int) -> float:
    """That requests of about so many tokens are to be apart; 0 where nothing is limited."""
    by_requests = 60.0 / rate.requests_per_minute if rate.requests_per_minute else 0.0
    by_tokens = tokens * 60.0 / rate.tokens_per_minute if rate.tokens_per_minute else 0.0
    return max(by_requests, by_tokens) / _HEADROOM


class Lease(NamedTuple):
    """Requests that one worker may send."""

    requests: int
    starts_in: float
    lasts: float
    """Seconds over which they are spread."""


@dataclass
class Lane:
    """Where a model stands, by a clock that all workers have in common."""

    next: float = 0.0
    hold: float = 0.0
    factor: float = 1.0
    cut: float = float("-inf")

    def lease(self, seconds_each: float, workers: int, now: float) -> Lease:
        starts = max(now, self.next, self.hold)
        each = seconds_each * self.factor
        if not each:
            return Lease(_UNLIMITED, starts - now, 0.0)
        requests = max(1, int(_LEASE_SECONDS / (each * workers)))
        self.next = starts + requests * each
        self.factor = max(1.0, self.factor * _RECOVERY)
        return Lease(requests, starts - now, requests * each)

    def slow_down(self, seconds: float | None, now: float) -> None:
        """Half the rate from now on; it grows back."""
        self.hold = max(self.hold, now + (seconds if seconds is not None else 1.0))
        if now - self.cut > _LOOK_AGAIN:
            self.factor, self.cut = min(_SLOWEST, self.factor * 2), now


class Limiter:
    """Gives each worker a stretch of time of its own, one after the other, and parts of what may be
    spent.
    """

    def __init__(self, rates: Mapping[str, Rate], left: Budget | None, workers: int) -> None:
        self._rates = dict(rates)
        self._left = left
        self._workers = workers
        self._lanes: dict[str, Lane] = {}

    def lease(self, model: str, tokens: int) -> Lease:
        """The next requests of about so many ``tokens`` each."""
        each = seconds_each(self._rates.get(model, Rate()), tokens)
        return self._lane(model).lease(each, self._workers, monotonic())

    def slow_down(self, model: str, seconds: float | None) -> None:
        """A worker was told "too many": half the rate from now on, for all; it grows back."""
        self._lane(model).slow_down(seconds, monotonic())

    def grant(self, likely: Spent, most: Spent) -> Budget | None:
        """A further part of the budget, enough for one request at least; None where that is not
        left.
        """
        if self._left is None:
            return None
        part = part_of(self._left, self._workers, likely, most)
        self._left = self._left - part if part else self._left
        return part

    def _lane(self, model: str) -> Lane:
        return self._lanes.setdefault(model, Lane())


def part_of(left: Budget, workers: int, likely: Spent, most: Spent) -> Budget | None:
    """A part of what is left, enough for one request at least; None where that is not left."""
    usd = _part(left.max_usd, workers, likely.usd, most.usd)
    calls = _part(left.max_calls, workers, 1, 1)
    tokens = _part(left.max_tokens, workers, likely.tokens, most.tokens)
    limited = ((left.max_usd, usd), (left.max_calls, calls), (left.max_tokens, tokens))
    if any(limit is not None and part is None for limit, part in limited):
        return None
    return Budget(
        usd, None if calls is None else int(calls), None if tokens is None else int(tokens)
    )


def _part(left: float | None, workers: int, likely: float, most: float) -> float | None:
    if left is None:
        return None
    part = min(left, max(most, left / (2 * workers)))
    return part if part >= likely and part > 0 else None


AskLease = Callable[[int], Awaitable[Lease]]


class LeasedPace:
    """A worker's side of a rate limit.

    Where the limiter is lost, it keeps to its own part of the limit.
    """

    def __init__(
        self, lease: AskLease, tell: Callable[[float | None], None], rate: Rate, workers: int
    ) -> None:
        self._lease = lease
        self._tell = tell
        self._requests = (
            Pace(rate.requests_per_minute / workers) if rate.requests_per_minute else None
        )
        self._tokens = Pace(rate.tokens_per_minute / workers) if rate.tokens_per_minute else None
        self._left = 0
        self._slot = self._each = self._until = 0.0
        self._alone_until = 0.0
        self._renewing = asyncio.Lock()

    async def wait(self, tokens: int) -> None:
        """Wait for the next slot of what was leased."""
        due = await self._awaited(tokens)
        if monotonic() - due > _LATE:
            await self._awaited(tokens)

    async def _awaited(self, tokens: int) -> float:
        """When the wait should have ended that has ended."""
        while True:
            now = monotonic()
            if now < self._alone_until:
                await self._alone(tokens)
                return monotonic()
            if (slot := self._taken(now)) is not None:
                await pause(max(0.0, slot - now))
                return max(slot, now)
            async with self._renewing:
                if not self._left or monotonic() > self._until:
                    await self._renew(tokens)

    def slow_down(self, seconds: float | None) -> None:
        self._left = 0
        self._tell(seconds)

    def _taken(self, now: float) -> float | None:
        """The next slot. Those that nobody used in time are gone: sent late, they would come on top
        of others'.
        """
        if self._each and now > self._slot:
            late = min(self._left, int((now - self._slot) / self._each))
            self._left, self._slot = self._left - late, self._slot + late * self._each
        if not self._left or now > self._until:
            return None
        slot, self._slot = self._slot, self._slot + self._each
        self._left -= 1
        return slot

    async def _renew(self, tokens: int) -> None:
        http_client()  # makes the connections' session: a first request that did would be late
        try:
            lease = await self._lease(tokens)
        except LimiterLostError:
            self._alone_until = monotonic() + _PATIENCE
            return
        start = monotonic() + lease.starts_in
        self._left, self._slot, self._each = lease.requests, start, lease.lasts / lease.requests
        self._until = start + (lease.lasts or _LOOK_AGAIN)

    async def _alone(self, tokens: int) -> None:
        if self._requests:
            await self._requests.wait(1)
        if self._tokens:
            await self._tokens.wait(tokens)


class SharedLimits(Protocol):
    """What a worker is given: a pace for each model, and how to get more of the budget."""

    def pace(self, model: str) -> SharedPace:
        """The model's, by its identity."""
        ...

    @property
    def more(self) -> More | None:
        """Gives a further part of the budget; None where there is no budget."""
        ...

    @property
    def whole(self) -> Budget | None:
        """The budget that all workers have together."""
        ...


def nothing_of(budget: Budget) -> Budget | None:
    """What a worker may spend before it was given a part: nothing, of what is limited."""
    limits = (budget.max_usd, budget.max_calls, budget.max_tokens)
    return (
        None if budget == Budget() else Budget(*(None if limit is None else 0 for limit in limits))
    )


def rates_of(models: Iterable[OpenModel]) -> dict[str, Rate]:
    """Model → what its provider allows."""
    limited = [(model.identity, limits_of(model)) for model in models]
    return {name: one.rate for name, one in limited if one}


def keep_to(limits: SharedLimits, models: Iterable[OpenModel]) -> None:
    """Have the models keep to what all workers share."""
    for model in models:
        if limited := limits_of(model):
            limited.shared = limits.pace(model.identity)


def left_of(budget: Budget, account: Account, prices: PriceTable) -> Budget | None:
    """What all workers together may still spend, who have spent what the account says; None where
    there is no limit.
    """
    if budget == Budget():
        return None
    spent = OpenBudget(prices=prices, account=account).spent
    return budget - Budget(spent.usd, spent.calls, spent.tokens)
