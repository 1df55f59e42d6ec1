"""What requests in batches, requests under way and leased ones count for against a limit."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Reply, Usage
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import Budget, OpenBudget
from adjudge.core.gateway.prices import Price, PriceTable
from adjudge.errors import BudgetSpent
from support.asking import a_request

UNPRICED = PriceTable({})


def limited(**limits: Any) -> OpenBudget:
    return OpenBudget(Budget(**limits), UNPRICED)


def sizes() -> tuple[int, int]:
    """Tokens that a request is likely to take, and takes at most, before anything is known."""
    unlimited = limited(max_tokens=10**9)
    likely, most = unlimited.sizes.likely("m", a_request()), unlimited.sizes.most("m", a_request())
    return likely.prompt_tokens + likely.completion_tokens, (
        most.prompt_tokens + most.completion_tokens
    )


def fitting(budget: OpenBudget, tries: int = 10) -> int:
    """How many requests of a batch fit."""
    for count in range(tries):
        try:
            budget.set_aside("m", a_request())
        except BudgetSpent:
            return count
    return tries


async def answered() -> Reply:
    return Reply("PASS", usage=Usage(1, 10, 10))


async def send(budget: OpenBudget) -> None:
    async with asyncio.timeout(5):
        await budget.send("m", a_request(), answered)


def test_the_first_of_a_batch_has_to_be_likely_to_fit_and_others_at_their_largest() -> None:
    likely, most = sizes()
    assert fitting(limited(max_tokens=likely - 1)) == 0
    assert fitting(limited(max_tokens=likely)) == 1
    assert fitting(limited(max_tokens=most + likely)) == 1
    assert fitting(limited(max_tokens=2 * most)) == 2


def test_once_a_model_is_known_its_requests_count_as_they_turned_out() -> None:
    budget = limited(max_tokens=3 * 20)
    budget.sizes.learn("m", a_request(), Usage(1, 10, 10))
    assert fitting(budget) == 3


def test_requests_under_way_leave_a_batch_less_room() -> None:
    budget = limited(max_calls=3)

    async def two_under_way() -> int:
        ends = asyncio.Event()

        async def waiting() -> Reply:
            await ends.wait()
            return await answered()

        asked = [asyncio.create_task(budget.send("m", a_request(), waiting)) for _ in range(2)]
        await asyncio.sleep(0.01)
        found = fitting(budget)
        ends.set()
        await asyncio.gather(*asked)
        return found

    assert asyncio.run(two_under_way()) == 1


def test_a_batch_that_was_sent_leaves_other_requests_less_room() -> None:
    """They are refused at once: no reply that is under way could make room."""
    budget = limited(max_calls=2)
    first, _ = budget.set_aside("m", a_request()), budget.set_aside("m", a_request())
    assert first is not None
    with pytest.raises(BudgetSpent):
        asyncio.run(send(budget))
    assert budget.spent.calls == 0


def test_what_a_batch_gives_back_may_be_spent() -> None:
    budget = limited(max_calls=2)
    first, _ = budget.set_aside("m", a_request()), budget.set_aside("m", a_request())
    assert first is not None
    budget.give_back(first)
    asyncio.run(send(budget))
    assert budget.spent.calls == 1


def test_what_may_have_been_paid_is_not_sent_again_where_other_batches_need_the_room() -> None:
    budget = limited(max_calls=3)
    assert fitting(budget, 2) == 2
    with pytest.raises(BudgetSpent):
        budget.write_off(Spent(2), sent_again=True)
    assert budget.spent == Spent()
    other = limited(max_calls=3)
    assert fitting(other, 1) == 1
    other.write_off(Spent(2), sent_again=True)
    assert other.spent.calls == 2


def test_a_batch_is_set_aside_at_its_own_price() -> None:
    prices = PriceTable({"m": Price(1000.0, 1000.0, batch=0.5)})
    budget = OpenBudget(Budget(max_usd=1e6), prices)
    budget.sizes.learn("m", a_request(), Usage(1, 500, 500))
    aside = budget.set_aside("m", a_request())
    assert aside is not None
    assert aside.usd == pytest.approx(budget.cost("m", Usage(1, 500, 500)).usd / 2)


@pytest.mark.parametrize("usage", [Usage(1, 10, 10), Usage(2, 10, 10), None])
def test_a_kill_after_a_batch_was_collected_loses_what_is_under_way(usage: Usage | None) -> None:
    """Replies of batches are settled without a lease: they may not use up what others leased."""
    disk: list[JsonDict] = []

    async def keep(account: JsonDict) -> None:
        disk.append(json.loads(json.dumps(account)))

    async def killed() -> None:
        budget = OpenBudget(Budget(max_calls=1000), UNPRICED, Account(), keep)
        for _ in range(200):
            budget.collect("m", usage)
        budget.write_off(Spent(300), sent_again=False)
        asked = asyncio.create_task(budget.send("m", a_request(), asyncio.Event().wait))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        asked.cancel()

    asyncio.run(killed())
    found = Account.of(disk[0])
    found.write_off()
    assert found.settled_calls > 300 + 200 * (usage.calls if usage else 1)


def test_after_a_kill_every_leased_request_counts_as_the_dearest_did() -> None:
    """A smaller lease does not take back what the disk knows of."""
    account = Account()
    account.lease(5, Spent(1, 1000, 0.5))
    account.lease(8, Spent(1, 10, 2.0))
    account.lease(6, Spent(1, 10, 0.1))
    account.write_off()
    assert account.lost == Spent(8, 8000, 16.0)


def test_what_is_known_to_be_spent_is_never_taken_back() -> None:
    account = Account({"m": Usage(5, 100, 100)}, leased=3, each=Spent(1, 50, 0.5))
    account.write_off()
    assert (account.lost, account.settled_calls) == (Spent(), 5)
