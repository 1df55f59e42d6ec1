"""Send many items through a judge's plan and pool, concurrently and in constant memory."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.session import Deferred, OpenedSession, session
from adjudge.errors import HALTS, AdjudgeError

# New objects between two collections.
# Python's default is 700, which a dozen requests create.
_RARELY = 50_000
_batches = 0
_usual = 0


@contextmanager
def collect_rarely() -> Iterator[None]:
    """Run the garbage collector less often, until the last of the batches under way has ended."""
    global _batches, _usual
    young, *older_generations = gc.get_threshold()
    if not _batches:
        # Each collection would walk everything under way and find nothing: requests leave no
        # cycles. On the home loop only, so the two globals need no lock.
        _usual = young
        # 0 means that the collector was turned off: leave it off.
        gc.set_threshold(young and max(young, _RARELY), *older_generations)
    _batches += 1
    try:
        yield
    finally:
        _batches -= 1
        if not _batches:
            gc.set_threshold(_usual, *gc.get_threshold()[1:])


I = TypeVar("I")  # noqa: E741 - what is judged
I_contra = TypeVar("I_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
# Items that a worker starts without waiting before it yields to other tasks.
_BREATH = 64


class Plans(Protocol[I_contra, R_co]):
    """The two pure halves of a judge."""

    @property
    def max_in_flight(self) -> int:
        """Maximum number of concurrent items."""
        ...

    def plan(self, item: I_contra, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots to ask next, given the votes so far; none when there are enough."""
        ...

    def pool(self, item: I_contra, votes: Sequence[Vote]) -> R_co:
        """Pool the votes into one result."""
        ...


class VoteSource(Protocol):
    """A source of votes: a model, or a ledger in front of it."""

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """Return the earlier vote on each ballot, or None."""
        ...

    async def answer(self, ballot: Ballot) -> Vote:
        """Return a new vote; a failure is a vote too."""
        ...


OnResult = Callable[[int, R, Sequence[Ballot]], Awaitable[None]]


class DeferredItems:
    """The items of a judge that are visited several times: items with a result are skipped the next
    time.
    """

    def __init__(self) -> None:
        self.left = 0
        """Items of the last pass that wait for an answer."""
        self._on_left: Callable[[int], object] = int
        self._done = bytearray()

    def begin(self, on_left: Callable[[int], object]) -> None:
        """Start again at the first item; ``on_left`` is called with the position of each item that
        has to wait.
        """
        self.left, self._on_left = 0, on_left

    def is_done(self, number: int) -> bool:
        """Return True if the item at this position has its result."""
        return number >> 3 < len(self._done) and bool(self._done[number >> 3] >> (number & 7) & 1)

    def done(self, number: int) -> None:
        """Mark the item as judged."""
        # One bit per item: there may be millions.
        if number >> 3 >= len(self._done):
            self._done += bytes(max(1024, (number >> 3) + 1 - len(self._done)))
        self._done[number >> 3] |= 1 << (number & 7)

    def leave(self, number: int) -> None:
        """Put the item back: it has to wait for others."""
        self.left += 1
        self._on_left(number)


async def judge_each(
    judge: Plans[I, R],
    items: Iterable[I],
    answers: VoteSource,
    on_result: OnResult[R],
    deferred: DeferredItems | None = None,
) -> int:
    """Call ``on_result`` with every item's position, result and ballots as they come; return the
    number of items.

    At a halt the items under way end first; then the halt is raised. ``deferred``: keeps track of
    items whose answers come later, and of items already judged.
    """
    work = _Work(judge, iter(items), answers, on_result, deferred)
    workers: set[asyncio.Task[None]] = set()
    most = judge.max_in_flight
    with collect_rarely():
        try:
            while work.ready and len(workers) < most and not work.halt:
                # Double the workers, but only while items wait: stored answers need one worker.
                for _ in range(min(len(workers) or 1, _BREATH, most - len(workers))):
                    workers.add(asyncio.create_task(work.take_items()))
                await asyncio.sleep(0)
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            # Cancelled requests still have to give back their slots and connections.
            await asyncio.gather(*workers, return_exceptions=True)
    if work.halt:
        raise work.halt
    return work.count


@dataclass(eq=False)
class _Work(Generic[I, R]):
    """The state that workers share: the remaining items, and whether to continue."""

    judge: Plans[I, R]
    items: Iterator[I]
    answers: VoteSource
    on_result: OnResult[R]
    deferred: DeferredItems | None
    count: int = 0
    ready: bool = True
    halt: Exception | None = None

    async def take_items(self) -> None:
        """Judge one item after the other."""
        for item in self._items():
            number, self.count = self.count, self.count + 1
            try:
                await self._judge(number, item)
            except HALTS as halt:
                self.halt = self.halt or halt
            if self.halt:
                return
            # With stored answers nothing here ever waits: let other tasks run.
            if number % _BREATH == 0:
                await asyncio.sleep(0)
        self.ready = False

    async def _judge(self, number: int, item: I) -> None:
        if self.deferred is None:
            votes, ballots = await self._votes(item)
        elif self.deferred.is_done(number):
            return
        else:
            try:
                votes, ballots = await self._votes(item)
            except Deferred:
                self.deferred.leave(number)
                return
            self.deferred.done(number)
        await self.on_result(number, self.judge.pool(item, votes), ballots)

    def _items(self) -> Iterator[I]:
        """Yield the remaining items. An error of the reader ends the run gently: requests that were
        sent are awaited.
        """
        while not self.halt:
            try:
                yield next(self.items)
            except StopIteration:
                return
            except AdjudgeError as error:
                self.halt = error

    async def _votes(self, item: I) -> tuple[list[Vote], list[Ballot]]:
        votes: list[Vote] = []
        asked_ballots: list[Ballot] = []
        # Asking and planning alternate: early stops and cascades need the first votes to plan the
        # next, while plain judges plan everything at once.
        while ballots := self.judge.plan(item, votes):
            votes += await _votes_on(self.answers, ballots)
            asked_ballots += ballots
        return votes, asked_ballots


async def _votes_on(answers: VoteSource, ballots: Sequence[Ballot]) -> Sequence[Vote]:
    stored = answers.recall(ballots)
    unknown = [ballot for ballot, vote in zip(ballots, stored, strict=True) if vote is None]
    # Most rows ask one question: it needs no task of its own.
    if len(unknown) == 1:
        new: Sequence[Vote] = [await answers.answer(unknown[0])]
    else:
        new = await _answer_all(answers, unknown)
    if len(unknown) == len(ballots):
        return new
    new_votes = iter(new)
    return [vote if vote is not None else next(new_votes) for vote in stored]


async def _answer_all(answers: VoteSource, ballots: Sequence[Ballot]) -> Sequence[Vote]:
    if not ballots:
        return ()
    # Named in the session, so that one request can answer several questions about the row.
    with OpenedSession(session().with_siblings(ballots)):
        tasks = [asyncio.create_task(answers.answer(ballot)) for ballot in ballots]
    try:
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if pending and any(
            isinstance(task.exception(), (*HALTS, Deferred))
            for task in done
            if not task.cancelled()
        ):
            await asyncio.wait(pending)  # sent requests are paid for: wait for them and keep them
        for task in done:
            task.result()  # raises the error that ended the batch
        return [task.result() for task in tasks]
    finally:
        for task in tasks:  # if one of them ends the batch, the others end with it
            task.cancel()
