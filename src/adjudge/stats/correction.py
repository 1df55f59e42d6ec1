"""A judge's mean, corrected by what people said of some of its rows.

The default is the post-stratified estimate: the mean label among the rows of each verdict, weighted
by how many rows got that verdict, with exact limits joined by MOVER. PPI++ and Rogan and
Gladen's estimate stand beside it for readers who know their names: the first is too narrow for
rates near 0 or 1, the second too wide for judges that are weak.

Values lie between 0 and 1 (a fail is 0, a pass is 1); scores of another scale are moved there by
:func:`to_unit` and back by :func:`from_unit`. A judgment that failed has the verdict None: it is a
stratum of its own, never left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from adjudge.messages import Message, plural
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import (
    Clusters,
    Interval,
    design_effect,
    interval_with_both_ends,
    mover,
    share_interval,
    share_limits,
    variance_of_mean,
)
from adjudge.stats.sequence import Stream, likelihood_interval

FEW = 5
"""A verdict with fewer labels than this has no mean of its own, where there are more than two
verdicts.
"""
METHOD = "post-stratified"

Options = Sequence[str | None]
"""An option for each row, or None."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """All rows that got one verdict, and the labels of those that people labelled."""

    verdict: str | None
    """None: the judgment failed."""
    rows: int
    labels: tuple[float, ...] = ()
    clusters: tuple[Hashable, ...] | None = None
    """The cluster of each label; None where rows are independent."""

    @property
    def mean(self) -> float | None:
        """The mean label, None without labels."""
        return fmean(self.labels) if self.labels else None


@dataclass(frozen=True, slots=True)
class Corrected:
    """The corrected mean, and how it came about."""

    estimate: Estimate
    merged: tuple[str, ...] = ()
    """The verdicts that were merged, as "a + b"."""


def to_unit(value: float, scale: tuple[float, float]) -> float:
    """A score as a share of its scale."""
    return (value - scale[0]) / (scale[1] - scale[0])


def from_scale(share: float, scale: tuple[float, float]) -> float:
    """A share of a scale as a score on it; none lies beyond its ends."""
    return scale[0] + min(1.0, max(0.0, share)) * (scale[1] - scale[0])


def from_unit(estimate: Estimate, scale: tuple[float, float]) -> Estimate:
    """An estimate between 0 and 1 as one on the scale.

    No mean lies beyond its ends, whatever a method says of its limits.
    """

    def moved(value: float | None) -> float | None:
        return None if value is None else from_scale(value, scale)

    return replace(
        estimate,
        value=moved(estimate.value),
        lower=moved(estimate.lower),
        upper=moved(estimate.upper),
    )


def stratify(
    verdicts: Sequence[str | None],
    labels: Sequence[float | None],
    order: Sequence[str],
    clusters: Clusters = None,
) -> list[Stratum]:
    """The rows by verdict, in the given order of verdicts, failed ones last; a verdict that no row
    got is left out.
    """
    rows: dict[str | None, int] = defaultdict(int)
    values: dict[str | None, list[float]] = defaultdict(list)
    members: dict[str | None, list[Hashable]] = defaultdict(list)
    for place, (verdict, label) in enumerate(zip(verdicts, labels, strict=True)):
        rows[verdict] += 1
        if label is not None:
            values[verdict].append(label)
            members[verdict].append(clusters[place] if clusters is not None else place)
    unknown = rows.keys() - {*order, None}
    if unknown:
        raise ValueError(
            Message(
                "verdicts that are not among the options: {unknown}",
                unknown=", ".join(sorted(map(str, unknown))),
            )
        )
    return [
        Stratum(
            verdict,
            rows[verdict],
            tuple(values[verdict]),
            tuple(members[verdict]) if clusters is not None else None,
        )
        for verdict in (*order, None)
        if rows.get(verdict)
    ]


def corrected_mean(
    verdicts: Options,
    labels: Sequence[float | None],
    order: Sequence[str],
    *,
    clusters: Clusters = None,
    level: float = 0.95,
    few: int = FEW,
) -> Corrected:
    """The post-stratified mean of rows; ``labels`` holds None where nobody labelled. ``few``: 0
    where no two verdicts may be merged, since their rows were drawn with different chances.
    """
    strata = stratify(verdicts, labels, order, clusters)
    means = {stratum.verdict: stratum.mean or 0.0 for stratum in strata}
    effect = design_effect([means[verdict] for verdict in verdicts], clusters)
    return post_stratified(strata, level=level, row_effect=effect, few=few)


def prevalences(
    verdicts: Options,
    labels: Options,
    options: Sequence[str],
    *,
    order: Sequence[str] | None = None,
    clusters: Clusters = None,
    level: float = 0.95,
) -> dict[str, Corrected]:
    """The corrected share of each option: the same estimate, once per option. ``order``: of
    ``verdicts``, where these are no options but what labels are random within.
    """
    return {
        option: corrected_mean(
            verdicts,
            [None if label is None else float(label == option) for label in labels],
            order or options,
            clusters=clusters,
            level=level,
            few=0 if order else FEW,
        )
        for option in options
    }


def post_stratified(
    strata: Sequence[Stratum], *, level: float = 0.95, row_effect: float = 1.0, few: int = FEW
) -> Corrected:
    """The mean label of each verdict, weighted by the rows of that verdict, with limits by MOVER.

    Labels must be random within each verdict; any split between the verdicts is allowed. Failed
    judgments are a stratum of their own; where nobody labelled any, there is no value but an
    interval that holds whatever they are. ``row_effect`` is the design effect of clusters among all
    rows.
    """
    judged, merged = merge_neighbours(
        [stratum for stratum in strata if stratum.verdict is not None], few
    )
    failed = [stratum for stratum in strata if stratum.verdict is None]
    labels = sum(len(stratum.labels) for stratum in strata)
    if not all(stratum.labels for stratum in judged) or not strata:
        reason = Message("no row with a verdict has a label")
        return Corrected(undefined(METHOD, labels, reason, level=level), merged)
    parts = [*judged, *failed]
    if all(stratum.labels for stratum in parts):
        value, interval = _weighted(parts, level, row_effect)
        if not few:
            interval = _with_likelihood(parts, interval)
        estimate = Estimate(value, interval.lower, interval.upper, labels, METHOD, level)
        return Corrected(estimate, merged)
    (lowest, low), (highest, high) = (
        _weighted(
            [part if part.labels else _Known(part.rows, end) for part in parts], level, row_effect
        )
        for end in (0.0, 1.0)
    )
    reason = _unlabelled_failures(parts, lowest, highest)
    estimate = Estimate(None, low.lower, high.upper, labels, METHOD, level, reason)
    return Corrected(estimate, merged)


def merge_neighbours(
    strata: Sequence[Stratum], few: int = FEW
) -> tuple[list[Stratum], tuple[str, ...]]:
    """Join verdicts with too few labels to the neighbour with fewer labels; of two verdicts only
    one without any is joined.
    """
    parts = list(strata)
    while len(parts) > 1:
        enough = few if len(parts) > 2 else 1
        place = min(range(len(parts)), key=lambda at: len(parts[at].labels))
        if len(parts[place].labels) >= enough:
            break
        other = min(
            (at for at in (place - 1, place + 1) if 0 <= at < len(parts)),
            key=lambda at: len(parts[at].labels),
        )
        first = min(place, other)
        parts[first : first + 2] = [_joined(parts[first], parts[first + 1])]
    known = {stratum.verdict for stratum in strata}
    return parts, tuple(str(stratum.verdict) for stratum in parts if stratum.verdict not in known)


def _joined(one: Stratum, other: Stratum) -> Stratum:
    clusters = (
        None if one.clusters is None or other.clusters is None else one.clusters + other.clusters
    )
    return Stratum(
        f"{one.verdict} + {other.verdict}",
        one.rows + other.rows,
        one.labels + other.labels,
        clusters,
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """A stratum whose mean is assumed."""

    rows: int
    mean: float


def _weighted(
    parts: Sequence[Stratum | _Known], level: float, row_effect: float
) -> tuple[float, Interval]:
    rows = sum(part.rows for part in parts)
    weighted = [(part.rows / rows, part.mean or 0.0, _limits(part, level)) for part in parts]
    value = math.fsum(part.rows * (part.mean or 0.0) for part in parts) / rows
    spread = math.fsum(weight * (mean - value) ** 2 for weight, mean, _ in weighted)
    among, dependence = spread / rows * row_effect, _dependence(parts)
    interval = mover(weighted, variance=among, level=level, dependence=dependence)
    if len(parts) > 2:
        variance = among + dependence * math.fsum(
            (part.rows / rows) ** 2 * _label_variance(part) for part in parts
        )
        interval = _at_least_of_one_share(interval, value, variance)
    lower, upper = min(value, interval.lower), max(value, interval.upper)
    return value, Interval(max(0.0, lower), min(1.0, upper), level)


def _with_likelihood(parts: Sequence[Stratum], found: Interval) -> Interval:
    """On each side the wider one of these limits and the likelihood's. MOVER's are too narrow where
    many thin strata lie at one end: it adds the squares of limits that cannot lie beyond it.
    """
    rows = sum(part.rows for part in parts)
    streams = [
        Stream(part.rows / rows, math.fsum(part.labels), len(part.labels) - math.fsum(part.labels))
        for part in parts
    ]
    other = likelihood_interval(streams, level=found.level)
    return Interval(min(found.lower, other.lower), max(found.upper, other.upper), found.level)


def _label_variance(part: Stratum | _Known) -> float:
    """The squared standard error of a verdict's mean label."""
    if isinstance(part, _Known) or len(part.labels) < 2:
        return 0.0
    return variance_of_mean(part.labels) * design_effect(part.labels, part.clusters)


_ROUNDING = 1e-18
"""A variance below it is what rounding leaves of labels that all agree."""


def _at_least_of_one_share(interval: Interval, value: float, variance: float) -> Interval:
    """No narrower than that of one share with this variance: of many verdicts that each hold a rare
    label, the joined limits would come out too near.
    """
    if variance < _ROUNDING or not 0 < value < 1:
        return interval
    worth = value * (1 - value) / variance
    alone = share_limits(value * worth, worth, level=interval.level)
    return Interval(
        min(interval.lower, alone.lower), max(interval.upper, alone.upper), interval.level
    )


def _dependence(parts: Sequence[Stratum | _Known]) -> float:
    """How much larger the variance is because clusters reach over several verdicts: 1 or more."""
    whole: dict[Hashable, float] = defaultdict(float)
    apart: dict[tuple[int, Hashable], float] = defaultdict(float)
    for place, part in enumerate(parts):
        if isinstance(part, Stratum) and part.clusters is not None and part.mean is not None:
            for label, cluster in zip(part.labels, part.clusters, strict=True):
                share = part.rows / len(part.labels) * (label - part.mean)
                whole[cluster] += share
                apart[place, cluster] += share
    separate = math.fsum(value * value for value in apart.values())
    return (
        max(1.0, math.fsum(value * value for value in whole.values()) / separate)
        if separate
        else 1.0
    )


def _limits(part: Stratum | _Known, level: float) -> Interval:
    if isinstance(part, _Known):
        return Interval(part.mean, part.mean, level)
    return label_interval(part.labels, level=level, clusters=part.clusters)


def label_interval(
    labels: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Of zeros and ones a share's interval, of anything between Student's with both ends added."""
    interval = share_interval if set(labels) <= {0, 1} else interval_with_both_ends
    return interval(labels, level=level, clusters=clusters)


def _unlabelled_failures(parts: Iterable[Stratum], lowest: float, highest: float) -> Message:
    count = sum(part.rows for part in parts if not part.labels)
    return plural(
        "{count} failed judgment has no label: the mean lies between {lowest:.3f} (all of them 0) "
        "and {highest:.3f} (all of them 1)",
        "{count} failed judgments have no label: the mean lies between {lowest:.3f} (all of them "
        "0) and {highest:.3f} (all of them 1)",
        count,
        lowest=lowest,
        highest=highest,
    )


def naive(values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None) -> Estimate:
    """What the judge says of all rows it judged, as if it were never wrong."""
    return estimate_mean(values, "naive", Message("no row has a verdict"), level, clusters)


def labels_only(
    labels: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Estimate:
    """The labels without the judge.

    They must be a random sample of all rows, not of each verdict.
    """
    reason = Message("no row has a label")
    return estimate_mean(labels, Message("labels only"), reason, level, clusters)


def estimate_mean(
    values: Sequence[float], method: str, reason: str, level: float, clusters: Clusters
) -> Estimate:
    """The mean of values from 0 to 1 with its limits; without values, the reason."""
    if not values:
        return undefined(method, 0, reason, level=level)
    interval = label_interval(values, level=level, clusters=clusters)
    return Estimate(fmean(values), interval.lower, interval.upper, len(values), method, level)


def expected_limits(
    shares: Sequence[tuple[float, float]], labels: float, rows: int, *, level: float
) -> Interval:
    """The limits to expect of ``labels`` labels spread like the verdicts (share of the rows, mean
    label).
    """
    value = math.fsum(share * mean for share, mean in shares)
    spread = math.fsum(share * (mean - value) ** 2 for share, mean in shares)
    parts = [
        (share, mean, share_limits(share * labels * mean, share * labels, level=level))
        for share, mean in shares
        if share > 0
    ]
    return mover(parts, variance=spread / rows, level=level)
