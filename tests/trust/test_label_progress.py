"""How sure a number is while people label."""

from __future__ import annotations

from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.label import Label, LabelScale
from adjudge.stats.correction import labels_only
from adjudge.stats.sequence import confidence_sequence
from adjudge.trust.label_progress import CLOSE, labels_so_far

ASKED = yes_no_criteria("Is it short?")


def said(row: int, annotator: str = "ann", **answer: object) -> Label:
    about = {
        "row": f"row {row}",
        "criteria": ASKED.name,
        "annotator": annotator,
        "design": "random",
    }
    return Label(**{**about, **answer})  # type: ignore[arg-type]


def test_it_is_the_interval_of_the_labels_alone() -> None:
    labels = [said(row, option="Yes" if row % 4 else "No") for row in range(40)]
    found = labels_so_far(labels, LabelScale(ASKED))
    width = labels_only([1.0] * 30 + [0.0] * 10).width
    assert found.rows == 40
    assert width is not None
    assert found.reach == width / 2
    assert found.anytime is not None
    assert width / 2 < found.anytime < width
    assert found.more is not None
    reaches = []
    for count in (40 + found.more - 4, 40 + found.more):
        limits = confidence_sequence([1.0] * round(0.75 * count) + [0.0] * round(0.25 * count))
        reaches.append((limits.upper - limits.lower) / 2)
    assert reaches[0] > CLOSE >= reaches[1]


def test_what_corrects_nothing_is_not_counted() -> None:
    good = [said(row, option="Yes") for row in range(10)]
    other = [
        said(10, option="Yes", design="chosen"),
        said(11, option="No", kind="model"),
        said(12, state="unsure"),
        said(13, option="what is not an option"),
        said(0, "bob", option="Yes"),
    ]
    assert labels_so_far([*good, *other], LabelScale(ASKED)) == labels_so_far(
        good, LabelScale(ASKED)
    )


def test_comparisons_and_numbers_are_on_their_own_scales() -> None:
    pairs = [said(row, winner=0 if row % 2 else "tie") for row in range(20)]
    assert labels_so_far(pairs, LabelScale(ASKED, compares=True)).close == 0.05
    numbers = [said(row, score=float(row % 5)) for row in range(20)]
    found = labels_so_far(numbers, LabelScale(ASKED, range=(0.0, 10.0)))
    assert found.close == 0.5
    assert found.reach is not None
    assert 0.5 < found.reach < 2


def test_few_labels_say_nothing() -> None:
    assert labels_so_far([], LabelScale(ASKED)).reach is None
    assert (
        labels_so_far([said(row, option="Yes") for row in range(7)], LabelScale(ASKED)).reach
        is None
    )
