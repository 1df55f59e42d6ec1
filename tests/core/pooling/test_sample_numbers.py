"""Numbers of samples as one: the seed's table, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.pooling.numbers import AGGREGATIONS, Aggregation, aggregate, spread

numbers = st.lists(st.floats(min_value=-100, max_value=100), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("given_", "how", "wanted"),
    [
        ([3.0, 4.0, 5.0], "avg", 4.0),
        ([3.0, 4.0, 9.0], "med", 4.0),
        ([3.0, 4.0, 5.0], "min", 3.0),
        ([3.0, 4.0, 5.0], "max", 5.0),
        ([3.0, 4.0, 9.0], "avg", 16 / 3),
        ([3.0, 4.0], "med", 3.5),
        ([7.0], "avg", 7.0),
    ],
)
def test_the_table_of_the_seed(given_: list[float], how: Aggregation, wanted: float) -> None:
    assert aggregate(given_, how) == pytest.approx(wanted)


@given(numbers, st.randoms())
def test_the_order_of_samples_does_not_matter(found: list[float], choice: object) -> None:
    shuffled = sorted(found, key=lambda _: choice.random())  # type: ignore[attr-defined]
    for how in AGGREGATIONS:
        assert aggregate(shuffled, how) == pytest.approx(aggregate(found, how))


@given(numbers)
def test_every_rule_stays_between_the_lowest_and_the_highest(found: list[float]) -> None:
    for how in AGGREGATIONS:
        assert min(found) - 1e-9 <= aggregate(found, how) <= max(found) + 1e-9


def test_spread_is_the_standard_deviation_and_unknown_with_one_sample() -> None:
    assert spread([3.0, 4.0, 5.0]) == pytest.approx(1.0)
    assert spread([4.0, 4.0]) == 0
    assert spread([4.0]) is None
    assert spread([]) is None
