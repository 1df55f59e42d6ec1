"""Corrections of scores that are any number, and corrections that readers know by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjudge.messages import Message
from adjudge.stats.correction import Corrected, label_interval, labels_only
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, clusters_at, mover
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus, rogan_gladen
from adjudge.stats.refusal import NOTHING_TO_PLAN_WITH, Needed
from adjudge.trust.rows import LabelledRow, Rows


def corrected_score(rows: Rows, drawn: Sequence[LabelledRow], level: float) -> Corrected:
    """PPI++ with t of the rows that have a number, a label at each end of the scale added.

    Failed judgments are a part of their own: labelled, or between both ends.
    """
    judged = [one for one in drawn if one.number is not None]
    labels, beside, rest, clusters = _series(rows, judged)
    found = ppi_plus_plus(
        labels, beside, rest, with_t=True, level=level, clusters=clusters, ends=(0.0, 1.0)
    )
    if found.value is None and len(rest) < 2 and labels:
        found = labels_only(labels, level=level, clusters=clusters[0])
    failed = sum(one is None for one in rows.verdicts)
    if not failed or found.value is None:
        return Corrected(found)
    return _with_failed(
        found,
        failed / len(rows.verdicts),
        [one.value(rows.measure) for one in drawn if one.number is None],
    )


_Series = tuple[list[float], list[float], list[float], BothClusters]


def _series(rows: Rows, judged: Sequence[LabelledRow]) -> _Series:
    """Labels, the judge's numbers beside them, its numbers of the other rows, and the clusters of
    both.
    """
    taken, measure = {one.place for one in judged}, rows.measure
    others = [
        (place, number)
        for place, number in zip(rows.numbered, rows.numbers, strict=True)
        if place not in taken
    ]
    return (
        [one.value(measure) for one in judged],
        [measure.value(one.number) for one in judged if one.number is not None],
        [measure.value(number) for _, number in others],
        _clusters(rows.together, [one.place for one in judged], [place for place, _ in others]),
    )


def _clusters(together: Clusters, labelled: Sequence[int], others: Sequence[int]) -> BothClusters:
    return clusters_at(together, labelled), clusters_at(together, others)


def _with_failed(found: Estimate, share: float, labels: Sequence[float]) -> Corrected:
    level, value = found.level, found.value or 0.0
    own = Interval(found.lower or 0.0, found.upper or 0.0, level)
    if labels:
        mean = math.fsum(labels) / len(labels)
        parts = [(1 - share, value, own), (share, mean, label_interval(labels, level=level))]
        limits, total = mover(parts, variance=0.0, level=level), (1 - share) * value + share * mean
        count = found.count + len(labels)
        return Corrected(Estimate(total, limits.lower, limits.upper, count, found.method, level))
    low, high = (1 - share) * value, (1 - share) * value + share
    reason = Message(
        "failed judgments have no label: the mean lies between {low:.3f} and {high:.3f} of the "
        "scale",
        low=low,
        high=high,
    )
    lower, upper = (1 - share) * own.lower, (1 - share) * own.upper + share
    return Corrected(Estimate(None, lower, upper, found.count, found.method, level, reason))


def needed_for_score(corrected: Estimate, alone: Estimate, target: float) -> Needed:
    """Widths shrink with the square root of the number of labels."""
    if corrected.width is None:
        return Needed(target, None, None, reason=NOTHING_TO_PLAN_WITH)
    count = math.ceil(corrected.count * (corrected.width / target) ** 2)
    by_people = (
        None if alone.width is None else math.ceil(alone.count * (alone.width / target) ** 2)
    )
    return Needed(target, count, max(0, count - corrected.count), {}, by_people)


def well_known(rows: Rows, drawn: Sequence[LabelledRow], level: float) -> list[Estimate]:
    """PPI++ and, of passes and fails, Rogan and Gladen's.

    Both take labels as drawn among all rows, and leave failed ones out.
    """
    measure = rows.measure
    own = [one for one in drawn if one.random and one.verdict is not None]
    if measure.is_number:
        *series, clusters = _series(rows, [one for one in own if one.number is not None])
        return [ppi_plus_plus(*series, level=level, clusters=clusters)]
    labelled = {one.place for one in own}
    places = [place for place in rows.decided if place not in labelled]
    rest = [measure.value(said) for place in places if (said := rows.verdicts[place]) is not None]
    labels = [one.value(measure) for one in own]
    beside = [measure.value(one.verdict) for one in own if one.verdict is not None]
    clusters = _clusters(rows.together, [one.place for one in own], places)
    found = [ppi_plus_plus(labels, beside, rest, level=level, clusters=clusters)]
    if not measure.is_binary:
        return found
    if not {*labels} <= {0.0, 1.0}:
        return [
            *found,
            undefined(
                "Rogan–Gladen",
                len(labels),
                Message("annotators are evenly split on some rows"),
                level=level,
            ),
        ]
    pairs = list(zip(labels, beside, strict=True))
    passed = sum(beside) + sum(rest)
    counts = (
        pairs.count((1.0, 1.0)),
        sum(y == 1 for y in labels),
        pairs.count((0.0, 0.0)),
        sum(y == 0 for y in labels),
    )
    return [*found, rogan_gladen(round(passed), len(beside) + len(rest), *counts, level=level)]
