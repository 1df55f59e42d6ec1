"""Rates of a population from a sample with weights."""

from __future__ import annotations

import os
import random
from types import ModuleType

import pytest

from adjudge.stats.betting import FallBets
from adjudge.stats.weighted_rates import weighted_interval, weighted_mean

DRAWS = int(os.environ.get("ADJUDGE_TABLES", "60"))


@pytest.fixture
def scipy() -> ModuleType:
    return pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")


def test_with_equal_weights_the_limits_are_clopper_and_pearsons_for_a_few_rows_less(
    scipy: ModuleType,
) -> None:
    values = [1.0] * 45 + [0.0] * 5
    interval = weighted_interval(values, [2.0] * 50)
    assert interval is not None
    factor = (scipy.norm.ppf(0.975) / scipy.t.ppf(0.975, 49)) ** 2
    worth = 50 * factor * 49 / 50
    assert interval.lower == pytest.approx(
        scipy.beta.ppf(0.025, 0.9 * worth, 0.1 * worth + 1), abs=1e-6
    )
    assert interval.upper == pytest.approx(
        scipy.beta.ppf(0.975, 0.9 * worth + 1, 0.1 * worth), abs=1e-6
    )


def test_too_few_rows_have_no_interval_and_no_interval_has_no_width() -> None:
    assert weighted_interval([1.0] * 7, [1.0] * 7) is None
    for value in (0.0, 1.0):
        interval = weighted_interval([value] * 8, [1.0] * 8)
        assert interval is not None
        assert interval.upper - interval.lower > 0.2


@pytest.mark.parametrize(
    ("rare_rate", "main_rate", "share"),
    [(0.3, 0.95, 0.1), (0.95, 0.6, 0.05), (0.5, 0.5, 0.2), (0.02, 0.99, 0.1)],
)
def test_the_interval_holds_the_rate_of_the_traffic(
    rare_rate: float, main_rate: float, share: float
) -> None:
    """Strata of different rates, of which the rare one is sampled more: 0.93 at least."""
    drawn, held = random.Random(7), 0
    for _ in range(DRAWS):
        values, weights, truth = [], [], []
        for number in range(2000):
            rare = number % 20 == 0
            passed = float(drawn.random() < (rare_rate if rare else main_rate))
            truth.append(passed)
            chance = 1.0 if rare and number < 400 else share
            if drawn.random() < chance:
                values.append(passed)
                weights.append(1 / chance)
        interval = weighted_interval(values, weights)
        assert interval is not None
        held += interval.lower <= sum(truth) / len(truth) <= interval.upper
        assert abs(weighted_mean(values, weights) - sum(truth) / len(truth)) < 0.3
    assert held / DRAWS >= 0.93


def test_an_alarm_over_a_rate_that_holds_is_rare_however_often_it_is_looked_at() -> None:
    drawn, raised = random.Random(11), 0
    for _ in range(DRAWS):
        bets = FallBets(0.9)
        for _ in range(10):
            bets = bets.begin().add([float(drawn.random() < 0.9) for _ in range(30)])
        raised += bets.evidence >= 20
    assert raised / DRAWS <= 0.05


def test_a_rate_that_falls_is_found_also_after_a_long_good_time() -> None:
    drawn, found = random.Random(13), 0
    for _ in range(40):
        bets = FallBets(0.9)
        for day in range(24):
            rate = 0.95 if day < 10 else 0.8
            bets = bets.begin().add([float(drawn.random() < rate) for _ in range(40)])
        found += bets.evidence >= 20
    assert found >= 36
    assert FallBets(1.0).add([1.0] * 100).evidence <= 1
    assert FallBets(0.0).add([0.0] * 100).evidence <= 1
