"""Compared responses: votes as contests, contests as win rates, win rates as ranks; and whether the
order decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from adjudge.core.domain.record import SystemResult
from adjudge.core.domain.verdict import TIE, Compared, Selection
from adjudge.core.domain.vote import Vote
from adjudge.stats.rounding import equal


@dataclass(frozen=True, slots=True)
class Contest:
    """Two responses and what the votes say of them."""

    first: int
    second: int
    value: float | None
    """For the first: 1.0 won, 0.0 lost, 0.5 tied; None without a valid vote."""
    certainty: float | None
    """Share of the valid votes that say what the contest came out as."""
    explanation: str | None
    even: bool = False
    """Whether the votes were split and the rule for that decided."""
    shares: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of the valid votes: for the first, for a tie, for the second."""

    def seen_from(self, index: int) -> float | None:
        """The value for this response."""
        return self.value if self.value is None or index == self.first else 1.0 - self.value

    def agreeing(self, best: Collection[int]) -> float:
        """Share of the valid votes that say: those of ``best`` win, and two of them are equal."""
        if {self.first, self.second} <= set(best):
            return self.shares[1]
        return self.shares[0] if self.first in best else self.shares[2]


def contests(votes: Sequence[Vote], count: int, tie_enabled: bool) -> list[Contest]:
    """Every pair of responses, by all votes that compare the two."""
    return [
        _contest(first, second, votes, tie_enabled)
        for first, second in combinations(range(count), 2)
    ]


def system_results(
    count: int, pooled: Sequence[Contest], flipped: Sequence[bool | None]
) -> tuple[SystemResult, ...]:
    """Each response by its contests; ``flipped``: whether a contest comes out otherwise in the
    other order.
    """
    rates = [_winrate(index, pooled) for index in range(count)]
    return tuple(_system(index, rates, pooled, flipped) for index in range(count))


def highest(rates: Sequence[float | None]) -> list[int]:
    """Who has the highest win rate, several where they share it; nobody while a
    rate is not known.
    """
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return []
    return [index for index, rate in enumerate(known) if equal(rate, max(known))]


def selected(rates: Sequence[float | None], tie_enabled: bool) -> Selection | None:
    """The index with the highest win rate; several: a tie, or the first of them
    where ties are off.
    """
    best = highest(rates)
    if not best:
        return None
    return best[0] if len(best) == 1 or not tie_enabled else "tie"


def certainty_of(best: Sequence[int], pooled: Sequence[Contest]) -> float | None:
    """Share of the valid votes that agree that ``best`` are the best: the mean over the contests
    they are in.
    """
    own = [
        contest.agreeing(best)
        for contest in pooled
        if contest.first in best or contest.second in best
    ]
    return sum(own) / len(own) if own else None


def explanation_of(best: Sequence[int], pooled: Sequence[Contest]) -> str | None:
    """Of the first contest that came out as the selection says: won, or equal where several are
    best.
    """
    if len(best) == 1:
        own = [
            contest
            for contest in pooled
            if best[0] in (contest.first, contest.second) and contest.seen_from(best[0]) == 1.0
        ]
    else:
        own = [
            contest
            for contest in pooled
            if {contest.first, contest.second} <= set(best) and contest.value == 0.5
        ]
    return next((contest.explanation for contest in own if contest.explanation), None)


def value_for(vote: Vote, first: int, second: int) -> float | None:
    """What a vote says of ``first`` against ``second``; None when it does not compare them.

    A vote that only names the best says nothing of the others: they are equal.
    """
    verdict = vote.verdict
    if (
        not isinstance(verdict, Compared)
        or not {first, second} <= vote.ballot.question.compared_responses
    ):
        return None
    if verdict.ranking is not None:
        place = {index: rank for rank, group in enumerate(verdict.ranking) for index in group}
        return 0.5 if place[first] == place[second] else float(place[first] < place[second])
    return 1.0 if verdict.winner == first else 0.0 if verdict.winner == second else 0.5


def _contest(first: int, second: int, votes: Sequence[Vote], tie_enabled: bool) -> Contest:
    said = [
        (value, vote) for vote in votes if (value := value_for(vote, first, second)) is not None
    ]
    if not said:
        return Contest(first, second, None, None, None)
    counts = Counter(value for value, _ in said)
    leaders = [value for value in counts if counts[value] == max(counts.values())]
    outcome = leaders[0] if len(leaders) == 1 else _even(leaders, tie_enabled)
    why = next(
        (vote.verdict.explanation for value, vote in said if value == outcome and vote.verdict),
        None,
    )
    won, tied, lost = (counts[value] / len(said) for value in (1.0, 0.5, 0.0))
    return Contest(
        first,
        second,
        outcome,
        counts[outcome] / len(said),
        why,
        len(leaders) > 1,
        (won, tied, lost),
    )


def _even(leaders: Sequence[float], tie_enabled: bool) -> float:
    """What an even split comes out as: a tie, or where there is none the response given first, if
    anybody named it.
    """
    return 0.5 if tie_enabled else max(value for value in leaders if value != 0.5)


def _winrate(index: int, pooled: Sequence[Contest]) -> float | None:
    values = [
        contest.seen_from(index) for contest in pooled if index in (contest.first, contest.second)
    ]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _system(
    index: int,
    rates: Sequence[float | None],
    pooled: Sequence[Contest],
    flipped: Sequence[bool | None],
) -> SystemResult:
    own = [
        (contest, flip)
        for contest, flip in zip(pooled, flipped, strict=True)
        if index in (contest.first, contest.second)
    ]
    rate = rates[index]
    better = [other for other in rates if other is not None and rate is not None and other > rate]
    return SystemResult(
        contest_results=tuple(contest.seen_from(index) for contest, _ in own),
        compared_to=tuple(
            contest.second if contest.first == index else contest.first for contest, _ in own
        ),
        explanations=tuple(contest.explanation for contest, _ in own),
        positional_bias=tuple(flip for _, flip in own),
        certainty=tuple(contest.certainty for contest, _ in own),
        winrate=rate,
        ranking=None if None in rates else 1 + len(better),
        selections=tuple(_selection(contest) for contest, _ in own),
    )


def _selection(contest: Contest) -> str | None:
    if contest.value is None:
        return None
    return (
        TIE
        if contest.value == 0.5
        else str(contest.first if contest.value == 1.0 else contest.second)
    )


def balanced_orders(count: int) -> list[tuple[int, ...]]:
    """The fewest orders of ``count`` things in which each stands equally often at every place and
    before every other.

    A Williams design: each thing also comes equally often right behind every other. The order as
    given is the first and the reversed one is among them. There are ``count`` orders, twice as many
    where ``count`` is odd.
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) % count for place in range(count)]
    number = {thing: place for place, thing in enumerate(zigzag)}
    turned = [tuple(number[(thing + turn) % count] for thing in zigzag) for turn in range(count)]
    return turned if count % 2 == 0 else [order for one in turned for order in (one, one[::-1])]


def flip_rate(forward: Sequence[Vote], backward: Sequence[Vote]) -> float | None:
    """Share of votes that change with the order, the same sample of the same model compared; None
    without such a pair.
    """
    other = {(_asked(vote), vote.sample): vote.verdict.option for vote in backward if vote.verdict}
    pairs = [
        (vote.verdict.option, other[_asked(vote), vote.sample])
        for vote in forward
        if vote.verdict and (_asked(vote), vote.sample) in other
    ]
    return sum(one != two for one, two in pairs) / len(pairs) if pairs else None


def noise_rate(*orders: Sequence[Vote]) -> float | None:
    """Share of pairs of votes that differ although nothing did: same question, same order. None
    without such a pair.
    """
    differ = [
        one.verdict.option != two.verdict.option
        for votes in orders
        for one, two in combinations(votes, 2)
        if _asked(one) == _asked(two) and one.verdict and two.verdict
    ]
    return sum(differ) / len(differ) if differ else None


def _asked(vote: Vote) -> tuple[str, frozenset[int]]:
    """What both orders of a question have in common: the model, and the responses that are
    compared.
    """
    return vote.model, vote.ballot.question.compared_responses
