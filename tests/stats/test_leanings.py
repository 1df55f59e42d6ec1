"""Leanings: each is seen where it is, not where it is not, and is None with a reason where it
cannot be.
"""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.bias import (
    first_advantage,
    first_rate,
    halo,
    self_preference,
    verbosity_slope,
)


def test_a_judge_that_takes_the_first_is_seen() -> None:
    found = first_rate([True] * 70 + [False] * 30)
    assert found.value == pytest.approx(0.7) and found.lower is not None and found.lower > 0.5
    assert first_rate([]).reason == "no verdict picked a response"


def test_the_right_answer_shown_first_is_found_more_often() -> None:
    found = first_advantage([True] * 45 + [False] * 5, [True] * 30 + [False] * 20)
    assert found.value == pytest.approx(0.3) and found.lower is not None and found.lower > 0
    assert first_advantage([], [True]).reason == "the right answer was never shown first"


def test_the_interval_of_a_difference_of_shares_is_newcombes_or_a_little_wider() -> None:
    """56 of 70 against 48 of 80: his paper says 0.0524 to 0.3339, with Wilson's limits."""
    found = self_preference([True] * 56 + [False] * 14, [True] * 48 + [False] * 32)
    assert found.lower is not None and 0.0524 - 0.02 < found.lower < 0.0524
    assert found.upper is not None and 0.3339 < found.upper < 0.3339 + 0.02
    assert self_preference([True], []).reason == "no better answer is from others"


@given(
    st.lists(
        st.tuples(st.integers(1, 5000), st.sampled_from([-1.0, 0.0, 1.0])), min_size=4, max_size=40
    )
)
def test_the_regression_is_least_squares_and_its_error_hc3(rows: list[tuple[int, float]]) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is an oracle for development only")
    found = verbosity_slope([error for _, error in rows], [length for length, _ in rows])
    if len({length for length, _ in rows}) < 2:
        assert found.reason == "all answers are equally long"
        return
    design = numpy.array([[1.0, math.log2(length)] for length, _ in rows])
    errors = numpy.array([error for _, error in rows])
    inverse = numpy.linalg.inv(design.T @ design)
    fitted = inverse @ design.T @ errors
    free = 1 - numpy.einsum("ij,jk,ik->i", design, inverse, design)
    assert found.value == pytest.approx(fitted[1], abs=1e-6)
    if free.min() > 1e-6:
        meat = design.T @ numpy.diag(((errors - design @ fitted) / free) ** 2) @ design
        wanted = math.sqrt(max(0.0, (inverse @ meat @ inverse)[1, 1]))
        assert found.width == pytest.approx(2 * 1.959963984540054 * wanted, abs=1e-6)


def test_the_regression_is_that_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels comes with make test-oracles")
    choice = random.Random(3)
    lengths = [choice.randint(10, 800) for _ in range(60)]
    errors = [choice.gauss(0.1 * math.log2(length), 0.3) for length in lengths]
    fit = api.OLS(errors, [[1.0, math.log2(length)] for length in lengths]).fit(cov_type="HC3")
    found = verbosity_slope(errors, lengths)
    assert found.value == pytest.approx(fit.params[1], abs=1e-9)
    assert found.lower == pytest.approx(fit.conf_int()[1][0], abs=1e-9)


def test_a_judge_that_likes_length_is_seen_and_few_rows_say_nothing() -> None:
    choice = random.Random(5)
    lengths = [choice.randint(20, 2000) for _ in range(200)]
    liked = verbosity_slope(
        [choice.gauss(0.1 * math.log2(length), 0.4) for length in lengths], lengths
    )
    fair = verbosity_slope([choice.gauss(0, 0.4) for _ in lengths], lengths)
    assert liked.lower is not None and liked.lower > 0.03
    assert fair.lower is not None and fair.upper is not None and fair.lower < 0 < fair.upper
    assert (
        verbosity_slope([0.0, 1.0], [10, 20]).reason
        == "fewer than three labelled answers with a text: label more rows"
    )


def test_criteria_judged_in_one_call_go_together_more() -> None:
    choice = random.Random(7)
    mood = [choice.gauss(0, 1) for _ in range(300)]
    joint = ([one + choice.gauss(0, 1) for one in mood], [one + choice.gauss(0, 1) for one in mood])
    separate = ([choice.gauss(0, 1) for _ in mood], [choice.gauss(0, 1) for _ in mood])
    assert (halo(joint, separate).value or 0) > 0.3
    assert halo(([1.0, 1.0], [0.0, 1.0]), separate).reason == "one of the criteria never varies"
