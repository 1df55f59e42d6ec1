"""When a gate holds, fails or cannot tell, by its numbers alone."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge.runs.results.gate import GateResult


def gate(measure: str = "mean", **values: Any) -> GateResult:
    usual = {"value": 0.9, "bar": 0.8, "lower": 0.9, "upper": 0.9, "rows": 100, "missing": 0}
    return GateResult(judge="J", name="dates", measure=measure, **{**usual, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, "holds"),
        ({"bar": 0.9}, "holds"),
        ({"bar": 0.95}, "failed"),
        ({"lower": 0.7, "upper": 0.95}, "inconclusive"),
        ({"lower": 0.8}, "holds"),
        ({"confidence": 0.95, "sure": True, "lower": 0.85}, "holds"),
        ({"confidence": 0.95, "sure": True, "lower": 0.75}, "inconclusive"),
        ({"confidence": 0.95, "sure": True, "lower": 0.5, "upper": 0.79}, "failed"),
        ({"confidence": 0.95, "sure": False, "lower": 0.85}, "inconclusive"),
        ({"stopped": True}, "inconclusive"),
        ({"baseline_stopped": True}, "inconclusive"),
    ],
)
def test_a_mean_is_held_to_its_limits(values: dict[str, Any], verdict: str) -> None:
    assert gate(**values).verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"value": 2.0, "lower": 2.0, "bar": 2.0}, "holds"),
        ({"value": 2.1, "lower": 2.1, "bar": 2.0}, "failed"),
        ({"value": 1.0, "lower": 0.9, "bar": 2.0, "missing": 1}, "inconclusive"),
        ({"value": 4.0, "lower": 2.5, "bar": 2.0, "missing": 9}, "failed"),
        ({"value": 2.5, "lower": 1.5, "bar": 2.0, "missing": 9}, "inconclusive"),
        ({"value": None, "lower": 0.0, "bar": 2.0, "missing": 9}, "inconclusive"),
    ],
)
def test_a_count_fails_only_if_rows_without_one_could_not_save_it(
    values: dict[str, Any], verdict: str
) -> None:
    """Those rows have 0 or more: they can turn a count that holds, not one that failed."""
    assert gate("most", upper=float("inf"), **values).verdict == verdict


@pytest.mark.parametrize(
    ("bar", "missing", "verdict", "needed"),
    [
        (0.29, 29, "holds", 0),
        (0.29, 30, "failed", 1),
        (0.295, 29, "holds", 0),
        (0.0, 0, "holds", 0),
        (0.0, 3, "failed", 3),
    ],
)
def test_so_many_rows_may_be_without_a_score(
    bar: float, missing: int, verdict: str, needed: int
) -> None:
    found = gate("missing", bar=bar, missing=missing)
    assert (found.verdict, found.needed) == (verdict, needed)


@pytest.mark.parametrize(("upper", "needed"), [(0.7, 10), (0.705, 10), (0.8, 0), (0.9, 0)])
def test_as_many_rows_would_have_to_turn(upper: float, needed: int) -> None:
    assert gate(upper=upper, lower=0.5).needed == needed


@pytest.mark.parametrize(
    ("measure", "values", "unread", "verdict"),
    [
        ("mean", {}, 10, "holds"),
        ("mean", {}, 50, "inconclusive"),
        ("mean", {"value": 0.3, "lower": 0.3, "upper": 0.3}, 10, "failed"),
        ("missing", {"bar": 0.05, "lower": 0.0, "upper": 1.0}, 10, "failed"),
        ("most", {"value": 2.0, "lower": 2.0, "upper": 2.0, "bar": 3.0}, 1, "inconclusive"),
        ("most", {"value": 4.0, "lower": 4.0, "upper": 4.0, "bar": 3.0}, 1, "failed"),
    ],
)
def test_rows_that_could_not_be_read_may_be_anything(
    measure: str, values: dict[str, Any], unread: int, verdict: str
) -> None:
    counted = gate(measure, **values).with_unread(unread)
    assert (counted.verdict, counted.rows, counted.missing) == (verdict, 100 + unread, unread)
    assert "of the data could not be read" in counted.sentence()
