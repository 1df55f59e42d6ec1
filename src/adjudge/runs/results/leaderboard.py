"""The leaderboard of a run that compares: systems with rank intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit, clusters_of, unit_of
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.counts import rows_without_group
from adjudge.runs.folder import records_of, run_facts
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.results.contests import (
    ContestSummary,
    ContestTally,
    OrderShape,
    one_order_message,
    order_message,
)
from adjudge.stats.bias import first_rate
from adjudge.stats.bootstrap import Draws
from adjudge.stats.controlled_ranking import Controlled, controlled_ranking, relative_length
from adjudge.stats.estimate import Estimate
from adjudge.stats.ranking import DRAWS, LEAST_PROMPTS, NamedContest, Standings, rank

_PROMPT = "prompt"
_OUTCOMES: Mapping[float, int | None] = {1.0: 0, 0.0: 1, 0.5: None}


@dataclass(frozen=True, kw_only=True)
class RankingSettings:
    level: float = 0.95
    draws: Draws = DRAWS
    length_control: bool = False
    """Hold still who was listed first and who wrote more."""
    cluster: str = ""
    """The column whose equal values belong together; empty: the one that the run stores, if any."""


class PlaceShape(TypedDict):
    """A system and its rank."""

    rank: int
    system: str
    rating: float
    lower: float | None
    upper: float | None
    best_rank: int
    worst_rank: int
    win_rate: float | None
    wins: float
    ties: float
    losses: float
    rating_with_control: float | None


class FirstRateShape(TypedDict):
    """The share of contests that the response listed first wins."""

    rate: float | None
    lower: float | None
    upper: float | None
    n: Annotated[int, "contests with a winner that were asked in one order"]


class DrawsShape(TypedDict):
    """The bootstrap draws used for the intervals."""

    over: str
    draws: int
    seed: int


class LeaderboardShape(TypedDict):
    """Systems ranked by their comparisons."""

    judge: str
    criteria: str
    rows: int
    rows_left_out: Annotated[int, "rows without a score: none of their contests counts"]
    contests: int
    failed: Annotated[int, "contests that are left out"]
    places: Annotated[Sequence[PlaceShape], "the best first"]
    ties: Annotated[float, "how easily two equal systems tie"]
    padded: Annotated[bool, "true: half a win and half a loss were added to each pair"]
    cycles: Annotated[Sequence[object], "systems that beat each other in a circle"]
    listed_first: FirstRateShape
    always_listed_first: Annotated[Sequence[str], "systems that were listed first in every contest"]
    rows_on_one_order: Annotated[int, "rows with a verdict in only one of the two orders"]
    position_bias: OrderShape | None
    effects: Annotated[Mapping[str, float] | None, "what place and length add to a rating"]
    cluster: NotRequired[Annotated[str, "the column whose equal values belong together"]]
    rows_without_group: NotRequired[Annotated[int, "rows with nothing in that column"]]
    bootstrap: DrawsShape
    level: float
    reason: Annotated[str, "why there are no ranks"]
    notes: Sequence[str]


@dataclass(frozen=True)
class Leaderboard(JudgeCriterion):
    """The ranking of systems by one judge and criterion."""

    ranking: Standings
    contests: int
    rows: int
    failed: int
    """Contests that are left out: all those of rows without a score. A row has none if one of its
    contests has no outcome.
    """
    rows_left_out: int
    first: Estimate
    """The share of contests that the response listed first wins, among contests with a winner that
    were asked in one order. If both orders were asked, the outcome says nothing about the place.
    """
    always_first: tuple[str, ...] = ()
    """Systems that are listed first in all of their contests, each of which was
    asked in one order.
    """
    controlled: Controlled | None = None
    orders: ContestSummary = ContestSummary((), None)
    """The effect of the order, if both orders were asked."""
    cluster: str = ""
    """The column whose equal values belong together; empty: rows with one prompt do."""
    rows_without_group: int = 0

    def to_dict(self) -> JsonDict:
        standings, first = self.ranking, self.first
        ratings = self.controlled.ratings if self.controlled else {}
        places = [
            fill(
                PlaceShape,
                place,
                system=place.name,
                rating_with_control=ratings.get(place.name),
            )
            for place in standings.places
        ]
        return fill(
            LeaderboardShape,
            self,
            places=places,
            ties=standings.ties,
            padded=standings.padded,
            cycles=standings.cycles,
            listed_first=fill(FirstRateShape, first, rate=first.value, n=first.count),
            always_listed_first=self.always_first,
            rows_on_one_order=self.orders.one_order,
            position_bias=self.orders.order,
            effects=self.controlled.effects if self.controlled else None,
            bootstrap=fill(
                DrawsShape,
                over="groups" if self.cluster else "prompts",
                draws=standings.draws.count,
                seed=standings.draws.seed,
            ),
            level=standings.level,
            reason=standings.reason,
        )

    def _why_unbounded(self) -> Iterator[Message]:
        """Yield notes on systems without limits."""
        places = [place for place in self.ranking.places if place.lower is None]
        one_way = [
            place.name for place in places if place.ties == 0 and not (place.wins and place.losses)
        ]
        few = [place.name for place in places if place.name not in one_way]
        if one_way:
            yield Message(
                "no limits for {systems}: if all contests go one way, the distance between "
                "systems is unknown",
                systems=", ".join(one_way),
            )
        if few:
            yield Message(
                "no limits for {systems}: there are too few contests, or too few that go the "
                "other way, to tell how far apart systems are",
                systems=", ".join(few),
            )

    @property
    def notes(self) -> list[str]:
        """Reasons to doubt the ranking."""
        return list(self._notes())

    def _notes(self) -> Iterator[Message]:
        for cycle in self.ranking.cycles:
            yield Message(
                "these systems beat each other in a circle: {systems}", systems=", ".join(cycle)
            )
        if self.ranking.padded:
            yield Message(
                "not every system is linked to every other by a chain of wins: a tenth of a win "
                "each way was added to every pair, which limits the ratings of systems that "
                "always won or always lost"
            )
        yield from rows_without_group(self.rows_without_group, self.cluster)
        if self.ranking.prompts < LEAST_PROMPTS:
            yield self._too_few()
        else:
            yield from self._why_unbounded()
        if self.failed:
            yield plural(
                "{count} row without a score is left out, with {contests}",
                "{count} rows without a score are left out, with {contests}",
                self.rows_left_out,
                contests=plural("{count} contest", "{count} contests", self.failed),
            )
        if self.orders.one_order:
            yield one_order_message(self.orders)
        if (order := self.orders.order) and order.turned:
            yield order_message(order)
        lower, upper = self.first.lower, self.first.upper
        if self.always_first:
            yield Message(
                "always listed first and asked in one order: {systems}; a bias towards the first "
                "position cannot be told from strength",
                systems=", ".join(self.always_first),
            )
        elif lower is not None and upper is not None and not lower <= 0.5 <= upper:
            yield Message(
                "the response listed first wins {value:.0%} of the contests that were asked in one "
                "order: ask in both orders",
                value=self.first.value or 0.0,
            )

    def _too_few(self) -> Message:
        if self.cluster:
            return plural(
                "no limits: all contests belong to {count} group by {column!r}; at least {least} "
                "are needed",
                "no limits: all contests belong to {count} groups by {column!r}; at least {least} "
                "are needed",
                self.ranking.prompts,
                column=self.cluster,
                least=LEAST_PROMPTS,
            )
        return plural(
            "no limits: all contests are about {count} prompt; at least {least} are needed",
            "no limits: all contests are about {count} prompts; at least {least} are needed",
            self.ranking.prompts,
            least=LEAST_PROMPTS,
        )


@dataclass
class _Collected:
    cluster: str
    """The column whose equal values belong together; empty: rows with one prompt do."""
    contests: list[NamedContest] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    """What the row of each contest shares with other rows: its prompt, its group, its task."""
    lengths: list[float] = field(default_factory=list)
    one_order: list[bool] = field(default_factory=list)
    """True for each contest that was asked in one order."""
    rows: int = 0
    failed: int = 0
    rows_left_out: int = 0
    rows_without_group: int = 0
    orders: ContestTally = field(default_factory=ContestTally)

    def add(self, record: JudgmentRecord) -> None:
        self.rows += 1
        self.orders.add(record)
        self.rows_left_out += not record.scored
        prompt, texts = _prompt(record)
        unit = (*unit_of(record, self.cluster), f"{_PROMPT}={prompt}")
        self.rows_without_group += self.cluster != "" and record.group(self.cluster) is None
        for contest, (place_a, place_b) in _contests(record):
            # as in the report of the run: win rates of rows whose contests are not all known would
            # speak of other rows for each system
            if contest is None or not record.scored:
                self.failed += 1
                continue
            self.contests.append(contest)
            self.units.append(unit)
            self.one_order.append(record.positional_bias is None)
            self.lengths.append(
                relative_length(
                    *(
                        len(texts[place]) if place < len(texts) else 0
                        for place in (place_a, place_b)
                    )
                )
            )

    @property
    def always_first(self) -> tuple[str, ...]:
        """The systems that are first in all their contests, provided that none was judged in both
        orders.
        """
        names_first = {contest.first for contest in self.contests}
        names_second = {contest.second for contest in self.contests}
        names_in_both_orders = {
            name
            for contest, is_one_order in zip(self.contests, self.one_order, strict=True)
            if not is_one_order
            for name in (contest.first, contest.second)
        }
        return tuple(sorted(names_first - names_second - names_in_both_orders))


def _contests(record: JudgmentRecord) -> Iterator[tuple[NamedContest | None, tuple[int, int]]]:
    """Yield each contest of a comparison once with its two positions; None for a contest without an
    outcome.
    """
    names = record.systems
    systems = record.detail.system_results
    for place, system in enumerate(systems):
        stated = system.winrate if len(systems) == 2 else None
        for other_place, result in zip(system.compared_to, system.contest_results, strict=False):
            if place < other_place < len(names):
                yield (
                    _contest(names[place], names[other_place], result, stated),
                    (place, other_place),
                )


def _contest(
    name_a: str, name_b: str, result: float | None, stated: float | None
) -> NamedContest | None:
    """Return a contest, or None without an outcome.

    ``stated``: the first of two systems' win rate. It is a probability if the judge said how likely
    that one is better.
    """
    if result is None or result not in _OUTCOMES:
        return None
    winner = _OUTCOMES[result]
    chance = float(stated) if stated not in (None, result) and 0 <= stated <= 1 else None
    return NamedContest(
        name_a, name_b, None if winner is None else (name_a, name_b)[winner], chance
    )


def _prompt(record: JudgmentRecord) -> tuple[str, Sequence[str]]:
    """Return a key for the row's question, which groups rows, and the responses.

    A row without other fields is its own question.
    """
    texts = next((value for value in record.fields.values() if not isinstance(value, str)), ())
    question_fields = {
        name: value for name, value in record.fields.items() if isinstance(value, str)
    }
    return Instance(question_fields or record.fields).identity, texts


def leaderboards(folder: str | Path, settings: RankingSettings | None = None) -> list[Leaderboard]:
    """Return a leaderboard for each judge and criterion of a run. Raises a SetupError if nothing
    was compared.
    """
    ranking_settings = settings or RankingSettings()
    cluster = ranking_settings.cluster or grouping_column(run_facts(folder).facts)
    collected_by_line: dict[tuple[str, str], _Collected] = {}
    for record in records_of(folder):
        if not record.systems:
            continue
        key = record.judge, record.criterion
        if key not in collected_by_line:
            if ranking_settings.cluster:
                record.cell(cluster)  # refuses a column that does not exist
            collected_by_line[key] = _Collected(cluster)
        collected_by_line[key].add(record)
    if not collected_by_line:
        raise SetupError(
            "{folder} contains no comparisons ('adjudge compare', pairwise judges), so nothing "
            "can be ranked",
            folder=folder,
        )
    return [
        _rank(judge, criteria, collected, ranking_settings)
        for (judge, criteria), collected in collected_by_line.items()
    ]


def _rank(
    judge: str, criteria: str, collected: _Collected, settings: RankingSettings
) -> Leaderboard:
    groups = clusters_of(collected.units) or []
    won = [
        (contest.winner == contest.first, group)
        for contest, group, in_one_order in zip(
            collected.contests, groups, collected.one_order, strict=True
        )
        if contest.winner and in_one_order
    ]
    controlled = None
    if settings.length_control and collected.contests:
        controlled = controlled_ranking(collected.contests, {"longer": collected.lengths})
    return Leaderboard(
        judge,
        criteria,
        rank(
            collected.contests,
            prompts=groups,
            draws=settings.draws,
            level=settings.level,
        ),
        len(collected.contests),
        collected.rows,
        collected.failed,
        collected.rows_left_out,
        first_rate(
            [is_first_the_winner for is_first_the_winner, _ in won],
            clusters=[group for _, group in won] or None,
            level=settings.level,
        ),
        collected.always_first,
        controlled,
        collected.orders.summary(),
        collected.cluster,
        collected.rows_without_group,
    )
