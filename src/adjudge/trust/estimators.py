"""Correct scores that are any number, and compute the well-known estimators."""

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
    """Return the PPI++ estimate with t limits, with one label added at each end of the scale.

    Failed judgments form a part of their own, estimated by their labels or else bounded by the
    scale. The interval holds whatever the skipped rows are. ``these_rows``: the interval is for
    exactly these rows. ``apart``: positions of rows that other rows' labels cannot estimate.
    """
    labels = {row.place: row.value(rows.measure) for row in drawn}
    estimate = _score(rows, labels, level, these_rows, apart)
    # skipped rows may be at either end: the limits are those of the worse end
    if rows.skipped and estimate.lower is not None:
        low, high = (
            _score(rows, {**labels, **dict.fromkeys(rows.skipped, end)}, level, these_rows, apart)
            for end in (0.0, 1.0)
        )
        estimate = replace(estimate, lower=low.lower, upper=high.upper)
    if apart:
        of_apart = [(labels.get(place), None) for place in sorted(apart)]
        rows_of_others = len(rows.verdicts) - len(apart)
        estimate = with_rows_apart(estimate, rows_of_others, of_apart, these_rows=these_rows)
    if not these_rows:
        return estimate
    return within_possible(estimate, [*labels.values()], len(rows.verdicts))


def _score(
    rows: Rows,
    labels: Mapping[int, float],
    level: float,
    these_rows: bool,
    apart: Collection[int],
) -> Estimate:
    """Return the corrected mean without the rows ``apart``. ``labels``: position → value from 0 to
    1.
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
    labels, numbers, unlabelled_numbers, clusters = series
    estimate = ppi_plus_plus(
        labels,
        numbers,
        unlabelled_numbers,
        with_t=True,
        level=level,
        clusters=clusters,
        ends=(0.0, 1.0),
        these_rows=these_rows,
    )
    # Two unlabelled rows are the least that PPI++ can use; otherwise the labels alone estimate the
    # mean.
    if estimate.value is None and len(unlabelled_numbers) < 2 and labels:
        of_rows = len(labels) + len(unlabelled_numbers) if these_rows else None
        estimate = labels_only(labels, level=level, clusters=clusters[0], of_rows=of_rows)
    if not failed_share or estimate.value is None:
        return estimate
    return _add_failed(estimate, failed_share, failed_labels)


_Series = tuple[list[float], list[float], list[float], BothClusters]


def _series(rows: Rows, labels: Mapping[int, float], apart: Collection[int] = ()) -> _Series:
    """Return labels, the judge's numbers on labelled and on other rows, and both parts' clusters.

    Rows without a number are left out.
    """
    numbers = dict(zip(rows.numbered, map(rows.measure.value, rows.numbers), strict=True))
    labelled = [place for place in numbers if place in labels and place not in apart]
    unlabelled = [place for place in numbers if place not in labels and place not in apart]
    return (
        [labels[place] for place in labelled],
        [numbers[place] for place in labelled],
        [numbers[place] for place in unlabelled],
        _clusters(rows.together, labelled, unlabelled),
    )


def _clusters(together: Clusters, labelled: Sequence[int], others: Sequence[int]) -> BothClusters:
    return clusters_at(together, labelled), clusters_at(together, others)


def _add_failed(estimate: Estimate, share: float, labels: Sequence[float]) -> Estimate:
    level, value = estimate.level, estimate.value or 0.0
    interval = Interval(estimate.lower or 0.0, estimate.upper or 0.0, level)
    if labels:
        mean = math.fsum(labels) / len(labels)
        parts = [(1 - share, value, interval), (share, mean, label_interval(labels, level=level))]
        limits, total = mover(parts, variance=0.0, level=level), (1 - share) * value + share * mean
        count = estimate.count + len(labels)
        return Estimate(total, limits.lower, limits.upper, count, estimate.method, level)
    # without labels, failed judgments may be anything from 0 to 1
    low, high = (1 - share) * value, (1 - share) * value + share
    reason = Message(
        "failed judgments have no label: the mean lies between {low:.3f} and {high:.3f} of the "
        "scale",
        low=low,
        high=high,
    )
    lower, upper = (1 - share) * interval.lower, (1 - share) * interval.upper + share
    return Estimate(None, lower, upper, estimate.count, estimate.method, level, reason)


def needed_for_score(
    rows: Rows,
    drawn: Sequence[LabelledRow],
    target: float,
    *,
    level: float,
    these_rows: bool,
    of_scale: bool,
) -> Needed:
    """Plan the labels for a target width.

    The width for more labels is that of the same estimate with the present labels repeated.
    """
    labels = {row.place: row.value(rows.measure) for row in drawn}
    row_labels, labelled_numbers, unlabelled_numbers, _ = _series(rows, labels)
    pairs, numbers = (
        sorted(zip(row_labels, labelled_numbers, strict=True)),
        sorted([*labelled_numbers, *unlabelled_numbers]),
    )
    failed_labels = sorted(labels[place] for place in labels if rows.verdicts[place] is None)
    total, decided = len(rows.verdicts), len(numbers)

    def width(count: int) -> float:
        of_decided = min(decided, round(count * decided / total)) or 1
        later = _spread(pairs, of_decided)
        series = (
            [label for label, _ in later],
            [number for _, number in later],
            _spread(numbers, decided - of_decided),
            (None, None),
        )
        of_failed = _spread(failed_labels, count - of_decided)
        estimate = _mean_of(series, 1 - decided / total, of_failed, level, these_rows)
        return 1.0 if estimate.width is None else estimate.width

    def width_alone(count: int) -> float:
        some = _spread(sorted(labels.values()), count)
        return labels_only(some, level=level, of_rows=total if these_rows else None).width or 0.0

    if not pairs:
        return Needed(target, None, None, reason=NOTHING_TO_PLAN_WITH)
    count = least_labels(width, target, total)
    if count is None:
        return out_of_reach(target, total, width(total), of_scale=of_scale)
    alone = least_labels(width_alone, target, total)
    return Needed(target, count, max(0, count - len(labels)), {}, alone)


_Value = TypeVar("_Value")


def _spread(values: Sequence[_Value], count: int) -> list[_Value]:
    """Return ``count`` values, spread evenly so that none occurs more than once more often than
    another.
    """
    return [values[(2 * place + 1) * len(values) // (2 * count)] for place in range(count)]


def well_known(rows: Rows, drawn: Sequence[LabelledRow], level: float) -> list[Estimate]:
    """Return PPI++ and, for pass and fail, the Rogan–Gladen estimate.

    Both assume labels drawn from the whole run, and ignore failed judgments.
    """
    measure = rows.measure
    drawn_rows = [row for row in drawn if row.random and row.verdict is not None]
    if measure.is_number:
        *series, clusters = _series(rows, {row.place: row.value(measure) for row in drawn_rows})
        return [ppi_plus_plus(*series, level=level, clusters=clusters)]
    labelled = {row.place for row in drawn_rows}
    places = [place for place in rows.decided if place not in labelled]
    unlabelled_values = [
        measure.value(verdict) for place in places if (verdict := rows.verdicts[place]) is not None
    ]
    label_values = [row.value(measure) for row in drawn_rows]
    judge_values = [measure.value(row.verdict) for row in drawn_rows if row.verdict is not None]
    clusters = _clusters(rows.together, [row.place for row in drawn_rows], places)
    estimates = [
        ppi_plus_plus(label_values, judge_values, unlabelled_values, level=level, clusters=clusters)
    ]
    if not measure.is_binary:
        return estimates
    if not {*label_values} <= {0.0, 1.0}:
        return [
            *estimates,
            undefined(
                "Rogan–Gladen",
                len(label_values),
                Message("annotators are evenly split on some rows"),
                level=level,
            ),
        ]
    pairs = list(zip(label_values, judge_values, strict=True))
    passed = sum(judge_values) + sum(unlabelled_values)
    counts = (
        pairs.count((1.0, 1.0)),
        sum(label == 1 for label in label_values),
        pairs.count((0.0, 0.0)),
        sum(label == 0 for label in label_values),
    )
    return [
        *estimates,
        rogan_gladen(
            round(passed), len(judge_values) + len(unlabelled_values), *counts, level=level
        ),
    ]
