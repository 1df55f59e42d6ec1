"""What a panel of judges is worth: whether its members err together, how to weigh them, and what
they say together.

Members that make the same mistakes are one member: ten votes of one opinion. The effective number
of members says how many independent ones the panel amounts to; where it is small, neither a
majority nor Dawid and Skene's model can be trusted.
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
"""Fewer labels than these leave the weights partly equal."""
LEAST_EFFECTIVE = 1.5
"""Fewer effective members than these are one opinion, and Dawid and Skene's model is refused."""

PENALTY = 3.0
"""Holds weights back that the labels hardly support. Picked from 0.3, 1 and 3 on splits of LLMBar
with 50 labels, so figures from that set flatter it; ``benchmarks/panels.py`` measures it on sets
that had no part in it.
"""
_STEPS, _CLOSE = 30, 1e-8

Votes = Mapping[str, Sequence[str | None]]
"""What each member said of each row, None where it failed."""


@dataclass(frozen=True, slots=True)
class Alikeness:
    """How much the members err together, over labelled rows."""

    correlations: dict[tuple[str, str], float | None]
    """Of their errors, for each two members; None where one of them never erred, or always."""
    effective: float
    """How many independent members the panel amounts to (Kish)."""


def alikeness(votes: Votes, truth: Sequence[str]) -> Alikeness:
    """The correlation of errors, and the effective number of members; a pair without a correlation
    counts as unrelated.
    """
    found = {
        (one, other): _error_correlation(votes[one], votes[other], truth)
        for one, other in combinations(votes, 2)
    }
    members = float(len(votes))
    worth = members + 2 * math.fsum(value or 0.0 for value in found.values())
    effective = members**2 / worth if worth > 0 else members
    return Alikeness(found, min(members, max(1.0, effective)))


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
    """How much each member's vote counts."""

    by_member: dict[str, float]
    shrunk: float
    """How far they were drawn to equal weights: 1 without labels, 0 from 20 labels on."""


def weights_from_labels(
    votes: Votes, truth: Sequence[str | None], options: Sequence[str]
) -> Weights:
    """The weights under which the panel's votes best explain the labels, held back by a penalty;
    equal until there are labels.

    All members are fitted together (a conditional logit with ridge), so that members who err
    together share one weight instead of outvoting a better one: log-odds of each member alone lose
    to the best member there.
    """
    fitted = _fitted(votes, truth, options)
    labels = sum(true is not None for true in truth)
    shrunk = max(0.0, 1 - labels / ENOUGH_LABELS)
    middle = fmean(fitted.values())
    equal = middle if middle > 0 else 1.0
    mixed = {name: (1 - shrunk) * weight + shrunk * equal for name, weight in fitted.items()}
    return Weights(mixed, shrunk)


def _fitted(votes: Votes, truth: Sequence[str | None], options: Sequence[str]) -> dict[str, float]:
    """Newton's method; the chance of an option is the exponential of the weights of those who voted
    for it.
    """
    weights = [0.0] * len(votes)
    rows = [
        (true, said) for true, *said in zip(truth, *votes.values(), strict=True) if true is not None
    ]
    for _ in range(_STEPS):
        slope = [-PENALTY * weight for weight in weights]
        curve = [
            [PENALTY if at == place else 0.0 for at in range(len(weights))]
            for place in range(len(weights))
        ]
        for true, said in rows:
            _add_row(true, said, _chances(said, weights, options), slope, curve)
        step = solve(curve, slope)
        weights = [
            weight + max(-2.0, min(2.0, move)) for weight, move in zip(weights, step, strict=True)
        ]
        if max(map(abs, step)) < _CLOSE:
            break
    return dict(zip(votes, weights, strict=True))


def _chances(
    said: Sequence[str | None], weights: Sequence[float], options: Sequence[str]
) -> dict[str | None, float]:
    sums = {
        option: math.fsum(w for w, one in zip(weights, said, strict=True) if one == option)
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
    voted = [(place, option) for place, option in enumerate(said) if option is not None]
    for place, option in voted:
        slope[place] += (option == true) - chances[option]
        for other, theirs in voted:
            curve[place][other] += chances[option] * ((option == theirs) - chances[theirs])


def weighted_vote(said: Mapping[str, str | None], weights: Weights) -> str | None:
    """The option with the greatest sum of weights; None where nobody voted or two options are
    level.
    """
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
    """The panel against its best member, on labelled rows."""

    best: str
    warning: str = ""


class RightAnswers(NamedTuple):
    """How often answers are right."""

    share: float | None
    """None if no answer counts."""
    left_out: int
    """Rows without an answer that do not count."""


def right_answers(
    answers: Sequence[str | None], truth: Sequence[str], *, drop_missing: bool
) -> RightAnswers:
    """Return the share of right answers; a missing one is left out, or wrong."""
    known = [
        said == true
        for said, true in zip(answers, truth, strict=True)
        if said is not None or not drop_missing
    ]
    return RightAnswers(fmean(known) if known else None, len(truth) - len(known))


def against_best_member(
    panel: Sequence[str | None],
    votes: Votes,
    truth: Sequence[str],
    *,
    level: float = 0.95,
    drop_missing: bool = False,
    clusters: Sequence[Hashable] | None = None,
) -> PanelCheck:
    """Name the best member, and warn if the panel is surely worse than it.

    A missing verdict is a wrong one. ``drop_missing``: it is left out, and the two are compared on
    the rows that both decide. ``clusters``: that of each row; rows of one are not independent.
    """
    shares = {
        name: right_answers(said, truth, drop_missing=drop_missing).share
        for name, said in votes.items()
    }
    best = max(votes, key=lambda name: -1.0 if (share := shares[name]) is None else share)
    own = range(len(truth)) if clusters is None else clusters
    both = [
        (float(said == true), float(its == true), cluster)
        for said, its, true, cluster in zip(panel, votes[best], truth, own, strict=True)
        if not drop_missing or (said is not None and its is not None)
    ]
    ours, alone = [one for one, _, _ in both], [one for _, one, _ in both]
    kept = [cluster for _, _, cluster in both]
    together = kept if len(set(kept)) < len(kept) else None
    if (
        not both
        or compare(ours, alone, clusters=together, level=level).outcome != ComparisonOutcome.WORSE
    ):
        return PanelCheck(best)
    text = Message(
        "the panel is worse than {best} alone: {panel:.1%} against {alone:.1%} of {count} "
        "labelled rows",
        best=best,
        panel=fmean(ours),
        alone=fmean(alone),
        count=len(both),
    )
    return PanelCheck(best, text)
