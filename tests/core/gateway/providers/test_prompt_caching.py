"""Prompts that a provider is asked to cache: the mark, the counts, the price and the budget."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, Budget, open_model
from adjudge.core.domain.message import Reply, Usage
from adjudge.core.gateway.layers.account import Account
from adjudge.core.gateway.layers.budget import OpenBudget, calling
from adjudge.core.gateway.prices import Price, PriceTable
from adjudge.errors import BudgetSpent, SetupError
from adjudge.runs.folder import records_of
from adjudge.runs.results.cost import cost_message, cost_of
from support.asking import MODELS, a_request, ask, marked, open_at
from support.fake_provider import FakeProvider
from support.protocols import LEAST_CACHED

EPHEMERAL = {"type": "ephemeral"}
LONG = "The mark must end in the letter Y. " + "This rule has no exception. " * 200


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_the_shared_part_is_written_once_and_read_afterwards(
    provider: FakeProvider, name: str
) -> None:
    model = open_at(provider, name, prompt_caching=True)
    system = f"{name}: {LONG}"
    first, second = (ask(model, text, system=system).usage for text in marked(2))
    shared = len(system) // 4
    assert shared >= LEAST_CACHED
    assert (first.cache_write_tokens, first.cached_tokens) == (shared, 0)
    assert (second.cache_write_tokens, second.cached_tokens) == (0, shared)
    assert second.prompt_tokens > shared
    short = ask(model, system="You judge.").usage  # below the provider's minimum
    assert (short.cache_write_tokens, short.cached_tokens) == (0, 0)


def test_the_mark_is_at_the_end_of_the_shared_part(provider: FakeProvider) -> None:
    ask(open_at(provider, "anthropic", prompt_caching=True))
    ask(open_at(provider, "bedrock", prompt_caching=True))
    ask(open_at(provider, "anthropic"))
    claude, bedrock, plain = provider.bodies
    assert claude["system"] == [{"type": "text", "text": "You judge.", "cache_control": EPHEMERAL}]
    assert bedrock["system"] == [{"text": "You judge."}, {"cachePoint": {"type": "default"}}]
    assert json.dumps(claude["messages"]) == json.dumps(plain["messages"])
    assert plain["system"] == "You judge."


def test_caching_changes_the_price_and_not_the_identity(
    provider: FakeProvider, tmp_path: Path
) -> None:
    replies = tmp_path / "replies.jsonl"
    plain = open_at(provider, "anthropic", cache=str(replies))
    caching = open_at(provider, "anthropic", prompt_caching=True)
    assert caching.identity == plain.identity
    ask(plain)
    again = open_at(provider, "anthropic", prompt_caching=True, cache=str(replies))
    assert ask(again).usage == Usage()  # from the file: nothing is paid twice
    assert len(provider.bodies) == 1


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("anthropic", "bedrock")])
def test_a_provider_without_a_mark_refuses_the_setting(provider: FakeProvider, name: str) -> None:
    options: dict[str, Any] = {"prompt_caching": True}
    with pytest.raises(SetupError, match="leave it out"):
        open_at(provider, name, **options)


def test_a_model_without_a_server_refuses_the_setting() -> None:
    with pytest.raises(SetupError, match="prompt_caching: leave it out"):
        open_model("scripted/PASS", prompt_caching=True)


def test_a_mark_among_the_parameters_names_the_setting(provider: FakeProvider) -> None:
    with pytest.raises(SetupError, match="prompt_caching"):
        open_at(provider, "anthropic", parameters={"cache_control": EPHEMERAL})


def test_tokens_written_to_the_cache_cost_more_and_those_read_less() -> None:
    usage = Usage(1, 1_000_000, 0, 400_000, cache_write_tokens=200_000)
    price = Price(input=2.0, output=10.0, cached=0.2, cache_write=3.0)
    assert price.cost(usage) == pytest.approx(0.4 * 2 + 0.4 * 0.2 + 0.2 * 3)
    assert price.saved_by_cache(usage) == pytest.approx(0.4 * 1.8 - 0.2)
    # Without a price of their own, written tokens are counted a quarter higher, never too low.
    assert Price(2.0, 10.0, cached=0.2).cost(usage) == pytest.approx(0.8 + 0.08 + 0.2 * 2.5)


def test_the_saving_is_told_with_the_cost() -> None:
    model = "anthropic/claude-sonnet-4-5"
    prices = PriceTable.load_shipped()
    saved = {model: Usage(10, 100_000, 100, 80_000, cache_write_tokens=10_000)}
    assert cost_of(saved, prices).saved_by_prompt_caching_usd == pytest.approx(
        (80_000 * 2.7 - 10_000 * 0.75) / 1e6
    )
    assert "(prompt caching saved $0.2085)" in str(cost_message(saved, prices))
    lost = {model: Usage(1, 100_000, 100, 0, cache_write_tokens=100_000)}
    assert "(prompt caching cost $0.0750 more than it saved)" in str(cost_message(lost, prices))
    assert "caching" not in str(cost_message({model: Usage(1, 100, 10)}, prices))
    free = {"local/smollm2-135m": Usage(1, 100, 1, 90)}
    assert cost_of(free, prices).to_dict() == {"cost_usd": 0.0, "unpriced_models": []}


def test_a_run_keeps_the_counts(provider: FakeProvider, tmp_path: Path) -> None:
    model = open_at(provider, "anthropic", prompt_caching=True, max_concurrency=1)
    judge = AspectCritic(f"a run. {LONG}", model)
    results = judge.evaluate(marked(4), run=tmp_path / "run")
    written = [result.votes[0].usage.cache_write_tokens for result in results]
    assert sum(count > 0 for count in written) == 1
    records = records_of(tmp_path / "run", votes=True)
    stored = [vote.usage for record in records for vote in record.votes or ()]
    assert [usage.cache_write_tokens for usage in stored] == written
    assert sum(usage.cached_tokens > LEAST_CACHED for usage in stored) == 3


def test_the_reserve_is_at_the_price_of_writing(provider: FakeProvider) -> None:
    """Without it, ten first requests at once could exceed the limit by a quarter."""
    prices = PriceTable({"anthropic/*": Price(1.0, 1.0, cached=0.1)})
    request = a_request(system="the reserve. " + LONG)

    async def spend(max_usd: float, *, caching: bool) -> Reply:
        model = open_at(provider, "anthropic", prompt_caching=caching)
        with calling(OpenBudget(Budget(max_usd=max_usd), prices)):
            return await model.complete(request)

    plain, caching = OpenBudget(Budget(max_usd=1), prices), OpenBudget(Budget(max_usd=1), prices)
    caching.sizes.cache_writers.add("m")
    least, most = (budget.sizes.most("m", request) for budget in (plain, caching))
    assert Price(1.0, 1.0).cost(most) == pytest.approx(
        Price(1.0, 1.0).cost(least) + least.prompt_tokens * 0.25 / 1e6
    )
    assert asyncio.run(spend(1.0, caching=True)).text
    with pytest.raises(BudgetSpent):
        asyncio.run(spend(0.000001, caching=True))


def test_an_account_from_before_has_no_such_count() -> None:
    old = Account.of(
        {
            "used": {"m": [1, 10, 5, 0, 0, 0, 0]},
            "failed": 0,
            "lost": [0, 0, 0, 0],
            "leased": 1,
            "each": [1, 10, 0.1, 0],
        }
    )
    assert old.used["m"] == Usage(1, 10, 5)
