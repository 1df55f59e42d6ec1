"""A judge: two pure halves, ``plan`` and ``pool``, between which its ballots are asked, in memory
or in a run.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from adjudge.core.aio import event_loop
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.result_list import ResultList
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import ask
from adjudge.core.engine.cluster import Cluster, ClusterTask, On
from adjudge.core.engine.estimate import CostEstimate, Known, Questions, estimate
from adjudge.core.engine.progress_bar import ProgressBar
from adjudge.core.engine.run import Ask, Asker, RunLike, RunSettings, vote_source
from adjudge.core.engine.schedule import DeferredItems, judge_each
from adjudge.core.engine.session import Companion, OpenedSession, session
from adjudge.core.gateway.layers.budget import Budget, calling
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.configuration import ConfiguredJudge
from adjudge.errors import BudgetSpent, RunError, SetupError
from adjudge.messages import Message, join


class Item(Protocol):
    """One instance with one criterion: what a plan is made for."""

    @property
    def id(self) -> str | None:
        """What the caller calls it."""
        ...


I = TypeVar("I", bound=Item)  # noqa: E741
R = TypeVar("R", bound=Result)
Progress = Callable[[R], None] | bool
"""Called with each result as it comes; True shows a bar."""
InstanceLike = str | JsonObject | Instance


@light_dataclass(frozen=True)
class StreamWanted(Generic[R]):
    """Who asks about the items of a stream, within which limits, and who gets the results."""

    on_result: Callable[[int, R], None]
    asker: Asker
    run: RunLike | None
    budget: Budget | None
    deferred: DeferredItems | None


class Judge(ConfiguredJudge, Generic[I, R]):
    """What every judge does: plan, ask, pool. ``I`` is what is judged."""

    @abstractmethod
    def plan(self, item: I, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """The ballots to ask next, given the votes so far; none when there are enough."""

    @abstractmethod
    def pool(self, item: I, votes: Sequence[Vote]) -> R:
        """The votes as one result."""

    @abstractmethod
    def check(self, item: I) -> None:
        """Raise a SetupError when the item cannot be judged; called for all of them before any
        model is.
        """

    @abstractmethod
    def fallback_result(self, result: R, choice: random.Random) -> R:
        """``result`` with a stand-in, marked as such: a random option for ``on_failure="random"``,
        a fixed one for "fallback".
        """

    def ask(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        """One vote; a failure is a vote too."""
        return ask(ballot, self.panel[ballot.model], self.max_repairs)

    async def answer_once(self, ballot: Ballot) -> Vote:
        """The vote on a ballot that others wait for: asked once a run, kept and counted like any
        other.
        """
        now = session()
        if now.votes is None or now.judge is not self:
            return await self.ask(ballot)
        return await now.votes.answer_once(ballot)

    async def judge_items(
        self,
        items: Sequence[I],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> list[R]:
        """A result for each item, in their order.

        ``progress``: True shows a bar, a function is called with each result as it comes. ``run``:
        a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent; at its limit BudgetSpent is raised, with the ``results`` so
        far.
        """
        for number, item in enumerate(items, 1):
            try:
                self.check(item)
            except SetupError as error:
                raise SetupError(
                    "instance {id}: {error}", id=item.id or number, error=error
                ) from None
        results: dict[int, R] = {}
        told: set[int] = set()
        hear = ProgressBar(len(items)) if progress is True else progress or None
        if hear is not None and not callable(hear):
            raise SetupError("progress is True or a function, not {value!r}", value=progress)

        def tell(number: int, result: R) -> None:
            if hear is not None and number not in told:
                told.add(number)
                hear(result)

        def on_result(number: int, result: R) -> None:
            results[number] = result
            if hear is not None:
                tell(number, result)

        try:
            if isinstance(run, RunSettings) and run.on is not None:
                await self._judge_on(run.on, items, run, budget, tell)
            await self.judge_stream(
                items, on_result, run=run, budget=budget, criteria=self.criteria_of(items)
            )
        except BudgetSpent as spent:
            spent.results = dict(sorted(results.items()))
            raise
        return ResultList([results[number] for number in range(len(items))])

    async def _judge_on(
        self,
        on: On,
        items: Sequence[I],
        run: RunSettings,
        budget: Budget | None,
        told: Callable[[int, R], None],
    ) -> None:
        """Have a cluster answer; what follows finds the answers in the run's ledger."""
        cluster = Cluster.of(on)
        task = ClusterTask(type(self).__name__, self.criteria_of(items), run, budget)
        await event_loop.visit(cluster.load()(cluster, self, items, task, told))

    async def judge_stream(
        self,
        items: Iterable[I],
        on_result: Callable[[int, R], None],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        criteria: Sequence[Criteria] = (),
        label: str | None = None,
        on_vote: Callable[[Vote], None] | None = None,
        deferred: DeferredItems | None = None,
    ) -> None:
        """Call ``on_result`` with every item's place and result, in the order they come. Memory
        does not grow with the items.

        ``criteria``: what the items are judged by, for the run's record. ``label``: what the
        judgments are filed under. ``on_vote``: called with every vote that was asked for.
        ``deferred``: takes the items that a backend answers later.
        """
        name, configuration = label or type(self).__name__, partial(self.configuration, criteria)
        asked = self.ask if on_vote is None else _told(self.ask, on_vote)
        asker = Asker(name, asked, self.vote_keys(), self.panel.at_once, configuration)
        with calling(judge=partial(self._identity, name, criteria)):
            await event_loop.visit(
                self._stream(items, StreamWanted(on_result, asker, run, budget, deferred))
            )

    def _identity(self, label: str, criteria: Sequence[Criteria]) -> int:
        return hash((label, repr(self.recorded_settings()), *(one.name for one in criteria)))

    async def _stream(self, items: Iterable[I], wanted: StreamWanted[R]) -> None:
        async with vote_source(wanted.asker, wanted.run, wanted.budget) as answers:

            async def pooled(number: int, result: R, ballots: Sequence[Ballot]) -> None:
                if result.status not in (Status.SCORED, Status.SKIPPED):
                    result = self._after_failure(result)
                await answers.keep_judgment(number, result, self.kept_ballots(ballots))
                wanted.on_result(number, result)

            with OpenedSession(replace(session(), judge=self, votes=answers)):
                await answers.finish(
                    await judge_each(self, items, answers, pooled, wanted.deferred)
                )

    def estimate(
        self, items: Iterable[I], known: Known | None = None, prices: PriceTable | None = None
    ) -> CostEstimate:
        """What judging ``items`` would take, before anything is asked.

        ``known`` says what a run was answered already.
        """
        answered, key = known or Known(), self.vote_keys()
        all_votes = self
        if self.early_stop:
            all_votes = replace(self, early_stop=False)  # type: ignore[type-var]
        judge = Questions(
            self,
            all_votes.plan_all,
            lambda ballot: key(ballot, answered.wordings),
            self.panel.has_reply,
            self.not_asked,
        )
        return estimate(judge, items, answered, prices or PriceTable.load())

    def companion(self, criteria: Criteria) -> Companion | None:  # noqa: ARG002
        """Return what this judge asks about a row that another judge asks about, so that a decision
        model is asked both at once; None if that cannot be told from the other ballot.
        """
        return None

    def kept_ballots(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """Those whose votes belong to the result."""
        return ballots

    def plan_all(self, item: I) -> Sequence[Ballot]:
        """All ballots that may be asked about an item, by a judge that does not stop early."""
        return self.plan(item, ())

    # most ask all that they plan
    def not_asked(self, item: I) -> Sequence[tuple[Ballot, str]]:  # noqa: ARG002
        """The ballots on an item that will fail before any model is asked, each with the reason."""
        return ()

    def plan_if_allowed(self, item: I) -> Sequence[Ballot]:
        """The same, also of an item that is judged only if something holds that is not known
        yet.
        """
        return self.plan_all(item)

    def row_criteria(self) -> Criteria | None:
        """The criterion of a judge that brings its own, with the fields of a row that it reads."""
        own = getattr(self, "criteria", None)
        return own if isinstance(own, Criteria) else None

    # judges whose items bring them say which
    def criteria_of(self, items: Sequence[I]) -> list[Criteria]:  # noqa: ARG002
        """The criteria that ``items`` bring along, each once."""
        return []

    def _after_failure(self, result: R) -> R:
        if self.on_failure == "raise":
            reasons = join(
                "; ",
                dict.fromkeys(
                    join(": ", (vote.model, vote.reason)) for vote in result.votes if vote.reason
                ),
            )
            raise RunError(
                "no verdict for {id}: {reasons}",
                id=result.instance.id or Message("an instance"),
                reasons=reasons or result.reason,
            )
        if self.on_failure in ("random", "fallback"):
            return self.fallback_result(
                result,
                random.Random(content_hash(self.seed, result.instance.fields)),  # noqa: S311
            )
        return result


def _told(ask: Ask, on_vote: Callable[[Vote], None]) -> Ask:
    async def asked(ballot: Ballot) -> Vote:
        vote = await ask(ballot)
        on_vote(vote)
        return vote

    return asked
