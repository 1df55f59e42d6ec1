"""The interval of a mean: none of few rows, and from eight on one that holds the true mean as often
as it says.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from itertools import pairwise, tee

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats import FEWEST
from adjudge.stats.intervals import Interval, mean_interval, rows_interval, wilson

shares = st.floats(0, 1)


@pytest.mark.parametrize("count", range(FEWEST))
def test_fewer_than_eight_rows_have_no_interval(count: int) -> None:
    assert mean_interval([0.5] * count) is None
    assert mean_interval([0.0, 1.0, *[0.9] * 6][:count]) is None


def test_equal_values_still_leave_a_doubt() -> None:
    """Eight good answers do not say that there are no bad ones: a bootstrap says 1.00–1.00."""
    interval = mean_interval([1.0] * 8)
    assert interval is not None
    assert interval.lower == pytest.approx(0.633, abs=0.001)
    assert (interval.upper, interval.level) == (1.0, 0.95)


@given(st.lists(shares, min_size=8, max_size=60))
def test_an_interval_holds_the_mean_of_what_was_seen_and_a_wider_one_holds_it(
    values: list[float],
) -> None:
    narrow, wide = _interval(values, level=0.8), _interval(values, level=0.99)
    slack = 1e-12
    assert 0 <= wide.lower <= narrow.lower <= statistics.fmean(values) + slack
    assert statistics.fmean(values) - slack <= narrow.upper <= wide.upper <= 1


@given(st.lists(shares, min_size=8, max_size=60))
def test_good_and_bad_are_treated_alike(values: list[float]) -> None:
    one, other = _interval(values), _interval([1 - value for value in values])
    assert (other.lower, other.upper) == (
        pytest.approx(1 - one.upper),
        pytest.approx(1 - one.lower),
    )


@given(st.lists(shares, min_size=8, max_size=60), st.sampled_from([0.8, 0.95, 0.99]))
def test_each_limit_is_students_with_one_more_value_at_its_end_or_further_out(
    values: list[float], level: float
) -> None:
    stats = pytest.importorskip("scipy.stats", reason="requirements/dev.txt is not installed")
    found, slack = _interval(values, level=level), 1e-6
    for end, limit, sign in ((0.0, found.lower, -1), (1.0, found.upper, 1)):
        more = [*values, end]
        reach = stats.t.ppf((1 + level) / 2, len(values)) * stats.sem(more)
        plain = min(1.0, max(0.0, statistics.fmean(more) + sign * reach))
        assert sign * limit >= sign * plain - slack


def test_more_rows_of_the_same_kind_make_it_narrower() -> None:
    widths = [
        found.upper - found.lower
        for times in (1, 2, 10, 100)
        if (found := _interval([0.0, 0.5, 0.9, *[1.0] * 5] * times))
    ]
    assert all(wider > narrower for wider, narrower in pairwise(widths))


@pytest.mark.parametrize("rows", [8, 9, 10, 12, 15, 20, 30, 50])
def test_of_passes_and_failures_either_limit_misses_in_one_sample_of_forty_at_most(
    rows: int,
) -> None:
    """Not simulated: every sample there can be, with its probability. A bootstrap of 8 rows at a
    rate of 0.95 holds in 34.
    """
    intervals = [_rows_interval([1.0] * hits + [0.0] * (rows - hits)) for hits in range(rows + 1)]
    for percent in range(2, 99):
        rate = percent / 100
        chances = (
            math.comb(rows, hits) * rate**hits * (1 - rate) ** (rows - hits)
            for hits in range(rows + 1)
        )
        below, above = (
            math.fsum(
                chance
                for chance, one in zip(chances, intervals, strict=True)
                if (one.upper < rate if side else rate < one.lower)
            )
            for side, chances in enumerate(tee(chances))
        )
        assert max(below, above) <= 0.025, f"{rows} rows at a rate of {rate}"


def _gated(choice: random.Random) -> float:
    """Composites: good, but one in twenty is harmful."""
    return 0.0 if choice.random() < 0.05 else choice.betavariate(20, 3)


KINDS: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "even": (lambda choice: choice.random(), 0.5),
    "mostly good": (lambda choice: choice.betavariate(8, 2), 0.8),
    "nearly all good": (lambda choice: choice.betavariate(1, 0.1), 1 / 1.1),
    "good or bad": (lambda choice: choice.betavariate(0.5, 0.5), 0.5),
    "a harmful one now and then": (_gated, 0.95 * 20 / 23),
    "ones and some halves": (lambda choice: 0.5 if choice.random() < 0.1 else 1.0, 0.95),
}


@pytest.mark.parametrize("rows", [8, 11, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_it_holds_the_true_mean_of_composites_in_93_of_100_samples_at_least(
    kind: str, rows: int
) -> None:
    draw, mean = KINDS[kind]
    choice = random.Random(f"{kind} {rows}")
    samples = 1000
    found = [_interval([draw(choice) for _ in range(rows)]) for _ in range(samples)]
    assert sum(one.lower <= mean <= one.upper for one in found) >= 0.93 * samples


def test_values_that_are_no_shares_have_no_interval() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_interval([0.5] * 8 + [4.0])


@given(
    st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_wilson_is_what_a_reference_implementation_gives(
    case: tuple[int, int], level: float
) -> None:
    scipy_stats = pytest.importorskip("scipy.stats", reason="requirements/dev.txt is not installed")
    found = wilson(*case, level=level)
    wanted = scipy_stats.binomtest(*case).proportion_ci(level, "wilson")
    assert (found.lower, found.upper) == (
        pytest.approx(wanted.low, abs=1e-9),
        pytest.approx(wanted.high, abs=1e-9),
    )


@pytest.mark.parametrize("case", [(1, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_has_no_interval(case: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        wilson(*case)


def _interval(values: list[float], level: float = 0.95) -> Interval:
    found = mean_interval(values, level=level)
    assert found is not None
    return found


@given(st.lists(st.integers(0, 1), min_size=8, max_size=60))
def test_the_interval_of_passes_and_fails_is_never_narrower_than_wilsons(values: list[int]) -> None:
    found, narrow = (
        _rows_interval([float(value) for value in values]),
        wilson(sum(values), len(values)),
    )
    assert found.lower <= narrow.lower + 1e-12 and found.upper >= narrow.upper - 1e-12


def test_scores_have_the_interval_of_their_mean_and_few_rows_have_none() -> None:
    scores = [0.2, 0.9, 0.5, 0.7, 1.0, 0.3, 0.8, 0.6]
    assert rows_interval(scores) == mean_interval(scores)
    assert rows_interval(scores[:7]) is None
    assert rows_interval([1.0] * 16, clusters=[place // 4 for place in range(16)]) is None
    clustered = rows_interval(
        [1.0, 1.0, 0.0, 0.0] * 10, clusters=[place // 2 for place in range(40)]
    )
    alone = rows_interval([1.0, 1.0, 0.0, 0.0] * 10)
    assert clustered is not None and alone is not None and clustered.upper > alone.upper


def _rows_interval(values: list[float]) -> Interval:
    found = rows_interval(values)
    assert found is not None
    return found


@pytest.mark.parametrize(("clusters", "rate"), [(45, 0.98), (60, 0.98), (90, 0.99)])
def test_a_gate_on_clusters_of_ten_near_1_passes_wrongly_in_one_run_of_25_at_most(
    clusters: int, rate: float
) -> None:
    """Rows of a cluster are alike (0.6). The correlation that such samples show was too low: gates
    with the true rate for a bar passed in 8 to 10% of runs.
    """
    choice, wrong, runs = random.Random(f"{clusters} {rate}"), 0, 300
    groups = [place // 10 for place in range(10 * clusters)]
    for _ in range(runs):
        own = [choice.betavariate(rate * 2 / 3, (1 - rate) * 2 / 3) for _ in range(clusters)]
        limits = rows_interval([float(choice.random() < own[g]) for g in groups], clusters=groups)
        wrong += limits is not None and limits.lower > rate
    assert wrong <= 0.04 * runs


def test_one_failed_row_of_450_does_not_show_that_clusters_are_independent() -> None:
    """45 clusters in which none fails wholly leave 1 - 0.025 ** (1 / 45) of them possible."""
    values = [0.0, *[1.0] * 449]
    found = rows_interval(values, clusters=[place // 10 for place in range(450)])
    assert found is not None and found.lower < 0.025 ** (1 / 45) < 0.93


def test_a_limit_lies_further_out_on_the_side_that_scores_are_skewed_to() -> None:
    """Two samples with one mean and one spread: rare low scores say that lower ones may come."""
    even = [0.5] * 20 + [0.7] * 20
    skewed = [0.3] * 4 + [0.6 + 0.1 / 3] * 36
    one, other = mean_interval(even), mean_interval(skewed)
    assert one is not None and other is not None
    assert other.lower < one.lower - 0.002
    assert other.upper == pytest.approx(one.upper, abs=1e-6)
    turned = mean_interval([1 - score for score in skewed])
    assert turned is not None
    assert (1 - turned.upper, 1 - turned.lower) == pytest.approx((other.lower, other.upper))
