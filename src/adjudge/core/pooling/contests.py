"""Compared responses: votes become contests, contests win rates, and win rates ranks. Also measure
whether the order decided.
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
    """Two responses and the outcome of the votes on them."""

    first: int
    second: int
    value: float | None
    """Outcome for the first: 1.0 won, 0.0 lost, 0.5 tied; None without a valid vote."""
    certainty: float | None
    """Share of the valid votes for this outcome."""
    explanation: str | None
    even: bool = False
    """True if the votes were split evenly, so that the rule for ties decided."""
    shares: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Shares of the valid votes for the first, for a tie, and for the second."""

    def seen_from(self, index: int) -> float | None:
        """Return the contest's value for this response; None without a valid vote."""
        return self.value if self.value is None or index == self.first else 1.0 - self.value

    def agreeing(self, best: Collection[int]) -> float:
        """Return the share of the valid votes for an outcome in which the responses in ``best``
        win, or tie if both are.
        """
        if {self.first, self.second} <= set(best):
            return self.shares[1]
        return self.shares[0] if self.first in best else self.shares[2]


def contests(
    votes: Sequence[Vote], count: int, tie_enabled: bool, *, both_orders: bool = False
) -> list[Contest]:
    """Return a contest for every pair of responses, pooled from all votes that compare the two.

    ``both_orders``: the two orders of a pair count alike, even if votes of one of them failed.
    """
    return [
        _contest(index_a, index_b, votes, tie_enabled, both_orders=both_orders)
        for index_a, index_b in combinations(range(count), 2)
    ]


def system_results(
    count: int, pooled: Sequence[Contest], flipped: Sequence[bool | None]
) -> tuple[SystemResult, ...]:
    """Return each response's results; ``flipped``: for each contest, if it changes with the
    order.
    """
    rates = [_winrate(index, pooled) for index in range(count)]
    return tuple(_system(index, rates, pooled, flipped) for index in range(count))


def highest(rates: Sequence[float | None]) -> list[int]:
    """Return the responses with the highest win rate; several if they share it, none if a rate is
    missing.
    """
    known_rates = [rate for rate in rates if rate is not None]
    if len(known_rates) < len(rates):
        return []
    return [index for index, rate in enumerate(known_rates) if equal(rate, max(known_rates))]


def best_or_tie(rates: Sequence[float | None], tie_enabled: bool) -> Selection | None:
    """Return the index with the highest win rate; of several, a tie, or the first if ties are
    off.
    """
    best = highest(rates)
    if not best:
        return None
    return best[0] if len(best) == 1 or not tie_enabled else "tie"


def certainty_of(best: Sequence[int], pooled: Sequence[Contest]) -> float | None:
    """Return the share of the valid votes that agree that ``best`` are the best, averaged over
    their contests; None without a contest.
    """
    shares = [
        contest.agreeing(best)
        for contest in pooled
        if contest.first in best or contest.second in best
    ]
    return sum(shares) / len(shares) if shares else None


def explanation_of(best: Sequence[int], pooled: Sequence[Contest]) -> str | None:
    """Return the explanation of the first contest with the selected outcome: won, or equal if
    several are best.

    Return None if no such contest has one.
    """
    if len(best) == 1:
        matching = [
            contest
            for contest in pooled
            if best[0] in (contest.first, contest.second) and contest.seen_from(best[0]) == 1.0
        ]
    else:
        matching = [
            contest
            for contest in pooled
            if {contest.first, contest.second} <= set(best) and contest.value == 0.5
        ]
    return next((contest.explanation for contest in matching if contest.explanation), None)


def value_for(vote: Vote, first: int, second: int) -> float | None:
    """Return a vote's value for ``first`` against ``second``; None if it does not compare them.

    A vote that only names the best makes all others equal.
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


def _contest(
    first: int, second: int, votes: Sequence[Vote], tie_enabled: bool, *, both_orders: bool
) -> Contest:
    valid_votes = [
        (value, vote) for vote in votes if (value := value_for(vote, first, second)) is not None
    ]
    if not valid_votes:
        return Contest(first, second, None, None, None)
    weights = _order_weights(first, second, [vote for _, vote in valid_votes], both_orders)
    counts: Counter[float] = Counter()
    for (value, _), weight in zip(valid_votes, weights, strict=True):
        counts[value] += weight
    total = sum(weights)
    leaders = [value for value in counts if counts[value] == max(counts.values())]
    outcome = leaders[0] if len(leaders) == 1 else _split_outcome(leaders, tie_enabled)
    why = next(
        (
            vote.verdict.explanation
            for value, vote in valid_votes
            if value == outcome and vote.verdict
        ),
        None,
    )
    won, tied, lost = (counts[value] / total for value in (1.0, 0.5, 0.0))
    return Contest(
        first,
        second,
        outcome,
        counts[outcome] / total,
        why,
        len(leaders) > 1,
        (won, tied, lost),
    )


def _order_weights(first: int, second: int, votes: Sequence[Vote], both_orders: bool) -> list[int]:
    """Return the weight of each vote: whole numbers, so that an even split stays one.

    A model that prefers a place would otherwise win the contest for it if one of its votes in the
    other order failed.
    """
    orders = [vote.order or () for vote in votes]
    listed_first = [
        both_orders and {first, second} <= {*order} and order.index(first) < order.index(second)
        for order in orders
    ]
    ahead = sum(listed_first)
    behind = len(votes) - ahead
    if not (both_orders and ahead and behind):
        return [1] * len(votes)
    return [behind if is_ahead else ahead for is_ahead in listed_first]


def _split_outcome(leaders: Sequence[float], tie_enabled: bool) -> float:
    """Return the outcome of an even split: a tie. If ties are off, the first response wins if it is
    among the leaders, else the second.
    """
    return 0.5 if tie_enabled else max(value for value in leaders if value != 0.5)


def _winrate(index: int, pooled: Sequence[Contest]) -> float | None:
    values = [
        contest.seen_from(index) for contest in pooled if index in (contest.first, contest.second)
    ]
    valid_values = [value for value in values if value is not None]
    return (
        sum(valid_values) / len(valid_values)
        if valid_values and len(valid_values) == len(values)
        else None
    )


def _system(
    index: int,
    rates: Sequence[float | None],
    pooled: Sequence[Contest],
    flipped: Sequence[bool | None],
) -> SystemResult:
    own_contests = [
        (contest, flip)
        for contest, flip in zip(pooled, flipped, strict=True)
        if index in (contest.first, contest.second)
    ]
    rate = rates[index]
    better = [
        rival_rate
        for rival_rate in rates
        if rival_rate is not None and rate is not None and rival_rate > rate
    ]
    return SystemResult(
        contest_results=tuple(contest.seen_from(index) for contest, _ in own_contests),
        compared_to=tuple(
            contest.second if contest.first == index else contest.first
            for contest, _ in own_contests
        ),
        explanations=tuple(contest.explanation for contest, _ in own_contests),
        positional_bias=tuple(flip for _, flip in own_contests),
        certainty=tuple(contest.certainty for contest, _ in own_contests),
        winrate=rate,
        ranking=None if None in rates else 1 + len(better),
        selections=tuple(_selection(contest) for contest, _ in own_contests),
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
    """Return the fewest orders of ``count`` items in which each is equally often at every position
    and before every other.

    A Williams design: each item also comes equally often right after every other. The given order
    is the first, and the reversed one is among them. There are ``count`` orders, or twice as many
    if ``count`` is odd.
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) % count for place in range(count)]
    number = {thing: place for place, thing in enumerate(zigzag)}
    rotations = [tuple(number[(thing + turn) % count] for thing in zigzag) for turn in range(count)]
    return (
        rotations
        if count % 2 == 0
        else [member_order for order in rotations for member_order in (order, order[::-1])]
    )


def flip_rate(forward: Sequence[Vote], backward: Sequence[Vote]) -> float | None:
    """Return the share of votes that change with the order, paired by model, responses and sample;
    None without a pair.
    """
    backward_options = {
        (_question_key(vote), vote.sample): vote.verdict.option for vote in backward if vote.verdict
    }
    pairs = [
        (vote.verdict.option, backward_options[_question_key(vote), vote.sample])
        for vote in forward
        if vote.verdict and (_question_key(vote), vote.sample) in backward_options
    ]
    return (
        sum(forward_option != backward_option for forward_option, backward_option in pairs)
        / len(pairs)
        if pairs
        else None
    )


def noise_rate(*orders: Sequence[Vote]) -> float | None:
    """Return the share of vote pairs with the same question and order that differ; None without
    such a pair.
    """
    differ = [
        vote_a.verdict.option != vote_b.verdict.option
        for votes in orders
        for vote_a, vote_b in combinations(votes, 2)
        if _question_key(vote_a) == _question_key(vote_b) and vote_a.verdict and vote_b.verdict
    ]
    return sum(differ) / len(differ) if differ else None


def _question_key(vote: Vote) -> tuple[str, frozenset[int]]:
    """Return the model and the compared responses, which both orders of a question share."""
    return vote.model, vote.ballot.question.compared_responses
