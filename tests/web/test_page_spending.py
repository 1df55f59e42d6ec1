"""One budget for everything that the page asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import BudgetSpent, SetupError
from adjudge.web.spending import Spending


@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)), max_size=20))
def test_what_is_set_aside_and_spent_never_comes_to_more_than_the_budget_allows(
    asked: list[tuple[float, float]],
) -> None:
    spending = Spending(1)
    for wanted, cost in asked:
        left = spending.remaining
        try:
            share = spending.set_aside(wanted)
        except BudgetSpent:
            assert wanted > left
            continue
        assert spending.remaining == pytest.approx(left - wanted)
        share.settle(min(cost, wanted))
    assert spending.spent <= 1 + 1e-9
    assert spending.remaining == pytest.approx(max(0, 1 - spending.spent))


def test_a_share_is_settled_once() -> None:
    spending = Spending(1)
    share = spending.set_aside()
    assert spending.remaining == 0
    share.settle(0.25)
    share.settle(0.25)
    assert (spending.spent, spending.remaining) == (0.25, 0.75)


def test_more_than_is_left_is_refused_in_words() -> None:
    with pytest.raises(
        BudgetSpent, match=r"\$0.60 is more than the page has left to spend \(\$0.50 of \$0.50\)"
    ):
        Spending(0.5).set_aside(0.6)


def test_a_model_whose_price_is_not_known_is_not_asked_from_the_page() -> None:
    Spending().refuse_unpriced(["local/any", "openai/gpt-4o-mini"])
    with pytest.raises(SetupError, match="no price for model nobody/knows"):
        Spending().refuse_unpriced(["local/any", "nobody/knows"])
