"""Who is best, from comparisons of two at a time: Davidson's model of wins and ties.

With strengths p and q the first wins with probability p/D and the two tie with ν√(pq)/D, where D =
p + q + ν√(pq). Without ties it is the model of Bradley and Terry. Where a judge states how likely
the first is the better one, that is the share of a win that each gets. Strengths are identified
only where everybody can be reached from everybody by a chain of wins; elsewhere a tenth of a win
each way is added to every pair, and the ranking says so.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import stdev

from adjudge.messages import Message
from adjudge.stats.bootstrap import Draws, percentile_interval, redrawn
from adjudge.stats.distributions import sign_test, z_two_sided
from adjudge.stats.intervals import Clusters, Interval, count_units
from adjudge.stats.student import t_two_sided

PSEUDO = 0.1
"""Wins that are added each way to every pair where the comparisons alone do not rank everybody."""
SCALE, OFFSET = 400 / math.log(10), 1000
"""Ratings as chess and arenas print them: 400 points are odds of ten to one."""
DRAWS = Draws(1000)
LEAST_PROMPTS = 30
"""Prompts drawn anew say too little of others where they are fewer."""
_STEPS, _CLOSE = 10_000, 1e-10


@dataclass(frozen=True, slots=True)
class NamedContest:
    """One comparison. The order in which the two were shown does not matter here."""

    first: str
    second: str
    winner: str | None
    stated: float | None = None
    """How likely the first is the better one, where the judge says so."""

    @property
    def outcome(self) -> float:
        """For the first: 1 won, 0 lost, a half tied, or what was stated."""
        if self.stated is not None:
            return self.stated
        return 0.5 if self.winner is None else float(self.winner == self.first)


@dataclass(frozen=True, slots=True)
class Strengths:
    log_strengths: dict[str, float]
    ties: float
    """ν: how readily two equals tie; 0 where nobody did."""
    padded: bool
    """A tenth of a win each way was added to every pair: the comparisons alone rank nobody."""
    unbounded: frozenset[str] = frozenset()
    """Those whose strength nothing but that addition holds: all their contests with any other go
    one way.
    """


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of a leaderboard."""

    name: str
    rating: float
    lower: float | None
    upper: float | None
    """None where the draws do not bound it: see ``Strengths.unbounded``."""
    rank: int
    best_rank: int
    worst_rank: int
    """The ranks that all differences leave open. Those of all systems hold together at ``level``:
    every pair of systems is allowed for.
    """
    wins: int
    losses: int
    ties: int
    win_rate: float
    """Mean over its contests: a tie is half a win, and a stated probability
    counts as what it is.
    """


@dataclass(frozen=True, slots=True)
class Standings:
    """A leaderboard, and what stands against believing it."""

    places: tuple[Standing, ...]
    ties: float
    padded: bool
    cycles: tuple[tuple[str, ...], ...]
    """Groups whose members beat each other significantly in a circle."""
    draws: Draws
    level: float
    reason: str = ""
    prompts: int = 0
    """How many prompts the contests are about; below ``LEAST_PROMPTS`` there are no limits."""


_Counts = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class _Table:
    """Wins of one over the other by name, and ties by pair in the order of the names."""

    names: tuple[str, ...]
    wins: _Counts
    ties: _Counts

    def games(self, one: str, other: str) -> float:
        return (
            self.wins.get((one, other), 0)
            + self.wins.get((other, one), 0)
            + self.ties.get(_pair(one, other), 0)
        )


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _tabulate(contests: Mapping[NamedContest, int], names: Sequence[str]) -> _Table:
    wins: dict[tuple[str, str], float] = defaultdict(float)
    ties: dict[tuple[str, str], float] = defaultdict(float)
    for contest, count in contests.items():
        if contest.stated is not None:
            wins[contest.first, contest.second] += count * contest.stated
            wins[contest.second, contest.first] += count * (1 - contest.stated)
        elif contest.winner is None:
            ties[_pair(contest.first, contest.second)] += count
        else:
            loser = contest.second if contest.winner == contest.first else contest.first
            wins[contest.winner, loser] += count
    return _Table(tuple(names), wins, ties)


def strengths(contests: Mapping[NamedContest, int]) -> Strengths:
    """Fit Davidson's model to counted contests by its fixed point."""
    return _fit(_tabulate(contests, _names(contests)))


def _names(contests: Iterable[NamedContest]) -> list[str]:
    return sorted({name for contest in contests for name in (contest.first, contest.second)})


def _fit(table: _Table, start: Strengths | None = None, close: float = _CLOSE) -> Strengths:
    groups = components(table.names, [pair for pair, count in table.wins.items() if count])
    padded, alone = len(groups) > 1, frozenset(group[0] for group in groups if len(group) == 1)
    if padded:
        pairs = ((one, other) for one in table.names for other in table.names if one != other)
        table = _Table(
            table.names, {pair: table.wins.get(pair, 0) + PSEUDO for pair in pairs}, table.ties
        )
    tied = math.fsum(table.ties.values())
    scores, games = _scores(table), _games(table)
    strength = {name: math.exp(start.log_strengths[name]) if start else 1.0 for name in table.names}
    ties = (start.ties if start and start.ties else 1.0) if tied else 0.0
    for _ in range(_STEPS):
        updated = _normalised(
            {name: _update(name, scores[name], strength, ties, games[name]) for name in strength}
        )
        eager = tied / _expected(updated, ties, games) if tied else 0.0
        moved = max(abs(math.log(updated[name] / strength[name])) for name in strength)
        settled = moved < close and abs(eager - ties) <= close * eager
        strength, ties = updated, eager
        if settled:
            break
    logs = {name: math.log(value) for name, value in strength.items()}
    return Strengths(logs, ties, padded, alone if padded else frozenset())


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
        name: [
            (other, played)
            for other in table.names
            if other != name and (played := table.games(name, other))
        ]
        for name in table.names
    }


def _update(
    name: str,
    score: float,
    strength: Mapping[str, float],
    ties: float,
    games: Sequence[tuple[str, float]],
) -> float:
    own, total = strength[name], 0.0
    for other, played in games:
        between = math.sqrt(own * strength[other])
        total += played * (1 + ties / 2 * between / own) / (own + strength[other] + ties * between)
    return score / total


def _expected(
    strength: Mapping[str, float], ties: float, games: Mapping[str, Sequence[tuple[str, float]]]
) -> float:
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


def cycles(
    contests: Mapping[NamedContest, int], *, level: float = 0.95
) -> tuple[tuple[str, ...], ...]:
    """Groups of three or more that beat each other in a circle, each win significant by the sign
    test.
    """
    table = _tabulate(contests, _names(contests))
    beats = []
    for one, other in combinations(table.names, 2):
        won, lost = round(table.wins.get((one, other), 0)), round(table.wins.get((other, one), 0))
        if sign_test(won, lost) < 1 - level:
            beats.append((one, other) if won > lost else (other, one))
    return tuple(group for group in components(table.names, beats) if len(group) > 1)


def rank(
    contests: Sequence[NamedContest],
    *,
    prompts: Clusters = None,
    draws: Draws = DRAWS,
    level: float = 0.95,
) -> Standings:
    """The leaderboard, best first.

    ``prompts`` names the prompt of each contest: whole prompts are drawn for the intervals.
    """
    counted = Counter(contests)
    if len(_names(contests)) < 2:
        return Standings((), 0.0, False, (), draws, level, Message("no two were compared"))
    found = strengths(counted)
    units = count_units(contests, prompts)
    few = found.padded or units < LEAST_PROMPTS
    drawn = [] if few else _drawn(contests, prompts, draws, found)
    ordered = sorted(found.log_strengths, key=lambda name: (-found.log_strengths[name], name))
    bounded = {
        name
        for name in ordered
        if drawn and sum(name in one.unbounded for one in drawn) <= (1 - level) / 2 * len(drawn)
    }
    # Every pair is compared: all ranks hold together only if all pairs share the risk.
    each = 1 - (1 - level) / math.comb(len(ordered), 2)
    apart = {
        *(pair for pair in _beaten(contests, prompts, each) if not bounded.issuperset(pair)),
        *_apart(found, drawn, bounded, each, units),
    }
    places = tuple(
        _place(name, found, drawn if name in bounded else (), counted, apart, level, units)
        for name in ordered
    )
    return Standings(
        places,
        found.ties,
        found.padded,
        cycles(counted, level=level),
        draws,
        level,
        prompts=units,
    )


def _drawn(
    contests: Sequence[NamedContest], prompts: Clusters, draws: Draws, start: Strengths
) -> list[Strengths]:
    names = list(start.log_strengths)
    return [
        _fit(_tabulate(table, names), start, close=1e-5)
        for table in redrawn(contests, prompts, draws)
    ]


def _beaten(
    contests: Sequence[NamedContest], prompts: Clusters, level: float
) -> set[tuple[str, str]]:
    """(better, worse) of every two of whom one wins significantly by the sign test, each prompt
    counted once.
    """
    leads: dict[tuple[str, str], dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
    for contest, prompt in zip(contests, prompts or range(len(contests)), strict=True):
        pair = _pair(contest.first, contest.second)
        leads[pair][prompt] += (contest.outcome - 0.5) * (1 if pair[0] == contest.first else -1)
    found = set()
    for (one, other), each in leads.items():
        won, lost = sum(lead > 0 for lead in each.values()), sum(lead < 0 for lead in each.values())
        if sign_test(won, lost) < 1 - level:
            found.add((one, other) if won > lost else (other, one))
    return found


def _apart(
    found: Strengths,
    drawn: Sequence[Strengths],
    bounded: Collection[str],
    level: float,
    prompts: int,
) -> Iterator[tuple[str, str]]:
    """(better, worse) of every two whose strengths differ by more than the draws let expect. The
    share of draws in which one is ahead would not do: of equals it shuts out true ranks too often.
    """
    for one, other in combinations(sorted(bounded), 2):
        gap = found.log_strengths[one] - found.log_strengths[other]
        error = stdev(each.log_strengths[one] - each.log_strengths[other] for each in drawn)
        if abs(gap) > _wider(level, prompts) * z_two_sided(level) * error:
            yield (one, other) if gap > 0 else (other, one)


def _place(
    name: str,
    found: Strengths,
    drawn: Sequence[Strengths],
    counted: Mapping[NamedContest, int],
    apart: Collection[tuple[str, str]],
    level: float,
    prompts: int,
) -> Standing:
    own = found.log_strengths
    limits = (
        _widened([one.log_strengths[name] for one in drawn], own[name], prompts, level)
        if drawn
        else None
    )
    mine = [
        (contest, count)
        for contest, count in counted.items()
        if name in (contest.first, contest.second)
    ]
    wins, ties = (
        sum(count for contest, count in mine if contest.winner == who) for who in (name, None)
    )
    played = sum(count for _, count in mine)
    won = math.fsum(
        count * (one.outcome if one.first == name else 1 - one.outcome) for one, count in mine
    )
    return Standing(
        name,
        rating(own[name]),
        rating(limits.lower) if limits else None,
        rating(limits.upper) if limits else None,
        1 + sum(value > own[name] + 1e-9 for value in own.values()),
        1 + sum(worse == name for _, worse in apart),
        len(own) - sum(better == name for better, _ in apart),
        wins,
        played - wins - ties,
        ties,
        won / played,
    )


def _widened(drawn: Sequence[float], middle: float, prompts: int, level: float) -> Interval:
    """On each side the wider one of what the draws reach and of their standard error's interval,
    as Student's interval of so many prompts is wider than a normal one.
    """
    found, wider = percentile_interval(drawn, level), _wider(level, prompts)
    usual = z_two_sided(level) * stdev(drawn)
    below, above = max(usual, middle - found.lower), max(usual, found.upper - middle)
    return Interval(middle - wider * below, middle + wider * above, level)


def _wider(level: float, prompts: int) -> float:
    student = t_two_sided(level, prompts - 1) / z_two_sided(level)
    return student * math.sqrt(prompts / (prompts - 1))


def rating(log_strength: float) -> float:
    """A log-strength on the scale of chess."""
    return OFFSET + SCALE * log_strength
