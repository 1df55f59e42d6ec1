"""Whether a judge goes by the order in which options or responses are shown.

A judge that answers by chance disagrees with itself in any order; that is noise. Bias is disagreement *between* orders beyond
the disagreement *within* one. For an item whose answers have the probabilities p in one order and q in the other, the
excess is half the squared distance of p and q: 0 without bias, 1 when every answer turns with the order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import fmean, stdev

from adjudge.domain.results import Result
from adjudge.domain.vote import Vote
from adjudge.errors import SetupError
from adjudge.stats.intervals import FEWEST
from adjudge.stats.student import t_cdf, t_quantile


@dataclass(frozen=True, slots=True)
class BiasReport:
    """What many judgments in several orders say of a judge."""

    flip_rate: float | None
    """Disagreement between orders: share of pairs of votes, mean over the items."""
    noise_rate: float | None
    """Disagreement within an order, likewise."""
    excess: float | None
    """``flip_rate - noise_rate``: what the order alone does."""
    lower: float | None
    upper: float | None
    """The excess lies between these with probability ``1 - level``; it cannot lie below 0, so neither can ``upper``.

    None below 8 items, which are too few for an interval that keeps its word."""
    p_value: float | None
    """Of an excess as large as this in a judge without bias; one-sided."""
    detected: bool
    """``p_value < level``: a judge without bias is called biased at this rate."""
    items: int
    """Judgments that count."""
    left_out: int
    """Judgments that have too few votes: no model gave two valid ones in each of two orders."""


def positional_bias(results: Iterable[Result], level: float = 0.05) -> BiasReport:
    """Judge the judge by ``results`` with ``check_positional_bias=True`` and at least two samples an order.

    The items are taken as independent, and their mean excess as normal (Student's t). Excesses are skewed, which few items do
    not even out. Simulated with a judge that errs in a fifth of its votes, at level 0.05: noise is called bias in 2 to 4 % of
    runs over 30 to 200 items; an excess of 0.09 lies outside its interval in 7 % of runs over 30 items, in 5 % over 100.
    """
    if not 0 < level < 1:
        raise SetupError(f"level must lie between 0 and 1, not {level!r}")
    measured = [_item(result.votes) for result in results]
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
        lower, upper = mean - reach, max(mean + reach, 0.0)
    return BiasReport(flips, noise, mean, lower, upper, p_value, p_value < level, len(rates), left_out)


def _p_value(mean: float, error: float, freedom: int) -> float:
    """Items that are all alike leave no doubt."""
    if error == 0:
        return 0.0 if mean > 0 else 1.0
    return t_cdf(-mean / error, freedom)


def _item(votes: Sequence[Vote]) -> tuple[float, float] | None:
    """Disagreement between and within orders, mean over the questions; None without enough votes."""
    rates = [rate for orders in _questions(votes) if (rate := _question(orders)) is not None]
    return (fmean(flip for flip, _ in rates), fmean(noise for _, noise in rates)) if rates else None


def _questions(votes: Sequence[Vote]) -> Iterable[Sequence[Sequence[str]]]:
    """What was said, by question (the model, and the responses it compares) and order."""
    found: dict[object, dict[object, list[str]]] = defaultdict(lambda: defaultdict(list))
    for vote in votes:
        if vote.verdict:
            found[vote.model, vote.ballot.question.compared][vote.order].append(vote.verdict.option)
    return [list(orders.values()) for orders in found.values()]


def _question(orders: Sequence[Sequence[str]]) -> tuple[float, float] | None:
    enough = [said for said in orders if len(said) > 1]
    if len(enough) < 2:
        return None
    between = fmean(_disagreement(product(one, other)) for one, other in combinations(enough, 2))
    within = fmean(_disagreement(combinations(one, 2)) for one in enough)
    return between, within


def _disagreement(pairs: Iterable[tuple[str, ...]]) -> float:
    return fmean(one != other for one, other in pairs)
