"""What judges share: reading their input, running their plan, the sync and the async edge."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import content_hash
from adjudge.domain.instance import Instance
from adjudge.domain.results import Result, Status
from adjudge.domain.vote import Vote
from adjudge.engine.ask import ask
from adjudge.engine.schedule import judge_all
from adjudge.errors import RunError, SetupError
from adjudge.gateway import home
from adjudge.gateway.open import OpenModel


class Item(Protocol):
    """What is judged."""

    @property
    def id(self) -> str | None:
        """What the caller calls it."""
        ...


I = TypeVar("I", bound=Item)  # noqa: E741
R = TypeVar("R", bound=Result)
OnFailure = Literal["abstain", "raise", "random"]
OnTooFew = Literal["fallback", "raise"]
"""The same for sampled criteria, whose callers need a bool or a number."""
InstanceLike = str | Mapping[str, str | Sequence[str]] | Instance


class PlannedJudge(ABC, Generic[I, R]):
    """A judge as two pure halves, ``plan`` and ``pool``, between which ballots are asked. ``I`` is what is judged."""

    max_repairs: int
    on_failure: OnFailure | OnTooFew
    seed: int | None

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
    def stand_in(self, result: R, choice: random.Random) -> R:
        """``result`` with a stand-in, marked as such: a random option for ``on_failure="random"``, a fixed one for "fallback"."""

    @property
    def width(self) -> int:
        """Items under way at once: enough to keep every model busy while others wait for a repair or a retry."""
        return 2 * sum(model.max_concurrency for model in self.panel.values())

    async def ask(self, ballot: Ballot) -> Vote:
        """One vote; a failure is a vote too."""
        return await ask(ballot, self.panel[ballot.model], self.max_repairs)

    async def judge_items(self, items: Sequence[I], progress: Callable[[R], None] | None = None) -> list[R]:
        """A result for each item, in their order."""
        for number, item in enumerate(items, 1):
            try:
                self.check(item)
            except SetupError as error:
                raise SetupError(f"instance {item.id or number}: {error}") from None
        results = await home.visit(judge_all(self, items, progress))
        return [self._after_failure(result) if result.status is not Status.SCORED else result for result in results]

    def _after_failure(self, result: R) -> R:
        if self.on_failure == "raise":
            reasons = "; ".join(dict.fromkeys(f"{vote.model}: {vote.reason}" for vote in result.votes if vote.reason))
            raise RunError(f"no verdict for {result.instance.id or 'an instance'}: {reasons}")
        if self.on_failure in ("random", "fallback"):
            return self.stand_in(result, random.Random(content_hash(self.seed, result.instance.fields)))  # noqa: S311
        return result


def as_instance(item: InstanceLike, field: str) -> Instance:
    """One text, mapping of fields, or instance, as an instance."""
    if isinstance(item, Instance):
        return item
    if isinstance(item, Mapping):
        return Instance(fields=item)
    if isinstance(item, str):
        return Instance(fields={field: item})
    raise SetupError(f"what is judged must be a text, an Instance or a list of them, not {type(item).__name__}")


def at_least(name: str, value: int, least: int) -> None:
    """Say so when ``value`` is no whole number from ``least`` up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SetupError(f"{name} must be a whole number from {least} up, not {value!r}")


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
