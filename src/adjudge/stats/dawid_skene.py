"""Dawid and Skene's model: the joint verdict of a panel, without labels, if members err
independently.

Members that err together make it confidently wrong; :func:`adjudge.stats.panels.alikeness` detects
that, and ``effective`` refuses.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adjudge.messages import Message
from adjudge.stats.panels import LEAST_EFFECTIVE

SMOOTHING = 0.01
_TINY, _STEPS, _CLOSE = 1e-10, 100, 1e-6


class MemberVote(NamedTuple):
    """A member's vote on a row."""

    row: Hashable
    member: str
    option: str


@dataclass(frozen=True, slots=True)
class Consensus:
    """The fitted probabilities of each row's options."""

    probabilities: dict[Hashable, dict[str, float]]
    priors: dict[str, float] = field(default_factory=dict)
    confusion: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)
    """Member → (option said, true option) → probability."""
    reason: str = ""

    def option(self, row: Hashable) -> str:
        """Return a row's likeliest option."""
        chances = self.probabilities[row]
        return max(chances, key=lambda option: chances[option])


_Chances = dict[Hashable, dict[str, float]]
_Confusion = dict[str, dict[tuple[str, str], float]]


def dawid_skene(
    votes: Sequence[MemberVote], *, effective: float | None = None, smoothing: float = SMOOTHING
) -> Consensus:
    """Fit the model by expectation–maximisation, starting from vote shares, until the likelihood's
    bound converges.

    ``effective``: the effective number of members; below 1.5 the result only has a reason.
    ``smoothing``: added to each count in a member's confusion matrix.
    """
    if not votes:
        return Consensus({}, reason=Message("no votes"))
    if effective is not None and effective < LEAST_EFFECTIVE:
        return Consensus(
            {},
            reason=Message(
                "the members make the same errors: together they are worth {effective:.1f} "
                "independent members",
                effective=effective,
            ),
        )
    options = sorted({vote.option for vote in votes})
    chances = _shares(votes, options)
    priors, confusion = _maximise(votes, chances, options, smoothing)
    # Starting from vote shares, not at random: the result must be the same in every run, and a
    # majority is close to the best fit if members are better than chance.
    bound = -math.inf
    for _ in range(_STEPS):
        chances = _expect(votes, priors, confusion, options)
        priors, confusion = _maximise(votes, chances, options, smoothing)
        raised = _bound(votes, chances, priors, confusion) / len(votes)
        if raised - bound < _CLOSE:
            break
        bound = raised
    return Consensus(chances, priors, confusion)


def _shares(votes: Sequence[MemberVote], options: Sequence[str]) -> _Chances:
    counts: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for vote in votes:
        counts[vote.row][vote.option] += 1
    return {
        row: {option: tally[option] / tally.total() for option in options}
        for row, tally in counts.items()
    }


def _maximise(
    votes: Sequence[MemberVote], chances: _Chances, options: Sequence[str], smoothing: float
) -> tuple[dict[str, float], _Confusion]:
    priors = {
        # Never exactly 0: its logarithm is taken in the next step.
        option: max(_TINY, math.fsum(row[option] for row in chances.values()) / len(chances))
        for option in options
    }
    used: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
    for vote in votes:
        used[vote.member].add(vote.option)
        for true in options:
            counts[vote.member][vote.option, true] += chances[vote.row][true]
    return priors, {
        member: _normalise_counts(
            counts[member], options, options if smoothing else used[member], smoothing
        )
        for member in counts
    }


def _normalise_counts(
    counts: Mapping[tuple[str, str], float],
    options: Sequence[str],
    said: Sequence[str] | set[str],
    smoothing: float,
) -> dict[tuple[str, str], float]:
    raised = {
        (option, true): max(_TINY, counts.get((option, true), 0.0) + smoothing)
        for option in said
        for true in options
    }
    totals = {true: math.fsum(raised[option, true] for option in said) for true in options}
    return {pair: value / totals[pair[1]] for pair, value in raised.items()}


def _expect(
    votes: Sequence[MemberVote],
    priors: Mapping[str, float],
    confusion: _Confusion,
    options: Sequence[str],
) -> _Chances:
    logs: dict[Hashable, list[float]] = {}
    start = [math.log(priors[option]) for option in options]
    for vote in votes:
        row = logs.setdefault(vote.row, list(start))
        # Logs are added, since the product of a hundred members' probabilities underflows.
        for place, true in enumerate(options):
            row[place] += math.log(confusion[vote.member][vote.option, true])
    return {row: _chances(values, options) for row, values in logs.items()}


def _chances(logs: Sequence[float], options: Sequence[str]) -> dict[str, float]:
    # Taken out first, so that exp() does not underflow.
    highest = max(logs)
    raised = [math.exp(value - highest) for value in logs]
    total = math.fsum(raised)
    return {option: value / total for option, value in zip(options, raised, strict=True)}


def _bound(
    votes: Sequence[MemberVote],
    chances: _Chances,
    priors: Mapping[str, float],
    confusion: _Confusion,
) -> float:
    """Return the lower bound of the likelihood.

    Like crowd-kit, it counts the prior once per vote, so that both stop at the same step.
    """
    total = 0.0
    for vote in votes:
        member_confusion = confusion[vote.member]
        for true, chance in chances[vote.row].items():
            total += chance * (
                math.log(member_confusion[vote.option, true]) + math.log(priors[true])
            )
    for row in chances.values():
        total -= math.fsum(
            max(_TINY, chance) * math.log(max(_TINY, chance)) for chance in row.values()
        )
    return total
