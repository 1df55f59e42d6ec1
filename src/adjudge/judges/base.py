"""What judges share: reading their input, running their plan, the sync and the async edge."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import content_hash
from adjudge.domain.instance import Instance
from adjudge.domain.results import Result, Status
from adjudge.domain.vote import Vote
from adjudge.engine.schedule import judge_all
from adjudge.errors import RunError, SetupError
from adjudge.gateway import home
from adjudge.gateway.open import OpenModel

R = TypeVar("R", bound=Result)
OnFailure = Literal["abstain", "raise", "random"]
InstanceLike = str | Mapping[str, str | Sequence[str]] | Instance


class PlannedJudge(ABC, Generic[R]):
    """A judge as two pure halves, ``plan`` and ``pool``, between which the engine asks the models."""

    max_repairs: int
    on_failure: OnFailure
    seed: int | None

    @property
    @abstractmethod
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots."""

    @abstractmethod
    def plan(self, instance: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""

    @abstractmethod
    def pool(self, instance: Instance, votes: Sequence[Vote]) -> R:
        """The votes as one result."""

    @abstractmethod
    def check(self, instance: Instance) -> None:
        """Raise a SetupError when the instance cannot be judged; called for all of them before any model is."""

    @abstractmethod
    def stand_in(self, result: R, choice: random.Random) -> R:
        """``result`` with a random option, marked as such, for ``on_failure="random"``."""

    @abstractmethod
    def prepare(self, item: InstanceLike, **context: Any) -> Instance:
        """What the caller gave, as the instance that is judged."""

    @overload
    def evaluate(self, instances: InstanceLike, **options: Any) -> R: ...
    @overload
    def evaluate(self, instances: Sequence[InstanceLike], **options: Any) -> list[R]: ...
    def evaluate(self, instances: InstanceLike | Sequence[InstanceLike], **options: Any) -> R | list[R]:
        """Judge a text, an Instance, or a list of them (→ a list). Works in scripts, threads and notebooks.

        ``progress`` is called with each result as it comes; the other options are those of ``prepare``.
        """
        return home.run(self._aevaluate(instances, **options))

    @overload
    async def aevaluate(self, instances: InstanceLike, **options: Any) -> R: ...
    @overload
    async def aevaluate(self, instances: Sequence[InstanceLike], **options: Any) -> list[R]: ...
    async def aevaluate(self, instances: InstanceLike | Sequence[InstanceLike], **options: Any) -> R | list[R]:
        """``evaluate`` for async code."""
        return await self._aevaluate(instances, **options)

    async def _aevaluate(
        self,
        instances: InstanceLike | Sequence[InstanceLike],
        *,
        progress: Callable[[R], None] | None = None,
        **context: Any,
    ) -> R | list[R]:
        if isinstance(instances, str | Mapping | Instance):
            return (await self._judge([self.prepare(instances, **context)], progress))[0]
        return await self._judge([self.prepare(item, **context) for item in instances], progress)

    async def _judge(self, instances: Sequence[Instance], progress: Callable[[R], None] | None) -> list[R]:
        for number, instance in enumerate(instances, 1):
            try:
                self.check(instance)
            except SetupError as error:
                raise SetupError(f"instance {instance.id or number}: {error}") from None
        results = await home.visit(judge_all(self, instances, progress))
        return [self._after_failure(result) if result.status is not Status.SCORED else result for result in results]

    def _after_failure(self, result: R) -> R:
        if self.on_failure == "raise":
            reasons = "; ".join(dict.fromkeys(f"{vote.model}: {vote.reason}" for vote in result.votes if vote.reason))
            raise RunError(f"no verdict for {result.instance.id or 'an instance'}: {reasons}")
        if self.on_failure == "random":
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
