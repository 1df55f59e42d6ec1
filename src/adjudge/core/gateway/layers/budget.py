"""What a run may spend, and whether it is to go on: asked right before each request is sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Reply, Request, Usage
from adjudge.core.gateway.layers.account import Account, RequestSizes, Spent, measured
from adjudge.core.gateway.layers.halt import Halt, Haltable
from adjudge.core.gateway.layers.lease import CallLease, Keep
from adjudge.core.gateway.model import Replying
from adjudge.core.gateway.prices import TARGET, PriceTable, dollars
from adjudge.errors import BudgetSpent, ModelError, SetupError

_LEASE = 256
"""Requests that are written into the ledger at once, before they are sent."""
_LEASE_SHARE = 16
"""No more than this part of what is left is leased at once: so much a kill may cost."""


@light_dataclass(frozen=True)
class Budget:
    """Limits on what a whole run may cost, what it cost before an interruption included.

    None: no limit.
    """

    max_usd: float | None = None
    max_calls: int | None = None
    """Requests that are sent, repeated ones included."""
    max_tokens: int | None = None

    @cached_property
    def by_size(self) -> bool:
        """Whether it matters how long an answer is."""
        return self.max_usd is not None or self.max_tokens is not None

    def __add__(self, part: Budget) -> Budget:
        """With what may be spent on top of each limit that there is."""
        limits = (
            (self.max_usd, part.max_usd),
            (self.max_calls, part.max_calls),
            (self.max_tokens, part.max_tokens),
        )
        usd, calls, tokens = (
            None if limit is None else limit + (more or 0) for limit, more in limits
        )
        return Budget(
            usd, None if calls is None else int(calls), None if tokens is None else int(tokens)
        )

    def __sub__(self, part: Budget) -> Budget:
        """What is left without a part of it."""
        pairs = (
            (self.max_usd, part.max_usd),
            (self.max_calls, part.max_calls),
            (self.max_tokens, part.max_tokens),
        )
        usd, calls, tokens = (
            None if limit is None else max(0, limit - (given or 0)) for limit, given in pairs
        )
        return Budget(
            usd, None if calls is None else int(calls), None if tokens is None else int(tokens)
        )

    def block(self, spent: Spent, likely: Spent) -> int:
        """How many requests to lease at once: a small part of what is left, so that a kill costs
        little.
        """
        left = (
            (self.max_calls, spent.calls, 1),
            (self.max_tokens, spent.tokens, likely.tokens),
            (self.max_usd, spent.usd, likely.usd),
        )
        most = [
            (limit - used) / (each * _LEASE_SHARE)
            for limit, used, each in left
            if limit is not None and each > 0
        ]
        return max(1, int(min([_LEASE, *most])))

    def passed(self, spent: Spent, whole: Budget | None = None) -> str | None:
        """The limit that is passed; named as it stands in ``whole``, which this is a part of."""
        named = whole or self
        limits = (
            (f"max_calls={named.max_calls}", self.max_calls, spent.calls),
            (f"max_tokens={named.max_tokens}", self.max_tokens, spent.tokens),
            (f"max_usd={named.max_usd}", self.max_usd, spent.usd),
        )
        return next(
            (name for name, limit, value in limits if limit is not None and not value <= limit),
            None,
        )

    def __post_init__(self) -> None:
        for name in ("max_usd", "max_calls", "max_tokens"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise SetupError(
                    "{name} must be a number that is not below zero: {value!r}",
                    name=name,
                    value=value,
                )


_NO_LIMITS = Budget()
More = Callable[[Spent, Spent], Awaitable[Budget | None]]
"""What a request is likely to take and takes at most → what may be spent on top; None where nothing
is left.
"""


class OpenBudget(Haltable):
    """Counts what is spent and raises BudgetSpent at the limit."""

    def __init__(
        self,
        budget: Budget | None = None,
        prices: PriceTable | None = None,
        account: Account | None = None,
        keep: Keep | None = None,
    ) -> None:
        super().__init__()
        self.budget = budget or _NO_LIMITS
        self._limited = budget is not None and budget != _NO_LIMITS
        self.prices = prices or PriceTable.load()
        self.account = account or Account()
        self._spent = Spent(), -1
        """What the account came to, and after how many of its changes."""
        self.lease = keep and CallLease(
            self.account,
            keep,
            lambda likely: self.budget.block(self.spent, likely) if self._limited else _LEASE,
            self.raise_if_halted,
        )
        """Of a run whose ledger knows of every request."""
        self._reserved, self._in_batches = Spent(), Spent()
        """What requests under way may take, and what batches may that were sent and not collected
        yet.
        """
        self.sizes = RequestSizes()
        self._lost_before_first_answer: dict[str, tuple[Usage, Usage]] = {}
        """Model → requests whose replies were lost before its first answer: their expected sizes,
        and what was counted for them.
        """
        self._asking: Counter[str] = Counter()
        """Model → its requests under way."""
        self.more: More | None = None
        """Where there is one budget for several processes: gives a further part of it."""
        self._whole: Budget | None = None
        self._asking_for_more = asyncio.Lock()
        self.puts_off = False
        """Whether a request that does not fit is not the end of the run: others may be answered
        without one.
        """

    @property
    def spent(self) -> Spent:
        """What the account comes to; added up when it is asked for."""
        (spent, then), now = self._spent, self.account.changes
        if then != now:
            used = (*self.account.used.items(),)  # at once: pages ask while requests are sent
            replies = sum((self.cost(*one) for one in used), self.account.lost)
            spent = replies + Spent(calls=self.account.failed)
            self._spent = spent, now
        return spent

    def share(self, more: More | None, whole: Budget | None) -> None:
        """Spend what ``more`` gives, which is a part of the whole."""
        self.more, self._whole = more, whole

    def cost(self, model: str, usage: Usage) -> Spent:
        """What ``usage`` comes to."""
        tokens, usd = usage.prompt_tokens + usage.completion_tokens, self.prices.cost(model, usage)
        return Spent(usage.calls, tokens, usd or 0.0, usage.calls if usd is None else 0)

    def closed(self) -> JsonDict:
        """The account at the end: what was leased and not begun is given back."""
        self.account.leased = self.lease.begun if self.lease else self.account.settled
        return self.account.to_dict()

    def send(self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]) -> Replying:
        """Ask; what the request may cost is set aside while it is under way, then what it did cost
        is counted.
        """
        return (
            self._within_limits(model, request, ask)
            if self._limited
            else self._counted(model, request, ask)
        )

    async def _within_limits(
        self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        most = await self._room_for(model, request)
        self._reserved += most
        self._asking[model] += 1
        try:
            return await self._counted(model, request, ask)
        finally:
            self._reserved -= most
            self._asking[model] -= 1
            self.wake()

    async def _counted(
        self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        self.raise_if_halted()
        if self.lease:
            await self.lease.begin(lambda: self.cost(model, self._size_if_lost(model, request)))
        try:
            reply = measured(model, request, await ask())
        except asyncio.CancelledError:  # nobody waits for it any more, and it may be paid for
            self._lose(model, request, calls=1)
            raise
        except BaseException as error:
            self.account.fail()
            if isinstance(error, ModelError) and error.may_have_cost:
                self._lose(model, request, calls=0)  # the call itself is among the failed ones
            raise
        self.account.add(model, reply.usage)
        self.sizes.learn(model, request, reply.usage)
        if model in self._lost_before_first_answer:
            self._correct_losses(model)
        return reply

    def _lose(self, model: str, request: Request, *, calls: int) -> None:
        """Count what a request takes whose reply did not arrive: the model may have answered."""
        if model.startswith(TARGET):  # what an application takes is not known in any case
            self.account.lose(Spent(calls))
            return
        counted = self._size_if_lost(model, request)
        if self.sizes.known(model) is None:
            expected, before = self._lost_before_first_answer.get(model, (Usage(), Usage()))
            expected += self.sizes.likely(model, request)
            self._lost_before_first_answer[model] = expected, before + counted
        self.account.lose(replace(self.cost(model, counted), calls=calls))

    def _size_if_lost(self, model: str, request: Request) -> Usage:
        """What a request counts if its reply does not arrive.

        Under a limit on money or tokens the longest answer is sent along, so that is a bound;
        an estimate by the replies that did arrive would let long lost replies exceed the limit.
        Without such a limit nothing bounds an answer, and the report shows the estimate.
        """
        sizes = self.sizes
        return sizes.most(model, request) if self.budget.by_size else sizes.likely(model, request)

    def _correct_losses(self, model: str) -> None:
        """Correct what lost requests count by the model's first reply: servers may add to every
        prompt.
        """
        expected, counted = self._lost_before_first_answer.pop(model)
        scaled = self.sizes.scaled(model, expected)
        if self.budget.by_size:
            prompt = max(scaled.prompt_tokens, counted.prompt_tokens)
            answer = max(scaled.completion_tokens, counted.completion_tokens)
            scaled = replace(scaled, prompt_tokens=prompt, completion_tokens=answer)
        self.account.lose(self.cost(model, scaled) - self.cost(model, counted))

    # -- batches: set aside when they are planned, counted when they are collected ------

    def set_aside(self, model: str, request: Request) -> Spent:
        """What a request in a batch may take. Raises BudgetSpent if that does not fit any more.

        At most, until the model's answers show how long its largest are; the first one only has to
        be likely to fit.
        """
        likely, most = self._sizes(model, request, in_batch=True)
        wanted = likely if self.sizes.known(model) else most
        alone = self._in_batches.calls == 0
        before = self.spent + self._reserved + self._in_batches
        limit = self.budget.passed(before + (likely if alone else wanted), self._whole)
        if self._limited and limit:
            raise self.spent_error(limit)
        self._in_batches += wanted
        return wanted

    def set_aside_again(self, amount: Spent) -> None:
        """What a batch may take that was sent before."""
        self._in_batches += amount

    def give_back(self, amount: Spent) -> None:
        """What a batch may have taken that is collected now, or will not be sent."""
        self._in_batches -= amount
        self.wake()

    def collect(self, model: str, usage: Usage | None) -> None:
        """A reply came in a batch; None: the request failed at its server."""
        if usage is None:
            self.account.fail()
        else:
            self.account.add(model, usage)
        if self.lease:
            self.lease.add(1 if usage is None else usage.calls)

    def write_off(self, amount: Spent, *, sent_again: bool) -> None:
        """Count what may have been paid and brought no answer. BudgetSpent, and nothing is
        counted, where what is set aside to be sent again does not fit beside it.
        """
        limit = self.budget.passed(self.spent + amount + self._in_batches, self._whole)
        if sent_again and limit:
            spent = self.spent_error(limit)
            self.halt(spent)
            raise spent
        self.account.lose(amount)
        if self.lease:
            self.lease.add(amount.calls)

    def spent_error(self, limit: str) -> BudgetSpent:
        """Return the error for a limit that is reached; it tells if lost replies are a part."""
        lost = self.account.lost
        if limit.startswith("max_usd") and lost.usd:
            counted = dollars(lost.usd)
        elif limit.startswith("max_tokens") and lost.tokens:
            counted = f"{lost.tokens:,}"
        else:
            return BudgetSpent("the budget is spent: {limit}", limit=limit)
        return BudgetSpent(
            "the budget is spent: {limit}; replies that did not arrive count for {lost} of it",
            limit=limit,
            lost=counted,
        )

    def over(self) -> str | None:
        """The limit that is passed already."""
        return self.budget.passed(self.spent, self._whole)

    # ------------------------------------------------------------------------------------

    def _sizes(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> tuple[Spent, Spent]:
        """What a request is likely to take, and what it takes at most."""
        if not self.budget.by_size:
            return Spent(1), Spent(1)
        likely, most = self.sizes.likely(model, request), self.sizes.most(model, request)
        sizes = [one.in_batch() if in_batch else one for one in (likely, most)]
        return self.cost(model, sizes[0]), self.cost(model, sizes[1])

    async def _room_for(self, model: str, request: Request) -> Spent:
        """Side by side only what fits at its largest; near the limit one after the other, as long
        as the next is likely to fit.

        So a limit is passed by no more than the one request that was larger than expected. Says
        what to set aside.
        """
        self.raise_if_halted()
        likely, most = self._sizes(model, request)
        while self._unknown(model) or not self._fits(likely, most):
            if self.more and not self._unknown(model) and await self._extended(likely, most):
                continue
            self.raise_if_halted()
            if limit := self.budget.passed(self.spent + self._in_batches + likely, self._whole):
                spent = self.spent_error(limit)
                if not self.puts_off:
                    self.halt(spent)
                raise spent
            known = self.sizes.known(model)
            await self.wait_for_change()
            if self.sizes.known(model) != known:
                likely, most = self._sizes(model, request)
        self.raise_if_halted()
        return most

    async def _extended(self, likely: Spent, most: Spent) -> bool:
        """Whether this process may spend more than before."""
        async with self._asking_for_more:
            if self.more is None or self._fits(likely, most):
                return self.more is not None
            part = await self.more(likely, most)
            if part is None:
                self.more = None
                return False
            self.budget = self.budget + part
            return True

    def _unknown(self, model: str) -> bool:
        """Whether the model's first request is still under way, which shows how its servers count:
        they may add to a prompt.
        """
        return self.budget.by_size and not self.sizes.known(model) and self._asking[model] > 0

    def _fits(self, likely: Spent, most: Spent) -> bool:
        before = self.spent + self._in_batches
        alone = self._reserved.calls == 0
        return (
            not self.budget.passed(before + likely)
            if alone
            else not self.budget.passed(before + self._reserved + most)
        )


@light_dataclass(frozen=True)
class Caller:
    """Who sends requests: a run with its budget, and the judge that asks."""

    budget: OpenBudget | None = None
    """What its run may still spend."""
    judge: Callable[[], int] | None = None
    """Which judge asks, said where a request fails: what one judge's requests fail of need not
    keep another's from being answered.
    """


_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 - it is frozen
caller = _caller.get
"""Who sends requests now: it travels with the tasks of a run, through models of the user's."""


@contextmanager
def calling(
    budget: OpenBudget | None = None, judge: Callable[[], int] | None = None
) -> Iterator[None]:
    """Inside, requests are sent within ``budget`` and for ``judge``; what is None stays as it
    was.
    """
    before = caller()
    token = _caller.set(
        Caller(
            before.budget if budget is None else budget, before.judge if judge is None else judge
        )
    )
    try:
        yield
    finally:
        _caller.reset(token)


def raise_if_halted() -> None:
    """Raise what ended the run that asks, if it has ended."""
    if (open_budget := caller().budget) is not None:
        open_budget.raise_if_halted()


def halt(reason: Halt) -> None:
    """Have the run that asks send nothing more."""
    if (open_budget := caller().budget) is not None:
        open_budget.halt(reason)


async def pause(seconds: float) -> None:
    """Sleep, no longer than the run that asks goes on."""
    open_budget = caller().budget
    await (open_budget.pause(seconds) if open_budget is not None else asyncio.sleep(seconds))
