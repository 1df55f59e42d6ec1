"""One call at a time, grouped by prefix, none forgotten."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.local import prefix_queue
from adjudge.features.local.prefix_queue import PrefixQueue


async def served(kinds: str, cancelled: frozenset[int] = frozenset()) -> str:
    """The order in which waiting ``kinds`` are let in, some of them cancelled while they wait."""
    queue, order = PrefixQueue(), ""

    async def one(kind: str) -> None:
        nonlocal order
        async with queue.turn(kind):
            order += kind
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(one(kind)) for kind in kinds]
    await asyncio.sleep(0)
    for index in cancelled:
        tasks[index].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return order


def test_like_goes_after_like() -> None:
    assert asyncio.run(served("abababab")) == "aaaabbbb"


def test_a_long_run_lets_others_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_queue, "_LONGEST_RUN", 3)
    assert asyncio.run(served("aaaaaab")) == "aaabaaa"


@given(st.text("abc", max_size=12), st.frozensets(st.integers(0, 11)))
def test_everybody_who_stays_is_served_exactly_once(kinds: str, cancelled: frozenset[int]) -> None:
    leaving = frozenset(index for index in cancelled if index < len(kinds))
    order = asyncio.run(served(kinds, leaving))
    staying = [kind for index, kind in enumerate(kinds) if index not in leaving]
    left_inside = [kinds[0]] if 0 in leaving else []  # the first is inside when it is cancelled
    assert sorted(order) == sorted(staying + left_inside)
