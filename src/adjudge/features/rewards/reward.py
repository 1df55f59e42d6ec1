"""Rewards for the completions of a training step."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adjudge.core.aio import event_loop
from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.results import Result
from adjudge.core.engine.run import RunFolder, everything_in
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.inputs import CriteriaLike
from adjudge.core.judges.judge import Judge
from adjudge.errors import BudgetSpent, SetupError
from adjudge.features.rewards.parts import Part, Source
from adjudge.features.rewards.ranking import GroupRanking
from adjudge.features.rewards.rollouts import COMPLETION, Columns, Rollouts
from adjudge.features.rewards.values import RewardValue, combine
from adjudge.messages import Message

if TYPE_CHECKING:
    from adjudge.features.rewards.watch import Watch

_NO_TEXT = Message("the completion has no text")


@dataclass(frozen=True)
class StepSummary:
    """Figures of one call."""

    completions: int
    missing: int
    """Completions without a reward."""
    reasons: Mapping[str, int]
    """Reason → completions that have no reward for it."""


class Reward:
    """Scores completions with judges, rubrics, checks and functions.

    A completion whose judgment failed has no reward: its value is None with a reason, never 0.

    >>> reward = Reward(AspectCritic("Answers the question.", "openai/gpt-4o-mini"))
    >>> [one.value for one in reward.score(["2 + 2?", "2 + 2?"], ["4", "5"])]
    [1.0, 0.0]

    Parameters:
        sources: judges, checks and functions of equal weight, or ``Part``s with weights. The reward
            is their weighted mean.
        criteria: for a DirectJudge that is the only source.
        name: what logs call the reward.
        run: a folder in which every answer is kept; what it holds already is not asked again, so
            that a repeated step has the same rewards. One folder per process; calls wait for each
            other.
        budget: what one call may spend; completions that it does not reach have no reward.
        time_limit: seconds that one call may take; completions not judged by then have no reward.
        columns: column of the training data → name of the field that judges read.
        cache_size: verdicts kept in memory, so that equal completions of equal rows are judged
            once.
        watch: a Watch over this reward.
    """

    def __init__(
        self,
        *sources: Source | Part,
        criteria: CriteriaLike | None = None,
        name: str = "adjudge",
        run: RunFolder | None = None,
        budget: Budget | None = None,
        time_limit: float | None = None,
        columns: Mapping[str, str] | None = None,
        cache_size: int = 100_000,
        watch: Watch | None = None,
    ) -> None:
        self.parts = _parts(sources, criteria)
        self.name, self.run, self.budget, self.time_limit = name, run, budget, time_limit
        self.columns, self.cache_size, self.watch = dict(columns or {}), cache_size, watch
        self.last_step: StepSummary | None = None
        """Figures of the last call."""
        self._cache: dict[tuple[str, str], RewardValue] = {}
        self._turn = asyncio.Lock()
        if time_limit is not None and not time_limit > 0:
            raise SetupError("time_limit must be above 0 seconds, not {value}", value=time_limit)

    async def ascore(
        self,
        prompts: Sequence[object],
        completions: Sequence[object],
        columns: Columns | None = None,
    ) -> list[RewardValue]:
        """Return a reward per completion, in their order.

        ``prompts`` and ``completions``: texts or lists of messages. ``columns``: lists with an
        entry per completion, such as a reference or a rubric.
        """
        rollouts = Rollouts.of(prompts, completions, columns or {})
        values = await self.score_rollouts(rollouts)
        missing = Counter(str(value.reason) for value in values if value.value is None)
        self.last_step = StepSummary(len(values), missing.total(), dict(missing))
        if self.watch is not None:
            await self.watch.observe(self, rollouts, values)
        return values

    score = sync_edge(ascore)

    async def score_rollouts(self, rollouts: Rollouts) -> list[RewardValue]:
        """Like ``ascore``, without the watch and the figures of the step."""
        if not len(rollouts):
            return []
        rows = rollouts.rows(self.columns)
        judged_parts = [
            part for part in self.parts if isinstance(part.source, Judge | GroupRanking)
        ]
        judging = asyncio.ensure_future(self._judge_parts(judged_parts, rollouts, rows))
        try:
            values = {
                part.name: await self._compute(part, rollouts, rows)
                for part in self.parts
                if part not in judged_parts
            }
            values |= await judging
        except BaseException:
            judging.cancel()
            raise
        return [
            combine([(part.name, part.weight, values[part.name][place]) for part in self.parts])
            for place in range(len(rollouts))
        ]

    async def _compute(
        self, part: Part, rollouts: Rollouts, rows: Sequence[JsonDict | None]
    ) -> list[RewardValue]:
        if callable(part.source):
            return await part.call(rollouts)
        return [
            RewardValue.missing(_NO_TEXT, 0.0, 1.0) if row is None else part.look(row)
            for row in rows
        ]

    async def _judge_parts(
        self, parts: Sequence[Part], rollouts: Rollouts, rows: Sequence[JsonDict | None]
    ) -> dict[str, list[RewardValue]]:
        return await event_loop.visit(self._judge(parts, rollouts, rows)) if parts else {}

    def judges_only(self) -> Reward:
        """Return a reward of this one's judges alone, with the same memory, for probes.

        Functions may need a completion's tokens, and a ranking needs its group; probes have
        neither. Raise a SetupError if no judge has a weight above 0.
        """
        parts = [part for part in self.parts if isinstance(part.source, Judge) and part.weight]
        if not parts:
            raise SetupError("probes need a judge with a weight above 0 in the reward")
        judges_reward = Reward(
            *parts,
            name=self.name,
            run=self.run,
            budget=self.budget,
            time_limit=self.time_limit,
            columns=self.columns,
            cache_size=self.cache_size,
        )
        judges_reward._cache, judges_reward._turn = self._cache, self._turn
        return judges_reward

    # -- asking, on the home loop -------------------------------------------------

    async def _judge(
        self, parts: Sequence[Part], rollouts: Rollouts, rows: Sequence[JsonDict | None]
    ) -> dict[str, list[RewardValue]]:
        if self.run is None:
            return await self._judge_within(parts, rollouts, rows)
        async with self._turn:  # a ledger has one writer
            return await self._judge_within(parts, rollouts, rows)

    async def _judge_within(
        self, parts: Sequence[Part], rollouts: Rollouts, rows: Sequence[JsonDict | None]
    ) -> dict[str, list[RewardValue]]:
        configurations = {part.name: _configuration(part) for part in parts}
        async with everything_in(self.run, configurations, self.budget) as opened:
            if opened is not None and self.budget is not None:
                # the ledger counts earlier steps, too: they are not a part of this one's budget
                spent = opened.open_budget.spent
                opened.open_budget.budget = self.budget + Budget(
                    spent.usd, spent.calls, spent.tokens
                )
            steps = [_PartStep(self, part, rollouts, rows) for part in parts]
            await self._ask_all(steps)
        return {step.part.name: step.values() for step in steps}

    async def _ask_all(self, steps: Sequence[_PartStep]) -> None:
        """Ask for all parts at once, no longer than the time limit."""
        tasks = [asyncio.ensure_future(step.ask()) for step in steps]
        try:
            done, late = await asyncio.wait(
                tasks, timeout=self.time_limit, return_when=asyncio.FIRST_EXCEPTION
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()
        if late:
            for step in steps:
                step.stopped = step.stopped or Message(
                    "not judged within {seconds:g} seconds", seconds=self.time_limit or 0.0
                )

    def recall(self, part: Part, identity: str) -> RewardValue | None:
        """Return the remembered verdict, or None."""
        return self._cache.get((part.name, identity))

    def remember(self, part: Part, identity: str, value: RewardValue) -> None:
        """Remember a verdict, but no failure; drop the oldest one if the memory is full."""
        if value.value is None or not self.cache_size:
            return
        if len(self._cache) >= self.cache_size:
            self._cache.pop(next(iter(self._cache)))
        self._cache[part.name, identity] = value


class _PartStep:
    """The judging of one call's completions by one part."""

    def __init__(
        self,
        reward: Reward,
        part: Part,
        rollouts: Rollouts,
        rows: Sequence[JsonDict | None],
    ) -> None:
        self.part = part
        self.stopped: Message | None = None
        """The reason why items are left without a verdict."""
        self._reward, self._rollouts, self._rows = reward, rollouts, rows
        self._found: dict[str, RewardValue] = {}
        """Key of an item → its value."""
        self._first: dict[str, str] = {}
        """Identity of an item → the key of the first one that has it."""
        self._same: dict[str, str] = {}
        """Key of an item → its identity."""

    async def ask(self) -> None:
        """Judge every item whose verdict is not known yet, each text once."""
        items = self._items()
        open_items = {}
        for key, item in items.items():
            identity = _instance_of(item).identity
            self._same[key] = identity
            remembered = self._reward.recall(self.part, identity)
            if remembered is not None:
                self._found[key] = remembered
            elif self._first.setdefault(identity, key) == key:
                open_items[key] = item
        ranking = self.part.source
        judge: Any = ranking.judge if isinstance(ranking, GroupRanking) else ranking
        value_of: Callable[[Any], RewardValue] = (
            ranking.share_of if isinstance(ranking, GroupRanking) else self.part.value_of
        )

        def hear(result: Result) -> None:
            key = str(result.instance.id)
            self._found[key] = value = value_of(result)
            self._reward.remember(self.part, self._same[key], value)

        if not open_items:
            return
        try:
            await judge.judge_items([*open_items.values()], progress=hear)
        except BudgetSpent as spent:
            self.stopped = spent.message

    def values(self) -> list[RewardValue]:
        """Return a value per completion."""
        source = self.part.source
        if not isinstance(source, GroupRanking):
            return [self._value(str(place)) for place in range(len(self._rows))]
        values: dict[int, RewardValue] = {}
        for group in self._rollouts.groups():
            there = [place for place in group if self._rows[place] is not None]
            shares = {pair: self._value(_pair_key(*pair)) for pair in source.pairs(there)}
            values |= source.rewards(there, shares)
        none = RewardValue.missing(_NO_TEXT, 0.0, 1.0)
        return [values.get(place, none) for place in range(len(self._rows))]

    def _value(self, key: str) -> RewardValue:
        first_key = self._first.get(self._same.get(key, ""), key)
        value = self._found.get(key) or self._found.get(first_key)
        return value or RewardValue.missing(self.stopped or Message("no verdict"), *self._unknown)

    def _items(self) -> dict[str, Any]:
        """Return the items to judge, by key; raise a SetupError if no row can be judged."""
        if isinstance(self.part.source, GroupRanking):
            return self._comparisons(self.part.source)
        items: dict[str, Any] = {}
        wrong: SetupError | None = None
        for place, row in enumerate(self._rows):
            if row is None:
                self._found[str(place)] = RewardValue.missing(_NO_TEXT, *self._unknown)
                continue
            try:
                items[str(place)] = self.part.item(row)
            except SetupError as error:
                wrong = error
                self._found[str(place)] = RewardValue.missing(error.message, *self._unknown)
        if wrong is not None and not items:
            raise wrong
        return items

    @property
    def _unknown(self) -> tuple[float | None, float | None]:
        return (0.0, 1.0) if self.part.is_bounded else (None, None)

    def _comparisons(self, ranking: GroupRanking) -> dict[str, Any]:
        items = {}
        for group in self._rollouts.groups():
            there = [place for place in group if self._rows[place] is not None]
            for place_a, place_b in ranking.pairs(there):
                key, (row_a, row_b) = (
                    _pair_key(place_a, place_b),
                    (self._rows[place_a], self._rows[place_b]),
                )
                assert row_a is not None
                assert row_b is not None
                if row_a[COMPLETION] == row_b[COMPLETION]:
                    self._found[key] = RewardValue.known(0.5)
                else:
                    items[key] = ranking.item(row_a, row_b, key)
        return items


def _pair_key(first: int, second: int) -> str:
    return f"{first}:{second}"


def _instance_of(item: Any) -> Instance:
    """Return the instance of an item, which may be a case."""
    instance = item if isinstance(item, Instance) else item.instance
    assert isinstance(instance, Instance)
    return instance


def _configuration(part: Part) -> JsonObject:
    source: Any = part.source
    judge: Any
    criteria: Any
    judge, criteria = (
        (source.judge, source.criteria)
        if isinstance(source, GroupRanking)
        else (source, part.criteria)
    )
    configuration: JsonObject = judge.configuration([] if criteria is None else [criteria])
    return configuration


def _parts(sources: Sequence[Source | Part], criteria: CriteriaLike | None) -> tuple[Part, ...]:
    """Return the sources as parts.

    Raise a SetupError if no part has a weight above 0, if two have the same name, or if criteria
    are given without a single judge to use them.
    """
    if criteria is not None and (len(sources) != 1 or isinstance(sources[0], Part)):
        raise SetupError(
            "criteria= works only with a single judge: give each Part its own criteria"
        )
    parts = [source if isinstance(source, Part) else Part(source, criteria) for source in sources]
    if not any(part.weight > 0 for part in parts):
        raise SetupError("a reward needs a part with a weight above 0")
    counts = Counter(part.name for part in parts)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise SetupError("two parts are named {name!r}: give them different names", name=twice[0])
    return tuple(parts)
