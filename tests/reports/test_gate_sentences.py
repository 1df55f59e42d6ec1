"""What a gate says of how sure it is, and over what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.reports.gate import GateResult, Measure

FAILED = GateResult(
    judge="dates",
    name="dates",
    measure="mean",
    value=0.5,
    bar=0.8,
    lower=0.4,
    upper=0.6,
    rows=60,
    missing=0,
    confidence=0.95,
    sure=True,
    among=3,
)


@pytest.mark.parametrize(
    ("measure", "language", "text"),
    [
        ("mean", "en", "(each of 3 criteria by itself)"),
        ("mean", "ru", "(каждый критерий сам по себе, всего 3)"),
        ("difference", "en", "over all 3 criteria"),
    ],
)
def test_a_gate_over_several_criteria_says_whether_it_speaks_of_each_or_of_all(
    measure: Measure, language: str, text: str
) -> None:
    gate = replace(FAILED, measure=measure, against="runs/main")
    assert text in gate.sentence(language)
    assert text not in replace(gate, among=1).sentence(language)


def test_that_every_criteria_holds_needs_no_such_word() -> None:
    assert "by itself" not in replace(FAILED, lower=0.85, upper=0.9, value=0.88).sentence()
