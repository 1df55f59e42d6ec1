"""Calls that wait together are answered together, none forgotten, none by another's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.features.local import call_batches as batches
from adjudge.features.local.call_batches import CallBatches

Passes = list[list[tuple[str, int]]]


async def served(
    kinds: str, workers: int, cancelled: frozenset[int] = frozenset()
) -> tuple[Passes, list[object]]:
    """The passes that were run for calls of these ``kinds``, and what each call got."""
    passes: Passes = []

    def answer(calls: Sequence[tuple[str, int]]) -> list[str | Exception]:
        passes.append(list(calls))
        return [
            ValueError(f"no {number}") if kind == "x" else f"{kind}{number}"
            for kind, number in calls
        ]

    with ThreadPoolExecutor(workers) as threads:
        queue: CallBatches[tuple[str, int], str] = CallBatches(answer, threads, workers)
        tasks = [
            asyncio.create_task(queue.ask(kind, (kind, number)))
            for number, kind in enumerate(kinds)
        ]
        await asyncio.sleep(0)
        for index in cancelled:
            tasks[index].cancel()
        return passes, await asyncio.gather(*tasks, return_exceptions=True)


def test_calls_of_one_kind_go_together() -> None:
    passes, answers = asyncio.run(served("abababab", workers=1))
    assert passes == [
        [("a", number) for number in (0, 2, 4, 6)],
        [("b", number) for number in (1, 3, 5, 7)],
    ]
    assert answers == ["a0", "b1", "a2", "b3", "a4", "b5", "a6", "b7"]


def test_each_worker_gets_a_share() -> None:
    passes, _ = asyncio.run(served("a" * 12, workers=2))
    assert sorted(len(calls) for calls in passes) == [6, 6]


def test_a_long_run_lets_others_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_LONGEST_RUN", 16)
    passes, _ = asyncio.run(served("a" * 40 + "b", workers=1))
    assert [calls[0][0] for calls in passes] == ["a", "b", "a", "a"]


def test_a_call_that_fails_fails_alone_and_a_pass_that_fails_fails_them_all() -> None:
    _, answers = asyncio.run(served("axa", workers=1))
    assert [str(answer) for answer in answers] == ["a0", "no 1", "a2"]

    def broken(calls: Sequence[int]) -> list[int | Exception]:
        raise RuntimeError("out of order")

    async def asked() -> list[object]:
        with ThreadPoolExecutor(1) as threads:
            queue: CallBatches[int, int] = CallBatches(broken, threads, 1)
            return list(
                await asyncio.gather(
                    *(queue.ask("a", number) for number in range(5)), return_exceptions=True
                )
            )

    assert [str(answer) for answer in asyncio.run(asked())] == ["out of order"] * 5


@given(st.text("abcx", max_size=40), st.integers(1, 3), st.frozensets(st.integers(0, 39)))
def test_everybody_who_stays_gets_their_own_answer(
    kinds: str, workers: int, cancelled: frozenset[int]
) -> None:
    leaving = frozenset(index for index in cancelled if index < len(kinds))
    passes, answers = asyncio.run(served(kinds, workers, leaving))
    for number, (kind, answer) in enumerate(zip(kinds, answers, strict=True)):
        if number in leaving:
            assert isinstance(answer, asyncio.CancelledError) or str(answer) in (
                f"no {number}",
                f"{kind}{number}",
            )
        else:
            assert str(answer) == (f"no {number}" if kind == "x" else f"{kind}{number}")
    assert all(len({kind for kind, _ in calls}) == 1 and len(calls) <= 16 for calls in passes)
