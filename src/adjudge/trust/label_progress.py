"""Precision of a number by its labels so far, shown to annotators.

Nothing here depends on the judge's verdicts, so it cannot influence the labels.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple

from adjudge.core.domain.label import Label, LabelScale
from adjudge.stats import FEWEST
from adjudge.stats.correction import labels_only
from adjudge.stats.sequence import Stream, sequential_interval
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import Answer, by_row, majority_value

CLOSE = 0.05
"""Of the scale, up and down: as near as the labels needed are planned for everywhere (an interval
of a tenth).
"""
A_FEW = 10
"""Labels whose worth is told."""


class SoFar(NamedTuple):
    """Half the width of the labels' interval, on the criterion's own scale."""

    rows: int
    """Labelled rows that were drawn at random, among all rows or within a verdict. The two are not
    told apart, because that would reveal something about the verdict.
    """
    reach: float | None
    """Half the width; None if there are too few labels."""
    anytime: float | None
    """Like ``reach``, if looked at after every label, as it is here: half of the sequential
    interval, by which labelling may be stopped.
    """
    soon: float | None
    """About what that will be with a few labels more."""
    close: float
    more: int | None
    """About how many labels more make that interval so close."""


def labels_so_far(labels: Iterable[Label], scale: LabelScale) -> SoFar:
    """Return the precision reached by all annotators' labels of randomly drawn rows."""
    counted = [
        label
        for label in labels
        if label.is_by_person and label.is_random and label.design != "random_weighted"
    ]
    # compared responses by their places: at least two, and as many as anyone preferred
    best = max((label.winner for label in counted if isinstance(label.winner, int)), default=1)
    places = tuple(str(place) for place in range(max(2, best + 1)))
    measure = measure_of(scale, places if scale.compares else ())
    values = []
    for row_labels in by_row(counted).values():
        answers = [
            answer for label in row_labels if (answer := _answer(label, measure)) is not None
        ]
        if answers:
            values.append(majority_value(answers, measure))
    size, count = measure.range[1] - measure.range[0], len(values)

    estimate = labels_only(values)
    if estimate.width is None or count < FEWEST:
        return SoFar(count, None, None, None, CLOSE * size, None)
    mean = fmean(values)
    return SoFar(
        count,
        estimate.width / 2 * size,
        _anytime(mean, count) * size,
        _anytime(mean, count + A_FEW) * size,
        CLOSE * size,
        _enough(mean, count) - count,
    )


def _anytime(mean: float, count: int) -> float:
    """Return half the sequential interval's width after ``count`` labels."""
    limits = sequential_interval([Stream(1.0, mean * count, (1 - mean) * count)])
    return (limits.upper - limits.lower) / 2


def _enough(mean: float, count: int) -> int:
    """Return how many labels make the interval narrow enough, if the mean stays the same."""
    # Double until the interval is narrow enough, then search in between.
    most = count
    while _anytime(mean, most) > CLOSE:
        most *= 2
    return bisect_left(range(most), -CLOSE, count, key=lambda labels: -_anytime(mean, labels))


def _answer(label: Label, measure: Measure) -> Answer | None:
    """Return a label's answer; None if it is not on this scale."""
    answer = label.answer
    if measure.is_number:
        return (
            answer
            if isinstance(answer, float | int) and measure.range[0] <= answer <= measure.range[1]
            else None
        )
    return name if (name := str(answer)) in measure.values else None
