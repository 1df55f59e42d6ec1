"""The orders in which responses are shown, and votes in one order against votes in the other: what flips, what is noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from adjudge.domain.vote import Vote


def balanced_orders(count: int) -> list[tuple[int, ...]]:
    """The fewest orders of ``count`` things in which each stands equally often at every place and before every other.

    A Williams design: each thing also comes equally often right behind every other. The order as given is the first and
    the reversed one is among them. There are ``count`` orders, twice as many where ``count`` is odd.
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) % count for place in range(count)]
    number = {thing: place for place, thing in enumerate(zigzag)}
    turned = [tuple(number[(thing + turn) % count] for thing in zigzag) for turn in range(count)]
    return turned if count % 2 == 0 else [order for one in turned for order in (one, one[::-1])]


def flip_rate(forward: Sequence[Vote], backward: Sequence[Vote]) -> float | None:
    """Share of votes that change with the order, the same sample of the same model compared; None without such a pair."""
    other = {(_asked(vote), vote.sample): vote.verdict.option for vote in backward if vote.verdict}
    pairs = [
        (vote.verdict.option, other[_asked(vote), vote.sample])
        for vote in forward
        if vote.verdict and (_asked(vote), vote.sample) in other
    ]
    return sum(one != two for one, two in pairs) / len(pairs) if pairs else None


def noise_rate(*orders: Sequence[Vote]) -> float | None:
    """Share of pairs of votes that differ although nothing did: same question, same order. None without such a pair."""
    differ = [
        one.verdict.option != two.verdict.option
        for votes in orders
        for one, two in combinations(votes, 2)
        if _asked(one) == _asked(two) and one.verdict and two.verdict
    ]
    return sum(differ) / len(differ) if differ else None


def _asked(vote: Vote) -> tuple[str, frozenset[int]]:
    """What both orders of a question have in common: the model, and the responses that are compared."""
    return vote.model, vote.ballot.question.compared
