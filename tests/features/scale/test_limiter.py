"""One rate limit and one budget for many workers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from adjudge.core.aio import event_loop
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.layers.limit import Rate
from adjudge.errors import SetupError
from adjudge.features.scale import limiter as module
from adjudge.features.scale.limiter import Lease, LeasedPace, Limiter, LimiterLostError
from adjudge.features.scale.ray.connection import check_address


@dataclass
class Clock:
    """Time that passes when somebody waits."""

    now: float = 100.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "monotonic", found)
    monkeypatch.setattr(module, "pause", found.pause)
    return found


def test_the_stretches_of_all_workers_together_keep_to_the_limit(clock: Clock) -> None:
    limiter = Limiter({"m": Rate(6000)}, None, workers=8)
    leases = [limiter.lease("m", 100) for _ in range(80)]
    assert sum(lease.requests for lease in leases) / sum(
        lease.lasts for lease in leases
    ) == pytest.approx(97)
    starts = [lease.starts_in for lease in leases]
    assert starts == pytest.approx(
        [sum(lease.lasts for lease in leases[:place]) for place in range(80)]
    )


def test_tokens_are_limited_as_well(clock: Clock) -> None:
    limiter = Limiter({"m": Rate(6000, 60_000)}, None, workers=1)
    lease = limiter.lease("m", 500)
    assert lease.requests / lease.lasts == pytest.approx(2 * 0.97)


def test_too_many_seen_by_one_slows_all_and_the_rate_grows_back(clock: Clock) -> None:
    limiter = Limiter({"m": Rate(6000)}, None, workers=1)
    before = limiter.lease("m", 1)
    limiter.slow_down("m", 3.0)
    limiter.slow_down("m", 3.0)  # seen by another at the same moment: it is the same news
    after = limiter.lease("m", 1)
    assert after.starts_in == pytest.approx(3.0)
    assert after.lasts / after.requests == pytest.approx(2 * before.lasts / before.requests)
    for _ in range(40):
        last = limiter.lease("m", 1)
    assert last.lasts / last.requests == pytest.approx(before.lasts / before.requests)


def test_a_model_without_a_limit_is_held_back_only_when_it_says_so(clock: Clock) -> None:
    limiter = Limiter({}, None, workers=4)
    assert limiter.lease("m", 1).starts_in == 0
    limiter.slow_down("m", None)
    assert limiter.lease("m", 1).starts_in == pytest.approx(1.0)


def test_a_worker_spreads_its_requests_over_its_stretch(clock: Clock) -> None:
    async def lease(tokens: int) -> Lease:
        return Lease(4, 1.0, 2.0)

    pace = LeasedPace(lease, lambda seconds: None, Rate(120), 2)

    async def run() -> None:
        for _ in range(5):
            await pace.wait(10)

    event_loop.run(run())
    assert clock.now == pytest.approx(100 + 1.0 + 1.5 + 1.0)
    assert clock.waits == pytest.approx([1.0, 0.5, 0.5, 0.5, 1.0])


def test_slots_that_were_not_used_in_time_are_gone(clock: Clock) -> None:
    leases = [Lease(4, 0.0, 2.0), Lease(1, 5.0, 0.5)]

    async def lease(tokens: int) -> Lease:
        return leases.pop(0)

    pace = LeasedPace(lease, lambda seconds: None, Rate(120), 2)

    async def run() -> None:
        await pace.wait(10)
        clock.now += 1.6  # those at 0.5 and 1.0 are gone; that at 1.5 is just due
        await pace.wait(10)
        await pace.wait(10)

    event_loop.run(run())
    assert clock.waits == pytest.approx([0.0, 0.0, 5.0])


def test_a_request_that_woke_late_waits_for_another_slot_once(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lease(tokens: int) -> Lease:
        return Lease(100, 0.0, 50.0)

    async def overslept(seconds: float) -> None:
        await clock.pause(seconds + 2.2)

    monkeypatch.setattr(module, "pause", overslept)
    pace = LeasedPace(lease, lambda seconds: None, Rate(120), 2)
    event_loop.run(pace.wait(10))
    assert clock.waits == pytest.approx([2.2, 2.2]), (
        "on a machine that is always late, it is sent nevertheless"
    )


def test_a_worker_that_lost_the_limiter_keeps_to_its_own_part(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def lost(tokens: int) -> Lease:
        asked.append(tokens)
        raise LimiterLostError

    monkeypatch.setattr("adjudge.core.gateway.layers.limit.monotonic", clock)
    monkeypatch.setattr("adjudge.core.gateway.layers.limit.pause", clock.pause)
    pace = LeasedPace(lost, lambda seconds: None, Rate(120), 4)

    async def run() -> None:
        for _ in range(5):
            await pace.wait(10)

    event_loop.run(run())
    assert clock.waits == pytest.approx([0.0, 2.0, 2.0, 2.0, 2.0])
    assert len(asked) == 2, "after five seconds it is looked for again"


def test_the_parts_of_a_budget_never_add_up_to_more(clock: Clock) -> None:
    limiter = Limiter({}, Budget(max_usd=1.0, max_calls=50), workers=3)
    likely, most = Spent(1, 100, 0.01), Spent(1, 400, 0.04)
    parts = []
    while part := limiter.grant(likely, most):
        parts.append(part)
    assert sum(part.max_usd or 0 for part in parts) == pytest.approx(1.0, abs=0.01)
    assert sum(part.max_calls or 0 for part in parts) <= 50
    assert all(part.max_tokens is None for part in parts)
    assert len(parts) > 3


def test_a_cluster_that_lets_in_anybody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert check_address("ray") == "local"
    assert check_address("ray://127.0.0.1:10001") == "ray://127.0.0.1:10001"
    assert check_address("ray://localhost:10001") == "ray://localhost:10001"
    for where in ("ray://10.0.0.7:10001", "ray://head.example:10001"):
        with pytest.raises(SetupError, match="RAY_AUTH_MODE=token"):
            check_address(where)
    for where in ("dask", "ray://", "ray://localhost", "ray://localhost:port"):
        with pytest.raises(SetupError, match="--on must be ray, ray://"):
            check_address(where)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.7:6379")
    with pytest.raises(SetupError, match="lets in anyone"):
        check_address("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert check_address("ray") == "10.0.0.7:6379"
