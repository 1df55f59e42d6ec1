"""Flips between orders, noise within one; every contest and every model by itself."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pooled import PASS_FAIL, votes

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Comparison
from adjudge.core.domain.verdict import Compared
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.pooling.contests import balanced_orders, flip_rate, noise_rate

SAID = st.text("PF-", max_size=5)


def contest(option: str, *order: int, sample: int = 0) -> Vote:
    ballot = Ballot(
        PASS_FAIL,
        Instance({"response": ["x"] * 3}),
        Comparison(order),
        "pairwise",
        "m",
        sample=sample,
    )
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=Compared(int(option)))


@pytest.mark.parametrize(
    ("forward", "backward", "flips", "noise"),
    [
        ("P", "P", 0.0, None),
        ("P", "F", 1.0, None),
        ("PP", "FF", 1.0, 0.0),
        ("PF", "PF", 0.0, 1.0),
        ("PF", "FP", 1.0, 1.0),
        ("PPF", "PPP", 1 / 3, 1 / 3),
        ("P-", "-F", None, None),
        ("P-F", "FP-", 1.0, 1.0),
        ("", "", None, None),
        ("--", "PP", None, 0.0),
    ],
)
def test_the_same_sample_is_compared_between_orders_and_all_pairs_within_one(
    forward: str, backward: str, flips: float | None, noise: float | None
) -> None:
    assert flip_rate(votes(forward), votes(backward)) == (
        None if flips is None else pytest.approx(flips)
    )
    assert noise_rate(votes(forward), votes(backward)) == (
        None if noise is None else pytest.approx(noise)
    )


def test_models_are_compared_only_with_themselves() -> None:
    both = [*votes("P", "a"), *votes("F", "b")]
    assert flip_rate(both, both) == 0.0
    assert noise_rate(both, both) is None


def test_contests_are_compared_only_with_themselves() -> None:
    forward = [contest("0", 0, 1), contest("0", 0, 2), contest("1", 1, 2)]
    backward = [contest("0", 1, 0), contest("2", 2, 0), contest("1", 2, 1)]
    assert flip_rate(forward, backward) == pytest.approx(1 / 3)
    assert noise_rate(forward, backward) is None
    assert noise_rate([*forward, contest("1", 0, 1, sample=1)]) == 1.0


@given(SAID, SAID)
def test_both_are_shares_and_the_orders_may_be_exchanged(forward: str, backward: str) -> None:
    for rate in (flip_rate, noise_rate):
        one, other = rate(votes(forward), votes(backward)), rate(votes(backward), votes(forward))
        assert one == other or one == pytest.approx(other)
        assert one is None or 0 <= one <= 1


@given(st.text("PF", min_size=2, max_size=5))
def test_a_judge_that_repeats_itself_in_both_orders_never_flips(said: str) -> None:
    assert flip_rate(votes(said), votes(said)) == 0.0
    assert (noise_rate(votes(said), votes(said)) == 0.0) == (len(set(said)) == 1)


# -- balanced orders ---------------------------------------------------------------


@pytest.mark.parametrize("count", range(2, 10))
def test_every_response_stands_equally_often_at_every_place_and_before_and_behind_every_other(
    count: int,
) -> None:
    orders = balanced_orders(count)
    assert len(orders) == len(set(orders)) == (2 * count if count % 2 else count)
    assert all(sorted(order) == list(range(count)) for order in orders)
    assert orders[0] == tuple(range(count))
    assert tuple(reversed(range(count))) in orders
    at = Counter((place, one) for order in orders for place, one in enumerate(order))
    assert set(at.values()) == {len(orders) // count}
    before = Counter(
        (one, two)
        for order in orders
        for place, one in enumerate(order)
        for two in order[place + 1 :]
    )
    assert [before[pair] for pair in permutations(range(count), 2)] == [len(orders) // 2] * (
        count * (count - 1)
    )
    right_behind = Counter(pair for order in orders for pair in pairwise(order))
    assert [right_behind[pair] for pair in permutations(range(count), 2)] == [
        len(orders) // count
    ] * (count * (count - 1))
