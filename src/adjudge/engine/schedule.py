"""Many instances through a judge's plan and pool, as many at once as the models take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from adjudge.domain.ballot import Ballot
from adjudge.domain.instance import Instance
from adjudge.domain.vote import Vote
from adjudge.engine.ask import ask
from adjudge.gateway.open import OpenModel

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Plans(Protocol[R_co]):
    """The two pure halves of a judge."""

    @property
    def max_repairs(self) -> int:
        """How often an unreadable reply is asked for again."""
        ...

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots."""
        ...

    def plan(self, instance: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""
        ...

    def pool(self, instance: Instance, votes: Sequence[Vote]) -> R_co:
        """The votes as one result."""
        ...


async def judge_all(judge: Plans[R], instances: Sequence[Instance], on_result: Callable[[R], None] | None = None) -> list[R]:
    """A result for each instance, in their order."""
    results: dict[int, R] = {}
    todo = enumerate(instances)
    workers = [asyncio.create_task(_work(judge, todo, results, on_result)) for _ in range(_width(judge, len(instances)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [results[index] for index in range(len(instances))]


async def _work(
    judge: Plans[R],
    todo: Iterator[tuple[int, Instance]],
    results: dict[int, R],
    on_result: Callable[[R], None] | None,
) -> None:
    for index, instance in todo:
        results[index] = await _judge_one(judge, instance)
        if on_result:
            on_result(results[index])


async def _judge_one(judge: Plans[R], instance: Instance) -> R:
    votes: list[Vote] = []
    while ballots := judge.plan(instance, votes):
        votes += await _ask_together(judge, ballots)
    return judge.pool(instance, votes)


async def _ask_together(judge: Plans[R], ballots: Sequence[Ballot]) -> Sequence[Vote]:
    asked = [ask(ballot, judge.panel[ballot.model], judge.max_repairs) for ballot in ballots]
    return [await asked[0]] if len(asked) == 1 else await asyncio.gather(*asked)


def _width(judge: Plans[R], instances: int) -> int:
    """Instances under way: enough to keep every model busy while others wait for a repair or a retry."""
    return min(instances, 2 * sum(model.max_concurrency for model in judge.panel.values()))
