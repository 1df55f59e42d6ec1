"""Several criteria held to an earlier run: none of many fails by chance, and one that is surely
worse still does.
"""

from __future__ import annotations

import random

import pytest

from adjudge.stats.difference import ComparisonOutcome, compare
from adjudge.trust.comparison import (
    ComparisonSettings,
    RunComparison,
    adjusted_for_all,
    upper_limits,
)


def compared(first: list[float], second: list[float], *, margin: float = 0.0) -> RunComparison:
    found = compare(second, first, margin=margin)
    return RunComparison(
        judge="j",
        criteria="c",
        first=0.0,
        second=0.0,
        difference=found,
        outcome=found.outcome,
        margin=margin,
    )


def equal(choice: random.Random, rows: int = 60) -> RunComparison:
    return compared(*([float(choice.random() < 0.8) for _ in range(rows)] for _ in range(2)))


def test_of_one_criteria_the_limit_is_its_own() -> None:
    one = equal(random.Random(1))
    assert upper_limits([one], 0.0, 0.95) == [pytest.approx(one.shown.upper)]


def test_of_twenty_equal_criteria_hardly_ever_one_is_called_worse() -> None:
    """Each by itself, two or three of a hundred are: of twenty, one in a third of all runs."""
    choice = random.Random(7)
    alone = together = 0
    for _ in range(60):
        found = [equal(choice) for _ in range(20)]
        alone += any((one.shown.upper or 0.0) < 0 for one in found)
        together += any((limit or 0.0) < 0 for limit in upper_limits(found, 0.0, 0.95))
    assert alone > 10 and together <= 3


def test_what_is_surely_worse_is_still_called_so() -> None:
    choice = random.Random(3)
    worse = compared([1.0] * 60, [float(n % 2) for n in range(60)])
    limits = upper_limits([*(equal(choice) for _ in range(9)), worse], 0.02, 0.95)
    assert limits[-1] is not None and worse.shown.upper is not None
    assert worse.shown.upper < limits[-1] < -0.02


def test_a_difference_without_limits_has_none() -> None:
    assert upper_limits([compared([1.0] * 3, [0.0] * 3)], 0.0, 0.95) == [None]


def test_a_difference_hardly_beyond_the_margin_is_seen_in_one_criteria_and_not_among_twenty() -> (
    None
):
    """Against 0 it is significant twenty times over; what matters is how sure it lies beyond the
    margin.
    """
    rows = [0.2 + 0.1 * (n % 2) for n in range(60)]
    margin = 0.173
    found = [compared([0.0] * 60, rows, margin=margin) for _ in range(20)]
    assert (
        found[0].outcome is ComparisonOutcome.BETTER
        and (found[0].shown.lower or 0) - margin < 0.005
    )
    settings = ComparisonSettings(margin=margin)
    assert [one.outcome for one in adjusted_for_all(found[:1], settings)] == [
        ComparisonOutcome.BETTER
    ]
    assert {one.outcome for one in adjusted_for_all(found, settings)} == {
        ComparisonOutcome.CANNOT_TELL
    }
