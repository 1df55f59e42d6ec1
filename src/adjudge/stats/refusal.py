"""When no corrected number is given, in words; what is said beside one; how many labels would do.

A number is refused only for how many labels there are, never for what they say: a tool that looks
at the labels before it shows a number keeps the samples that were lucky.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

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
"""Fewer labels correct nothing."""
FIRST_LABELS = 50
"""How many to label at random before anything is topped up."""
FLOOR = 15
"""How many labels each verdict is topped up to."""
HELD = 0.05
"""A verdict held by a smaller share of the rows than this may have few labels."""
RISK = 0.05
"""How often a judge that knows nothing may pass for one that does."""
NO_GAIN = 0.95
"""A corrected interval that is no narrower than this share of the labels' own
saves no labels worth naming.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no corrected number."""

    code: str
    text: Message


def doubts(
    verdicts: Sequence[float],
    labels: Sequence[float],
    corrected: Estimate,
    alone: Estimate,
    clusters: Clusters = None,
) -> list[Message]:
    """Return what is said next to a corrected number: that the labels do not show the judge to be
    better than chance, and how many labels it saves. The number stands: to withhold it for what the
    labels say would leave the lucky samples.

    ``verdicts`` and ``labels`` are the judge's and the people's values of the labelled rows, side
    by side, and ``clusters`` which of them belong together.
    """
    found = no_better_than_chance(verdicts, labels, clusters), labels_saved(corrected, alone)
    return [one for one in found if one is not None]


def too_few(strata: Sequence[Stratum], *, every: bool = False) -> Refusal | None:
    """Fewer than 20 labels, or fewer than 5 in a verdict that at least one row in twenty got, or
    none of a row with a verdict. ``every``: or none in any of the others. The labels of copies of
    one text count once.
    """
    labels, rows = sum(one.texts for one in strata), sum(one.rows for one in strata)
    possible = sum(one.possible for one in strata)
    is_enough = labels >= min(LEAST_LABELS, possible)
    judged = [one for one in strata if one.verdict is not None]
    held = [one for one in judged if one.rows >= HELD * rows or (every and not one.labels)]
    is_short = any(one.texts < min(FEW, one.possible) for one in held)
    if is_enough and not any(one.labels for one in judged):
        return Refusal("no_verdicts", Message("no labelled row has a verdict; no corrected rate"))
    if is_enough and not is_short:
        return None
    missing = {one: min(FLOOR, one.possible) - one.texts for one in held}
    more = max(
        min(FIRST_LABELS, possible) - labels, sum(max(0, count) for count in missing.values())
    )
    wanted = {
        str(one.verdict): count
        for one, count in missing.items()
        if count > max(0, more * one.rows / rows)
    }
    shortage = _shortage(labels, more, wanted)
    if any(one.copies for one in strata):
        shortage = Message("{shortage} (the label of copies counts once)", shortage=shortage)
    return Refusal("too_few_labels", shortage)


def _shortage(labels: int, more: int, wanted: dict[str, int]) -> Message:
    among = join(
        Message(" and "),
        (
            Message("{count} among {verdict}", count=count, verdict=verdict)
            for verdict, count in wanted.items()
        ),
    )
    if not among:
        return Message("too few labels: {labels}; {more} more would do", labels=labels, more=more)
    if sum(wanted.values()) == more:
        return Message(
            "too few labels: {labels}; {among} more would do", labels=labels, among=among
        )
    return Message(
        "too few labels: {labels}; {more} more, of which {among}, would do",
        labels=labels,
        more=more,
        among=among,
    )


def no_better_than_chance(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Clusters = None
) -> Message | None:
    """The labels do not show that the verdict knows anything about the truth, or show that it says
    the opposite.
    """
    if not labels or chance_p_value(verdicts, labels, clusters) <= RISK:
        return None
    opposite = [1 - verdict for verdict in verdicts]
    if {*verdicts, *labels} <= {0, 1}:
        agreement = fmean(verdict == label for verdict, label in zip(verdicts, labels, strict=True))
        passed, true = fmean(verdicts), fmean(labels)
        shown = Message(
            "agreement {agreement:.2f}, chance {chance:.2f}",
            agreement=agreement,
            chance=passed * true + (1 - passed) * (1 - true),
        )
    else:
        found = pearson(verdicts, labels)
        shown = (
            Message("one of them never varies")
            if found is None
            else Message(
                "correlation {correlation:.2f}, chance {chance:.2f}", correlation=found, chance=0.0
            )
        )
    if chance_p_value(opposite, labels, clusters) <= RISK:
        return Message(
            "on your labels the verdict says the opposite of the truth ({figures}): are the "
            "options the right way round? The corrected number holds all the same",
            figures=shown,
        )
    return Message(
        "on your labels the verdict says nothing about the truth ({figures}): the corrected number "
        "stands on the labels, and a better criterion would help",
        figures=shown,
    )


def chance_p_value(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Clusters = None
) -> float:
    """One-sided: of verdicts that go with the labels as well as these when the two are unrelated.

    Fisher's exact test of passes and fails, the test of Pearson's correlation of anything else;
    where rows belong together, Student's test of what each cluster adds to the covariance.
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
    found, count = pearson(verdicts, labels), len(labels)
    if found is None or count < 3:
        return 1.0
    if abs(found) == 1:
        return 0.0 if found > 0 else 1.0
    return t_cdf(-found * math.sqrt((count - 2) / (1 - found * found)), count - 2)


def _clustered_p_value(
    verdicts: Sequence[float], labels: Sequence[float], clusters: Sequence[Hashable]
) -> float:
    said, true = fmean(verdicts), fmean(labels)
    products = [
        (verdict - said) * (label - true) for verdict, label in zip(verdicts, labels, strict=True)
    ]
    sums = cluster_sums(products, clusters)
    total, squares = math.fsum(sums), math.fsum(one * one for one in sums)
    if len(sums) < 3 or squares == 0:
        return 1.0
    error = math.sqrt(squares * len(sums) / (len(sums) - 1))
    return t_cdf(-total / error, len(sums) - 1)


def labels_saved(corrected: Estimate, alone: Estimate) -> Message | None:
    """Say how many labels the judge saves: how many more would give as narrow an interval alone.
    Widths shrink with the square root of the number of labels.
    """
    if not corrected.width or not alone.width:
        return None
    worth = round(alone.count * (alone.width / corrected.width) ** 2)
    if corrected.width < NO_GAIN * alone.width and worth > corrected.count:
        return Message(
            "the judge saves about {saved} labels: without it, so narrow an interval would take "
            "{worth} labels instead of {count}",
            saved=worth - corrected.count,
            worth=worth,
            count=corrected.count,
        )
    return Message(
        "the judge saves no labels: corrected ±{corrected:.3f}, the labels alone ±{alone:.3f}",
        corrected=corrected.width / 2,
        alone=alone.width / 2,
    )


NOTHING_TO_PLAN_WITH = Message("no labels to plan with: label a few rows at random first")


@dataclass(frozen=True, slots=True)
class Needed:
    """How many labels would make the corrected interval as narrow as wanted."""

    target_width: float
    labels: int | None
    """In all; None where no number of labels would do."""
    more: int | None
    by_verdict: dict[str, int] = field(default_factory=dict)
    """How many of those still missing are of which verdict."""
    labels_alone: int | None = None
    """How many it would take without the judge."""
    reason: str = ""


def out_of_reach(target_width: float, rows: int, width: float, *, of_scale: bool) -> Needed:
    """Say that the interval is wider than wanted even if all rows are labelled. ``of_scale``: the
    widths are shares of a scale that does not end at 0 and 1.
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
    """Say that the number of labels is unknown."""
    reason = (
        Message(
            "how many labels an interval {target:g} of the scale wide needs cannot be told: {why}",
            target=target_width,
            why=why,
        )
        if of_scale
        else Message(
            "how many labels an interval {target:g} wide needs cannot be told: {why}",
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
    """Return how many labels make the width of the corrected interval (upper limit less lower
    limit) ``target_width``.

    The labels there are serve as a pilot: the labels of each verdict are taken to keep their mean
    and variance, and a verdict without labels to be good in half of its rows. Failed judgments
    without labels are left out of the plan: they need labels of their own. Further labels are
    spread like the rows, or ``like_labels``: like those there are.
    """
    parts = [one for one in strata if one.verdict is not None or one.labels]
    rows, have = sum(part.rows for part in parts), sum(part.count for part in parts)
    if not rows or not have:
        return Needed(target_width, None, None, reason=NOTHING_TO_PLAN_WITH)

    pilot = [part.expected_labels() for part in parts]
    weights = [max(1, part.count) if like_labels else part.rows for part in parts]
    whole = sum(weights)

    def planned(count: int) -> list[ExpectedLabels]:
        return [
            replace(part, count=max(part.count, min(part.rows, _share_up(count, weight, whole))))
            for part, weight in zip(pilot, weights, strict=True)
        ]

    def width(count: int) -> float:
        return expected_width(planned(count), level=level, these_rows=these_rows)

    # spread like the labels, a verdict with few of them is fully labelled last
    most = max(
        _share_up(whole, part.rows, weight) for part, weight in zip(parts, weights, strict=True)
    )
    count = least_labels(width, target_width, most)
    if count is None:
        return out_of_reach(target_width, rows, width(most), of_scale=of_scale)
    missing = {
        _named(part): later.count - part.count
        for part, later in zip(parts, planned(count), strict=True)
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
    """Return how many labels would do without the judge; None if none would."""
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


def _named(part: Stratum) -> str:
    return "failed" if part.verdict is None else str(part.verdict)


def least_labels(width: Callable[[int], float], target: float, most: int) -> int | None:
    """Return the least number of labels whose width is the target or less; None if even ``most``
    are too few. Wider intervals never come of more labels.
    """
    if width(most) > target:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width(middle) <= target else (middle, high)
    return high
