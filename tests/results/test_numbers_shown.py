"""Numbers as people read them."""

from __future__ import annotations

import pytest

from adjudge.results.numbers import percent_range
from adjudge.stats.intervals import Interval


@pytest.mark.parametrize(
    ("limits", "shown"),
    [((0.9988, 1.0), "99%–100%"), ((0.592, 0.868), "59%–87%"), ((0.0, 0.004), "0%–1%")],
)
def test_an_interval_never_reads_as_one_number(limits: tuple[float, float], shown: str) -> None:
    assert str(percent_range(Interval(*limits, 0.95))) == shown
