"""What judges share: reading their input, running their plan, the sync and the async edge."""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar

from adjudge.aio import event_loop
from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria
from adjudge.domain.frozen import content_hash, plain
from adjudge.domain.instance import Instance
from adjudge.domain.results import Result, Status
from adjudge.domain.vote import Vote
from adjudge.engine.ask import ask, requests_for
from adjudge.engine.estimate import Estimate, Known, Questions, estimate
from adjudge.engine.run import Asker, LiveVotes, RunLike, answering
from adjudge.engine.schedule import judge_each
from adjudge.errors import RunError, SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.gateway.open import OpenModel
from adjudge.gateway.prices import PriceTable
from adjudge.judges.parameters import explain_parameters
from adjudge.ledger.ledger import key_of
from adjudge.pooling import VERSION as POOLING
from adjudge.prompts.template import wordings
from adjudge.verdicts import VERSION as READER


class Item(Protocol):
    """What is judged."""

    @property
    def id(self) -> str | None:
        """What the caller calls it."""
        ...


I = TypeVar("I", bound=Item)  # noqa: E741
R = TypeVar("R", bound=Result)
Progress = Callable[[R], None]
"""Called with each result as it comes."""
OnFailure = Literal["abstain", "raise", "random"]
OnTooFew = Literal["fallback", "raise"]
"""The same for sampled criteria, whose callers need a bool or a number."""
_ROOM_FOR_A_PANEL = 2048
"""Items that may wait for one model of a panel while the others go on."""
_MOST_VOTES = 10_000
"""Per model and row."""
_NO_SETTINGS = ("models", "inference_engine", "model", "llm", "batch_size")
_DECIDING = {"reader": READER, "pooling": POOLING}
"""The versions that have a part in a verdict."""
InstanceLike = str | Mapping[str, object] | Instance


class PlannedJudge(ABC, Generic[I, R]):
    """A judge as two pure halves, ``plan`` and ``pool``, between which ballots are asked. ``I`` is what is judged."""

    max_repairs: int
    on_failure: OnFailure | OnTooFew
    seed: int | None
    temperature: float | None = None
    early_stop: bool = False

    def __init_subclass__(cls) -> None:
        """Have ``help()`` explain the parameters from base classes too."""
        super().__init_subclass__()
        explain_parameters(cls)

    @property
    @abstractmethod
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots."""

    @abstractmethod
    def plan(self, item: I, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""

    @abstractmethod
    def pool(self, item: I, votes: Sequence[Vote]) -> R:
        """The votes as one result."""

    @abstractmethod
    def check(self, item: I) -> None:
        """Raise a SetupError when the item cannot be judged; called for all of them before any model is."""

    @abstractmethod
    def fallback_result(self, result: R, choice: random.Random) -> R:
        """``result`` with a stand-in, marked as such: a random option for ``on_failure="random"``, a fixed one for "fallback"."""

    @property
    def width(self) -> int:
        """Items under way at once: enough to keep every model busy while others wait for a repair or a retry."""
        busy = 2 * sum(model.max_concurrency for model in self.panel.values())
        return busy if len(self.panel) < 2 else max(busy, _ROOM_FOR_A_PANEL)

    async def ask(self, ballot: Ballot) -> Vote:
        """One vote; a failure is a vote too."""
        return await ask(ballot, self.panel[ballot.model], self.max_repairs)

    async def ask_shared(self, ballot: Ballot) -> Vote:
        """The vote on a ballot that others wait for: asked once a run, kept and counted like any other."""
        judge, answers = _ASKING.get() or (None, None)
        return await (answers.ask_shared(ballot) if answers and judge is self else self.ask(ballot))

    async def judge_items(
        self,
        items: Sequence[I],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> list[R]:
        """A result for each item, in their order.

        ``progress`` is called with each result as it comes. ``run``: a folder in which every answer is kept; what it
        holds already is not asked again. ``budget``: what may be spent; at its limit BudgetSpent is raised.
        """
        for number, item in enumerate(items, 1):
            try:
                self.check(item)
            except SetupError as error:
                raise SetupError(f"instance {item.id or number}: {error}") from None
        results: dict[int, R] = {}

        def saw(number: int, result: R) -> None:
            results[number] = result
            if progress:
                progress(result)

        await self.judge_stream(items, saw, run=run, budget=budget, criteria=self.criteria_of(items))
        return [results[number] for number in range(len(items))]

    async def judge_stream(
        self,
        items: Iterable[I],
        saw: Callable[[int, R], None],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        criteria: Sequence[Criteria] = (),
        label: str | None = None,
    ) -> None:
        """Have ``saw`` told of every result, with its item's place, in the order they come. Memory does not grow with items.

        ``criteria``: what the items are judged by, for the run's record. ``label``: what the judgments are filed under.
        """
        at_once = {name: model.max_concurrency for name, model in self.panel.items()}
        configuration = self.configuration(criteria) if run or budget else {}
        asker = Asker(label or type(self).__name__, self.ask, self.vote_key, at_once, configuration)
        await event_loop.visit(self._stream(items, saw, asker, run, budget))

    async def _stream(
        self, items: Iterable[I], saw: Callable[[int, R], None], asker: Asker, run: RunLike | None, budget: Budget | None
    ) -> None:
        async with answering(asker, run, budget) as answers, _asking(self, answers):

            async def pooled(number: int, result: R, ballots: Sequence[Ballot]) -> None:
                result = self._after_failure(result) if result.status is not Status.SCORED else result
                await answers.keep_judgment(number, result, ballots)
                saw(number, result)

            await answers.finish(await judge_each(self, items, answers, pooled))

    def estimate(self, items: Iterable[I], known: Known | None = None, prices: PriceTable | None = None) -> Estimate:
        """What judging ``items`` would take, before anything is asked. ``known`` says what a run was answered already."""
        all_votes = replace(self, early_stop=False) if self.early_stop else self  # type: ignore[type-var]
        caching = {name: model for name, model in self.panel.items() if model.keeps_replies}

        def has_reply(ballot: Ballot) -> bool:
            model = caching.get(ballot.model)
            return model is not None and all(map(model.has_reply, requests_for(ballot)))

        answered = known or Known()
        judge = Questions(self, all_votes, lambda ballot: self.vote_key(ballot, answered.wordings), has_reply)
        return estimate(judge, items, answered, prices or PriceTable.load())

    def vote_key(self, ballot: Ballot, wordings: Mapping[str, str] | None = None) -> bytes:
        """What a ballot's vote is found by in a ledger; ``wordings``: of the prompts when that run began."""
        return key_of(ballot, self._identities.get(ballot.model, ballot.model), wordings or {})

    @cached_property
    def _identities(self) -> Mapping[str, str]:
        return {name: model.identity for name, model in self.panel.items()}

    def configuration(self, criteria: Sequence[Criteria] = ()) -> dict[str, Any]:
        """Everything that decides what is asked and how it is pooled: the provenance of a run."""
        import platform
        from importlib.metadata import version

        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if _is_setting(entry.name)}  # type: ignore[arg-type]
        return {
            "judge": type(self).__name__,
            "settings": {name: _plain_setting(value) for name, value in own.items()},
            "models": {name: _model(model) for name, model in self.panel.items()},
            "criteria": [plain(one) for one in criteria],
            "templates": wordings(own.get("language", "en")),
            "versions": {"adjudge": version("adjudge"), "python": platform.python_version(), **_DECIDING},
        }

    def criteria_of(self, items: Sequence[I]) -> list[Criteria]:  # noqa: ARG002 - judges whose items bring them say which
        """The criteria that ``items`` bring along, each once."""
        return []

    def _after_failure(self, result: R) -> R:
        if self.on_failure == "raise":
            reasons = "; ".join(dict.fromkeys(f"{vote.model}: {vote.reason}" for vote in result.votes if vote.reason))
            raise RunError(f"no verdict for {result.instance.id or 'an instance'}: {reasons}")
        if self.on_failure in ("random", "fallback"):
            return self.fallback_result(result, random.Random(content_hash(self.seed, result.instance.fields)))  # noqa: S311
        return result


_ASKING: ContextVar[tuple[object, LiveVotes] | None] = ContextVar("asking", default=None)
"""The judge whose ballots are being asked, and who answers them."""


@asynccontextmanager
async def _asking(judge: object, answers: LiveVotes) -> AsyncIterator[None]:
    token = _ASKING.set((judge, answers))
    try:
        yield
    finally:
        _ASKING.reset(token)


def _is_setting(name: str) -> bool:
    return not name.startswith("_") and name not in _NO_SETTINGS


def _plain_setting(value: object) -> object:
    """A setting as JSON-ready data; of anything else, the name of its type."""
    return json.loads(json.dumps(plain(value), default=lambda thing: type(thing).__name__))


def _model(model: OpenModel) -> dict[str, object]:
    return {"identity": model.identity, "temperature": model.temperature, "seed": model.seed}


def at_least(name: str, value: int, least: int) -> None:
    """Say so when ``value`` is no whole number from ``least`` up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SetupError(f"{name} must be a whole number from {least} up, not {value!r}")


def check_votes(name: str, value: int) -> None:
    """Say so when ``value`` is no number of votes: all of them are planned at once, so there is a most."""
    at_least(name, value, 1)
    if value > _MOST_VOTES:
        raise SetupError(f"{name} must be at most {_MOST_VOTES:,}, not {value:,}")


def one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Say so when ``value`` is none of ``allowed``."""
    if value not in allowed:
        raise SetupError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def check_mode(mode: str | None, panel: Mapping[str, OpenModel]) -> None:
    """Say so when ``mode`` is no mode, or one that a model documents it cannot do."""
    if mode is not None:
        one_of("mode", mode, ("generate", "likelihood"))
    for name, model in panel.items():
        if mode == "likelihood" and not model.capabilities.logprobs:
            raise SetupError(f"{name} gives no log-probabilities: mode='likelihood' cannot be used with it")


def temperature_for(model: OpenModel, wanted: float | None, samples: int) -> float:
    """The judge's temperature, else the model's, else 0 for one sample and 1 for several."""
    for chosen in (wanted, model.temperature):
        if chosen is not None:
            return chosen
    return 0.0 if samples == 1 else 1.0


def seed_for(model: OpenModel, wanted: int | None, sample: int) -> int | None:
    """Sample *i* gets seed + i, where the judge or the model has a seed."""
    seed = wanted if wanted is not None else model.seed
    return None if seed is None else seed + sample
