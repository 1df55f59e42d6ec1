"""How many at once, and how many a minute."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import ScriptedModel
from adjudge.core.domain.message import Reply, Request, Usage
from adjudge.core.gateway.layers.limit import ConcurrencyLimit, Limited, Pace, Rate
from adjudge.errors import RateLimited
from support.asking import ask, ask_all, open_at
from support.fake_provider import FakeProvider, Status


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(4):
        await asyncio.sleep(0)


async def seconds(of: Awaitable[object]) -> float:
    began = time.monotonic()
    await of
    return time.monotonic() - began


# -- the gate ------------------------------------------------------------------------


def test_the_limit_is_halved_once_for_all_that_were_under_way() -> None:
    gate, began = ConcurrencyLimit(8), time.monotonic()
    for _ in range(8):
        gate.too_many(began)
    assert gate.limit == 4
    gate.too_many(time.monotonic() + 1)
    assert gate.limit == 2


def test_the_limit_never_falls_below_one() -> None:
    gate = ConcurrencyLimit(3)
    for wave in range(1, 10):
        gate.too_many(time.monotonic() + wave)
    assert gate.limit == 1


def test_the_limit_grows_back_by_about_one_a_round_and_never_above_its_most() -> None:
    gate = ConcurrencyLimit(8)
    gate.too_many(time.monotonic())
    for _ in range(4):
        gate.went_well()
    assert 4.5 < gate.limit <= 5
    for _ in range(1000):
        gate.went_well()
    assert gate.limit == 8


def test_places_are_given_first_come_first_served() -> None:
    async def scenario() -> list[int]:
        gate, order = ConcurrencyLimit(1), []

        async def visitor(number: int) -> None:
            await gate.enter()
            order.append(number)
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*map(visitor, range(6)))
        return order

    assert asyncio.run(scenario()) == [0, 1, 2, 3, 4, 5]


def test_growth_lets_in_who_waits() -> None:
    async def scenario() -> int:
        gate = ConcurrencyLimit(2)
        gate.too_many(time.monotonic())
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await settle()
        assert not waiting.done()
        gate.went_well()
        await waiting
        return gate.inside

    assert asyncio.run(scenario()) == 2


def test_who_stops_waiting_is_in_nobodys_way() -> None:
    async def scenario() -> None:
        gate = ConcurrencyLimit(1)
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await settle()
        waiting.cancel()
        await settle()
        gate.leave()
        await asyncio.wait_for(gate.enter(), 60)

    asyncio.run(scenario())


def test_who_is_cancelled_while_waiting_is_forgotten() -> None:
    async def scenario() -> None:
        gate = ConcurrencyLimit(1)
        await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        waiting[1].cancel()
        gate.leave()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == [
            asyncio.CancelledError,
            asyncio.CancelledError,
            type(None),
        ]
        assert gate.inside == 1

    asyncio.run(scenario())


def test_who_is_cancelled_on_being_let_in_gives_the_place_to_the_next() -> None:
    async def scenario() -> None:
        gate = ConcurrencyLimit(1)
        await gate.enter()
        let_in, following = (asyncio.create_task(gate.enter()) for _ in range(2))
        await settle()
        gate.leave()
        let_in.cancel()
        await asyncio.wait_for(following, 60)
        assert let_in.cancelled()
        assert gate.inside == 1

    asyncio.run(scenario())


STEPS = [
    "enter",
    "enter",
    "enter",
    "leave",
    "cancel first",
    "cancel last",
    "cancel all",
    "too many",
    "went well",
    "tick",
    "settle",
    "settle",
]


@given(most=st.integers(1, 4), steps=st.lists(st.sampled_from(STEPS), min_size=10, max_size=40))
def test_whatever_happens_no_place_is_lost_and_none_is_given_twice(
    most: int, steps: list[str]
) -> None:
    asyncio.run(_live_through(ConcurrencyLimit(most), steps))


async def _live_through(gate: ConcurrencyLimit, steps: list[str]) -> None:
    holding: list[int] = []
    release: dict[int, asyncio.Event] = {}

    async def visitor(number: int) -> None:
        await gate.enter()
        holding.append(number)
        assert len(holding) <= gate.most
        try:
            await release[number].wait()
        finally:
            holding.remove(number)
            gate.leave()

    visitors: list[asyncio.Task[None]] = []
    for number, step in enumerate(steps):
        alive = [task for task in visitors if not task.done()]
        if step == "enter":
            release[number] = asyncio.Event()
            visitors.append(asyncio.create_task(visitor(number)))
        elif step == "leave" and holding:
            release[holding[0]].set()
        elif step.startswith("cancel"):
            for task in {"first": alive[:1], "last": alive[-1:], "all": alive}[step.split()[1]]:
                task.cancel()
        elif step == "too many":
            gate.too_many(time.monotonic() + number)
        elif step == "went well":
            gate.went_well()
        elif step == "tick":
            await asyncio.sleep(0)
        elif step == "settle":
            await settle()
            assert gate.inside == len(holding)
            waiting = sum(not task.done() for task in visitors) - len(holding)
            assert not waiting or gate.inside >= int(gate.limit), (
                "somebody waits although there is a free place"
            )
        assert 1 <= gate.limit <= gate.most
    for event in release.values():
        event.set()
    ends = await asyncio.gather(*visitors, return_exceptions=True)
    assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
    assert gate.inside == 0
    await asyncio.wait_for(gate.enter(), 60)


# -- at the server -------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 4])
def test_as_many_requests_run_at_once_as_allowed_and_no_more(
    provider: FakeProvider, most: int
) -> None:
    model = open_at(provider, max_concurrency=most)
    ask(model)  # before a first answer it would be three
    provider.latency, provider.together = 0.01, most
    ask_all(model, ["REC-00001-Y"] * 20)
    assert provider.most_at_once == most


def test_requests_of_several_threads_count_together(provider: FakeProvider) -> None:
    provider.latency, provider.together = 0.01, 3
    model = open_at(provider, max_concurrency=3)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: ask_all(model, ["REC-00001-Y"] * 10), range(2)))
    assert len(provider.requests) == 20
    assert provider.most_at_once == 3


def test_after_a_wave_of_too_many_requests_half_as_many_run_at_once(
    provider: FakeProvider, fast_retries: None
) -> None:
    model = open_at(provider, max_concurrency=8, max_retries=3)
    ask(model, "REC-00099-Y")
    provider.together = 8
    provider.faults = lambda record, attempt: Status(429) if attempt == 0 and record < 8 else None
    ask_all(model, [f"REC-{number:05}-Y" for number in range(8)])
    limit = int(model.inner.inner.inner.gate.limit)  # type: ignore[attr-defined]
    assert 4 <= limit <= 6, "halved, and grown back a little by the eight that went well"
    provider.most_at_once, provider.together = 0, limit
    ask_all(model, ["REC-00099-Y"] * limit)
    assert provider.most_at_once == limit


def test_it_grows_back_to_the_full_number(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = lambda record, attempt: Status(429) if (record, attempt) == (0, 0) else None
    model = open_at(provider, max_concurrency=4, max_retries=3)
    ask_all(model, [f"REC-{number:05}-Y" for number in range(60)])
    provider.most_at_once, provider.together = 0, 4
    ask_all(model, ["REC-00099-Y"] * 12)
    assert provider.most_at_once == 4


def test_only_the_provider_can_shrink_the_gate() -> None:
    limited = Limited(ScriptedModel([ValueError("no"), RateLimited("slow down"), "PASS"]), 4)
    limits = []
    for _ in range(3):
        with suppress(ValueError, RateLimited):
            ask(limited)
        limits.append(limited.gate.limit)
    assert limits == [4, 2, 2.5]
    assert limited.gate.inside == 0


# -- pace ----------------------------------------------------------------------------


def test_the_first_goes_at_once_and_the_others_evenly_after() -> None:
    async def scenario() -> tuple[float, float]:
        pace = Pace(600)
        await pace.wait(1)
        began = time.monotonic()
        for _ in range(10):
            await pace.wait(1)
        return await seconds(Pace(1).wait(1)), time.monotonic() - began

    first, ten = asyncio.run(scenario())
    assert first < 30, "an interval is a minute"
    assert ten >= 0.7, "ten intervals are a second"


def test_those_who_come_together_go_one_after_the_other() -> None:
    async def scenario() -> float:
        pace = Pace(1200)
        return await seconds(asyncio.gather(*(pace.wait(1) for _ in range(7))))

    assert asyncio.run(scenario()) >= 0.29


def test_an_idle_minute_earns_no_burst() -> None:
    async def scenario() -> float:
        pace = Pace(600)
        await pace.wait(1)
        await asyncio.sleep(0.3)
        return await seconds(asyncio.gather(*(pace.wait(1) for _ in range(3))))

    assert asyncio.run(scenario()) >= 0.19


def test_an_estimate_is_corrected_both_ways() -> None:
    async def scenario() -> tuple[float, float]:
        more, less = Pace(6000), Pace(6000)
        await more.wait(1)
        more.correct(100)
        await less.wait(1000)
        less.correct(-1000)
        return await seconds(more.wait(1)), await seconds(less.wait(1))

    slower, at_once = asyncio.run(scenario())
    assert slower >= 0.5
    assert at_once < 5


def test_requests_per_minute_are_kept_at_the_server(provider: FakeProvider) -> None:
    ask_all(open_at(provider, requests_per_minute=300), ["REC-00001-Y"] * 6)
    arrivals = sorted(request.at for request in provider.requests)
    assert arrivals[-1] - arrivals[0] >= 0.5


def test_tokens_per_minute_are_kept_by_what_was_really_used() -> None:
    limited = Limited(
        ScriptedModel([Reply("PASS", usage=Usage(1, 9900, 100))]),
        4,
        Rate(tokens_per_minute=600_000),
    )
    ask(limited)
    began = time.monotonic()
    ask(limited)
    assert time.monotonic() - began >= 0.5, "10,000 tokens take a second at ten a millisecond"


def test_tokens_are_set_aside_before_the_provider_has_counted_them() -> None:
    started: list[float] = []

    def answer(request: Request) -> Reply:
        started.append(time.monotonic())
        return Reply("PASS", usage=Usage(1, 503, 100))

    limited = Limited(ScriptedModel(answer), 4, Rate(tokens_per_minute=36_180))
    ask_all(limited, ["x" * 2000] * 2, max_tokens=100)
    assert started[1] - started[0] >= 0.5, "603 tokens take a second"
