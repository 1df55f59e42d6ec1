"""An attempt that hangs is ended."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from contextvars import ContextVar

import pytest

from adjudge.core.domain.message import Capabilities, ChatMessage, Prompt, Reply, Request
from adjudge.core.gateway.layers.limit import Timed
from adjudge.core.gateway.opener import open_model
from adjudge.errors import Unavailable
from support.asking import ask, ask_all, open_at, wait_until
from support.fake_provider import HANGS, STALLS, FakeProvider, Fault, always


@pytest.mark.parametrize("fault", [HANGS, STALLS], ids=["hangs", "stalls"])
def test_a_hang_is_ended_and_its_connection_closed(provider: FakeProvider, fault: Fault) -> None:
    provider.faults = always(fault)
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no reply within 0\.2 s"):
        ask(open_at(provider, timeout=0.2))
    assert 0.2 <= time.monotonic() - began < 60
    assert wait_until(lambda: provider.disconnects == 1), (
        "the server sees that nobody waits any more"
    )


def test_each_attempt_has_the_whole_time(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = always(HANGS)
    with pytest.raises(Unavailable):
        ask(open_at(provider, timeout=0.1, max_retries=2))
    assert len(provider.requests) == 3
    assert wait_until(lambda: provider.disconnects == 3)


def test_waiting_for_a_free_place_is_not_counted(provider: FakeProvider) -> None:
    provider.latency = 0.25
    replies = ask_all(open_at(provider, max_concurrency=1, timeout=2.0), ["REC-00001-Y"] * 9)
    assert all(isinstance(reply, Reply) for reply in replies)


def test_a_function_that_hangs_is_not_waited_for() -> None:
    release = threading.Event()
    with pytest.raises(Unavailable, match=r"no reply within 0\.1 s"):
        ask(open_model(lambda prompt: str(release.wait(120)), timeout=0.1, max_retries=0))
    release.set()


def test_functions_that_hang_keep_no_other_call_waiting() -> None:
    release = threading.Event()

    def sometimes(prompt: str) -> str:
        return str(release.wait(120)) if "hang" in prompt else "PASS"

    model = open_model(sometimes, timeout=0.8, max_retries=0, max_concurrency=2)
    replies = ask_all(model, ["hang", "hang", "hang", "REC-00001-Y", "REC-00002-Y"])
    release.set()
    assert [type(reply) for reply in replies] == [Unavailable] * 3 + [Reply] * 2


class _Slow:
    """Answers after as long as the prompt says, and can be asked from a test's own loop."""

    name, capabilities = "slow", Capabilities()

    async def complete(self, request: Request) -> Reply:
        await asyncio.sleep(float(request.prompt.text))
        return Reply("PASS")


def _waiting(seconds: str) -> Request:
    return Request(Prompt((ChatMessage("user", seconds),)))


def _asked(model: Timed, seconds: str) -> asyncio.Task[Reply]:
    return asyncio.ensure_future(model.complete(_waiting(seconds)))


def test_one_timer_ends_all_attempts_that_take_too_long_and_those_that_begin_later() -> None:
    async def asked() -> list[object]:
        model = Timed(_Slow(), 0.1)
        together = [_asked(model, seconds) for seconds in ("60", "0", "60")]
        early = await asyncio.gather(*together, return_exceptions=True)
        return [
            *early,
            *await asyncio.gather(_asked(model, "60"), _asked(model, "0"), return_exceptions=True),
        ]

    assert [type(one) for one in asyncio.run(asked())] == [
        Unavailable,
        Reply,
        Unavailable,
        Unavailable,
        Reply,
    ]


def test_who_cancels_an_attempt_is_not_told_that_it_took_too_long() -> None:
    async def cancelled() -> None:
        asking = _asked(Timed(_Slow(), 60), "60")
        await asyncio.sleep(0)
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_task_goes_on_after_an_attempt_that_took_too_long() -> None:
    async def twice(model: Timed) -> tuple[Reply, int]:
        with pytest.raises(Unavailable):
            await model.complete(_waiting("60"))
        reply, task = await model.complete(_waiting("0")), asyncio.current_task()
        return reply, task.cancelling() if task else -1

    assert asyncio.run(twice(Timed(_Slow(), 0.1))) == (Reply("PASS"), 0)


class _Run:
    """What a caller has in its context, a ledger and all it read among it."""


def test_the_timer_does_not_keep_the_run_of_who_asked_in_memory() -> None:
    run: ContextVar[_Run] = ContextVar("run")

    async def asked() -> bool:
        async def inside() -> weakref.ref[_Run]:
            mine = _Run()
            run.set(mine)
            await model.complete(_waiting("0"))
            return weakref.ref(mine)

        model = Timed(_Slow(), 60)
        kept = await asyncio.create_task(inside())
        await asyncio.sleep(0)
        gc.collect()
        return kept() is not None

    assert not asyncio.run(asked())
