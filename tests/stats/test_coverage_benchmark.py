"""The coverage benchmark finds intervals that hold too seldom, and says so."""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import coverage


def interval(share: float, choice: random.Random) -> dict[str, bool]:
    """Draw an interval that holds in this share of samples."""
    return {"": choice.random() < share}


def test_the_first_round_finds_cells_that_hold_in_90_percent_of_samples() -> None:
    cells = {f"good {n}": partial(interval, 0.955) for n in range(500)}
    bad = {f"bad {n}": partial(interval, 0.9) for n in range(10)}
    first = coverage.first_round({**cells, **bad}, 100)
    again = {cell for cell, _ in coverage.worst_cells(first, coverage.BAR)}
    assert again >= bad.keys()
    assert len(again) < 50


@pytest.mark.parametrize(("share", "kept"), [(0.92, False), (0.955, True)])
def test_a_grid_is_kept_only_if_the_bar_is_reached_with_the_error_of_the_draws_added(
    share: float, kept: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {f"cell {n}": partial(interval, share if n == 7 else 0.99) for n in range(20)}
    assert coverage.grid("Made up", cells, 100) is kept
    assert f"wanted {0.93 + 2 * (0.93 * 0.07 / 4000) ** 0.5:.3f}" in capsys.readouterr().out


def test_known_bad_gates_are_found_over_every_sample() -> None:
    """The bound of 1.2.0 passed 139 unchanged rows at a margin of 0.02."""
    assert coverage.false_passes(139, 0.02)[0] <= 0.025
    assert not coverage.gate_passes(139, 0, 0, 0.02)
    assert not coverage.gate_passes(182, 0, 0, 0.02)
    assert coverage.gate_passes(183, 0, 0, 0.02)
