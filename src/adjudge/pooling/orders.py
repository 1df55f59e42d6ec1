"""Votes in one order against votes in the other: what flips, and what is only noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from adjudge.domain.vote import Vote


def flip_rate(forward: Sequence[Vote], backward: Sequence[Vote]) -> float | None:
    """Share of votes that change with the order, the same sample of the same model compared; None without such a pair."""
    other = {(vote.model, vote.sample): vote.verdict.option for vote in backward if vote.verdict}
    pairs = [
        (vote.verdict.option, other[vote.model, vote.sample])
        for vote in forward
        if vote.verdict and (vote.model, vote.sample) in other
    ]
    return sum(one != two for one, two in pairs) / len(pairs) if pairs else None


def noise_rate(*orders: Sequence[Vote]) -> float | None:
    """Share of pairs of votes that differ although nothing did: same model, same order. None without such a pair."""
    differ = [
        one.verdict.option != two.verdict.option
        for votes in orders
        for one, two in combinations(votes, 2)
        if one.model == two.model and one.verdict and two.verdict
    ]
    return sum(differ) / len(differ) if differ else None
