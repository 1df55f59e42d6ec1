"""Value of a panel of judges: common errors, weights, and joint votes.

Members that make the same mistakes are one member: ten votes of one opinion. The effective number
of members says how many independent ones the panel amounts to. If it is small, neither a majority
nor Dawid and Skene's model can be trusted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from adjudge.messages import Message
from adjudge.stats.correlation import pearson
from adjudge.stats.difference import ComparisonOutcome, compare
from adjudge.stats.linear import solve

ENOUGH_LABELS = 20
"""With fewer labels, the weights are partly equal."""
LEAST_EFFECTIVE = 1.5
"""Fewer effective members are one opinion, and Dawid and Skene's model is refused."""

PENALTY = 3.0
"""Ridge penalty on weights with little support in the labels. Picked from 0.3, 1 and 3 on splits of
LLMBar with 50 labels, so figures from that set flatter it; ``benchmarks/panels.py`` measures it on
other sets.
"""
_STEPS, _CLOSE = 30, 1e-8

Votes = Mapping[str, Sequence[str | None]]
"""Member → its vote per row, None if it failed."""


@dataclass(frozen=True, slots=True)
class Alikeness:
    """The correlation of the members' errors over labelled rows."""

    correlations: dict[tuple[str, str], float | None]
    """Correlation of errors per pair of members; None if one of them never erred, or always."""
    effective: float
    """Equivalent number of independent members (Kish)."""


def alikeness(votes: Votes, truth: Sequence[str]) -> Alikeness:
    """Return the correlations of errors, and the effective number of members.

    A pair without a correlation counts as uncorrelated.
    """
    correlations = {
        (member_a, member_b): _error_correlation(votes[member_a], votes[member_b], truth)
        for member_a, member_b in combinations(votes, 2)
    }
    members = float(len(votes))
    worth = members + 2 * math.fsum(value or 0.0 for value in correlations.values())
    effective = members**2 / worth if worth > 0 else members
    return Alikeness(correlations, min(members, max(1.0, effective)))


def _error_correlation(
    one: Sequence[str | None], other: Sequence[str | None], truth: Sequence[str]
) -> float | None:
    rows = [
        (float(a != true), float(b != true))
        for a, b, true in zip(one, other, truth, strict=True)
        if a is not None and b is not None
    ]
    return pearson([a for a, _ in rows], [b for _, b in rows])


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each member's vote."""

    by_member: dict[str, float]
    shrunk: float
    """Degree of shrinkage to equal weights: 1 without labels, 0 from 20 labels on."""


def weights_from_labels(
    votes: Votes, truth: Sequence[str | None], options: Sequence[str]
) -> Weights:
    """Return the weights under which the panel's votes best explain the labels, with a penalty;
    equal until there are labels.

    All members are fitted together (a conditional logit with ridge), so that members who err
    together share one weight instead of outvoting a better one. Log-odds of each member alone lose
    to the best member in that case.
    """
    fitted = _fit_weights(votes, truth, options)
    labels = sum(true is not None for true in truth)
    shrunk = max(0.0, 1 - labels / ENOUGH_LABELS)
    middle = fmean(fitted.values())
    equal = middle if middle > 0 else 1.0
    mixed = {name: (1 - shrunk) * weight + shrunk * equal for name, weight in fitted.items()}
    return Weights(mixed, shrunk)


def _fit_weights(
    votes: Votes, truth: Sequence[str | None], options: Sequence[str]
) -> dict[str, float]:
    """Fit by Newton's method. An option's log-odds are the sum of its voters' weights."""
    weights = [0.0] * len(votes)
    rows = [
        (true, row_votes)
        for true, *row_votes in zip(truth, *votes.values(), strict=True)
        if true is not None
    ]
    for _ in range(_STEPS):
        slope = [-PENALTY * weight for weight in weights]
        curve = [
            [PENALTY if at == place else 0.0 for at in range(len(weights))]
            for place in range(len(weights))
        ]
        for true, row_votes in rows:
            _add_row(true, row_votes, _chances(row_votes, weights, options), slope, curve)
        step = solve(curve, slope)
        weights = [
            # Damped: far from the optimum a full Newton step may overshoot.
            weight + max(-2.0, min(2.0, move))
            for weight, move in zip(weights, step, strict=True)
        ]
        if max(map(abs, step)) < _CLOSE:
            break
    return dict(zip(votes, weights, strict=True))


def _chances(
    said: Sequence[str | None], weights: Sequence[float], options: Sequence[str]
) -> dict[str | None, float]:
    sums = {
        option: math.fsum(w for w, vote in zip(weights, said, strict=True) if vote == option)
        for option in options
    }
    highest = max(sums.values())
    total = math.fsum(math.exp(value - highest) for value in sums.values())
    return {option: math.exp(value - highest) / total for option, value in sums.items()}


def _add_row(
    true: str,
    said: Sequence[str | None],
    chances: Mapping[str | None, float],
    slope: list[float],
    curve: list[list[float]],
) -> None:
    cast = [(place, option) for place, option in enumerate(said) if option is not None]
    for place, option in cast:
        slope[place] += (option == true) - chances[option]
        for other_place, other_option in cast:
            curve[place][other_place] += chances[option] * (
                (option == other_option) - chances[other_option]
            )


def weighted_vote(said: Mapping[str, str | None], weights: Weights) -> str | None:
    """Return the option with the largest sum of weights; None without votes or on a tie."""
    totals: dict[str, float] = defaultdict(float)
    for member, option in said.items():
        if option is not None:
            totals[option] += weights.by_member[member]
    best = sorted(totals, key=lambda option: -totals[option])[:2]
    if not best or (
        len(best) == 2 and math.isclose(totals[best[0]], totals[best[1]], abs_tol=1e-12)
    ):
        return None
    return best[0]


@dataclass(frozen=True, slots=True)
class PanelCheck:
    """The panel compared with its best member on labelled rows."""

    best: str
    warning: str = ""


class RightAnswers(NamedTuple):
    """The share of right answers."""

    share: float | None
    """Share of right answers; None if no answer counts."""
    left_out: int
    """Rows without an answer that do not count."""


def right_answers(
    answers: Sequence[str | None], truth: Sequence[str], *, drop_missing: bool
) -> RightAnswers:
    """Return the share of right answers. ``drop_missing``: leave out missing answers, which
    otherwise count as wrong.
    """
    is_right = [
        answer == true
        for answer, true in zip(answers, truth, strict=True)
        if answer is not None or not drop_missing
    ]
    return RightAnswers(fmean(is_right) if is_right else None, len(truth) - len(is_right))


def against_best_member(
    panel: Sequence[str | None],
    votes: Votes,
    truth: Sequence[str],
    *,
    level: float = 0.95,
    drop_missing: bool = False,
    clusters: Sequence[Hashable] | None = None,
) -> PanelCheck:
    """Name the best member, and warn if the panel is significantly worse.

    A missing verdict counts as wrong. ``drop_missing``: leave it out, and compare on rows that both
    decide. ``clusters``: the cluster of each row; rows in one are not independent.
    """
    shares = {
        name: right_answers(answer, truth, drop_missing=drop_missing).share
        for name, answer in votes.items()
    }
    best = max(votes, key=lambda name: -1.0 if (share := shares[name]) is None else share)
    row_clusters = range(len(truth)) if clusters is None else clusters
    both = [
        (float(answer == true), float(member_answer == true), cluster)
        for answer, member_answer, true, cluster in zip(
            panel, votes[best], truth, row_clusters, strict=True
        )
        if not drop_missing or (answer is not None and member_answer is not None)
    ]
    panel_hits, alone = [hit for hit, _, _ in both], [hit for _, hit, _ in both]
    both_clusters = [cluster for _, _, cluster in both]
    together = both_clusters if len(set(both_clusters)) < len(both_clusters) else None
    if (
        not both
        or compare(panel_hits, alone, clusters=together, level=level).outcome
        != ComparisonOutcome.WORSE
    ):
        return PanelCheck(best)
    text = Message(
        "the panel is worse than {best} alone: {panel:.1%} against {alone:.1%} of {count} "
        "labelled rows",
        best=best,
        panel=fmean(panel_hits),
        alone=fmean(alone),
        count=len(both),
    )
    return PanelCheck(best, text)
