"""Reasons to refuse a corrected number, remarks next to one, and the number of labels needed.

A number is refused only for the number of labels, never for what they say: a tool that looks at the
labels first would keep the lucky samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TypedDict

from adjudge.messages import Message, join
from adjudge.stats.correction import (
    FEW,
    ExpectedLabels,
    Stratum,
    expected_width,
    expected_width_alone,
)
from adjudge.stats.correlation import pearson
from adjudge.stats.distributions import fisher_greater
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import Clusters, cluster_sums
from adjudge.stats.student import t_cdf

LEAST_LABELS = 20
"""Minimum number of labels for a correction."""
FIRST_LABELS = 50
"""Labels to collect at random before any verdict is topped up."""
FLOOR = 15
"""Labels to which each verdict is topped up."""
HELD = 0.05
"""Share of the rows below which a verdict may have few labels."""
RISK = 0.05
"""Probability with which an uninformative judge may pass for an informative one."""
NO_GAIN = 0.95
"""Share of the labels' own width above which a corrected interval counts as no saving."""


class RefusalShape(TypedDict):
    """The reason why there is no corrected number."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why there is no corrected number."""

    code: str
    text: Message


def doubts(
    verdicts: Sequence[float],
    labels: Sequence[float],
    corrected: Estimate,
    alone: Estimate,
    clusters: Clusters = None,
) -> list[Message]:
    """Return remarks next to a corrected number: a judge no better than chance, and the labels it
    saves.

    The number is shown anyway: withholding it because of the labels would keep the lucky samples.
    ``verdicts`` and ``labels`` are the judge's and the people's values of the labelled rows,
    ``clusters`` the units they belong to.
    """
    remarks = no_better_than_chance(verdicts, labels, clusters), describe_savings(corrected, alone)
    return [remark for remark in remarks if remark is not None]


def too_few(strata: Sequence[Stratum], *, every: bool = False) -> Refusal | None:
    """Return a refusal for too few labels.

    Needed are 20 labels, 5 for each verdict that at least one row in twenty got, and one for a row
    with a verdict. ``every``: also one for each other verdict. Labels of copies of one text count
    once.
    """
    labels, rows = sum(stratum.texts for stratum in strata), sum(stratum.rows for stratum in strata)
    possible = sum(stratum.possible for stratum in strata)
    is_enough = labels >= min(LEAST_LABELS, possible)
    verdict_strata = [stratum for stratum in strata if stratum.verdict is not None]
    counted = [
        stratum
        for stratum in verdict_strata
        if stratum.rows >= HELD * rows or (every and not stratum.labels)
    ]
    is_short = any(stratum.texts < min(FEW, stratum.possible) for stratum in counted)
    if is_enough and not any(stratum.labels for stratum in verdict_strata):
        return Refusal("no_verdicts", Message("no labelled row has a verdict; no corrected rate"))
    if is_enough and not is_short:
        return None
    least = _missing(
        counted,
        {part: FEW if part.rows >= HELD * rows else 1 for part in counted},
        min(LEAST_LABELS, possible) - labels,
    )
    better = _missing(
        counted, dict.fromkeys(counted, FLOOR), min(FIRST_LABELS, possible) - labels, rows
    )
    shortage = (
        Message("too few labels: {labels}; needed: {least}", labels=labels, least=least)
        if least == better
        else Message(
            "too few labels: {labels}; needed: {least}; recommended: {better}",
            labels=labels,
            least=least,
            better=better,
        )
    )
    if any(stratum.copies for stratum in strata):
        shortage = Message("{shortage} (the label of copies counts once)", shortage=shortage)
    return Refusal("too_few_labels", shortage)


def _missing(
    strata: Sequence[Stratum], floors: Mapping[Stratum, int], in_total: int, rows: int | None = None
) -> Message:
    """Return how many more labels are missing, and among which verdicts.

    ``in_total``: how many are missing whatever their verdicts. With ``rows``, the number of all
    rows, verdicts are named only if a random sample would not be expected to hold as many.
    """
    missing = {part: max(0, min(floors[part], part.possible) - part.texts) for part in strata}
    more = max(in_total, sum(missing.values()))
    named = {
        part: count
        for part, count in missing.items()
        if count > (more * part.rows / rows if rows else 0)
    }
    if not named:
        return Message("{more} more", more=more)
    among = join(
        Message(" and "),
        (
            Message("{count} among {verdict}", count=count, verdict=str(part.verdict))
            for part, count in named.items()
        ),
    )
    if sum(named.values()) < more:
        return Message("{more} more, of which {among}", more=more, among=among)
    if len(named) > 1:
        return Message("{more} more: {among}", more=more, among=among)
    return Message("{among} more", among=among)


def no_better_than_chance(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Clusters = None
) -> Message | None:
    """Return a remark if labels do not show the verdict to be informative, or show the opposite;
    else None.
    """
    if not labels or chance_p_value(verdicts, labels, clusters) <= RISK:
        return None
    opposite = [1 - verdict for verdict in verdicts]
    if {*verdicts, *labels} <= {0, 1}:
        agreement = fmean(verdict == label for verdict, label in zip(verdicts, labels, strict=True))
        passed, true = fmean(verdicts), fmean(labels)
        figures = Message(
            "agreement {agreement:.2f}, chance {chance:.2f}",
            agreement=agreement,
            chance=passed * true + (1 - passed) * (1 - true),
        )
    else:
        correlation = pearson(verdicts, labels)
        figures = (
            Message("one of them never varies")
            if correlation is None
            else Message(
                "correlation {correlation:.2f}, chance {chance:.2f}",
                correlation=correlation,
                chance=0.0,
            )
        )
    if chance_p_value(opposite, labels, clusters) <= RISK:
        return Message(
            "on your labels the verdict says the opposite of the truth ({figures}): check "
            "whether the options are swapped. The corrected number is still valid",
            figures=figures,
        )
    return Message(
        "on your labels the verdict says nothing about the truth ({figures}), so the corrected "
        "number relies on the labels alone; a better criterion would help",
        figures=figures,
    )


def chance_p_value(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Clusters = None
) -> float:
    """Return the one-sided p-value of verdicts that fit the labels this well if the two are
    unrelated.

    Fisher's exact test for passes and fails, the test of Pearson's correlation for anything else;
    with clusters, Student's test of each cluster's part of the covariance.
    """
    if clusters is not None:
        return _clustered_p_value(verdicts, labels, clusters)
    if {*verdicts, *labels} <= {0, 1}:
        cells = [
            (bool(verdict), bool(label)) for verdict, label in zip(verdicts, labels, strict=True)
        ]
        both, passed, true, neither = (
            cells.count(cell)
            for cell in ((True, True), (True, False), (False, True), (False, False))
        )
        return fisher_greater(both, passed, true, neither)
    correlation, count = pearson(verdicts, labels), len(labels)
    if correlation is None or count < 3:
        return 1.0
    if abs(correlation) == 1:
        return 0.0 if correlation > 0 else 1.0
    # Student's test of a correlation.
    return t_cdf(-correlation * math.sqrt((count - 2) / (1 - correlation * correlation)), count - 2)


def _clustered_p_value(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Sequence[Hashable]
) -> float:
    mean_verdict, mean_label = fmean(verdicts), fmean(labels)
    products = [
        (verdict - mean_verdict) * (label - mean_label)
        for verdict, label in zip(verdicts, labels, strict=True)
    ]
    sums = cluster_sums(products, clusters)
    total, squares = math.fsum(sums), math.fsum(cluster_sum * cluster_sum for cluster_sum in sums)
    if len(sums) < 3 or squares == 0:
        return 1.0
    # The clustered variance of a sum, with the factor G / (G − 1).
    error = math.sqrt(squares * len(sums) / (len(sums) - 1))
    return t_cdf(-total / error, len(sums) - 1)


def describe_savings(corrected: Estimate, alone: Estimate) -> Message | None:
    """Say how many labels the judge saves, i.e. how many more would give the same interval alone.

    None without both intervals. Widths shrink with the square root of the number of labels.
    """
    if not corrected.width or not alone.width:
        return None
    worth = round(alone.count * (alone.width / corrected.width) ** 2)
    if corrected.width < NO_GAIN * alone.width and worth > corrected.count:
        return Message(
            "the judge saves about {saved} labels: without it, an interval this narrow would "
            "take {worth} labels instead of {count}",
            saved=worth - corrected.count,
            worth=worth,
            count=corrected.count,
        )
    return Message(
        "the judge saves no labels: ±{corrected:.3f} corrected, ±{alone:.3f} with the labels alone",
        corrected=corrected.width / 2,
        alone=alone.width / 2,
    )


NOTHING_TO_PLAN_WITH = Message("no labels to plan with: label a few rows at random first")


@dataclass(frozen=True, slots=True)
class Needed:
    """The number of labels that a corrected interval of a given width needs."""

    target_width: float
    labels: int | None
    """Labels needed in total; None if no number suffices."""
    more: int | None
    by_verdict: dict[str, int] = field(default_factory=dict)
    """Verdict → labels still missing."""
    labels_alone: int | None = None
    """Labels needed without the judge."""
    reason: str = ""


def out_of_reach(target_width: float, rows: int, width: float, *, of_scale: bool) -> Needed:
    """Return the result for a width that even labelling all rows would not reach.

    ``of_scale``: widths are shares of a scale other than 0 to 1.
    """
    values = {"target": target_width, "rows": rows, "width": width}
    reason = (
        Message(
            "a width of {target:g} of the scale is out of reach: with all {rows} rows labelled it "
            "would be about {width:.3f} of the scale",
            **values,
        )
        if of_scale
        else Message(
            "a width of {target:g} is out of reach: with all {rows} rows labelled it would be "
            "about {width:.3f}",
            **values,
        )
    )
    return Needed(target_width, None, None, reason=reason)


def cannot_plan(target_width: float, why: Message, *, of_scale: bool) -> Needed:
    """Return the result if the number of labels is unknown."""
    reason = (
        Message(
            "cannot tell how many labels an interval {target:g} of the scale wide needs: {why}",
            target=target_width,
            why=why,
        )
        if of_scale
        else Message(
            "cannot tell how many labels an interval {target:g} wide needs: {why}",
            target=target_width,
            why=why,
        )
    )
    return Needed(target_width, None, None, reason=reason)


def labels_needed(
    strata: Sequence[Stratum],
    target_width: float,
    *,
    level: float = 0.95,
    these_rows: bool = False,
    of_scale: bool = False,
    like_labels: bool = False,
) -> Needed:
    """Return how many labels make the corrected interval ``target_width`` wide (upper limit minus
    lower limit).

    The present labels are a pilot: the labels of each verdict keep their mean and variance, and a
    verdict without labels is good in half of its rows. Failed judgments without labels are not
    planned: they need labels of their own. Further labels are spread like the rows, or with
    ``like_labels`` like the present ones.
    """
    parts = [stratum for stratum in strata if stratum.verdict is not None or stratum.labels]
    rows, have = sum(part.rows for part in parts), sum(part.count for part in parts)
    if not rows or not have:
        return Needed(target_width, None, None, reason=NOTHING_TO_PLAN_WITH)

    pilot = [part.expected_labels() for part in parts]
    weights = [max(1, part.count) if like_labels else part.rows for part in parts]
    total_weight = sum(weights)

    def plan(count: int) -> list[ExpectedLabels]:
        return [
            replace(
                part, count=max(part.count, min(part.rows, _share_up(count, weight, total_weight)))
            )
            for part, weight in zip(pilot, weights, strict=True)
        ]

    def width(count: int) -> float:
        return expected_width(plan(count), level=level, these_rows=these_rows)

    # Spread like the labels, a verdict with few of them is fully labelled last.
    most = max(
        _share_up(total_weight, part.rows, weight)
        for part, weight in zip(parts, weights, strict=True)
    )
    count = least_labels(width, target_width, most)
    if count is None:
        return out_of_reach(target_width, rows, width(most), of_scale=of_scale)
    missing = {
        "failed" if part.verdict is None else str(part.verdict): later.count - part.count
        for part, later in zip(parts, plan(count), strict=True)
    }
    more = sum(missing.values())
    by_verdict = {} if like_labels else {name: number for name, number in missing.items() if number}
    shares = all({*part.labels} <= {0, 1} for part in parts)
    alone = _needed_alone(pilot, target_width, shares, level=level, these_rows=these_rows)
    return Needed(target_width, have + more, more, by_verdict, alone)


def _needed_alone(
    pilot: Sequence[ExpectedLabels],
    target_width: float,
    shares: bool,
    *,
    level: float,
    these_rows: bool,
) -> int | None:
    """Return how many labels would be enough without the judge; None if none would."""
    rows = sum(part.rows for part in pilot)
    mean = math.fsum(part.rows / rows * part.mean for part in pilot)
    variance = math.fsum(
        part.rows / rows * (part.variance + (part.mean - mean) ** 2) for part in pilot
    )

    def width(count: int) -> float:
        labels = ExpectedLabels(rows, count, mean, variance)
        return expected_width_alone(labels, shares=shares, level=level, these_rows=these_rows)

    return least_labels(width, target_width, rows)


def _share_up(count: int, part: int, whole: int) -> int:
    """Return ``count * part / whole``, rounded up."""
    return -(-count * part // whole)


def least_labels(width: Callable[[int], float], target: float, most: int) -> int | None:
    """Return the smallest number of labels that reaches the target width; None if ``most`` are too
    few.

    Assumes that more labels never widen an interval.
    """
    if width(most) > target:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width(middle) <= target else (middle, high)
    return high
