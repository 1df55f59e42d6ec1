"""Many items through a judge's plan and pool, as many at once as it takes, in constant memory."""

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

_RARELY = 50_000
"""New objects between two looks.

Python's own setting is 700, which is what a dozen requests make.
"""
_batches = 0
_usual = 0


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Look for cycles less often, and as before when the last of the batches that are under way has
    ended.

    Each look goes through all that is under way, and finds nothing: requests leave no cycles. On
    the home loop only.
    """
    global _batches, _usual
    first, *older = gc.get_threshold()
    if not _batches:
        _usual = first
        gc.set_threshold(first and max(first, _RARELY), *older)  # 0: somebody has turned it off
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
_BREATH = 64
"""Items that workers who never had to wait begin before they let others in."""


class Plans(Protocol[I_contra, R_co]):
    """The two pure halves of a judge."""

    @property
    def max_in_flight(self) -> int:
        """How many items may be under way at once."""
        ...

    def plan(self, item: I_contra, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""
        ...

    def pool(self, item: I_contra, votes: Sequence[Vote]) -> R_co:
        """The votes as one result."""
        ...


class VoteSource(Protocol):
    """Where votes come from: a model, or what it said before."""

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """The vote that was cast on each before, or None."""
        ...

    async def answer(self, ballot: Ballot) -> Vote:
        """A new vote; a failure is a vote too."""
        ...


OnResult = Callable[[int, R, Sequence[Ballot]], Awaitable[None]]


class DeferredItems:
    """The items of a judge that are gone through several times: those that have a result are passed
    over the next time.
    """

    def __init__(self) -> None:
        self.left = 0
        """Items of the last time that wait for an answer."""
        self._on_left: Callable[[int], object] = int
        self._done = bytearray()

    def begin(self, on_left: Callable[[int], object]) -> None:
        """From the first item; ``on_left`` is called with the place of each that has to wait."""
        self.left, self._on_left = 0, on_left

    def is_done(self, number: int) -> bool:
        """Whether the item in this place has its result."""
        return number >> 3 < len(self._done) and bool(self._done[number >> 3] >> (number & 7) & 1)

    def done(self, number: int) -> None:
        """Mark the item as judged."""
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
    """Call ``on_result`` with every item's place, result and ballots as they come; the number of
    items is returned.

    At a halt the items under way end as they can; then the halt is raised. ``deferred``: takes the
    items whose answers will come later, and knows those that have a result since an earlier time.
    """
    work = _Work(judge, iter(items), answers, on_result, deferred)
    workers: set[asyncio.Task[None]] = set()
    most = judge.max_in_flight
    with collected_rarely():
        try:
            while work.ready and len(workers) < most and not work.halt:
                # where all is known, one worker is enough
                for _ in range(min(len(workers) or 1, _BREATH, most - len(workers))):
                    workers.add(asyncio.create_task(work.take_items()))
                await asyncio.sleep(0)
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    if work.halt:
        raise work.halt
    return work.count


@dataclass(eq=False)
class _Work(Generic[I, R]):
    """What the workers share: the items left, and whether to go on."""

    judge: Plans[I, R]
    items: Iterator[I]
    answers: VoteSource
    on_result: OnResult[R]
    deferred: DeferredItems | None
    count: int = 0
    ready: bool = True
    halt: Exception | None = None

    async def take_items(self) -> None:
        """Take one item after the other."""
        for item in self._items():
            number, self.count = self.count, self.count + 1
            try:
                await self._judge(number, item)
            except HALTS as halt:
                self.halt = self.halt or halt
            if self.halt:
                return
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
        """What is left. An error of the reader ends the run as gently as a spent budget: what was
        sent is waited for.
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
        asked: list[Ballot] = []
        while ballots := self.judge.plan(item, votes):
            votes += await _votes_on(self.answers, ballots)
            asked += ballots
        return votes, asked


async def _votes_on(answers: VoteSource, ballots: Sequence[Ballot]) -> Sequence[Vote]:
    known = answers.recall(ballots)
    unknown = [ballot for ballot, vote in zip(ballots, known, strict=True) if vote is None]
    if len(unknown) == 1:
        new: Sequence[Vote] = [await answers.answer(unknown[0])]
    else:
        new = await _answer_all(answers, unknown)
    if len(unknown) == len(ballots):
        return new
    rest = iter(new)
    return [vote if vote is not None else next(rest) for vote in known]


async def _answer_all(answers: VoteSource, ballots: Sequence[Ballot]) -> Sequence[Vote]:
    if not ballots:
        return ()
    with OpenedSession(session().with_beside(ballots)):
        asked = [asyncio.create_task(answers.answer(ballot)) for ballot in ballots]
    try:
        done, pending = await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
        if pending and any(
            isinstance(one.exception(), (*HALTS, Deferred)) for one in done if not one.cancelled()
        ):
            await asyncio.wait(pending)  # what was sent is paid for: it is waited for, and kept
        for one in done:
            one.result()  # what ended the batch is raised, whichever is still under way
        return [one.result() for one in asked]
    finally:
        for one in asked:  # when one of them ends the batch, the others end with it
            one.cancel()
