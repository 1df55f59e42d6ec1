"""One rate limit and one budget for many workers, handed out in small parts. Independent of Ray."""

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

# Seconds for which all workers together are busy with their leases.
_LEASE_SECONDS = 0.5
_UNLIMITED = 10_000
# Seconds after which a worker without a rate limit asks whether to hold back.
_LOOK_AGAIN = 1.0
# Share of the limit that is handed out, since evenly sent requests do not arrive evenly.
_HEADROOM = 0.97
_RECOVERY = 0.95
_SLOWEST = 64.0
# Seconds after its slot at which a request waits for another, once: many that are late arrive
# together.
_LATE = 0.1
# Seconds before a limiter that is gone is looked for again.
_PATIENCE = 5.0


class LimiterLostError(Exception):
    """Raised if the process with the limiter does not answer."""


def seconds_each(rate: Rate, tokens: int) -> float:
    """Return the seconds between requests of about `tokens` tokens; 0 without a limit."""
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
    """The state of a model's rate limit, by a clock that all workers share."""

    next: float = 0.0
    hold: float = 0.0
    factor: float = 1.0
    cut: float = float("-inf")

    def lease(self, seconds_each: float, workers: int, now: float) -> Lease:
        starts = max(now, self.next, self.hold)
        interval = seconds_each * self.factor
        if not interval:
            return Lease(_UNLIMITED, starts - now, 0.0)
        requests = max(1, int(_LEASE_SECONDS / (interval * workers)))
        self.next = starts + requests * interval
        self.factor = max(1.0, self.factor * _RECOVERY)
        return Lease(requests, starts - now, requests * interval)

    def slow_down(self, seconds: float | None, now: float) -> None:
        """Pause, and halve the rate unless it was just halved; it recovers with each lease."""
        self.hold = max(self.hold, now + (seconds if seconds is not None else 1.0))
        # Many workers report the same overload: count it once.
        if now - self.cut > _LOOK_AGAIN:
            self.factor, self.cut = min(_SLOWEST, self.factor * 2), now


class Limiter:
    """Gives each worker its own time slots, one after the other, and parts of the budget."""

    def __init__(self, rates: Mapping[str, Rate], left: Budget | None, workers: int) -> None:
        self._rates = dict(rates)
        self._left = left
        self._workers = workers
        self._lanes: dict[str, Lane] = {}

    def lease(self, model: str, tokens: int) -> Lease:
        """Return the next requests of about ``tokens`` tokens each."""
        interval = seconds_each(self._rates.get(model, Rate()), tokens)
        return self._lane(model).lease(interval, self._workers, monotonic())

    def slow_down(self, model: str, seconds: float | None) -> None:
        """Halve the rate for all workers after "too many requests"; it recovers."""
        self._lane(model).slow_down(seconds, monotonic())

    def grant(self, likely: Spent, most: Spent) -> Budget | None:
        """Return a further part of the budget, enough for at least one request, or None."""
        if self._left is None:
            return None
        part = part_of(self._left, self._workers, likely, most)
        self._left = self._left - part if part else self._left
        return part

    def _lane(self, model: str) -> Lane:
        return self._lanes.setdefault(model, Lane())


def part_of(left: Budget, workers: int, likely: Spent, most: Spent) -> Budget | None:
    """Return a part of the remaining budget, enough for at least one request, or None."""
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

    If the limiter is lost, it keeps to its share of the limit.
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
        """Wait for a leased slot, and for a further one if that was long ago."""
        due = await self._wait_for_slot(tokens)
        if monotonic() - due > _LATE:
            await self._wait_for_slot(tokens)

    async def _wait_for_slot(self, tokens: int) -> float:
        """Wait for a slot and return when the wait should have ended."""
        while True:
            now = monotonic()
            if now < self._alone_until:
                await self._alone(tokens)
                return monotonic()
            if (slot := self._take_slot(now)) is not None:
                await pause(max(0.0, slot - now))
                return max(slot, now)
            async with self._renewing:
                if not self._left or monotonic() > self._until:
                    await self._renew(tokens)

    def slow_down(self, seconds: float | None) -> None:
        self._left = 0
        self._tell(seconds)

    def _take_slot(self, now: float) -> float | None:
        """Return the time of the next leased slot; None if none is left.

        Slots that were missed are skipped.
        """
        if self._each and now > self._slot:
            # Missed slots are lost: sent late, they would come on top of other workers' requests.
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
    """The limits of a worker: a pace per model, and a way to get more of the budget."""

    def pace(self, model: str) -> SharedPace:
        """Return the pace of a model, by its identity."""
        ...

    @property
    def more(self) -> More | None:
        """A function that returns a further part of the budget; None without a budget."""
        ...

    @property
    def whole(self) -> Budget | None:
        """The budget of all workers together."""
        ...


def nothing_of(budget: Budget) -> Budget | None:
    """Return the budget of a worker before it gets a part: 0 for everything with a limit.

    Return None if nothing has a limit.
    """
    limits = (budget.max_usd, budget.max_calls, budget.max_tokens)
    return (
        None if budget == Budget() else Budget(*(None if limit is None else 0 for limit in limits))
    )


def rates_of(models: Iterable[OpenModel]) -> dict[str, Rate]:
    """Return model → rate that its provider allows."""
    limited = [(model.identity, limits_of(model)) for model in models]
    return {name: limits.rate for name, limits in limited if limits}


def keep_to(limits: SharedLimits, models: Iterable[OpenModel]) -> None:
    """Make the models keep to the shared limits."""
    for model in models:
        if limited := limits_of(model):
            limited.shared = limits.pace(model.identity)


def left_of(budget: Budget, account: Account, prices: PriceTable) -> Budget | None:
    """Return the remaining budget of all workers together; None without a limit."""
    if budget == Budget():
        return None
    spent = OpenBudget(prices=prices, account=account).spent
    return budget - Budget(spent.usd, spent.calls, spent.tokens)
