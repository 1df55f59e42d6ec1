"""Who is best, from comparisons of two at a time: Davidson's model of wins and ties.

With strengths p and q the first wins with probability p/D and the two tie with ν√(pq)/D, where D = p + q + ν√(pq). Without
ties it is the model of Bradley and Terry. Strengths are identified only where everybody can be reached from everybody by a chain
of wins; elsewhere a tenth of a win each way is added to every pair, and the ranking says so.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from adjudge.stats.bootstrap import Draws, percentile_interval, redrawn
from adjudge.stats.distributions import sign_test
from adjudge.stats.intervals import Clusters

PSEUDO = 0.1
"""Wins that are added each way to every pair where the comparisons alone do not rank everybody."""
SCALE, OFFSET = 400 / math.log(10), 1000
"""Ratings as chess and arenas print them: 400 points are odds of ten to one."""
DRAWS = Draws(1000)
_STEPS, _CLOSE = 10_000, 1e-10


@dataclass(frozen=True, slots=True)
class Contest:
    """One comparison. The order in which the two were shown does not matter here."""

    first: str
    second: str
    winner: str | None
    """None: a tie."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """A fitted model."""

    log_strengths: dict[str, float]
    """Their mean is 0."""
    ties: float
    """ν: how readily two equals tie; 0 where nobody did."""
    padded: bool
    """A tenth of a win each way was added to every pair: the comparisons alone rank nobody."""


@dataclass(frozen=True, slots=True)
class Place:
    """One line of a leaderboard."""

    name: str
    rating: float
    lower: float | None
    upper: float | None
    rank: int
    best_rank: int | None
    worst_rank: int | None
    """The ranks held in ``level`` of the draws."""
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """A leaderboard, and what stands against believing it."""

    places: tuple[Place, ...]
    ties: float
    padded: bool
    cycles: tuple[tuple[str, ...], ...]
    """Groups whose members beat each other significantly in a circle."""
    draws: Draws
    level: float
    reason: str = ""


_Counts = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class _Table:
    """Wins of one over the other by name, and ties by pair in the order of the names."""

    names: tuple[str, ...]
    wins: _Counts
    ties: _Counts

    def games(self, one: str, other: str) -> float:
        return self.wins.get((one, other), 0) + self.wins.get((other, one), 0) + self.ties.get(_pair(one, other), 0)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _tabulate(contests: Mapping[Contest, int], names: Sequence[str]) -> _Table:
    wins: dict[tuple[str, str], float] = defaultdict(float)
    ties: dict[tuple[str, str], float] = defaultdict(float)
    for contest, count in contests.items():
        if contest.winner is None:
            ties[_pair(contest.first, contest.second)] += count
        else:
            loser = contest.second if contest.winner == contest.first else contest.first
            wins[contest.winner, loser] += count
    return _Table(tuple(names), wins, ties)


def strengths(contests: Mapping[Contest, int]) -> Strengths:
    """Fit Davidson's model to counted contests by its fixed point."""
    return _fit(_tabulate(contests, _names(contests)))


def _names(contests: Iterable[Contest]) -> list[str]:
    return sorted({name for contest in contests for name in (contest.first, contest.second)})


def _fit(table: _Table, start: Strengths | None = None, close: float = _CLOSE) -> Strengths:
    padded = len(components(table.names, [pair for pair, count in table.wins.items() if count])) > 1
    if padded:
        pairs = ((one, other) for one in table.names for other in table.names if one != other)
        table = _Table(table.names, {pair: table.wins.get(pair, 0) + PSEUDO for pair in pairs}, table.ties)
    tied = math.fsum(table.ties.values())
    scores, games = _scores(table), _games(table)
    strength = {name: math.exp(start.log_strengths[name]) if start else 1.0 for name in table.names}
    ties = (start.ties if start and start.ties else 1.0) if tied else 0.0
    for _ in range(_STEPS):
        updated = _normalised({name: _update(name, scores[name], strength, ties, games[name]) for name in strength})
        eager = tied / _expected(updated, ties, games) if tied else 0.0
        moved = max(abs(math.log(updated[name] / strength[name])) for name in strength)
        settled = moved < close and abs(eager - ties) <= close * eager
        strength, ties = updated, eager
        if settled:
            break
    return Strengths({name: math.log(value) for name, value in strength.items()}, ties, padded)


def _scores(table: _Table) -> dict[str, float]:
    scores = dict.fromkeys(table.names, 0.0)
    for (winner, _), count in table.wins.items():
        scores[winner] += count
    for pair, count in table.ties.items():
        for name in pair:
            scores[name] += count / 2
    return scores


def _games(table: _Table) -> dict[str, list[tuple[str, float]]]:
    return {
        name: [(other, played) for other in table.names if other != name and (played := table.games(name, other))]
        for name in table.names
    }


def _update(name: str, score: float, strength: Mapping[str, float], ties: float, games: Sequence[tuple[str, float]]) -> float:
    own, total = strength[name], 0.0
    for other, played in games:
        between = math.sqrt(own * strength[other])
        total += played * (1 + ties / 2 * between / own) / (own + strength[other] + ties * between)
    return score / total


def _expected(strength: Mapping[str, float], ties: float, games: Mapping[str, Sequence[tuple[str, float]]]) -> float:
    """Σ n√(pq)/D over the pairs, each of which stands in the games twice."""
    total = 0.0
    for name, others in games.items():
        for other, played in others:
            between = math.sqrt(strength[name] * strength[other])
            total += played * between / (strength[name] + strength[other] + ties * between)
    return total / 2


def _normalised(strength: Mapping[str, float]) -> dict[str, float]:
    middle = math.exp(math.fsum(math.log(value) for value in strength.values()) / len(strength))
    return {name: value / middle for name, value in strength.items()}


def components(names: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The groups whose members all reach each other along the edges (Kosaraju's algorithm)."""
    onward, backward = defaultdict(list), defaultdict(list)
    for one, other in edges:
        onward[one].append(other)
        backward[other].append(one)
    finished: list[str] = []
    seen: set[str] = set()
    for name in names:
        finished += _finish_order(name, onward, seen)
    seen, groups = set(), []
    for name in reversed(finished):
        if name not in seen:
            groups.append(tuple(sorted(_finish_order(name, backward, seen))))
    return groups


def _finish_order(start: str, edges: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Everything reachable that was not seen, each after what it leads to."""
    if start in seen:
        return []
    seen.add(start)
    finished, path = [], [(start, iter(edges.get(start, ())))]
    while path:
        name, onward = path[-1]
        following = next((other for other in onward if other not in seen), None)
        if following is None:
            finished.append(name)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(edges.get(following, ()))))
    return finished


def cycles(contests: Mapping[Contest, int], *, level: float = 0.95) -> tuple[tuple[str, ...], ...]:
    """Groups of three or more that beat each other in a circle, each win significant by the sign test."""
    table = _tabulate(contests, _names(contests))
    beats = []
    for one, other in combinations(table.names, 2):
        won, lost = round(table.wins.get((one, other), 0)), round(table.wins.get((other, one), 0))
        if sign_test(won, lost) < 1 - level:
            beats.append((one, other) if won > lost else (other, one))
    return tuple(group for group in components(table.names, beats) if len(group) > 1)


def rank(contests: Sequence[Contest], *, prompts: Clusters = None, draws: Draws = DRAWS, level: float = 0.95) -> Ranking:
    """The leaderboard, best first. ``prompts`` names the prompt of each contest: whole prompts are drawn for the intervals."""
    counted = Counter(contests)
    if len(_names(contests)) < 2:
        return Ranking((), 0.0, False, (), draws, level, "no two were compared")
    found = strengths(counted)
    drawn = _drawn(contests, prompts, draws, found)
    ordered = sorted(found.log_strengths, key=lambda name: (-found.log_strengths[name], name))
    places = tuple(_place(name, found, drawn, counted, level) for name in ordered)
    return Ranking(places, found.ties, found.padded, cycles(counted, level=level), draws, level)


def _drawn(contests: Sequence[Contest], prompts: Clusters, draws: Draws, start: Strengths) -> list[dict[str, float]]:
    names = list(start.log_strengths)
    return [_fit(_tabulate(table, names), start, close=1e-5).log_strengths for table in redrawn(contests, prompts, draws)]


def _place(
    name: str, found: Strengths, drawn: Sequence[Mapping[str, float]], counted: Mapping[Contest, int], level: float
) -> Place:
    own = found.log_strengths
    limits = percentile_interval([one[name] for one in drawn], level) if drawn else None
    held = percentile_interval([_rank(name, one) for one in drawn], level) if drawn else None
    mine = [(contest.winner, count) for contest, count in counted.items() if name in (contest.first, contest.second)]
    wins, ties = sum(count for winner, count in mine if winner == name), sum(count for winner, count in mine if winner is None)
    return Place(
        name,
        rating(own[name]),
        rating(limits.lower) if limits else None,
        rating(limits.upper) if limits else None,
        round(_rank(name, own)),
        math.floor(held.lower) if held else None,
        math.ceil(held.upper) if held else None,
        wins,
        sum(count for _, count in mine) - wins - ties,
        ties,
    )


def _rank(name: str, log_strengths: Mapping[str, float]) -> float:
    return 1.0 + sum(value > log_strengths[name] + 1e-9 for value in log_strengths.values())


def rating(log_strength: float) -> float:
    """A log-strength on the scale of chess."""
    return OFFSET + SCALE * log_strength
