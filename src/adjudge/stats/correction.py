"""A judge's mean, corrected by human labels of some rows.

The default is the post-stratified estimate: the mean label among the rows of each verdict, weighted
by the number of rows with that verdict. Its interval is that of a share, with the number of labels
that would be as informative (Korn and Graubard 1998); the variance of the estimate yields that
number. PPI++ and Rogan and Gladen's estimate are available for readers who know their names: the
first is too narrow for rates near 0 or 1, the second too wide for weak judges.

Values lie between 0 and 1 (a fail is 0, a pass is 1). Scores of another scale are converted by
:func:`to_unit` and back by :func:`from_unit`. A failed judgment has the verdict None: it is a
stratum of its own, never left out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from adjudge.messages import Message, join, plural
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import (
    Clusters,
    Interval,
    cluster_sums,
    clusters_at,
    design_effect,
    effective_units,
    interval_with_both_ends,
    limits_with_both_ends,
    mover,
    rows_interval,
    share_interval,
    share_limits,
)
from adjudge.stats.student import t_two_sided

FEW = 5
"""Labels needed for a verdict that at least one row in twenty has."""
ENDS = 3.0
"""Extra labels at each end of the scale in the variance, divided among the verdicts. Without them a
verdict whose labels all agree would count as certain. With fewer, the interval misses too often if
one verdict was topped up (``benchmarks/coverage.py --only worth``).
"""
METHOD = "post-stratified"
NO_LABEL = Message("a verdict has no label: the mean may lie anywhere between")

Options = Sequence[str | None]
"""An option per row, or None."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """All rows with one verdict, and the labels of those that are labelled."""

    verdict: str | None
    """The verdict; None if the judgment failed."""
    rows: int
    labels: tuple[float, ...] = ()
    clusters: tuple[Hashable, ...] | None = None
    """The cluster of each label; None if rows are independent."""
    skipped: tuple[Hashable, ...] = ()
    """The cluster of each sampled row that annotators skipped, or its place if rows are
    independent. Its label may be anything.
    """
    copies: int = 0
    """Labels that repeat the label of another row with the same text."""

    @property
    def texts(self) -> int:
        """Number of labels, counting copies of a text once."""
        return len(self.labels) - self.copies

    @property
    def possible(self) -> int:
        """Number of labels if all rows were labelled, counting known copies once."""
        return self.rows - self.copies

    @property
    def mean(self) -> float | None:
        """Mean label; None without labels."""
        return fmean(self.labels) if self.labels else None

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def expected_labels(self) -> ExpectedLabels:
        """Return the expected distribution of further labels: like the present ones or, without
        any, half of them good.
        """
        mean = self.mean
        if mean is None:
            return ExpectedLabels(self.rows, 0, 0.5, 0.25)
        variance = fmean((label - mean) ** 2 for label in self.labels)
        return ExpectedLabels(self.rows, self.count, mean, variance)


@dataclass(frozen=True, slots=True)
class ExpectedLabels:
    """Labels that a stratum will have: independent, with this mean and variance."""

    rows: int
    count: int
    mean: float
    variance: float


def to_unit(value: float, scale: tuple[float, float]) -> float:
    """Return a score as a share of its scale."""
    return (value - scale[0]) / (scale[1] - scale[0])


def from_scale(share: float, scale: tuple[float, float]) -> float:
    """Convert a share of a scale to a score, clipped to the ends."""
    return scale[0] + min(1.0, max(0.0, share)) * (scale[1] - scale[0])


def from_unit(estimate: Estimate, scale: tuple[float, float]) -> Estimate:
    """Convert an estimate from 0 to 1 to the scale, clipping value and limits to its ends."""

    def rescale(value: float | None) -> float | None:
        return None if value is None else from_scale(value, scale)

    return replace(
        estimate,
        value=rescale(estimate.value),
        lower=rescale(estimate.lower),
        upper=rescale(estimate.upper),
    )


def stratify(
    verdicts: Sequence[str | None],
    labels: Sequence[float | None],
    order: Sequence[str],
    clusters: Clusters = None,
    skipped: Collection[int] = (),
    copies: Collection[int] = (),
) -> list[Stratum]:
    """Group rows by verdict, in this order, failed ones last. Verdicts without rows are left out.

    ``skipped``: positions of rows that annotators skipped. ``copies``: positions of rows whose
    label repeats that of a row with the same text. Raises a ValueError for verdicts that are not in
    ``order``.
    """
    rows = Counter(verdicts)
    repeated = Counter(verdicts[place] for place in copies)
    values: dict[str | None, list[float]] = defaultdict(list)
    members: dict[str | None, list[Hashable]] = defaultdict(list)
    for place, (verdict, label) in enumerate(zip(verdicts, labels, strict=True)):
        if label is not None:
            values[verdict].append(label)
            members[verdict].append(clusters[place] if clusters is not None else place)
    passed_over: dict[str | None, list[Hashable]] = defaultdict(list)
    for place in skipped:
        passed_over[verdicts[place]].append(clusters[place] if clusters is not None else place)
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
            tuple(passed_over[verdict]),
            repeated[verdict],
        )
        for verdict in (*order, None)
        if rows[verdict]
    ]


def corrected_mean(
    verdicts: Options,
    labels: Sequence[float | None],
    order: Sequence[str],
    *,
    clusters: Clusters = None,
    level: float = 0.95,
    skipped: Collection[int] = (),
    these_rows: bool = False,
    apart: Collection[int] = (),
) -> Estimate:
    """Return the post-stratified mean of rows; ``labels`` holds None for rows without one.

    ``apart``: places of rows that are not estimated by the labels of others (see
    :func:`with_rows_apart`).

    Example: ``corrected_mean(["PASS", "FAIL", "PASS"], [1.0, 0.0, None], ["PASS", "FAIL"])``
    """
    pooled_places = [place for place in range(len(verdicts)) if place not in apart]
    pooled_verdicts, groups = (
        [verdicts[place] for place in pooled_places],
        clusters_at(clusters, pooled_places),
    )
    skips = set(skipped)
    passed_over = [number for number, place in enumerate(pooled_places) if place in skips]
    strata = stratify(
        pooled_verdicts, [labels[place] for place in pooled_places], order, groups, passed_over
    )
    means = {stratum.verdict: stratum.mean or 0.0 for stratum in strata}
    effect = design_effect([means[verdict] for verdict in pooled_verdicts], groups)
    estimate = post_stratified(strata, level=level, row_effect=effect, these_rows=these_rows)
    if apart:
        likely = {stratum.verdict: stratum.mean for stratum in strata}
        rows_apart = [(labels[place], likely.get(verdicts[place])) for place in sorted(apart)]
        estimate = with_rows_apart(estimate, len(pooled_places), rows_apart, these_rows=these_rows)
    if not these_rows:
        return estimate
    return within_possible(estimate, [label for label in labels if label is not None], len(labels))


LabelApart = tuple[float | None, float | None]
"""The label of a row that is counted apart, or None if it may be anything; and the assumed label in
that case, or None for the mean of the other rows.
"""


def with_rows_apart(
    rest: Estimate, rows: int, apart: Sequence[LabelApart], *, these_rows: bool
) -> Estimate:
    """Return the mean of the ``rows`` rows of ``rest`` together with rows that are counted
    separately.

    The interval holds for any labels of the unlabelled ones. Unless ``these_rows``, the number of
    separate rows is treated as sampled, too.
    """
    if rest.lower is None or rest.upper is None:
        if rows:
            return rest
        rest = replace(rest, value=0.0, lower=0.0, upper=0.0, reason="")
    count, total = sum(label is not None for label, _ in apart), rows + len(apart)
    share = rows / total

    def mean(end: float) -> float:
        return fmean(end if label is None else label for label, _ in apart)

    def limits(end: float, middle: float) -> Interval:
        pooled = Interval(rest.lower or 0.0, rest.upper or 0.0, rest.level)
        parts = [(share, middle, pooled), (1 - share, mean(end), Interval(mean(end), mean(end)))]
        value = share * middle + (1 - share) * mean(end)
        spread_sum = share * (middle - value) ** 2 + math.fsum(
            ((end if label is None else label) - value) ** 2 / total for label, _ in apart
        )
        variance = 0.0 if these_rows else spread_sum / total
        return mover(parts, variance=variance, level=rest.level)

    # the extremes: all unlabelled rows apart are 0, or all are 1
    low = limits(0.0, (rest.lower if rest.value is None else rest.value) or 0.0)
    high = limits(1.0, (rest.upper if rest.value is None else rest.value) or 0.0)
    estimate = replace(
        rest,
        lower=max(0.0, low.lower),
        upper=min(1.0, high.upper),
        count=rest.count + count,
    )
    if rest.value is None:
        return replace(estimate, reason=NO_LABEL)
    return replace(estimate, value=mean_with_apart(rest.value, rows, apart))


def mean_with_apart(mean: float, rows: int, apart: Sequence[LabelApart]) -> float:
    """Return the mean of ``rows`` rows with this ``mean`` and of the rows ``apart``.

    A row apart counts with its label, else with its likely value, else with ``mean``.
    """
    filled = (
        label if label is not None else mean if likely is None else likely
        for label, likely in apart
    )
    return (rows * mean + math.fsum(filled)) / (rows + len(apart))


def within_possible(estimate: Estimate, labels: Sequence[float], rows: int) -> Estimate:
    """Clip an estimate for exactly ``rows`` rows to what their labels allow: all other rows 0, or
    all 1.

    Rows that count as one unit have wide limits, because a unit may differ from all others, but its
    labelled rows are known.
    """
    # From whole sums, so that rounding does not cut off the mean of all rows.
    lowest, highest = (
        math.fsum([*labels, open_rows]) / rows for open_rows in (0, rows - len(labels))
    )

    def cut(value: float | None) -> float | None:
        return None if value is None else min(max(value, lowest), highest)

    return replace(
        estimate,
        value=cut(estimate.value),
        lower=cut(estimate.lower),
        upper=cut(estimate.upper),
    )


def prevalences(
    verdicts: Options,
    labels: Sequence[Mapping[str, float] | None],
    options: Sequence[str],
    *,
    order: Sequence[str] | None = None,
    clusters: Clusters = None,
    level: float = 0.95,
    skipped: Collection[int] = (),
    these_rows: bool = False,
    apart: Collection[int] = (),
) -> dict[str, Estimate]:
    """Return the corrected share of each option.

    ``labels``: each row's weight per option, summing to 1; evenly split annotators give several
    options weight. ``order``: the order of ``verdicts`` if these are strata instead of options.
    """
    return {
        option: corrected_mean(
            verdicts,
            [None if label is None else label.get(option, 0.0) for label in labels],
            order or options,
            clusters=clusters,
            level=level,
            skipped=skipped,
            these_rows=these_rows,
            apart=apart,
        )
        for option in options
    }


def post_stratified(
    strata: Sequence[Stratum],
    *,
    level: float = 0.95,
    row_effect: float = 1.0,
    these_rows: bool = False,
) -> Estimate:
    """Return the mean label of each verdict, weighted by its number of rows.

    Labels must be random within each verdict; how many each has does not matter. If a verdict (or
    failed judgments) has no labels, there is no value, only an interval that holds for any of its
    labels. The interval also holds for any labels of skipped rows. ``row_effect``: design effect of
    clusters among all rows. ``these_rows``: the interval is for exactly these rows, not for similar
    ones.
    """
    labels = sum(len(stratum.labels) for stratum in strata)
    if not any(stratum.labels for stratum in strata if stratum.verdict is not None):
        return undefined(METHOD, labels, Message("no row with a verdict has a label"), level=level)
    (lowest, low), (highest, high) = (
        _weighted_mean([_fill_skipped(part, end) for part in strata], level, row_effect, these_rows)
        for end in (0.0, 1.0)
    )
    # one unit of many rows can move the far limit more by its size than by its label
    lower, upper = min(low.lower, high.lower), max(low.upper, high.upper)
    if not all(part.labels for part in strata):
        reason = _unlabelled_verdicts(strata, lowest, highest)
        return Estimate(None, lower, upper, labels, METHOD, level, reason)
    rows = sum(part.rows for part in strata)
    value = math.fsum(part.rows * (part.mean or 0.0) for part in strata) / rows
    return Estimate(value, lower, upper, labels, METHOD, level)


@dataclass(frozen=True, slots=True)
class _Assumed:
    """A stratum without labels, with an assumed mean."""

    rows: int
    mean: float


def _fill_skipped(part: Stratum, end: float) -> Stratum | _Assumed:
    """Label a stratum's skipped rows ``end``; without any labels, assume ``end`` for all its
    rows.
    """
    if not part.labels:
        return _Assumed(part.rows, end)
    if not part.skipped:
        return part
    return replace(
        part,
        labels=part.labels + (end,) * len(part.skipped),
        clusters=None if part.clusters is None else part.clusters + part.skipped,
    )


def _weighted_mean(
    parts: Sequence[Stratum | ExpectedLabels | _Assumed],
    level: float,
    row_effect: float,
    these_rows: bool,
) -> tuple[float, Interval]:
    """Return the weighted mean of the strata with its interval."""
    labelled = [part for part in parts if not isinstance(part, _Assumed)]
    strata = [part for part in labelled if isinstance(part, Stratum)]
    rows = sum(part.rows for part in parts)
    value = math.fsum(part.rows * (part.mean or 0.0) for part in parts) / rows
    likely, within = value, 0.0
    for part in labelled:
        weight = part.rows / rows
        # The additional labels at both ends are shared out among the verdicts. Full ones for each
        # would make the interval wider the more options a criterion has.
        ends = ENDS / len(labelled)
        mean, error = (
            _mean_with_ends(part, ends)
            if isinstance(part, Stratum)
            else _expected_with_ends(part, ends)
        )
        # if these rows alone are meant, a verdict whose rows are all labelled is known
        unknown = max(0.0, 1 - part.count / part.rows) if these_rows else 1.0
        within += weight**2 * error * unknown
        likely += weight * (mean - (part.mean or 0.0))
    # How many rows get which verdict is a sample too, unless exactly these rows are meant.
    between = math.fsum(part.rows / rows * ((part.mean or 0.0) - value) ** 2 for part in parts)
    variance = _dependence(strata) * within + (0 if these_rows else between / rows * row_effect)
    if variance <= 0:
        return value, Interval(value, value, level)
    # The number of labels of a share with this variance (Korn and Graubard).
    worth = likely * (1 - likely) / variance * _fewness(strata, level)
    return value, share_limits(min(1.0, max(0.0, value)) * worth, worth, level=level)


def _fewness(parts: Sequence[Stratum], level: float) -> float:
    """Return the factor by which having few clusters devalues labels (Student's quantile); 1
    without clusters.
    """
    clusters = [cluster for part in parts for cluster in part.clusters or ()]
    if not clusters:
        return 1.0
    labels = [label for part in parts for label in part.labels]
    # One degree of freedom per verdict goes into its mean.
    freedom = max(1, effective_units(labels, clusters) - len(parts))
    return (z_two_sided(level) / t_two_sided(level, freedom)) ** 2


def _mean_with_ends(part: Stratum, ends: float) -> tuple[float, float]:
    """Return the mean and its squared standard error, with ``ends`` more labels at 0 and at 1 each.

    In clusters these are whole clusters: if nearly all labels are equal, they do not show how alike
    a cluster is.
    """
    labels, clusters = part.labels, part.clusters
    count = len(labels)
    size = 1.0 if clusters is None else sum(n * n for n in Counter(clusters).values()) / count
    total = count + 2 * ends * size
    mean = (math.fsum(labels) + ends * size) / total
    sums = cluster_sums([label - mean for label in labels], clusters)
    squares = math.fsum(cluster_sum * cluster_sum for cluster_sum in sums)
    squares += ends * size * size * (mean * mean + (1 - mean) ** 2)
    cluster_variance = squares / total / count
    if clusters is None:
        return mean, cluster_variance
    alone = math.fsum((label - mean) ** 2 for label in labels)
    alone = (alone + ends * size * (mean * mean + (1 - mean) ** 2)) / total / count
    return mean, max(cluster_variance, alone * design_effect(labels, clusters))


def _expected_with_ends(part: ExpectedLabels, ends: float) -> tuple[float, float]:
    """Like ``_mean_with_ends``, but for labels known only by mean and variance."""
    total = part.count + 2 * ends
    mean = (part.count * part.mean + ends) / total
    squares = part.count * (part.variance + (part.mean - mean) ** 2)
    squares += ends * (mean * mean + (1 - mean) ** 2)
    return mean, squares / total / part.count


def _dependence(parts: Sequence[Stratum]) -> float:
    """Return the factor (at least 1) by which clusters that span verdicts increase the variance."""
    joint: dict[Hashable, float] = defaultdict(float)
    apart: dict[tuple[int, Hashable], float] = defaultdict(float)
    for place, part in enumerate(parts):
        if part.clusters is not None and part.mean is not None:
            for label, cluster in zip(part.labels, part.clusters, strict=True):
                share = part.rows / len(part.labels) * (label - part.mean)
                joint[cluster] += share
                apart[place, cluster] += share
    separate = math.fsum(value * value for value in apart.values())
    return (
        max(1.0, math.fsum(value * value for value in joint.values()) / separate)
        if separate
        else 1.0
    )


def label_interval(
    labels: Sequence[float], *, level: float = 0.95, clusters: Clusters = None
) -> Interval:
    """Return the interval of a share for zeros and ones, else Student's interval with both ends
    added.
    """
    interval = share_interval if set(labels) <= {0, 1} else interval_with_both_ends
    return interval(labels, level=level, clusters=clusters)


def _unlabelled_verdicts(parts: Sequence[Stratum], lowest: float, highest: float) -> Message:
    missing = {part.verdict: part.rows for part in parts if not part.labels}
    limits = {"lowest": lowest, "highest": highest}
    if [*missing] == [None]:
        return plural(
            "{count} failed judgment has no label: the mean lies between {lowest:.3f} (all of them "
            "0) and {highest:.3f} (all of them 1)",
            "{count} failed judgments have no label: the mean lies between {lowest:.3f} (all of "
            "them 0) and {highest:.3f} (all of them 1)",
            missing[None],
            **limits,
        )
    names = (Message("failed") if verdict is None else verdict for verdict in missing)
    return plural(
        "{count} row with a verdict that has no label ({verdicts}): the mean lies between "
        "{lowest:.3f} (all of them 0) and {highest:.3f} (all of them 1)",
        "{count} rows with a verdict that has no label ({verdicts}): the mean lies between "
        "{lowest:.3f} (all of them 0) and {highest:.3f} (all of them 1)",
        sum(missing.values()),
        verdicts=join(", ", names),
        **limits,
    )


def naive(values: Sequence[float], *, level: float = 0.95, clusters: Clusters = None) -> Estimate:
    """Return the judge's mean over all rows as if it were never wrong. Its interval is that of
    reports.
    """
    if not values:
        return undefined("naive", 0, Message("no row has a verdict"), level=level)
    mean, limits = fmean(values), rows_interval(values, level=level, clusters=clusters)
    if limits is None:
        few = Message("no interval: fewer than 8 rows")
        return Estimate(mean, None, None, len(values), "naive", level, few)
    return Estimate(mean, limits.lower, limits.upper, len(values), "naive", level)


def labels_only(
    labels: Sequence[float],
    *,
    level: float = 0.95,
    clusters: Clusters = None,
    skipped: Sequence[Hashable] = (),
    of_rows: int | None = None,
) -> Estimate:
    """Estimate the mean from labels alone, without the judge.

    They must be a random sample of all rows, not of each verdict. ``skipped``: the cluster of each
    sampled row without a label; the interval holds for any labels of these. ``of_rows``: the number
    of rows, if exactly these are meant.
    """
    method = Message("labels only")
    if not labels or not (skipped or of_rows):
        return estimate_mean(labels, method, Message("no row has a label"), level, clusters)
    groups = None if clusters is None else tuple(clusters)
    rows = of_rows or len(labels) + len(skipped)
    sample = Stratum(method, rows, tuple(labels), groups, tuple(skipped))
    return replace(
        post_stratified([sample], level=level, these_rows=of_rows is not None), method=method
    )


def estimate_mean(
    values: Sequence[float], method: str, reason: str, level: float, clusters: Clusters
) -> Estimate:
    """Return the mean of values from 0 to 1 with its limits. ``reason``: why there is none without
    values.
    """
    if not values:
        return undefined(method, 0, reason, level=level)
    interval = label_interval(values, level=level, clusters=clusters)
    return Estimate(fmean(values), interval.lower, interval.upper, len(values), method, level)


def expected_width(
    parts: Sequence[ExpectedLabels], *, level: float, these_rows: bool = False
) -> float:
    """Return the expected width of :func:`post_stratified` with these labels."""
    _, limits = _weighted_mean(parts, level, 1.0, these_rows)
    return limits.upper - limits.lower


def expected_width_alone(
    labels: ExpectedLabels, *, shares: bool, level: float, these_rows: bool = False
) -> float:
    """Return the expected width of :func:`labels_only`. ``shares``: all labels are 0 or 1."""
    if these_rows:
        return expected_width([labels], level=level, these_rows=True)
    limits = (
        share_limits(labels.mean * labels.count, labels.count, level=level)
        if shares
        else limits_with_both_ends(labels.mean, labels.variance, labels.count, level=level)
    )
    return limits.upper - limits.lower
