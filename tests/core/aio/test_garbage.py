"""The garbage collector is slowed down while a batch is under way, and for no longer."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.engine.schedule import collect_rarely


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_batch_leaves_the_collector_as_it_was() -> None:
    gc.set_threshold(700, 11, 12)
    meanwhile: list[tuple[int, int, int]] = []
    critic = AspectCritic("c", ScriptedModel())
    critic.evaluate(["a", "b"], progress=lambda _: meanwhile.append(gc.get_threshold()))
    assert all(first > 700 for first, *_ in meanwhile)
    assert gc.get_threshold() == (700, 11, 12)


def test_batches_that_overlap_leave_it_as_it_was_before_the_first() -> None:
    gc.set_threshold(700, 10, 10)
    critic = AspectCritic("c", ScriptedModel())

    async def several() -> None:
        await asyncio.gather(*(critic.aevaluate(["a"] * count) for count in (1, 40, 3)))

    asyncio.run(several())
    assert gc.get_threshold() == (700, 10, 10)


def test_a_batch_that_fails_leaves_it_as_it_was() -> None:
    gc.set_threshold(700, 10, 10)
    with pytest.raises(ZeroDivisionError), collect_rarely():
        raise ZeroDivisionError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("first", [0, 50_000])
def test_who_collects_never_or_more_rarely_still_does(first: int) -> None:
    gc.set_threshold(first, 10, 10)
    with collect_rarely():
        assert gc.get_threshold()[0] == first
