"""The alternative annotator test: by hand, and step by step against scipy and statsmodels."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.alt_test import (
    alt_test,
    benjamini_yekutieli,
    closeness,
    p_value_below,
    share_alike,
)

ROWS = range(40)


def people(seed: int, right: float, count: int = 3) -> dict[str, dict[int, int]]:
    choice = random.Random(seed)
    return {
        f"person {n}": {
            row: row % 3 if choice.random() < right else choice.randrange(3) for row in ROWS
        }
        for n in range(count)
    }


def test_a_judge_that_is_always_right_replaces_people_who_err() -> None:
    found = alt_test({row: row % 3 for row in ROWS}, people(1, 0.7))
    assert (found.winning_rate, found.passed) == (1.0, True)
    assert found.advantage is not None and found.advantage > 0.85
    assert [one.rows for one in found.comparisons] == [40] * 3


def test_a_judge_that_guesses_replaces_nobody() -> None:
    choice = random.Random(3)
    found = alt_test({row: choice.randrange(3) for row in ROWS}, people(2, 0.95))
    assert (found.winning_rate, found.passed) == (0.0, False)
    assert list(found.nearby or ()) == [0.1, 0.2]


def test_a_larger_epsilon_never_lowers_the_winning_rate() -> None:
    choice = random.Random(4)
    judge = {row: row % 3 if choice.random() < 0.75 else choice.randrange(3) for row in ROWS}
    rates = [
        alt_test(judge, people(5, 0.8, 5), epsilon=epsilon).winning_rate or 0.0
        for epsilon in (0.0, 0.1, 0.2, 0.3, 0.5)
    ]
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("wrong", "is_passed", "nearby"),
    [(0.1, True, {0.1: 0, 0.2: 1}), (0.15, False, {0.1: 0, 0.2: 1})],
)
def test_a_judge_may_be_about_as_much_worse_as_skilled_people_cost(
    wrong: float, is_passed: bool, nearby: dict[float, float]
) -> None:
    """Two people agree on all of 400 rows; the judge differs from them on some."""
    said = {row: row % 3 for row in range(400)}
    judge = {row: option + (row < wrong * 400) for row, option in said.items()}
    found = alt_test(judge, {"ann": said, "bob": said})
    assert (found.passed, found.nearby) == (is_passed, nearby)


def test_a_judge_that_must_be_better_does_not_win_by_being_as_good() -> None:
    said = {row: row % 3 for row in ROWS}
    assert alt_test(said, {"ann": said, "bob": said}, epsilon=0.0).winning_rate == 0.0
    assert alt_test(said, {"ann": said, "bob": said}, epsilon=0.01).winning_rate == 1.0


def test_too_few_shared_rows_give_none_and_a_reason() -> None:
    found = alt_test(dict.fromkeys(range(10), 1), people(1, 0.9))
    assert (found.winning_rate, found.advantage, found.passed) == (None, None, False)
    assert (
        found.reason == "no annotator has 30 rows that the judge and another annotator answered too"
    )
    assert found.skipped == ("person 0", "person 1", "person 2")


def test_numbers_are_compared_by_their_distance() -> None:
    humans = {
        name: {row: row + shift for row in ROWS}
        for name, shift in (("low", -1.0), ("high", 1.0), ("mid", 0.5))
    }
    found = alt_test({row: row + 0.6 for row in ROWS}, humans, alignment=closeness)
    assert found.winning_rate == pytest.approx(2 / 3)
    assert closeness(3, [1, 5]) == -2 and share_alike("a", ["a", "b"]) == 0.5


@given(st.lists(st.integers(-1, 1), min_size=30, max_size=80), st.sampled_from([0.1, 0.15, 0.2]))
def test_the_test_of_each_person_is_scipys(differences: list[int], epsilon: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    if len(set(differences)) > 1:
        wanted = stats.ttest_1samp(differences, epsilon, alternative="less").pvalue
        assert p_value_below(differences, epsilon) == pytest.approx(wanted, abs=1e-9)


def test_differences_that_never_vary_leave_no_doubt() -> None:
    assert (p_value_below([0] * 40, 0.2), p_value_below([1] * 40, 0.2)) == (0.0, 1.0)


@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=12))
def test_the_procedure_is_benjamini_and_yekutielis(p_values: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    adjusted = stats.false_discovery_control(p_values, method="by")
    clear = [place for place, value in enumerate(adjusted) if abs(value - 0.05) > 1e-9]
    found = benjamini_yekutieli(p_values, 0.05)
    assert {place for place in clear if place in found} == {
        place for place in clear if adjusted[place] <= 0.05
    }
