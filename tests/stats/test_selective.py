"""Acceptance with a promise: kept over random splits, and "never" where the first step fails."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.intervals import upper_limit
from adjudge.stats.selective import (
    FEWEST_ACCEPTED,
    Stage,
    cascade_thresholds,
    threshold,
)


def rows(choice: random.Random, count: int, honest: float = 1.0) -> tuple[list[float], list[bool]]:
    """Verdicts that are right as often as they are confident, or less."""
    confidences = [round(choice.uniform(0.5, 1), 2) for _ in range(count)]
    return confidences, [choice.random() < confidence * honest for confidence in confidences]


@pytest.mark.parametrize("risk", [0.1, 0.2])
def test_the_promise_is_kept_in_as_many_splits_as_it_says(risk: float) -> None:
    """The error rate of accepted verdicts is known: those of confidence c and above are wrong in (1
    - c) / 2 of cases or so.
    """
    choice, broken, accepted, splits = random.Random(3), 0, 0, 120
    for _ in range(splits):
        found = threshold(*rows(choice, 300), risk=risk, doubt=0.1)
        if found.confidence is not None:
            accepted += 1
            broken += (1 - found.confidence) / 2 > risk + 0.0025
    assert broken <= 0.1 * splits
    assert accepted > 0.3 * splits


def test_a_judge_that_errs_when_confident_is_never_accepted() -> None:
    confidences = [0.99] * 50 + [0.6] * 60
    right = [True] * 40 + [False] * 10 + [True] * 60
    found = threshold(confidences, right, risk=0.1)
    assert found.confidence is None and not found.accepts(1.0)
    assert found.reason == (
        "never accept: of the 50 most confident rows 10 are wrong, so up to 31.6% may be; "
        "10.0% is allowed"
    )


def test_few_rows_accept_nothing() -> None:
    found = threshold([1.0] * 29, [True] * 29, risk=0.5)
    assert (
        found.confidence is None
        and found.reason
        == "29 labelled rows with a confidence; at least 30 are needed to show a risk of 50.0%"
    )


def test_a_small_risk_needs_more_rows_and_one_early_error_does_not_end_it_all() -> None:
    assert (
        "at least 59 are needed to show a risk of 5.0%"
        in threshold([1.0] * 58, [True] * 58, risk=0.05).reason
    )
    confidences = [1 - place / 1000 for place in range(100)]
    assert threshold(confidences, [False] + [True] * 99, risk=0.1).accepted == 100


def test_a_judge_that_is_always_right_is_accepted_throughout() -> None:
    found = threshold([0.5 + place / 1000 for place in range(200)], [True] * 200, risk=0.05)
    assert (found.confidence, found.accepted, found.errors) == (0.5, 200, 0)
    assert found.limit == pytest.approx(1 - 0.05 ** (1 / 200))
    assert found.accepts(0.5) and not found.accepts(0.49) and not found.accepts(None)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9, 1.0]), st.booleans()),
        min_size=30,
        max_size=120,
    )
)
def test_rows_of_one_confidence_are_accepted_together_and_every_step_above_held(
    table: list[tuple[float, bool]],
) -> None:
    found = threshold(
        [one for one, _ in table], [right for _, right in table], risk=0.25, doubt=0.1
    )
    if found.confidence is None:
        assert found.reason
        return
    above = [right for one, right in table if one >= found.confidence]
    assert (found.accepted, found.errors) == (len(above), above.count(False))
    for step in sorted({one for one, _ in table if one >= found.confidence}):
        taken = [right for one, right in table if one >= step]
        assert (
            len(taken) < FEWEST_ACCEPTED
            or upper_limit(taken.count(False), len(taken), risk=0.1) <= 0.25 + 1e-9
        )


def test_a_cascade_learns_each_stage_on_what_the_former_left_and_splits_the_doubt() -> None:
    choice = random.Random(5)
    cheap, dear = rows(choice, 600), rows(choice, 600, honest=1.0)
    stages = [Stage([*cheap[0][:-1], None], cheap[1]), Stage(dear[0], dear[1])]
    found = cascade_thresholds(stages, risk=0.15, doubt=0.1)
    assert found[0] == threshold(cheap[0][:-1], cheap[1][:-1], risk=0.15, doubt=0.05)
    assert found[0].rows == 599
    assert found[1].rows == 600 - found[0].accepted
    assert cascade_thresholds([], risk=0.1) == []
