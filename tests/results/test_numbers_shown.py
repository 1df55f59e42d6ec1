"""Numbers as people read them."""

from __future__ import annotations

import pytest

from adjudge.messages import render
from adjudge.results.cost import dollars
from adjudge.results.numbers import level_text, percent_range
from adjudge.stats.intervals import Interval


@pytest.mark.parametrize(
    ("limits", "shown"),
    [((0.9988, 1.0), "99%–100%"), ((0.592, 0.868), "59%–87%"), ((0.0, 0.004), "0%–1%")],
)
def test_an_interval_never_reads_as_one_number(limits: tuple[float, float], shown: str) -> None:
    assert str(percent_range(Interval(*limits, 0.95))) == shown


def test_levels_and_money_have_the_marks_of_their_language() -> None:
    assert (level_text(0.975), dollars(0.4426), dollars(0)) == ("97.5%", "$0.4426", "$0")
    assert render(level_text(0.975), "ru") == "97,5 %"
    assert render(dollars(0.4426), "ru") == "$0,4426"
