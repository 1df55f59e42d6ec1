"""How many rows and labels a plan asks for, against exact reckoning."""

from __future__ import annotations

import math

import pytest

from adjudge.stats.difference import ComparisonOutcome, compare
from adjudge.stats.intervals import share_limits
from adjudge.stats.planning import (
    Binomial,
    JudgeQuality,
    _comparison,
    labels_for_width,
    rows_for_comparison,
    rows_for_gate,
)


def exact_power(rate: float, bar: float, rows: int) -> float:
    """Over every sample there is."""
    return math.fsum(
        math.comb(rows, hits) * rate**hits * (1 - rate) ** (rows - hits)
        for hits in range(rows + 1)
        if share_limits(hits, rows).lower >= bar
    )


def test_a_gate_of_so_many_rows_is_decided_as_often_as_asked() -> None:
    found = rows_for_gate(0.9, 0.8, power=0.8)
    assert found.count is not None
    assert exact_power(0.9, 0.8, found.count) == pytest.approx(0.8, abs=0.06)
    assert found.reached == pytest.approx(
        exact_power(0.9, 0.8, found.count), abs=4 * max(found.error, 0.01)
    )


def test_a_gate_that_is_looked_at_daily_takes_more_rows() -> None:
    once, often = (rows_for_gate(0.9, 0.8, sequential=one) for one in (False, True))
    assert once.count is not None and often.count is not None
    assert once.count < often.count < 5 * once.count


def test_a_rate_takes_as_many_labels_as_its_expected_limits_say() -> None:
    found = labels_for_width(0.9, 0.1)
    assert found.count is not None
    limits = share_limits(0.9 * found.count, found.count)
    assert limits.upper - limits.lower == pytest.approx(0.1, abs=0.006)


def test_a_good_judge_saves_labels_and_a_blind_one_none() -> None:
    alone = labels_for_width(0.8, 0.2).count
    good = labels_for_width(0.8, 0.2, judge=JudgeQuality(0.97, 0.95), rows=500).count
    blind = labels_for_width(0.8, 0.2, judge=JudgeQuality(0.5, 0.5), rows=500).count
    assert good is not None and alone is not None and blind is not None
    assert good < 0.7 * alone < alone <= 1.1 * blind


def test_what_no_number_of_labels_gives_is_out_of_reach() -> None:
    found = labels_for_width(0.8, 0.01, judge=JudgeQuality(0.9, 0.9), rows=200)
    assert found.count is None
    assert found.most == 200
    assert found.reached > 0.01


def test_a_comparison_takes_about_what_connors_formula_says() -> None:
    found = rows_for_comparison(0.8, 0.1)
    apart = 0.8 * 0.1 + 0.9 * 0.2
    wanted = ((1.96 * math.sqrt(apart) + 0.842 * math.sqrt(apart - 0.01)) / 0.1) ** 2
    assert found.count == pytest.approx(wanted, rel=0.15)
    worse = rows_for_comparison(0.9, -0.1)
    assert worse.count == pytest.approx(wanted, rel=0.15)


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (5, 0), (12, 3), (3, 12), (20, 19)])
def test_the_counts_of_a_comparison_are_compared_as_its_rows_would_be(won: int, lost: int) -> None:
    first = [1.0] * won + [0.0] * lost + [1.0] * (60 - won - lost)
    second = [0.0] * won + [1.0] * lost + [1.0] * (60 - won - lost)
    assert _comparison(won, lost, 0.95) is compare(first, second).outcome
    assert isinstance(_comparison(won, lost, 0.95), ComparisonOutcome)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_table_of_a_binomial_sums_to_one(share: float) -> None:
    assert Binomial(50, share).steps[-1] == pytest.approx(1.0)
