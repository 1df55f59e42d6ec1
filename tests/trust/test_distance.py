"""How far people's answer lies from the judge's: a promise that is kept."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Criteria, CriteriaOption
from adjudge.core.domain.label import LabelScale
from adjudge.stats.conformal import conformal_distance
from adjudge.trust.calibration_words import distance_text
from adjudge.trust.distance import Distance, distance_of
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import LabelledRow

GRADES = Measure("score", ("1", "2", "3"), {"1": 0.0, "2": 0.5, "3": 1.0}, (1.0, 3.0))


ALONE = range(200)
"""Every row is a cluster of its own."""


def row(place: int, said: str, truth: str, *, random: bool = True) -> LabelledRow:
    return LabelledRow(f"text {place}", place, said, None, {"ann": truth}, random)


@pytest.mark.parametrize(("count", "level"), [(18, 0.95), (8, 0.9), (0, 0.5)])
def test_too_few_labels_promise_nothing(count: int, level: float) -> None:
    assert conformal_distance([0.0] * count, level=level) is None
    assert conformal_distance([0.0] * (count + 1), level=level) == 0.0


@given(st.lists(st.floats(0, 1), min_size=19, max_size=80))
def test_it_is_the_distance_that_so_many_of_the_rows_keep(distances: list[float]) -> None:
    found = conformal_distance(distances)
    assert found is not None
    assert sum(one <= found for one in distances) >= 0.95 * (len(distances) + 1) - 1e-9


def test_a_further_row_keeps_it_as_often_as_promised() -> None:
    choice, kept = random.Random(3), 0
    for _ in range(2000):
        *known, further = (abs(choice.gauss(0, 1)) ** 3 for _ in range(31))
        found = conformal_distance(known, level=0.9)
        kept += found is not None and further <= found
    assert 0.88 <= kept / 2000 <= 0.93


def test_it_counts_options_and_leaves_chosen_rows_and_copies_out() -> None:
    rows = [row(place, "2", "3" if place < 2 else "2") for place in range(20)]
    assert distance_of(rows, GRADES, 0.9, ALONE) == Distance(1.0, 0.9, 20, options=True)
    assert distance_of([*rows, *rows], GRADES, 0.9, ALONE) == Distance(1.0, 0.9, 20, options=True)
    far = [row(place, "1", "3", random=False) for place in range(100, 140)]
    assert distance_of([*rows, *far], GRADES, 0.9, ALONE) == Distance(1.0, 0.9, 20, options=True)
    same = [row(place, "2", "2") for place in range(40)]
    assert distance_of(same, GRADES, 0.9, ["one"] * 40) is None


def test_options_that_share_a_score_have_no_order() -> None:
    def measure(*scores: float) -> Measure:
        options = [CriteriaOption(name, score) for name, score in zip("abcd", scores, strict=True)]
        return measure_of(LabelScale(Criteria("kind", "Which kind?", options)))

    assert measure(0.0, 0.25, 0.5, 1.0).is_ordinal
    tied = measure(0.0, 0.0, 1.0, 1.0)
    assert not tied.is_ordinal
    rows = [row(place, "a", "b") for place in range(40)]
    assert distance_of(rows, tied, 0.9, ALONE) is None


def test_rows_on_which_annotators_are_evenly_split_count_with_the_farther_option() -> None:
    agreed = [row(place, "1", "1") for place in range(20)]
    split = [
        LabelledRow(f"text {place}", place, "1", None, {"ann": "1", "bob": "3"}, random=True)
        for place in range(20, 40)
    ]
    assert distance_of([*agreed, *split], GRADES, 0.9, ALONE) == Distance(
        2.0, 0.9, 40, options=True
    )


def test_two_options_and_comparisons_have_no_distance() -> None:
    rows = [row(place, "1", "1") for place in range(40)]
    assert distance_of(rows, Measure("1", ("2", "1"), {"2": 0.0, "1": 1.0}), 0.9, ALONE) is None
    assert distance_of(rows, Measure("1", ("2", "tie", "1"), {}), 0.9, ALONE) is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            Distance(0.0, 0.95, 60, options=True),
            "people agree with the judge's option on 95% of rows like these (60 labels)",
        ),
        (
            Distance(1.0, 0.95, 60, options=True),
            "people's option is at most 1 away from the judge's on 95% of rows like these (60 "
            "labels)",
        ),
        (
            Distance(1.25, 0.9, 20, options=False),
            "people's number lies within 1.25 of the judge's on 90% of rows like these (20 labels)",
        ),
    ],
)
def test_it_is_said_in_words(found: Distance, text: str) -> None:
    assert distance_text(found) == text
