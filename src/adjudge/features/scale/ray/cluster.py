"""A Ray cluster: chunks of rows go to workers, which commit before they return and are restarted if
they die.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget, More
from adjudge.core.gateway.layers.limit import Rate
from adjudge.errors import (
    AdjudgeError,
    BudgetSpent,
    ModelUnusable,
    OtherConfiguration,
    RunError,
    RunStopped,
    SetupError,
)
from adjudge.features.scale.limiter import (
    Lease,
    LeasedPace,
    Limiter,
    LimiterLostError,
    SharedLimits,
)
from adjudge.features.scale.ray.worker import Worker
from adjudge.messages import Message

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

# Chunks that a worker has at once: one to judge, and the next.
_UNDER_WAY = 2
# Seconds after which the driver looks whether it is to stop.
_LOOK = 0.2
# Seconds after which the workers are asked how far they are.
_NEWS = 0.5
_STOPPED = Message("stopped: the workers sent nothing more; answers so far are kept")
T = TypeVar("T")
C = TypeVar("C")
D = TypeVar("D")
N = TypeVar("N")


class StopSign:
    """Stops the driver from another thread: gently at first, then at once."""

    def __init__(self) -> None:
        self.gently = threading.Event()
        self.at_once = threading.Event()


@dataclass(frozen=True)
class Hearing(Generic[D, N]):
    """Callbacks for the workers' results, called in the driver's thread."""

    done: Callable[[int, D], None]
    """A worker's number, and what came of a chunk."""
    news: Callable[[int, N], None]
    """Like done, for a chunk that is under way."""
    stop: StopSign = field(default_factory=StopSign)


@dataclass(frozen=True)
class Spread(Generic[C, D, N]):
    make: Callable[[int, SharedLimits], Worker[C, D, N]]
    """Called in the process of each worker, with its number: a function of a module, or a partial
    of one.
    """
    rates: Mapping[str, Rate]
    left: Budget | None
    """The remaining budget of all workers together."""
    whole: Budget | None

    def over(
        self, count: int, most: int, chunks: Iterator[tuple[int, C]], hearing: Hearing[D, N]
    ) -> None:
        """Judge all chunks, each by the worker whose number comes with it.

        An error that ends a worker is raised after all have stopped. ``count`` is the number of
        workers; there is room for ``most``.
        """
        _Driver(self, count, min(1.0, most / count), hearing).judge(chunks)


_KINDS: Mapping[str, type[AdjudgeError]] = {
    kind.__name__: kind
    for kind in (BudgetSpent, RunStopped, ModelUnusable, SetupError, OtherConfiguration)
}


@dataclass(frozen=True)
class _Failed:
    """The error that ended a worker, in a form that every process can read."""

    kind: str
    message: str

    def error(self) -> AdjudgeError:
        return _KINDS.get(self.kind, RunError)(self.message)


class _Judging(Generic[C, D, N]):
    def __init__(
        self, make: Callable[[int, SharedLimits], Worker[C, D, N]], number: int, limits: RayLimits
    ) -> None:
        self._failed: _Failed | None = None
        try:
            self._worker = make(number, limits)
        except AdjudgeError as error:
            self._failed = _Failed(type(error).__name__, str(error))

    def judge(self, number: int, chunk: C) -> D | _Failed:
        if self._failed is not None:
            return self._failed
        try:
            return self._worker.judge(number, chunk)
        except AdjudgeError as error:
            return _Failed(type(error).__name__, str(error))

    def news(self) -> tuple[int, N] | None:
        return None if self._failed else self._worker.news()

    def stop(self, reason: str) -> None:
        if self._failed is None:
            self._worker.stop(reason)


class _Driver(Generic[C, D, N]):
    """The workers and their limiter, as the driver sees them."""

    def __init__(
        self, work: Spread[C, D, N], count: int, cpus: float, hearing: Hearing[D, N]
    ) -> None:
        """Start the workers with so many ``cpus`` each."""
        import ray

        self._ray = ray
        self._hearing = hearing
        name = f"adjudge-limiter-{uuid4().hex}"
        limiter = ray.remote(num_cpus=0, max_restarts=0)(Limiter).options(name=name)
        self._limiter = limiter.remote(
            work.rates, work.left, count
        )  # it lives as long as somebody holds it
        # More workers than CPUs share them: some would wait forever for a CPU of their own.
        actor = ray.remote(
            num_cpus=cpus, max_restarts=-1, max_task_retries=-1, max_concurrency=_UNDER_WAY + 2
        )(_Judging)
        limits = RayLimits(name, dict(work.rates), count, work.whole if work.left else None)
        self._workers = [actor.remote(work.make, number, limits) for number in range(count)]
        self._pending: dict[ObjectRef[D | _Failed | None], tuple[int, int]] = {}
        """Pending call → (worker, chunk)."""
        self._news: dict[ObjectRef[tuple[int, N] | None], int] = {}
        self._asked_at = monotonic()
        self._load: Counter[int] = Counter()
        self._ended: AdjudgeError | None = None

    def judge(self, chunks: Iterator[tuple[int, C]]) -> None:
        """Hand out all chunks and wait until they are judged."""
        try:
            self._hand_out(chunks)
        finally:
            for (
                worker
            ) in self._workers:  # all is kept; Ray's own way to end them crashes, and prints that
                self._ray.kill(worker)

    def _hand_out(self, chunks: Iterator[tuple[int, C]]) -> None:
        for place, (number, chunk) in enumerate(chunks):
            self._wait(0.0)
            while self._load[number] >= _UNDER_WAY and not self._ended:
                self._wait(_LOOK)
            if self._ended:
                break
            self._pending[self._workers[number].judge.remote(place, chunk)] = number, place
            self._load[number] += 1
        while self._pending:
            self._wait(_LOOK)
        if self._ended:
            raise self._ended

    def _wait(self, seconds: float) -> None:
        """Wait for the next event, at most `seconds`."""
        self._look_whether_to_stop()
        self._ask_for_news()
        if not self._pending and not self._news:
            return
        ready, _ = self._ray.wait([*self._pending, *self._news], num_returns=1, timeout=seconds)
        for ref in ready:
            if ref in self._news:
                self._hear_news(self._news.pop(ref), self._get_result(ref))
            else:
                worker, _ = self._pending.pop(ref)
                self._load[worker] -= 1
                self._hear_done(worker, self._get_result(ref))

    def _get_result(self, ref: ObjectRef[T]) -> T | None:
        try:
            value: T = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._end(RunError("a worker of the cluster failed: {error}", error=error))
            return None
        return value

    def _hear_news(self, worker: int, numbered_news: tuple[int, N] | None) -> None:
        if numbered_news is not None and (worker, numbered_news[0]) in self._pending.values():
            self._hearing.news(worker, numbered_news[1])

    def _hear_done(self, worker: int, outcome: D | _Failed | None) -> None:
        if isinstance(outcome, _Failed):
            self._end(outcome.error())
        elif outcome is not None:
            self._hearing.done(worker, outcome)

    def _ask_for_news(self) -> None:
        """Ask all busy workers for news, unless an answer is pending."""
        if monotonic() - self._asked_at < _NEWS:
            return
        self._asked_at = monotonic()
        waited_for = set(self._news.values())
        for worker in {worker for worker, _ in self._pending.values()} - waited_for:
            self._news[self._workers[worker].news.remote()] = worker

    def _look_whether_to_stop(self) -> None:
        if self._hearing.stop.at_once.is_set():
            raise RunStopped(_STOPPED)
        if self._hearing.stop.gently.is_set():
            self._end(RunStopped(_STOPPED))

    def _end(self, reason: AdjudgeError) -> None:
        """Stop all workers; the first reason is raised at the end."""
        if self._ended is None:
            self._ended = reason
            for worker in self._workers:
                worker.stop.remote(str(reason))


class RayLimits:
    """A worker's connection to the limiter, which it finds by name."""

    def __init__(
        self, limiter: str, rates: Mapping[str, Rate], workers: int, whole: Budget | None
    ) -> None:
        self._name = limiter
        self._rates = rates
        self._workers = workers
        self.whole = whole

    def pace(self, model: str) -> LeasedPace:
        """Return the pace of a model, by its identity."""

        async def lease(tokens: int) -> Lease:
            lease_given: Lease = await self._answer(
                lambda limiter: limiter.lease.remote(model, tokens)
            )
            return lease_given

        def tell(seconds: float | None) -> None:
            with suppress(LimiterLostError):
                self._limiter().slow_down.remote(model, seconds)

        return LeasedPace(lease, tell, self._rates.get(model, Rate()), self._workers)

    @property
    def more(self) -> More | None:
        """A function that returns a further part of the budget."""
        return self._more if self.whole else None

    async def _more(self, likely: Spent, most: Spent) -> Budget | None:
        try:
            part: Budget | None = await self._answer(
                lambda limiter: limiter.grant.remote(likely, most)
            )
        except LimiterLostError:
            raise RunStopped(
                "the process that shares the budget among the workers has died, so nothing more "
                "is spent"
            ) from None
        return part

    def _limiter(self) -> ActorHandle:
        import ray

        try:
            return ray.get_actor(self._name)
        except ValueError as error:
            raise LimiterLostError from error

    async def _answer(self, ask: Callable[[ActorHandle], Awaitable[T]]) -> T:
        import ray

        try:
            return await ask(self._limiter())
        except ray.exceptions.RayError as error:
            raise LimiterLostError from error
