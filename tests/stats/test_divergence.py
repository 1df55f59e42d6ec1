"""Bets on a gap: no false alarms beyond the stated share, and an alarm where there is a gap."""

from __future__ import annotations

import math
import random

import pytest

from adjudge.errors import SetupError
from adjudge.stats.divergence import GapBets


def stream(rng: random.Random, gap: float, count: int, *, is_binary: bool) -> list[float]:
    if is_binary:  # they disagree in 20 %
        up = (0.2 + gap) / 2
        return [
            1.0 if (draw := rng.random()) < up else -1.0 if draw < 0.2 else 0.0
            for _ in range(count)
        ]
    return [min(max(rng.gauss(gap, 0.25), gap - 0.75), gap + 0.75) for _ in range(count)]


@pytest.mark.parametrize("is_binary", [True, False])
def test_false_alarms_stay_below_the_risk(is_binary: bool) -> None:
    rng, alarms, runs = random.Random(1), 0, 200
    for _ in range(runs):
        bets = GapBets(tolerated=0.1, risk=0.1)
        for gap in stream(rng, 0.1, 200, is_binary=is_binary):
            bets.add(gap)
        alarms += bets.is_alarm
    assert alarms / runs <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / runs)


def test_a_gap_of_ten_points_is_found_as_soon_as_published() -> None:
    rng, delays = random.Random(2), []
    for _ in range(200):
        bets = GapBets(fading=1.0)
        for gap in stream(rng, 0.1, 4000, is_binary=False):
            bets.add(gap)
            if bets.is_alarm:
                break
        delays.append(bets.count)
    delays.sort()
    assert 60 <= delays[100] <= 96  # 78 in 2,000 runs
    assert delays[180] <= 150


def test_the_capital_is_a_fair_game_for_every_next_sample() -> None:
    """Against the worst samples with the tolerated mean, the expected capital does not grow."""
    bets = GapBets(tolerated=0.2)
    for gap in (0.5, 0.9, -0.3, 1.0, 1.0):
        bets.add(gap)
    before = math.exp(bets.log_capital)
    expected = 0.0
    for gap, chance in ((1.0, 0.6), (-1.0, 0.4)):
        branch = GapBets(**vars(bets))
        branch.add(gap)
        expected += chance * math.exp(branch.log_capital)
    assert expected == pytest.approx(before, rel=1e-12)


def test_an_alarm_stays_and_the_capital_survives_the_worst() -> None:
    bets = GapBets(tolerated=0.0)
    for _ in range(100):
        bets.add(1.0)
    assert bets.is_alarm
    for _ in range(1000):
        bets.add(-1.0)
    assert bets.is_alarm
    assert math.isfinite(bets.log_capital)
    assert bets.count == 1100


@pytest.mark.parametrize("gap", [1.01, -2.0, math.nan, math.inf])
def test_no_other_gaps(gap: float) -> None:
    with pytest.raises(SetupError):
        GapBets().add(gap)


@pytest.mark.parametrize(
    "wrong", [{"tolerated": 1.0}, {"tolerated": -0.1}, {"risk": 0.0}, {"fading": 1.1}]
)
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(SetupError):
        GapBets(**wrong)  # type: ignore[arg-type]
    assert not GapBets().is_alarm
