"""The bootstrap interval: repeatable, and what a reference implementation gives."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.intervals import bootstrap_mean, quantile, wilson


def test_one_value_says_nothing_of_its_spread() -> None:
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([0.5]) is None


def test_equal_values_leave_no_doubt() -> None:
    interval = bootstrap_mean([0.5] * 10)
    assert interval is not None
    assert (interval.lower, interval.upper, interval.level) == (0.5, 0.5, 0.95)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [0.1, 0.4, 0.4, 0.9, 1.0]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_an_interval_lies_among_the_values_and_a_wider_one_around_it(values: list[float]) -> None:
    narrow = bootstrap_mean(values, level=0.8, resamples=100)
    wide = bootstrap_mean(values, level=0.99, resamples=100)
    assert narrow is not None
    assert wide is not None
    slack = 1e-12
    assert min(values) - slack <= wide.lower <= narrow.lower <= narrow.upper <= wide.upper <= max(values) + slack


def test_it_covers_the_true_mean_about_as_often_as_it_says() -> None:
    choice = random.Random(7)
    held = 0
    for trial in range(200):
        sample = [choice.random() ** 2 for _ in range(60)]
        interval = bootstrap_mean(sample, resamples=300, seed=trial)
        assert interval is not None
        held += interval.lower <= 1 / 3 <= interval.upper
    assert 0.88 <= held / 200 <= 0.99


def test_quantiles_are_those_of_the_standard_library() -> None:
    values = sorted(random.Random(3).random() for _ in range(57))
    wanted = statistics.quantiles(values, n=40, method="inclusive")
    assert [quantile(values, place / 40) for place in range(1, 40)] == pytest.approx(wanted)


def test_scipy_gives_about_the_same() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    choice = random.Random(5)
    values = [choice.random() for _ in range(200)]
    own = bootstrap_mean(values, resamples=4000)
    wanted = stats.bootstrap((values,), statistics.fmean, vectorized=False, method="percentile", n_resamples=4000, rng=1)
    assert own is not None
    assert own.lower == pytest.approx(wanted.confidence_interval.low, abs=0.005)
    assert own.upper == pytest.approx(wanted.confidence_interval.high, abs=0.005)


@given(st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_what_a_reference_implementation_gives(case: tuple[int, int], level: float) -> None:
    scipy_stats = pytest.importorskip("scipy.stats", reason="requirements/dev.txt is not installed")
    found = wilson(*case, level=level)
    wanted = scipy_stats.binomtest(*case).proportion_ci(level, "wilson")
    assert (found.lower, found.upper) == (pytest.approx(wanted.low, abs=1e-9), pytest.approx(wanted.high, abs=1e-9))


@pytest.mark.parametrize("case", [(1, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_has_no_interval(case: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is no share"):
        wilson(*case)
