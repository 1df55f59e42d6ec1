"""Biases of a judge: order, length, authorship, and other criteria in the same call.

Order: a judge that answers by chance disagrees with itself in any order; that is noise. Bias is
disagreement *between* orders beyond the disagreement *within* one. For an item whose answers have
the probabilities p in one order and q in the other, the excess is half the squared distance of p
and q: 0 without bias, 1 if every answer turns with the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import fmean, stdev
from typing import Protocol

from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.stats import FEWEST
from adjudge.stats.agreement import share_of
from adjudge.stats.correction import label_interval
from adjudge.stats.correlation import pearson
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import Estimate, Figure, undefined
from adjudge.stats.intervals import Clusters, share_limits
from adjudge.stats.linear import solve
from adjudge.stats.student import t_cdf, t_quantile


@dataclass(frozen=True, slots=True)
class BiasReport:
    """A judge's position bias, from judgments in several orders."""

    flip_rate: float | None
    """Disagreement between orders: share of pairs of votes, mean over the items."""
    noise_rate: float | None
    """Disagreement within an order, likewise."""
    excess: float | None
    """``flip_rate - noise_rate``: the effect of the order alone."""
    lower: float | None
    upper: float | None
    """The excess lies between these with probability ``1 - level``; it cannot lie below 0, so
    neither can ``upper``.

    None below 8 items, which are too few for a reliable interval.
    """
    p_value: float | None
    """Probability of an excess this large for a judge without bias; one-sided."""
    detected: bool
    """``p_value < level``: a judge without bias is called biased at this rate."""
    items: int
    left_out: int
    """Judgments with too few votes: no model gave two valid ones in each of two orders."""


class AskedInOrders(Protocol):
    """A result with answers in several orders."""

    def answers_by_order(self) -> Sequence[Sequence[Sequence[str]]]:
        """Return question → order → answers."""
        ...


def positional_bias(results: Iterable[AskedInOrders], level: float = 0.05) -> BiasReport:
    """Measure position bias from ``results`` with ``check_positional_bias=True`` and at least two
    samples per order.

    Items count as independent, and their mean excess as normal (Student's t). Excesses are skewed,
    which few items do not even out. Simulated with a judge that errs in a fifth of its votes, at
    level 0.05: noise is called bias in 2 to 4% of runs over 30 to 200 items; an excess of 0.09 lies
    outside its interval in 7% of runs over 30 items, in 5% over 100.
    """
    return bias_of_rates([_item(result.answers_by_order()) for result in results], level)


def bias_of_rates(
    measured: Sequence[tuple[float, float] | None], level: float = 0.05
) -> BiasReport:
    """Like ``positional_bias``, but from each item's disagreement between orders and within one.

    None stands for an item with too few votes.
    """
    if not 0 < level < 1:
        raise SetupError("level must be between 0 and 1, not {level!r}", level=level)
    rates = [rate for rate in measured if rate is not None]
    left_out = len(measured) - len(rates)
    if not rates:
        return BiasReport(None, None, None, None, None, None, False, 0, left_out)
    flips, noise = fmean(flip for flip, _ in rates), fmean(noise for _, noise in rates)
    excesses = [flip - noise for flip, noise in rates]
    if len(rates) == 1:
        return BiasReport(flips, noise, excesses[0], None, None, None, False, 1, left_out)
    mean, error = fmean(excesses), stdev(excesses) / math.sqrt(len(excesses))
    p_value = _p_value(mean, error, len(excesses) - 1)
    lower = upper = None
    if len(excesses) >= FEWEST:
        reach = t_quantile(1 - level / 2, len(excesses) - 1) * error
        # The true excess is never negative, so an upper limit below 0 would be wrong.
        lower, upper = mean - reach, max(mean + reach, 0.0)
    return BiasReport(
        flips, noise, mean, lower, upper, p_value, p_value < level, len(rates), left_out
    )


def _p_value(mean: float, error: float, freedom: int) -> float:
    """Return the one-sided p-value. Equal items (no variance) give 0 or 1."""
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return t_cdf(-mean / error, freedom)


def _item(questions: Sequence[Sequence[Sequence[str]]]) -> tuple[float, float] | None:
    """Return the mean disagreement between and within orders over all questions; None with too few
    votes.
    """
    rates = [rate for orders in questions if (rate := _question(orders)) is not None]
    return (fmean(flip for flip, _ in rates), fmean(noise for _, noise in rates)) if rates else None


def _question(orders: Sequence[Sequence[str]]) -> tuple[float, float] | None:
    enough = [answers for answers in orders if len(answers) > 1]
    if len(enough) < 2:
        return None
    between = fmean(
        _disagreement(product(answers_a, answers_b))
        for answers_a, answers_b in combinations(enough, 2)
    )
    within = fmean(_disagreement(combinations(answers_a, 2)) for answers_a in enough)
    return between, within


def _disagreement(pairs: Iterable[tuple[str, ...]]) -> float:
    return fmean(answer_a != answer_b for answer_a, answer_b in pairs)


def first_rate(
    picked_first: Sequence[bool], *, clusters: Clusters = None, level: float = 0.95
) -> Estimate:
    """Return how often the response shown first is picked, among verdicts that pick one.

    It is one half without bias if the orders are balanced.
    """
    reason = Message("no verdict picked a response")
    return share_of(picked_first, clusters, level, reason)


def first_advantage(
    right_when_first: Sequence[bool], right_when_second: Sequence[bool]
) -> Estimate:
    """Return how much more often the judge is right if the right answer is shown first instead of
    second.

    Needs labels.
    """
    return _difference_of_shares(
        right_when_first,
        right_when_second,
        (
            Message("the right answer was never shown first"),
            Message("the right answer was never shown second"),
        ),
    )


def self_preference(own_upheld: Sequence[bool], others_upheld: Sequence[bool]) -> Estimate:
    """Return how much more often the better answer is picked if the judge's own family wrote it.

    This is equal opportunity. Each list says for each row whether the better answer (by labels),
    written by the judge's family or by others, was picked.
    """
    return _difference_of_shares(
        own_upheld,
        others_upheld,
        (
            Message("no better answer is from the judge's own family"),
            Message("no better answer is from others"),
        ),
    )


def preference_among_equals(picked_own: Sequence[bool]) -> Estimate:
    """Return how much more often than half the judge picks its family's answer among equally good
    pairs.

    Needs no labels.
    """
    if not picked_own:
        return undefined(
            "share", 0, Message("no pair of equal quality with one answer by its own family")
        )
    limits = label_interval([float(picked) for picked in picked_own])
    half = 0.5
    return Estimate(
        fmean(picked_own) - half, limits.lower - half, limits.upper - half, len(picked_own), "share"
    )


def _difference_of_shares(
    one: Sequence[bool], other: Sequence[bool], missing: tuple[str, str]
) -> Estimate:
    """Return the difference of two shares, with Newcombe's limits. ``missing``: the reasons if a
    list is empty.
    """
    count = len(one) + len(other)
    for values, reason in zip((one, other), missing, strict=True):
        if not values:
            return undefined("Newcombe", count, reason)
    p, q = fmean(one), fmean(other)
    limits_a, limits_b = (share_limits(sum(part), len(part)) for part in (one, other))
    below = math.sqrt((p - limits_a.lower) ** 2 + (limits_b.upper - q) ** 2)
    above = math.sqrt((limits_a.upper - p) ** 2 + (q - limits_b.lower) ** 2)
    return Estimate(p - q, p - q - below, p - q + above, count, "Newcombe")


def verbosity_slope(errors: Sequence[float], lengths: Sequence[float]) -> Estimate:
    """Return how much a judge's score rises undeservedly if an answer is twice as long. Needs
    labels.

    This is the slope of a regression of the judge's error (verdict − label) on the logarithm of the
    length, with HC3 errors.
    """
    points = [
        (math.log2(length), error)
        for length, error in zip(lengths, errors, strict=True)
        if length > 0
    ]
    method, count = Message("regression, HC3"), len(points)
    if count < 3:
        few = Message("fewer than three labelled answers with a text: label more rows")
        return undefined(method, count, few)
    if min(x for x, _ in points) == max(x for x, _ in points):
        return undefined(method, count, Message("all answers are equally long"))
    slope, error = _hc3([x for x, _ in points], [y for _, y in points])
    if error is None:
        reason = Message("one row alone decides the slope")
        return Estimate(slope, None, None, count, method, reason=reason)
    reach = z_two_sided(0.95) * error
    return Estimate(slope, slope - reach, slope + reach, count, method)


def _hc3(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float | None]:
    """Return the slope of a regression line and its standard error; None if one point alone decides
    it.

    Each residual is divided by 1 − leverage.
    """
    count, mean = len(xs), fmean(xs)
    spread = math.fsum((x - mean) ** 2 for x in xs)
    total, product = math.fsum(ys), math.fsum(x * y for x, y in zip(xs, ys, strict=True))
    start, slope = solve(
        [[count, math.fsum(xs)], [math.fsum(xs), math.fsum(x * x for x in xs)]], [total, product]
    )
    variance = 0.0
    for x, y in zip(xs, ys, strict=True):
        free = 1 - 1 / count - (x - mean) ** 2 / spread
        if free < 1e-9:
            return slope, None
        variance += ((x - mean) / spread) ** 2 * ((y - start - slope * x) / free) ** 2
    return slope, math.sqrt(variance)


def halo(
    joint: tuple[Sequence[float], Sequence[float]],
    separate: tuple[Sequence[float], Sequence[float]],
) -> Figure:
    """Return how much more two criteria correlate if judged in one call than separately."""
    together, apart = pearson(*joint), pearson(*separate)
    if together is None or apart is None:
        return Figure(None, Message("one of the criteria never varies"))
    return Figure(together - apart)
