"""Rankings from pairwise comparisons: Davidson's model of wins and ties.

With strengths p and q the first wins with probability p/D and the two tie with ν√(pq)/D, where D =
p + q + ν√(pq). Without ties it is the model of Bradley and Terry. If a judge states a probability
that the first is better, that is the share of a win that each gets. Strengths are identified only
if every name can be reached from every other by a chain of wins; else a tenth of a win each way is
added to every pair, and the ranking says so.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import stdev

from adjudge.messages import Message
from adjudge.stats.bootstrap import Draws, percentile_interval, redraw
from adjudge.stats.distributions import sign_test, z_two_sided
from adjudge.stats.intervals import Clusters, Interval, count_units
from adjudge.stats.student import t_two_sided

PSEUDO = 0.1
"""Wins added each way to every pair if the comparisons alone do not rank all names."""
SCALE, OFFSET = 400 / math.log(10), 1000
"""Ratings as chess and arenas print them: 400 points are odds of ten to one."""
DRAWS = Draws(1000)
LEAST_PROMPTS = 30
"""Minimum number of prompts for limits: fewer, redrawn, say too little about others."""
_STEPS, _CLOSE = 10_000, 1e-10


@dataclass(frozen=True, slots=True)
class NamedContest:
    """A comparison of two names. The order of presentation does not matter."""

    first: str
    second: str
    winner: str | None
    stated: float | None = None
    """The judge's probability that the first is better, if it states one."""

    @property
    def outcome(self) -> float:
        """The result for the first: 1 if it won, 0 if it lost, 0.5 for a tie, or the stated
        probability.
        """
        if self.stated is not None:
            return self.stated
        return 0.5 if self.winner is None else float(self.winner == self.first)


@dataclass(frozen=True, slots=True)
class Strengths:
    """Fitted strengths of Davidson's model."""

    log_strengths: dict[str, float]
    ties: float
    """ν: the tendency of equals to tie; 0 without ties."""
    padded: bool
    """True if a tenth of a win each way was added to every pair, because the comparisons alone do
    not rank all names.
    """
    unbounded: frozenset[str] = frozenset()
    """Names whose strength only that addition limits: all their contests with any other
    go one way.
    """


@dataclass(frozen=True, slots=True)
class Standing:
    """A line of a leaderboard."""

    name: str
    rating: float
    lower: float | None
    upper: float | None
    """The upper end; None if the draws do not bound it (see ``Strengths.unbounded``)."""
    rank: int
    best_rank: int
    worst_rank: int
    """The ranks that the differences leave open. They hold jointly for all systems at ``level``:
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
    """A leaderboard, and possible reasons to doubt it."""

    places: tuple[Standing, ...]
    ties: float
    padded: bool
    cycles: tuple[tuple[str, ...], ...]
    """Groups whose members beat each other significantly in a circle."""
    draws: Draws
    level: float
    reason: str = ""
    prompts: int = 0
    """Number of prompts of the contests; below ``LEAST_PROMPTS`` there are no limits."""


_Counts = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class _Table:
    """Wins by (winner, loser), and ties by pair in alphabetical order."""

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
    """Fit Davidson's model to counted contests, by fixed-point iteration."""
    return _fit(_tabulate(contests, _names(contests)))


def _names(contests: Iterable[NamedContest]) -> list[str]:
    return sorted({name for contest in contests for name in (contest.first, contest.second)})


def _fit(table: _Table, start: Strengths | None = None, close: float = _CLOSE) -> Strengths:
    groups = components(table.names, [pair for pair, count in table.wins.items() if count])
    # unless wins lead from each system to every other, no finite strengths maximise the
    # likelihood
    padded, alone = len(groups) > 1, frozenset(group[0] for group in groups if len(group) == 1)
    if padded:
        pairs = (
            (name_a, name_b) for name_a in table.names for name_b in table.names if name_a != name_b
        )
        table = _Table(
            table.names, {pair: table.wins.get(pair, 0) + PSEUDO for pair in pairs}, table.ties
        )
    # Davidson's model needs only totals: wins plus half of the ties per name, and ties overall.
    tied = math.fsum(table.ties.values())
    scores, games = _scores(table), _games(table)
    strength = {name: math.exp(start.log_strengths[name]) if start else 1.0 for name in table.names}
    ties = (start.ties if start and start.ties else 1.0) if tied else 0.0
    for _ in range(_STEPS):
        updated = _normalise(
            {name: _update(name, scores[name], strength, ties, games[name]) for name in strength}
        )
        eager = tied / _expected_ties(updated, ties, games) if tied else 0.0
        # Compared as logs, since strengths of very unequal systems differ by powers of ten.
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
            (rival, played)
            for rival in table.names
            if rival != name and (played := table.games(name, rival))
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
    own_strength, total = strength[name], 0.0
    for rival, played in games:
        between = math.sqrt(own_strength * strength[rival])
        total += (
            played
            * (1 + ties / 2 * between / own_strength)
            / (own_strength + strength[rival] + ties * between)
        )
    return score / total


def _expected_ties(
    strength: Mapping[str, float], ties: float, games: Mapping[str, Sequence[tuple[str, float]]]
) -> float:
    """Return Σ n√(pq)/D over all pairs. Each pair occurs twice in the games."""
    total = 0.0
    for name, rivals in games.items():
        for rival, played in rivals:
            between = math.sqrt(strength[name] * strength[rival])
            total += played * between / (strength[name] + strength[rival] + ties * between)
    return total / 2


def _normalise(strength: Mapping[str, float]) -> dict[str, float]:
    middle = math.exp(math.fsum(math.log(value) for value in strength.values()) / len(strength))
    return {name: value / middle for name, value in strength.items()}


def components(names: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the groups whose members all reach each other along edges (Kosaraju's algorithm)."""
    onward, backward = defaultdict(list), defaultdict(list)
    for source, target in edges:
        onward[source].append(target)
        backward[target].append(source)
    finished: list[str] = []
    visited: set[str] = set()
    for name in names:
        finished += _finish_order(name, onward, visited)
    visited, groups = set(), []
    for name in reversed(finished):
        if name not in visited:
            groups.append(tuple(sorted(_finish_order(name, backward, visited))))
    return groups


def _finish_order(start: str, edges: Mapping[str, Sequence[str]], seen: set[str]) -> list[str]:
    """Return all unvisited nodes reachable from ``start``, each after the nodes it leads to."""
    if start in seen:
        return []
    seen.add(start)
    # With a stack of its own: a chain of a thousand systems would exceed Python's recursion limit.
    finished, path = [], [(start, iter(edges.get(start, ())))]
    while path:
        name, onward = path[-1]
        following = next((target for target in onward if target not in seen), None)
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
    """Return groups of names that beat each other in a circle, each win being significant (sign
    test).
    """
    table = _tabulate(contests, _names(contests))
    beats = []
    for name_a, name_b in combinations(table.names, 2):
        won, lost = (
            round(table.wins.get((name_a, name_b), 0)),
            round(table.wins.get((name_b, name_a), 0)),
        )
        if sign_test(won, lost) < 1 - level:
            beats.append((name_a, name_b) if won > lost else (name_b, name_a))
    return tuple(group for group in components(table.names, beats) if len(group) > 1)


def rank(
    contests: Sequence[NamedContest],
    *,
    prompts: Clusters = None,
    draws: Draws = DRAWS,
    level: float = 0.95,
) -> Standings:
    """Return the leaderboard, best first.

    ``prompts``: the prompt of each contest; intervals redraw whole prompts. Without enough prompts,
    there are no limits.

    Example: ``rank([NamedContest("a", "b", "a")] * 40).places[0].name``
    """
    counted = Counter(contests)
    if len(_names(contests)) < 2:
        return Standings((), 0.0, False, (), draws, level, Message("no pair was compared"))
    fitted = strengths(counted)
    units = count_units(contests, prompts)
    # Padded strengths are limited by the padding alone, so draws would only measure the padding.
    few = fitted.padded or units < LEAST_PROMPTS
    drawn = [] if few else _fit_draws(contests, prompts, draws, fitted)
    ordered = sorted(fitted.log_strengths, key=lambda name: (-fitted.log_strengths[name], name))
    bounded = {
        name
        for name in ordered
        if drawn and sum(name in draw.unbounded for draw in drawn) <= (1 - level) / 2 * len(drawn)
    }
    # Every pair is compared: all ranks hold together only if all pairs share the risk.
    pair_level = 1 - (1 - level) / math.comb(len(ordered), 2)
    apart = {
        *(
            pair
            for pair in _significant_pairs(contests, prompts, pair_level)
            if not bounded.issuperset(pair)
        ),
        *_distinct_pairs(fitted, drawn, bounded, pair_level, units),
    }
    places = tuple(
        _place(name, fitted, drawn if name in bounded else (), counted, apart, level, units)
        for name in ordered
    )
    return Standings(
        places,
        fitted.ties,
        fitted.padded,
        cycles(counted, level=level),
        draws,
        level,
        prompts=units,
    )


def _fit_draws(
    contests: Sequence[NamedContest], prompts: Clusters, draws: Draws, start: Strengths
) -> list[Strengths]:
    names = list(start.log_strengths)
    return [
        _fit(_tabulate(table, names), start, close=1e-5)
        for table in redraw(contests, prompts, draws)
    ]


def _significant_pairs(
    contests: Sequence[NamedContest], prompts: Clusters, level: float
) -> set[tuple[str, str]]:
    """Return (better, worse) for pairs with a significant sign test, counting each prompt once."""
    leads: dict[tuple[str, str], dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
    for contest, prompt in zip(contests, prompts or range(len(contests)), strict=True):
        pair = _pair(contest.first, contest.second)
        # Both orders of a prompt are one observation: counted twice, equals would look different.
        leads[pair][prompt] += (contest.outcome - 0.5) * (1 if pair[0] == contest.first else -1)
    pairs = set()
    for (name_a, name_b), prompt_leads in leads.items():
        won, lost = (
            sum(lead > 0 for lead in prompt_leads.values()),
            sum(lead < 0 for lead in prompt_leads.values()),
        )
        if sign_test(won, lost) < 1 - level:
            pairs.add((name_a, name_b) if won > lost else (name_b, name_a))
    return pairs


def _distinct_pairs(
    found: Strengths,
    drawn: Sequence[Strengths],
    bounded: Collection[str],
    level: float,
    prompts: int,
) -> Iterator[tuple[str, str]]:
    """Yield (better, worse) for pairs whose strengths differ significantly over the draws.

    The share of draws with one ahead would not be valid: for equals it excludes true ranks too
    often.
    """
    for name_a, name_b in combinations(sorted(bounded), 2):
        gap = found.log_strengths[name_a] - found.log_strengths[name_b]
        error = stdev(draw.log_strengths[name_a] - draw.log_strengths[name_b] for draw in drawn)
        if abs(gap) > _wider(level, prompts) * z_two_sided(level) * error:
            yield (name_a, name_b) if gap > 0 else (name_b, name_a)


def _place(
    name: str,
    found: Strengths,
    drawn: Sequence[Strengths],
    counted: Mapping[NamedContest, int],
    apart: Collection[tuple[str, str]],
    level: float,
    prompts: int,
) -> Standing:
    log_strengths = found.log_strengths
    limits = (
        _widen([draw.log_strengths[name] for draw in drawn], log_strengths[name], prompts, level)
        if drawn
        else None
    )
    contests_of_name = [
        (contest, count)
        for contest, count in counted.items()
        if name in (contest.first, contest.second)
    ]
    wins, ties = (
        sum(count for contest, count in contests_of_name if contest.winner == who)
        for who in (name, None)
    )
    played = sum(count for _, count in contests_of_name)
    won = math.fsum(
        count * (contest.outcome if contest.first == name else 1 - contest.outcome)
        for contest, count in contests_of_name
    )
    return Standing(
        name,
        rating(log_strengths[name]),
        rating(limits.lower) if limits else None,
        rating(limits.upper) if limits else None,
        # The iteration stops close to the solution, so equals may differ in the last digits.
        1 + sum(value > log_strengths[name] + 1e-9 for value in log_strengths.values()),
        1 + sum(worse == name for _, worse in apart),
        len(log_strengths) - sum(better == name for better, _ in apart),
        wins,
        played - wins - ties,
        ties,
        won / played,
    )


def _widen(drawn: Sequence[float], middle: float, prompts: int, level: float) -> Interval:
    """Return the wider limit on each side: percentiles of the draws, or their standard error.

    Both are widened by Student's quantile for few prompts.
    """
    limits, wider = percentile_interval(drawn, level), _wider(level, prompts)
    usual = z_two_sided(level) * stdev(drawn)
    below, above = max(usual, middle - limits.lower), max(usual, limits.upper - middle)
    return Interval(middle - wider * below, middle + wider * above, level)


def _wider(level: float, prompts: int) -> float:
    student = t_two_sided(level, prompts - 1) / z_two_sided(level)
    # The variance of draws with replacement lacks the factor n / (n − 1).
    return student * math.sqrt(prompts / (prompts - 1))


def rating(log_strength: float) -> float:
    """Convert a log-strength to the chess scale."""
    return OFFSET + SCALE * log_strength
