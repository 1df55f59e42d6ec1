"""What a panel of judges is worth: whether its members err together, how to weigh them, and what they say together.

Members that make the same mistakes are one member: ten votes of one opinion. The effective number of members says how many
independent ones the panel amounts to; where it is small, neither a majority nor Dawid and Skene's model can be trusted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from adjudge.stats.clusters import Clusters
from adjudge.stats.correlation import pearson
from adjudge.stats.difference import Difference, Outcome, compare

ENOUGH_LABELS = 20
"""Fewer labels than these leave the weights partly equal."""
LEAST_EFFECTIVE = 1.5
"""Fewer effective members than these are one opinion, and Dawid and Skene's model is refused."""

Votes = Mapping[str, Sequence[str | None]]
"""What each member said of each row, None where it failed."""


@dataclass(frozen=True, slots=True)
class Alikeness:
    """How much the members err together, over labelled rows."""

    correlations: dict[tuple[str, str], float | None]
    """Of their errors, for each two members; None where one of them never erred, or always."""
    effective: float | None
    """How many independent members the panel amounts to (Kish)."""
    reason: str = ""


def alikeness(votes: Votes, truth: Sequence[str | None], weights: Mapping[str, float] | None = None) -> Alikeness:
    """The correlation of errors, and the effective number of members; a pair without a correlation counts as unrelated."""
    shares = dict.fromkeys(votes, 1.0) if weights is None else {name: max(0.0, weights[name]) for name in votes}
    if not any(true is not None for true in truth):
        return Alikeness({}, None, "no row has a label")
    found = {(one, other): _error_correlation(votes[one], votes[other], truth) for one, other in combinations(votes, 2)}
    both = 2 * math.fsum(shares[one] * shares[other] * (value or 0.0) for (one, other), value in found.items())
    own = math.fsum(share**2 for share in shares.values())
    total = math.fsum(shares.values())
    if total == 0:
        return Alikeness(found, None, "no member has a weight")
    effective = total**2 / (own + both) if own + both > 0 else float(len(shares))
    return Alikeness(found, min(float(len(shares)), max(1.0, effective)))


def _error_correlation(one: Sequence[str | None], other: Sequence[str | None], truth: Sequence[str | None]) -> float | None:
    rows = [
        (float(a != true), float(b != true))
        for a, b, true in zip(one, other, truth, strict=True)
        if a is not None and b is not None and true is not None
    ]
    return pearson([a for a, _ in rows], [b for _, b in rows])


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each member's vote for each option counts."""

    by_member: dict[str, dict[str, float]]
    labels: int
    shrunk: float
    """How far they were drawn to equal weights: 1 without labels, 0 from 20 labels on."""

    def of(self, member: str) -> float:
        """The mean weight of a member over the options."""
        return fmean(self.by_member[member].values())


def weights_from_labels(votes: Votes, truth: Sequence[str | None], options: Sequence[str]) -> Weights:
    """Log-odds that a member who says an option is right, with one right and one wrong vote added; equal until there are labels.

    A member that is wrong more often than right about an option gets a weight below 0: its vote speaks against it.
    """
    labels = sum(true is not None for true in truth)
    shrunk = max(0.0, 1 - labels / ENOUGH_LABELS)
    raw = {name: {option: _log_odds(said, truth, option) for option in options} for name, said in votes.items()}
    middle = fmean(weight for row in raw.values() for weight in row.values())
    equal = middle if middle > 0 else 1.0
    mixed = {
        name: {option: (1 - shrunk) * weight + shrunk * equal for option, weight in row.items()} for name, row in raw.items()
    }
    return Weights(mixed, labels, shrunk)


def _log_odds(said: Sequence[str | None], truth: Sequence[str | None], option: str) -> float:
    judged = [true == option for one, true in zip(said, truth, strict=True) if one == option and true is not None]
    right = sum(judged)
    return math.log((right + 1) / (len(judged) - right + 1))


def weighted_vote(said: Mapping[str, str | None], weights: Weights) -> str | None:
    """The option with the greatest sum of weights; None where nobody voted or two options are level."""
    totals: dict[str, float] = defaultdict(float)
    for member, option in said.items():
        if option is not None:
            totals[option] += weights.by_member[member].get(option, 0.0)
    return _single_best(totals)


def majority(said: Mapping[str, str | None]) -> str | None:
    """The option with the most votes; None where nobody voted or two options are level."""
    return _single_best(Counter(option for option in said.values() if option is not None))


def _single_best(totals: Mapping[str, float]) -> str | None:
    best = sorted(totals, key=lambda option: -totals[option])[:2]
    if not best or (len(best) == 2 and math.isclose(totals[best[0]], totals[best[1]], abs_tol=1e-12)):
        return None
    return best[0]


@dataclass(frozen=True, slots=True)
class PanelCheck:
    """The panel against its best member, on labelled rows."""

    best: str | None
    difference: Difference | None
    """Panel less best member."""
    warning: str = ""


def against_best_member(
    panel: Sequence[str | None], votes: Votes, truth: Sequence[str | None], *, clusters: Clusters = None, level: float = 0.95
) -> PanelCheck:
    """Warn where the panel is surely worse than its best member. A missing verdict is a wrong one."""
    rows = [place for place, true in enumerate(truth) if true is not None]
    if not rows or not votes:
        return PanelCheck(None, None, "no row has a label")
    right = {name: [float(said[place] == truth[place]) for place in rows] for name, said in votes.items()}
    best = max(right, key=lambda name: math.fsum(right[name]))
    groups = None if clusters is None else [clusters[place] for place in rows]
    ours = [float(panel[place] == truth[place]) for place in rows]
    found = compare(ours, right[best], clusters=groups, level=level)
    if found.outcome != Outcome.WORSE:
        return PanelCheck(best, found)
    text = (
        f"the panel is worse than {best} alone: {fmean(ours):.1%} against {fmean(right[best]):.1%} of {len(rows)} labelled rows"
    )
    return PanelCheck(best, found, text)
