"""Sync methods that are made of async ones: the same parameters, and one place to override."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from adjudge import DirectJudge
from adjudge.core.aio.event_loop import same_as, sync_edge


class Adder:
    async def aadd(self, one: int, *, other: int = 1) -> int:
        """One and the other."""
        await asyncio.sleep(0)
        return one + other

    add = sync_edge(aadd)
    __call__ = same_as(add)


class Doubling(Adder):
    async def aadd(self, one: int, *, other: int = 1) -> int:
        return 2 * await super().aadd(one, other=other)


class Loud(Adder):
    def add(self, one: int, *, other: int = 1) -> int:
        return 100 + super().add(one, other=other)


def test_the_sync_method_says_what_the_async_one_says() -> None:
    assert Adder().add(2) == Adder()(2) == 3
    assert Adder().add(2, other=5) == 7
    assert inspect.signature(Adder.add) == inspect.signature(Adder.aadd)
    assert (Adder.add.__name__, Adder.add.__doc__) == ("add", "One and the other.")
    assert not inspect.iscoroutinefunction(Adder.add)


def test_overriding_one_of_them_changes_those_that_build_on_it() -> None:
    assert (Doubling().add(2), Doubling()(2)) == (6, 6)
    assert (Loud().add(2), Loud()(2), asyncio.run(Loud().aadd(2))) == (103, 103, 3)


def test_a_misspelt_argument_is_named() -> None:
    with pytest.raises(
        TypeError, match=r"^Adder\.add\(\) got an unexpected keyword argument 'othr'"
    ):
        Adder().add(2, othr=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Loud\.add\(\) missing 1 required"):
        Loud().add()  # type: ignore[call-arg]


def test_help_shows_the_calls_of_a_judge_under_their_names() -> None:
    for name in ("evaluate", "evaluate_multi_criteria", "evaluate_with_custom_prompt", "improve"):
        call = vars(next(kind for kind in DirectJudge.__mro__ if name in vars(kind)))[name]
        assert call.__name__ == name
        assert call.__qualname__.endswith(f".{name}")
        assert call.__doc__
