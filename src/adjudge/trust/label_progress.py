"""How sure a number is by its labels, told while people go on labelling: nothing in it depends on
what the judge said.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from adjudge.core.domain.label import Label, LabelScale
from adjudge.stats import FEWEST
from adjudge.stats.correction import labels_only
from adjudge.stats.sequence import Stream, sequential_interval
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import Answer, agreed_value, by_row

CLOSE = 0.05
"""Of the scale, up and down: as near as the labels needed are planned for everywhere (an interval
of a tenth).
"""
A_FEW = 10
"""Labels whose worth is told."""


class SoFar(NamedTuple):
    """The interval of the labels alone, up and down from its middle, on the
    criteria's own scale.
    """

    rows: int
    """That people labelled and that were drawn at random, among all rows or within a verdict: which
    of the two is not told, since it would say something of the verdict.
    """
    reach: float | None
    """None where there are too few."""
    anytime: float | None
    """The same where it is looked at after every label, as it is here: half of the sequential
    interval, by which labelling may be stopped.
    """
    soon: float | None
    """About what that will be with a few labels more."""
    close: float
    more: int | None
    """About how many labels more make that interval so close."""


def labels_so_far(labels: Iterable[Label], scale: LabelScale) -> SoFar:
    """By all annotators' labels of the rows that were drawn at random."""
    counted = [
        one
        for one in labels
        if one.is_by_person and one.is_random and one.design != "random_weighted"
    ]
    measure = measure_of(scale, _systems(counted) if scale.compares else ())
    values = list(_values(counted, measure))
    size, count = measure.range[1] - measure.range[0], len(values)
    found = labels_only(values)
    if found.width is None or count < FEWEST:
        return SoFar(count, None, None, None, CLOSE * size, None)
    mean = fmean(values)
    return SoFar(
        count,
        found.width / 2 * size,
        _anytime(mean, count) * size,
        _anytime(mean, count + A_FEW) * size,
        CLOSE * size,
        _enough(mean, count) - count,
    )


def _anytime(mean: float, count: int) -> float:
    """Half the width of the interval that holds whenever one stops, after so many labels."""
    limits = sequential_interval([Stream(1.0, mean * count, (1 - mean) * count)])
    return (limits.upper - limits.lower) / 2


def _enough(mean: float, count: int) -> int:
    """How many labels make that interval close, if their mean stays what it is."""
    most = count
    while _anytime(mean, most) > CLOSE:
        most *= 2
    return bisect_left(range(most), -CLOSE, count, key=lambda labels: -_anytime(mean, labels))


def _values(labels: Sequence[Label], measure: Measure) -> Iterator[float]:
    """What people say of each row, from 0 to 1; what is not an answer on this scale is left out."""
    for given in by_row(labels).values():
        answers = [answer for one in given if (answer := _answer(one, measure)) is not None]
        if answers:
            yield agreed_value(answers, measure)


def _answer(label: Label, measure: Measure) -> Answer | None:
    said = label.answer
    if measure.is_number:
        return (
            said
            if isinstance(said, float | int) and measure.range[0] <= said <= measure.range[1]
            else None
        )
    return name if (name := str(said)) in measure.values else None


def _systems(labels: Sequence[Label]) -> tuple[str, ...]:
    """Compared responses by their places: two at least, and as many as anybody found better."""
    best = max((one.winner for one in labels if isinstance(one.winner, int)), default=1)
    return tuple(str(place) for place in range(max(2, best + 1)))
