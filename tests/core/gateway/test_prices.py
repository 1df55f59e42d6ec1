"""Prices: a dated table, the user's own over it, and none that is not known taken for zero."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import SetupError
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.gateway.prices import Price, PriceTable


def test_the_shipped_table_says_when_it_was_looked_up() -> None:
    table = PriceTable.load()
    assert re.fullmatch(r"20\d\d-\d\d", table.dated)
    assert all(price.input > 0 for price in table.prices.values())
    written = [price for price in table.prices.values() if price.output]  # decisions are free
    assert all(price.input <= price.output * 10 for price in written)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("openai/gpt-4o-mini", True),
        ("anthropic/claude-sonnet-4-20250514", True),
        ("local/smollm2-135m", True),
        ("ollama/llama3.2:3b", True),
        ("scripted", True),
        ("replay/a.jsonl", True),
        ("openai/unheard-of", False),
        ("http://localhost:8000/v1#m", True),
        ("http://127.0.0.1:8000/v1#m", True),
        ("http://[::1]:8000/v1#m", True),
        ("http://models.localhost:8000/v1#m", True),
        ("http://192.168.1.7/v1#m", False),  # a gateway there may pass on to models that cost money
        ("https://llm.internal/v1#m", False),
        ("https://notlocalhost/v1#m", False),
        ("https://localhost.example.com/v1#m", False),
        ("https://8.8.8.8/v1#m", False),
        ("https://example.com/v1#http://localhost", False),
        ("http://[broken/v1#m", False),
        ("my_function", False),
    ],
)
def test_what_is_known(model: str, known: bool) -> None:
    assert (PriceTable.load().of(model) is not None) is known
    assert (PriceTable.load().cost(model, Usage(1, 10, 10)) is None) is not known


def test_a_cost_counts_cached_tokens_by_their_own_price() -> None:
    price = Price(input=2.0, output=10.0, cached=0.5)
    assert price.cost(Usage(1, 1_000_000, 100_000, 400_000)) == pytest.approx(
        0.6 * 2 + 0.4 * 0.5 + 0.1 * 10
    )
    assert Price(2.0, 10.0).cost(Usage(1, 1_000_000, 0, 400_000)) == pytest.approx(2.0)


def test_a_batch_is_cheaper_by_all_tokens_that_have_no_price_of_their_own() -> None:
    """Seen: a limit of $3 on batches, set aside at half the price, became $3.08."""
    usage = Usage(1, 1_000_000, 100_000, 400_000).in_batch()
    assert Price(2.0, 10.0, batch=0.5).cost(usage) == pytest.approx((2.0 + 1.0) / 2)
    own = Price(2.0, 10.0, cached=0.5, batch=0.5)
    assert own.cost(usage) == pytest.approx(0.6 * 2 / 2 + 0.4 * 0.5 + 1.0 / 2)


def test_own_prices_win_and_the_longest_id_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text(
        "openai/gpt-4o-mini: {input: 1, output: 2}\nacme/*: {input: 3, output: "
        "4}\nacme/big*: {input: 5, output: 6}\n"
    )
    table = PriceTable.load(own)
    assert table.of("openai/gpt-4o-mini") == Price(1, 2)
    assert table.of("acme/small") == Price(3, 4)
    assert table.of("acme/big-1") == Price(5, 6)
    assert table.of("openai/gpt-4o") == PriceTable.load().of("openai/gpt-4o")
    monkeypatch.setenv("ADJUDGE_PRICES", str(own))
    assert PriceTable.load().of("acme/small") == Price(3, 4)


def test_a_model_may_cost_as_much_as_another(tmp_path: Path) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("azure/judge: openai/gpt-4o\nazure/own: acme/*\nacme/*: {input: 3, output: 4}\n")
    table = PriceTable.load(own)
    assert table.of("azure/judge") == PriceTable.load().of("openai/gpt-4o")
    assert table.of("azure/own") == Price(3, 4)
    assert table.of("azure/other") is None


@pytest.mark.parametrize(
    "text",
    [
        "azure/judge: acme/unknown",
        "[]",
        "a: 1",
        "a: {input: 1}",
        "a: {input: x, output: 1}",
        "a: {input: -1, output: 1}",
        "a: {input: .nan, output: 1}",
        "a: {input: .inf, output: 1}",
        "a: {input: yes, output: 1}",
        "a: {input: 1, output: 1, window: .inf}",
        "a: {input: 1, output: 1, per: 2}",
        "a: {",
    ],
)
def test_a_wrong_file_of_prices_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(SetupError, match=r"prices\.yaml"):
        PriceTable.load(tmp_path / "prices.yaml")
    with pytest.raises(SetupError, match="missing"):
        PriceTable.load(tmp_path / "missing.yaml")


def test_calls_without_a_price_are_counted_apart() -> None:
    used = {"openai/gpt-4o-mini": Usage(2, 1_000_000, 0), "acme/unheard-of": Usage(3, 1_000_000, 0)}
    open_budget = OpenBudget(account=Account(used))
    assert open_budget.spent == Spent(5, 2_000_000, pytest.approx(0.15), 3)  # type: ignore[arg-type]


SPENT = st.builds(
    Spent, *[st.integers(0, 10**6)] * 2, st.integers(0, 10**6).map(float), st.integers(0, 100)
)


@given(SPENT, SPENT)
def test_what_is_taken_and_given_back_is_as_before(one: Spent, two: Spent) -> None:
    assert (one + two) - two == one
    assert one + two == two + one
