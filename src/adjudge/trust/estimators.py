"""Corrections of scores that are any number, and corrections that readers know by name."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from adjudge.messages import Message
from adjudge.stats.correction import label_interval, labels_only, with_rows_apart, within_possible
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, clusters_at, mover
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus, rogan_gladen
from adjudge.stats.refusal import NOTHING_TO_PLAN_WITH, Needed, least_labels, out_of_reach
from adjudge.trust.rows import LabelledRow, Rows


def corrected_score(
    rows: Rows,
    drawn: Sequence[LabelledRow],
    level: float,
    *,
    these_rows: bool = False,
    apart: Collection[int] = (),
) -> Estimate:
    """Return PPI++ with t of the rows that have a number, a label at each end of the scale added.

    Failed judgments are a part of their own: labelled, or between both ends. The interval holds
    whatever skipped rows are. ``these_rows``: it is of exactly these rows. ``apart``: rows that are
    not estimated by the labels of others.
    """
    labels = {one.place: one.value(rows.measure) for one in drawn}
    found = _score(rows, labels, level, these_rows, apart)
    if rows.skipped and found.lower is not None:
        low, high = (
            _score(rows, {**labels, **dict.fromkeys(rows.skipped, end)}, level, these_rows, apart)
            for end in (0.0, 1.0)
        )
        found = replace(found, lower=low.lower, upper=high.upper)
    if apart:
        of_apart = [(labels.get(place), None) for place in sorted(apart)]
        rest = len(rows.verdicts) - len(apart)
        found = with_rows_apart(found, rest, of_apart, these_rows=these_rows)
    if not these_rows:
        return found
    return within_possible(found, [*labels.values()], len(rows.verdicts))


def _score(
    rows: Rows,
    labels: Mapping[int, float],
    level: float,
    these_rows: bool,
    apart: Collection[int],
) -> Estimate:
    """Return the corrected mean by ``labels``, from 0 to 1, by the place of their row; that of the
    other rows than those ``apart``.
    """
    failed = [
        place
        for place, verdict in enumerate(rows.verdicts)
        if verdict is None and place not in apart
    ]
    return _mean_of(
        _series(rows, labels, apart),
        len(failed) / ((len(rows.verdicts) - len(apart)) or 1),
        [labels[place] for place in failed if place in labels],
        level,
        these_rows,
    )


def _mean_of(
    series: _Series,
    failed_share: float,
    failed_labels: Sequence[float],
    level: float,
    these_rows: bool,
) -> Estimate:
    own, beside, rest, clusters = series
    found = ppi_plus_plus(
        own,
        beside,
        rest,
        with_t=True,
        level=level,
        clusters=clusters,
        ends=(0.0, 1.0),
        these_rows=these_rows,
    )
    if found.value is None and len(rest) < 2 and own:
        of_rows = len(own) + len(rest) if these_rows else None
        found = labels_only(own, level=level, clusters=clusters[0], of_rows=of_rows)
    if not failed_share or found.value is None:
        return found
    return _with_failed(found, failed_share, failed_labels)


_Series = tuple[list[float], list[float], list[float], BothClusters]


def _series(rows: Rows, labels: Mapping[int, float], apart: Collection[int] = ()) -> _Series:
    """Return the labels of rows with a number, the judge's numbers of these and of the other rows,
    and the clusters of both.
    """
    numbers = dict(zip(rows.numbered, map(rows.measure.value, rows.numbers), strict=True))
    own = [place for place in numbers if place in labels and place not in apart]
    others = [place for place in numbers if place not in labels and place not in apart]
    return (
        [labels[place] for place in own],
        [numbers[place] for place in own],
        [numbers[place] for place in others],
        _clusters(rows.together, own, others),
    )


def _clusters(together: Clusters, labelled: Sequence[int], others: Sequence[int]) -> BothClusters:
    return clusters_at(together, labelled), clusters_at(together, others)


def _with_failed(found: Estimate, share: float, labels: Sequence[float]) -> Estimate:
    level, value = found.level, found.value or 0.0
    own = Interval(found.lower or 0.0, found.upper or 0.0, level)
    if labels:
        mean = math.fsum(labels) / len(labels)
        parts = [(1 - share, value, own), (share, mean, label_interval(labels, level=level))]
        limits, total = mover(parts, variance=0.0, level=level), (1 - share) * value + share * mean
        count = found.count + len(labels)
        return Estimate(total, limits.lower, limits.upper, count, found.method, level)
    low, high = (1 - share) * value, (1 - share) * value + share
    reason = Message(
        "failed judgments have no label: the mean lies between {low:.3f} and {high:.3f} of the "
        "scale",
        low=low,
        high=high,
    )
    lower, upper = (1 - share) * own.lower, (1 - share) * own.upper + share
    return Estimate(None, lower, upper, found.count, found.method, level, reason)


def needed_for_score(
    rows: Rows,
    drawn: Sequence[LabelledRow],
    target: float,
    *,
    level: float,
    these_rows: bool,
    of_scale: bool,
) -> Needed:
    """Plan labels by the width that they will give: that of the same estimate if the labels there
    are were repeated, and the judge's numbers stayed as they are.
    """
    labels = {one.place: one.value(rows.measure) for one in drawn}
    own, beside, rest, _ = _series(rows, labels)
    pairs, numbers = sorted(zip(own, beside, strict=True)), sorted([*beside, *rest])
    failed_labels = sorted(labels[place] for place in labels if rows.verdicts[place] is None)
    total, decided = len(rows.verdicts), len(numbers)

    def width(count: int) -> float:
        of_decided = min(decided, round(count * decided / total)) or 1
        later = _repeated(pairs, of_decided)
        series = (
            [label for label, _ in later],
            [number for _, number in later],
            _repeated(numbers, decided - of_decided),
            (None, None),
        )
        of_failed = _repeated(failed_labels, count - of_decided)
        found = _mean_of(series, 1 - decided / total, of_failed, level, these_rows)
        return 1.0 if found.width is None else found.width

    def width_alone(count: int) -> float:
        some = _repeated(sorted(labels.values()), count)
        return labels_only(some, level=level, of_rows=total if these_rows else None).width or 0.0

    if not pairs:
        return Needed(target, None, None, reason=NOTHING_TO_PLAN_WITH)
    count = least_labels(width, target, total)
    if count is None:
        return out_of_reach(target, total, width(total), of_scale=of_scale)
    alone = least_labels(width_alone, target, total)
    return Needed(target, count, max(0, count - len(labels)), {}, alone)


_Value = TypeVar("_Value")


def _repeated(values: Sequence[_Value], count: int) -> list[_Value]:
    """Return ``count`` of the values, each as often as the others, or once more."""
    return [values[(2 * place + 1) * len(values) // (2 * count)] for place in range(count)]


def well_known(rows: Rows, drawn: Sequence[LabelledRow], level: float) -> list[Estimate]:
    """PPI++ and, of passes and fails, Rogan and Gladen's.

    Both take labels as drawn among all rows, and leave failed ones out.
    """
    measure = rows.measure
    own = [one for one in drawn if one.random and one.verdict is not None]
    if measure.is_number:
        *series, clusters = _series(rows, {one.place: one.value(measure) for one in own})
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
