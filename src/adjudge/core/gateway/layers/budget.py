"""Budget of a run. Asked right before each request whether it may be sent."""

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
from adjudge.core.gateway.layers.account import Account, RequestSizes, Spent, with_counts
from adjudge.core.gateway.layers.halt import Halt, Haltable
from adjudge.core.gateway.layers.lease import CallLease, Keep
from adjudge.core.gateway.model import Replying
from adjudge.core.gateway.prices import TARGET, PriceTable, dollars
from adjudge.errors import BudgetSpent, ModelError, SetupError

# Requests that are written into the ledger at once, before they are sent.
_LEASE = 256
# A lease is at most one part in so many of the remaining budget: this much a kill may cost.
_LEASE_SHARE = 16


@light_dataclass(frozen=True)
class Budget:
    """Limits on the cost of a whole run, including what it cost before an interruption.

    None: no limit. Example: ``Budget(max_usd=0.5, max_calls=1000)``
    """

    max_usd: float | None = None
    max_calls: int | None = None
    """Requests that are sent, repeated ones included."""
    max_tokens: int | None = None

    @cached_property
    def limits_size(self) -> bool:
        """True if the budget depends on the length of answers."""
        return self.max_usd is not None or self.max_tokens is not None

    def __add__(self, part: Budget) -> Budget:
        """Add the limits of ``part`` to those that are set here."""
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
        """Subtract the limits of ``part`` from those that are set here, down to zero."""
        pairs = (
            (self.max_usd, part.max_usd),
            (self.max_calls, part.max_calls),
            (self.max_tokens, part.max_tokens),
        )
        usd, calls, tokens = (
            None if limit is None else max(0, limit - (spent_part or 0))
            for limit, spent_part in pairs
        )
        return Budget(
            usd, None if calls is None else int(calls), None if tokens is None else int(tokens)
        )

    def block(self, spent: Spent, likely: Spent) -> int:
        """Return how many requests to lease at once: a small part of the remaining budget, so that
        a kill costs little.
        """
        limits = (
            (self.max_calls, spent.calls, 1),
            (self.max_tokens, spent.tokens, likely.tokens),
            (self.max_usd, spent.usd, likely.usd),
        )
        most = [
            (limit - used) / (size * _LEASE_SHARE)
            for limit, used, size in limits
            if limit is not None and size > 0
        ]
        return max(1, int(min([_LEASE, *most])))

    def exceeded_limit(self, spent: Spent, whole: Budget | None = None) -> str | None:
        """Return the limit that is exceeded, or None.

        ``whole``: the budget that this one is a part of; the limit is shown with its value there.
        """
        shown_budget = whole or self
        limits = (
            (f"max_calls={shown_budget.max_calls}", self.max_calls, spent.calls),
            (f"max_tokens={shown_budget.max_tokens}", self.max_tokens, spent.tokens),
            (f"max_usd={shown_budget.max_usd}", self.max_usd, spent.usd),
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
                    "{name} must be a number of at least 0, not {value!r}",
                    name=name,
                    value=value,
                )


_NO_LIMITS = Budget()
More = Callable[[Spent, Spent], Awaitable[Budget | None]]
"""Likely and highest cost of a request → budget on top; None if nothing is left."""


class OpenBudget(Haltable):
    """Counts spending, and raises BudgetSpent at the limit."""

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
        """Total of the account, and the number of changes it includes."""
        self.lease = keep and CallLease(
            self.account,
            keep,
            lambda likely: self.budget.block(self.spent, likely) if self._limited else _LEASE,
            self.raise_if_halted,
        )
        """Set if the run's ledger records every request."""
        self._reserved, self._in_batches = Spent(), Spent()
        """Highest cost of the requests under way, and of batches that were not collected yet."""
        self.sizes = RequestSizes()
        self._lost_before_first_answer: dict[str, tuple[Usage, Usage]] = {}
        """Model → requests whose replies were lost before its first answer: their expected sizes,
        and what was counted for them.
        """
        self._asking: Counter[str] = Counter()
        """Model → its requests under way."""
        self.more: More | None = None
        """Returns a further part of the budget if several processes share one."""
        self._whole: Budget | None = None
        self._asking_for_more = asyncio.Lock()
        self.puts_off = False
        """A request that does not fit fails alone instead of ending the run, because other rows may
        need no request.
        """

    @property
    def spent(self) -> Spent:
        """Total of the account. Recomputed only if the account has changed."""
        (spent, counted_changes), changes = self._spent, self.account.changes
        if counted_changes != changes:
            # Copied at once: pages read this while requests are sent.
            used = (*self.account.used.items(),)  # at once: pages ask while requests are sent
            replies = sum((self.cost(*model_usage) for model_usage in used), self.account.lost)
            spent = replies + Spent(calls=self.account.failed)
            self._spent = spent, changes
        return spent

    def share(self, more: More | None, whole: Budget | None) -> None:
        """Take parts of the ``whole`` budget from ``more``, a coordinator of several processes."""
        self.more, self._whole = more, whole

    def cost(self, model: str, usage: Usage) -> Spent:
        """Return the cost of ``usage`` by a model."""
        tokens, usd = usage.prompt_tokens + usage.completion_tokens, self.prices.cost(model, usage)
        return Spent(usage.calls, tokens, usd or 0.0, usage.calls if usd is None else 0)

    def close(self) -> JsonDict:
        """Return the final account. Leased requests that never started are given back."""
        self.account.leased = self.lease.begun if self.lease else self.account.settled_calls
        return self.account.to_dict()

    def send(self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]) -> Replying:
        """Ask, and count the cost. The largest possible cost is reserved while the request is under
        way.
        """
        return (
            self._within_limits(model, request, ask)
            if self._limited
            else self._send_counted(model, request, ask)
        )

    async def _within_limits(
        self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        most = await self._room_for(model, request)
        self._reserved += most
        self._asking[model] += 1
        try:
            return await self._send_counted(model, request, ask)
        finally:
            self._reserved -= most
            self._asking[model] -= 1
            self.wake()

    async def _send_counted(
        self, model: str, request: Request, ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        self.raise_if_halted()
        if self.lease:
            await self.lease.begin(lambda: self.cost(model, self._size_if_lost(model, request)))
        try:
            reply = with_counts(model, request, await ask())
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
        """Count a request whose reply did not arrive: the model may have answered."""
        if model.startswith(TARGET):  # what an application takes is not known in any case
            self.account.lose(Spent(calls))
            return
        counted = self._size_if_lost(model, request)
        if self.sizes.factors(model) is None:
            expected, earlier = self._lost_before_first_answer.get(model, (Usage(), Usage()))
            expected += self.sizes.likely(model, request)
            self._lost_before_first_answer[model] = expected, earlier + counted
        self.account.lose(replace(self.cost(model, counted), calls=calls))

    def _size_if_lost(self, model: str, request: Request) -> Usage:
        """Return the usage to count if a reply does not arrive.

        Under a limit on money or tokens, the longest answer is sent along, so that is a bound: an
        estimate by the replies that did arrive would let long lost replies exceed the limit.
        Without such a limit nothing bounds an answer, and the report shows the estimate.
        """
        sizes = self.sizes
        return (
            sizes.most(model, request) if self.budget.limits_size else sizes.likely(model, request)
        )

    def _correct_losses(self, model: str) -> None:
        """Correct the count of lost requests by the model's first reply: servers may add to every
        prompt.
        """
        expected, counted = self._lost_before_first_answer.pop(model)
        scaled = self.sizes.scale(model, expected)
        if self.budget.limits_size:
            prompt = max(scaled.prompt_tokens, counted.prompt_tokens)
            answer = max(scaled.completion_tokens, counted.completion_tokens)
            scaled = replace(scaled, prompt_tokens=prompt, completion_tokens=answer)
        self.account.lose(self.cost(model, scaled) - self.cost(model, counted))

    # -- batches: set aside when they are planned, counted when they are collected ------

    def set_aside(self, model: str, request: Request) -> Spent:
        """Reserve and return the cost of a request in a batch, or raise BudgetSpent.

        The upper bound is reserved until the model's answers show how long its largest are. The
        first request only has to be likely to fit.
        """
        likely, most = self._sizes(model, request, in_batch=True)
        amount = likely if self.sizes.factors(model) else most
        alone = self._in_batches.calls == 0
        committed = self.spent + self._reserved + self._in_batches
        limit = self.budget.exceeded_limit(committed + (likely if alone else amount), self._whole)
        if self._limited and limit:
            # Nothing was sent yet, so the run need not end.
            raise self.spent_error(limit)
        self._in_batches += amount
        return amount

    def set_aside_again(self, amount: Spent) -> None:
        """Reserve the cost of a batch that was sent before."""
        self._in_batches += amount

    def give_back(self, amount: Spent) -> None:
        """Release the reservation of a batch that was collected or will not be sent."""
        self._in_batches -= amount
        self.wake()

    def collect(self, model: str, usage: Usage | None) -> None:
        """Count a reply from a batch; None: the request failed at its server."""
        if usage is None:
            self.account.fail()
        else:
            self.account.add(model, usage)
        if self.lease:
            self.lease.add(1 if usage is None else usage.calls)

    def write_off(self, amount: Spent, *, sent_again: bool) -> None:
        """Count requests that may have been paid for and brought no answer.

        Raises BudgetSpent, and counts nothing, if their repetition (``sent_again``) would not fit.
        """
        limit = self.budget.exceeded_limit(self.spent + amount + self._in_batches, self._whole)
        if sent_again and limit:
            spent = self.spent_error(limit)
            self.halt(spent)
            raise spent
        self.account.lose(amount)
        if self.lease:
            self.lease.add(amount.calls)

    def spent_error(self, limit: str, likely: Spent | None = None) -> BudgetSpent:
        """Return the error for a limit that is reached. It mentions lost replies if they are a part
        of the cost, and the request that does not fit if it is ``likely`` to take a tenth of the
        limit or more.
        """
        lost = self.account.lost
        if limit.startswith("max_usd") and lost.usd:
            counted = dollars(lost.usd)
        elif limit.startswith("max_tokens") and lost.tokens:
            counted = f"{lost.tokens:,}"
        elif likely is not None and (large := self._large(limit, likely)):
            return BudgetSpent(
                "the budget is used up: {limit}; the next request may take {next}",
                limit=limit,
                next=large,
            )
        else:
            return BudgetSpent("the budget is used up: {limit}", limit=limit)
        return BudgetSpent(
            "the budget is used up: {limit}; replies that did not arrive count for {lost} of it",
            limit=limit,
            lost=counted,
        )

    def _large(self, limit: str, likely: Spent) -> str:
        """Return a request's likely size if it is at least a tenth of the limit."""
        if limit.startswith("max_usd") and likely.usd >= (self.budget.max_usd or 0) / 10:
            return dollars(likely.usd)
        if limit.startswith("max_tokens") and likely.tokens >= (self.budget.max_tokens or 0) / 10:
            return f"{likely.tokens:,}"
        return ""

    def over(self) -> str | None:
        """Return the limit that is exceeded already, or None."""
        return self.budget.exceeded_limit(self.spent, self._whole)

    # ------------------------------------------------------------------------------------

    def _sizes(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> tuple[Spent, Spent]:
        """Return the likely cost of a request, and the highest."""
        if not self.budget.limits_size:
            return Spent(1), Spent(1)
        likely, most = self.sizes.likely(model, request), self.sizes.most(model, request)
        sizes = [usage.in_batch() if in_batch else usage for usage in (likely, most)]
        return self.cost(model, sizes[0]), self.cost(model, sizes[1])

    async def _room_for(self, model: str, request: Request) -> Spent:
        """Wait until a request fits, and return the amount to reserve.

        Requests run in parallel as long as all fit at their largest. Near the limit they run one
        after the other, as long as the next is likely to fit. So a limit is exceeded by at most the
        one request that was larger than expected.
        """
        self.raise_if_halted()
        likely, most = self._sizes(model, request)
        while self._is_first_pending(model) or not self._fits(likely, most):
            if self.more and not self._is_first_pending(model) and await self._extend(likely, most):
                continue
            self.raise_if_halted()
            if limit := self.budget.exceeded_limit(
                self.spent + self._in_batches + likely, self._whole
            ):
                spent = self.spent_error(limit, likely)
                if not self.puts_off:
                    self.halt(spent)
                raise spent
            factors = self.sizes.factors(model)
            await self.wait_for_change()
            if self.sizes.factors(model) != factors:
                likely, most = self._sizes(model, request)
        self.raise_if_halted()
        return most

    async def _extend(self, likely: Spent, most: Spent) -> bool:
        """Ask the coordinator for a further part. Return True if this process may try again."""
        async with self._asking_for_more:
            # Another request may have got a new part while this one waited for the lock.
            if self.more is None or self._fits(likely, most):
                return self.more is not None
            part = await self.more(likely, most)
            if part is None:
                self.more = None
                return False
            self.budget = self.budget + part
            return True

    def _is_first_pending(self, model: str) -> bool:
        """Return True while the model's first request is under way.

        Its reply shows how the server counts tokens; servers may add to a prompt.
        """
        return self.budget.limits_size and not self.sizes.factors(model) and self._asking[model] > 0

    def _fits(self, likely: Spent, most: Spent) -> bool:
        before = self.spent + self._in_batches
        alone = self._reserved.calls == 0
        return (
            not self.budget.exceeded_limit(before + likely)
            if alone
            else not self.budget.exceeded_limit(before + self._reserved + most)
        )


@light_dataclass(frozen=True)
class Caller:
    """The sender of requests: a run's budget and the judge that asks."""

    budget: OpenBudget | None = None
    """Budget of the run."""
    judge: Callable[[], int] | None = None
    """Returns the number of the judge that asks. Failures are counted per judge: one judge's bad
    requests need not stop another's.
    """


_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 - it is frozen
caller = _caller.get
"""Return the current caller. A context variable, so that it reaches tasks and user-
defined models.
"""


@contextmanager
def calling(
    budget: OpenBudget | None = None, judge: Callable[[], int] | None = None
) -> Iterator[None]:
    """Send requests inside the block within ``budget`` and for ``judge``; None keeps the outer
    value.
    """
    outer = caller()
    token = _caller.set(
        Caller(outer.budget if budget is None else budget, outer.judge if judge is None else judge)
    )
    try:
        yield
    finally:
        _caller.reset(token)


def raise_if_halted() -> None:
    """Raise the error that ended the run of this caller, if it has ended."""
    if (open_budget := caller().budget) is not None:
        open_budget.raise_if_halted()


def halt(reason: Halt) -> None:
    """Stop the run of this caller from sending more requests."""
    if (open_budget := caller().budget) is not None:
        open_budget.halt(reason)


async def pause(seconds: float) -> None:
    """Sleep; if this caller's run is halted meanwhile, raise that error at once."""
    open_budget = caller().budget
    await (open_budget.pause(seconds) if open_budget is not None else asyncio.sleep(seconds))
