"""Temperatures."""

from __future__ import annotations

import math
import random

import pytest

from adjudge.stats.temperature import FEWEST, at_temperature, calibrate, fit_temperature


def simulated(count: int, factor: float, seed: int = 0) -> list[tuple[dict[str, float], str]]:
    """Rows of a judge whose log-odds are ``factor`` times as large as they should be."""
    choice = random.Random(seed)
    rows = []
    for _ in range(count):
        odds = choice.gauss(0, 1.5)
        truth = "a" if choice.random() < 1 / (1 + math.exp(-odds)) else "b"
        stated = round(1 / (1 + math.exp(-factor * odds)), 2)
        rows.append(({"a": stated, "b": round(1 - stated, 2)}, truth))
    return rows


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_temperature_is_how_much_too_sure_a_judge_is(factor: float) -> None:
    assert fit_temperature(simulated(4000, factor)) == pytest.approx(factor, rel=0.15)


def test_rows_that_were_not_fitted_to_are_better_calibrated() -> None:
    found = calibrate(simulated(2000, 3.0))
    assert found.before is not None and found.after is not None
    assert found.before.value is not None and found.after.value is not None
    assert found.after.value < found.before.value


def test_too_few_rows_have_no_temperature() -> None:
    found = calibrate(simulated(FEWEST - 1, 2.0))
    assert found.value is None
    assert str(FEWEST) in found.reason


def test_a_rounded_zero_is_not_impossible() -> None:
    shares = at_temperature({"a": 1.0, "b": 0.0}, 1.0)
    assert shares == pytest.approx({"a": 0.995, "b": 0.005})
    assert fit_temperature([({"a": 1.0, "b": 0.0}, "b")] * 40) > 1


def test_the_likeliest_option_stays_the_likeliest() -> None:
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    for temperature in (0.1, 1.0, 10.0):
        changed = at_temperature(shares, temperature)
        assert max(changed, key=changed.__getitem__) == "a"
        assert sum(changed.values()) == pytest.approx(1)
