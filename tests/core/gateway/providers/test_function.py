"""Plain functions and other people's objects as models."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections.abc import Callable
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from adjudge import Outcome, Status
from adjudge.core.aio import event_loop
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.opener import open_model
from adjudge.errors import ModelError, RateLimited, RunError, SetupError
from support.asking import a_request, ask, ask_all, critic, marked, truth


def verdict(prompt: str) -> str:
    return "FAIL" if "-N" in prompt else "PASS"


async def slow_verdict(prompt: str) -> str:
    await asyncio.sleep(0)
    return verdict(prompt)


async def two_arguments(suffix: str, prompt: str) -> str:
    return verdict(prompt + suffix)


class Sync:
    def __call__(self, prompt: str) -> str:
        return verdict(prompt)


class Async:
    async def __call__(self, prompt: str) -> str:
        return verdict(prompt)


def hands_over(prompt: str) -> Any:
    return slow_verdict(prompt)


FUNCTIONS = [
    verdict,
    slow_verdict,
    hands_over,
    functools.partial(two_arguments, ""),
    Sync(),
    Async(),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("text", "expected"), [("REC-00001-Y", "PASS"), ("REC-00002-N", "FAIL")])
def test_a_function_is_a_model(function: Callable[[str], Any], text: str, expected: str) -> None:
    assert ask(open_model(function), text).text == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_judges(function: Callable[[str], Any]) -> None:
    texts = marked(8)
    assert [result.verdict for result in critic(function).evaluate(texts)] == [
        truth(text) for text in texts
    ]


def test_a_function_gets_the_whole_prompt_as_one_string() -> None:
    prompts: list[str] = []

    def noted(prompt: str) -> str:
        prompts.append(prompt)
        return "PASS"

    ask(open_model(noted), "the text", system="the order")
    assert prompts == ["the order\n\nthe text"]


def test_a_reply_of_a_function_has_a_latency_and_counts_as_a_call() -> None:
    reply = ask(open_model(verdict))
    assert reply.latency > 0
    assert reply.usage.calls == 1


# -- what goes wrong -----------------------------------------------------------------


def raising(error: BaseException) -> Callable[[str], str]:
    def function(prompt: str) -> str:
        raise error

    return function


def raising_async(error: BaseException) -> Callable[[str], Any]:
    async def function(prompt: str) -> str:
        raise error

    return function


@pytest.mark.parametrize("make", [raising, raising_async])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        TimeoutError("late"),
        SetupError("wrong"),
        RunError("lost"),
        asyncio.CancelledError(),
        StopIteration("dry"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_function_raises_is_a_model_error_that_names_it(
    make: Any, error: BaseException
) -> None:
    with pytest.raises(ModelError, match=r"^function: it (raised|cancelled)") as caught:
        ask(open_model(make(error), timeout=60, max_retries=0))
    assert type(caught.value) is ModelError


def test_a_model_error_of_a_function_is_its_own() -> None:
    calls: list[str] = []

    def limited(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) == 1:
            raise RateLimited("slow down", retry_after=0.0)
        return "PASS"

    assert ask(open_model(limited)).text == "PASS"
    assert len(calls) == 2


@pytest.mark.parametrize("answer", [None, 5, b"PASS", ["PASS"], {"verdict": "PASS"}, object()])
def test_an_answer_that_is_no_text_is_a_model_error_that_says_what_it_was(answer: Any) -> None:
    with pytest.raises(
        ModelError, match=f"the function returned {type(answer).__name__}, not a string"
    ):
        ask(open_model(lambda prompt: answer))


@pytest.mark.parametrize(
    "bad",
    [
        raising(KeyError("x")),
        raising(SetupError("x")),
        raising_async(asyncio.CancelledError()),
        lambda prompt: None,
    ],
    ids=["error", "setup error", "cancelled", "no text"],
)
def test_one_bad_call_harms_no_other(bad: Callable[[str], Any]) -> None:
    def function(prompt: str) -> Any:
        return bad(prompt) if "REC-00003" in prompt else verdict(prompt)

    texts = marked(12)
    results = critic(function).evaluate(texts)
    assert [result.verdict for result in results] == [
        None if "00003" in text else truth(text) for text in texts
    ]
    assert results[3].status is Status.FAILED
    assert results[3].score is None
    assert results[3].votes[0].outcome is Outcome.MODEL_ERROR


@pytest.mark.parametrize("make", [raising, raising_async])
def test_a_function_that_ends_the_process_ends_the_caller_and_not_our_thread(make: Any) -> None:
    with pytest.raises(SystemExit):
        critic(make(SystemExit(3))).evaluate(marked(3))
    assert critic(verdict).evaluate("REC-00001-Y").verdict == "PASS"


def test_a_stand_in_that_has_every_method_is_called_as_the_function_it_is() -> None:
    """A mock of a test suite: it has a ``complete`` as it has anything, but none that can be
    awaited.
    """

    async def answer(prompt: str) -> str:
        return verdict(prompt)

    assert critic(MagicMock(side_effect=answer)).evaluate("REC-00001-Y").verdict == "PASS"


# -- where it runs -------------------------------------------------------------------


def test_sync_functions_run_at_once_as_many_as_allowed() -> None:
    together = threading.Barrier(4, timeout=120)

    def meets(prompt: str) -> str:
        together.wait()
        return "PASS"

    assert all(
        isinstance(reply, Reply)
        for reply in ask_all(open_model(meets, max_concurrency=4), ["x"] * 8)
    )


def test_sync_functions_do_not_run_more_at_once_than_allowed() -> None:
    inside, most, lock = 0, 0, threading.Lock()

    def counts(prompt: str) -> str:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1
        return "PASS"

    ask_all(open_model(counts, max_concurrency=2), ["x"] * 12)
    assert most <= 2


@pytest.mark.parametrize("kind", ["async", "handed over"])
def test_an_async_function_runs_on_the_loop_that_awaits_the_judge(kind: str) -> None:
    loops: set[asyncio.AbstractEventLoop] = set()

    async def function(prompt: str) -> str:
        loops.add(asyncio.get_running_loop())
        return verdict(prompt)

    def hands_over(prompt: str) -> Any:
        return function(prompt)

    async def main() -> list[str | None]:
        results = await critic(function if kind == "async" else hands_over, strictness=2).aevaluate(
            marked(6)
        )
        assert loops == {asyncio.get_running_loop()}
        return [result.verdict for result in results]

    assert asyncio.run(main()) == [truth(text) for text in marked(6)]


def test_an_async_function_may_use_what_belongs_to_its_loop() -> None:
    async def main() -> set[Status]:
        lock = asyncio.Lock()

        async def function(prompt: str) -> str:
            async with lock:
                await asyncio.sleep(0.001)
            return verdict(prompt)

        return {result.status for result in await critic(function).aevaluate(marked(10))}

    assert asyncio.run(main()) == {Status.SCORED}


def test_an_async_function_runs_on_our_loop_when_nobody_awaits() -> None:
    loops: set[asyncio.AbstractEventLoop] = set()

    async def function(prompt: str) -> str:
        loops.add(asyncio.get_running_loop())
        return "PASS"

    critic(function).evaluate(marked(3))
    assert loops == {event_loop.home_loop()}


def test_a_function_may_ask_another_judge() -> None:
    inner = critic(verdict)

    def asks(prompt: str) -> str:
        return inner.evaluate(prompt).verdict or ""

    async def awaits(prompt: str) -> str:
        return (await inner.aevaluate(prompt)).verdict or ""

    for function in (asks, awaits):
        assert [result.verdict for result in critic(function).evaluate(marked(4))] == [
            truth(text) for text in marked(4)
        ]
    result = asyncio.run(critic(awaits).aevaluate("REC-00000-N"))
    assert result.verdict == "FAIL"


def test_a_sync_call_on_our_own_loop_is_refused_instead_of_waiting_for_itself() -> None:
    inner = critic(verdict)

    async def blocks(prompt: str) -> str:
        return inner.evaluate("REC-00001-Y").verdict or ""

    with pytest.raises(ModelError, match=r"await judge.aevaluate"):
        event_loop.run(open_model(blocks).complete(a_request()))


# -- other people's objects ------------------------------------------------------------


class Theirs:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def complete(self, request: Request) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class NotAsync:
    def complete(self, request: Request) -> Reply:
        return Reply("PASS")


def test_any_object_with_complete_is_a_model() -> None:
    model = open_model(cast(Any, Theirs(Reply("PASS"))))
    assert ask(model).text == "PASS"
    assert model.name == "Theirs"
    assert not model.capabilities.json_schema


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (Theirs("PASS"), "it returned str, not a Reply"),
        (Theirs(None), "it returned NoneType, not a Reply"),
        (Theirs(ZeroDivisionError("x")), "it raised ZeroDivisionError: x"),
        (Theirs(asyncio.CancelledError()), "it cancelled itself"),
        (NotAsync(), "it raised TypeError"),
        (Theirs(Reply(cast(Any, None))), "a Reply whose text is None"),
        (Theirs(Reply("PASS", cast(Any, None))), "a Reply whose usage is None"),
        (Theirs(Reply("PASS", latency=math.nan)), "a Reply whose latency is nan"),
        (Theirs(Reply("PASS", details=cast(Any, {"model": 5}))), "whose details is {'model': 5}"),
    ],
)
def test_what_goes_wrong_in_it_is_a_model_error(theirs: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ask(open_model(theirs))
