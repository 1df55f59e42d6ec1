"""How many items are under way at once, and that each is judged once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.schedule import judge_each


class Numbers:
    """Plans one ballot an item, which is the item itself; what is known is not asked."""

    def __init__(self, most: int, known: int = 0) -> None:
        self.max_in_flight, self._known = most, known
        self.read, self.under_way, self.most_seen = 0, 0, 0

    def items(self, count: int) -> Iterator[int]:
        for self.read in range(1, count + 1):
            yield self.read - 1

    def plan(self, item: int, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return () if votes else cast(Any, [item])

    def pool(self, item: int, votes: Sequence[Vote]) -> int:
        assert cast(Any, votes) == [item]
        return item

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        return [cast(Any, one) if cast(Any, one) < self._known else None for one in ballots]

    async def answer(self, ballot: Ballot) -> Vote:
        self.under_way += 1
        self.most_seen = max(self.most_seen, self.under_way)
        for _ in range(3 + cast(Any, ballot) % 5):
            await asyncio.sleep(0)
        self.under_way -= 1
        return cast(Any, ballot)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 200, 1000])
@pytest.mark.parametrize("most", [1, 2, 5, 64, 300])
@pytest.mark.parametrize("known", [0, 2, 150])
def test_each_item_is_judged_once_and_no_more_are_under_way(
    count: int, most: int, known: int
) -> None:
    judge, judged = Numbers(most, known), dict[int, int]()

    async def on_result(number: int, result: int, ballots: Sequence[Ballot]) -> None:
        assert judged.setdefault(number, result) == number
        assert list(ballots) == [result]

    assert asyncio.run(judge_each(judge, judge.items(count), judge, on_result)) == count
    assert len(judged) == judge.read == count
    assert judge.most_seen <= most
    if most <= 5 <= count - known:
        assert judge.most_seen == most
