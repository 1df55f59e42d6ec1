"""Many items through a judge's plan and pool, as many at once as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from adjudge.domain.ballot import Ballot
from adjudge.domain.vote import Vote

I = TypeVar("I")  # noqa: E741 - what is judged
I_contra = TypeVar("I_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Plans(Protocol[I_contra, R_co]):
    """The two pure halves of a judge, and how one ballot is asked."""

    @property
    def width(self) -> int:
        """How many items may be under way at once."""
        ...

    def plan(self, item: I_contra, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""
        ...

    def pool(self, item: I_contra, votes: Sequence[Vote]) -> R_co:
        """The votes as one result."""
        ...

    async def ask(self, ballot: Ballot) -> Vote:
        """One vote; a failure is a vote too."""
        ...


async def judge_all(judge: Plans[I, R], items: Sequence[I], on_result: Callable[[R], None] | None = None) -> list[R]:
    """A result for each item, in their order."""
    results: dict[int, R] = {}
    todo = enumerate(items)
    width = min(len(items), judge.width)
    workers = [asyncio.create_task(_work(judge, todo, results, on_result)) for _ in range(width)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [results[index] for index in range(len(items))]


async def _work(
    judge: Plans[I, R],
    todo: Iterator[tuple[int, I]],
    results: dict[int, R],
    on_result: Callable[[R], None] | None,
) -> None:
    for index, item in todo:
        results[index] = await _judge_one(judge, item)
        if on_result:
            on_result(results[index])


async def _judge_one(judge: Plans[I, R], item: I) -> R:
    votes: list[Vote] = []
    while ballots := judge.plan(item, votes):
        votes += await _ask_together(judge, ballots)
    return judge.pool(item, votes)


async def _ask_together(judge: Plans[I, R], ballots: Sequence[Ballot]) -> Sequence[Vote]:
    if len(ballots) == 1:
        return [await judge.ask(ballots[0])]
    asked = [asyncio.create_task(judge.ask(ballot)) for ballot in ballots]
    try:
        return await asyncio.gather(*asked)
    finally:
        for one in asked:  # when one of them ends the batch, the others end with it
            one.cancel()
