"""Corrections of scores that are any number, and corrections that readers know by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adjudge.messages import Message
from adjudge.stats.correction import label_interval, labels_only
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, Interval, clusters_at, mover
from adjudge.stats.named_estimators import BothClusters, ppi_plus_plus, rogan_gladen
from adjudge.stats.refusal import NOTHING_TO_PLAN_WITH, Needed, out_of_reach
from adjudge.trust.rows import LabelledRow, Rows


def corrected_score(
    rows: Rows, drawn: Sequence[LabelledRow], level: float, *, these_rows: bool = False
) -> Estimate:
    """Return PPI++ with t of the rows that have a number, a label at each end of the scale added.

    Failed judgments are a part of their own: labelled, or between both ends. The interval holds
    whatever skipped rows are. ``these_rows``: it is of exactly these rows.
    """
    labels = {one.place: one.value(rows.measure) for one in drawn}
    found = _score(rows, labels, level, these_rows)
    if not rows.skipped or found.lower is None:
        return found
    low, high = (
        _score(rows, {**labels, **dict.fromkeys(rows.skipped, end)}, level, these_rows)
        for end in (0.0, 1.0)
    )
    return replace(found, lower=low.lower, upper=high.upper)


def _score(rows: Rows, labels: Mapping[int, float], level: float, these_rows: bool) -> Estimate:
    """Return the corrected mean by ``labels``, from 0 to 1, by the place of their row."""
    own, beside, rest, clusters = _series(rows, labels)
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
    failed = [place for place, verdict in enumerate(rows.verdicts) if verdict is None]
    if not failed or found.value is None:
        return found
    return _with_failed(
        found,
        len(failed) / len(rows.verdicts),
        [labels[place] for place in failed if place in labels],
    )


_Series = tuple[list[float], list[float], list[float], BothClusters]


def _series(rows: Rows, labels: Mapping[int, float]) -> _Series:
    """Return the labels of rows with a number, the judge's numbers of these and of the other rows,
    and the clusters of both.
    """
    numbers = dict(zip(rows.numbered, map(rows.measure.value, rows.numbers), strict=True))
    own = [place for place in numbers if place in labels]
    others = [place for place in numbers if place not in labels]
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
    corrected: Estimate, alone: Estimate, target: float, *, rows: int, these_rows: bool
) -> Needed:
    """Plan labels by the width that they gave: it shrinks with the square root of their number.

    If all ``rows`` are labelled, the judge adds nothing: the width is then that of labels alone.
    ``these_rows``: exactly these rows are meant, and known if all of them are labelled.
    """
    if corrected.width is None:
        return Needed(target, None, None, reason=NOTHING_TO_PLAN_WITH)
    widest = corrected if alone.width is None else alone
    reached = (widest.width or 0.0) * math.sqrt(widest.count / rows)
    if reached > target and not these_rows:
        return out_of_reach(target, rows, reached)
    count = min(rows, math.ceil(corrected.count * (corrected.width / target) ** 2))
    by_people = (
        None
        if alone.width is None
        else min(rows, math.ceil(alone.count * (alone.width / target) ** 2))
    )
    return Needed(target, count, max(0, count - corrected.count), {}, by_people)


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
