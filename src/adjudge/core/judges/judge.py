"""The base of all judges: ``plan`` and ``pool`` are pure, and the ballots between them are asked in
memory or in a run.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from adjudge.core.aio import event_loop
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict, content_hash
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
    """An item to judge, such as an instance with a criterion."""

    @property
    def id(self) -> str | None:
        """Return the caller's name for the item; None if it has none."""
        ...


I = TypeVar("I", bound=Item)  # noqa: E741
R = TypeVar("R", bound=Result)
Progress = Callable[[R], None] | bool
"""Called with each result as it comes; True shows a bar."""
InstanceLike = str | JsonObject | Instance


@light_dataclass(frozen=True)
class StreamWanted(Generic[R]):
    """The settings for judging a stream of items."""

    on_result: Callable[[int, R], None]
    asker: Asker
    run: RunLike | None
    budget: Budget | None
    deferred: DeferredItems | None


class Judge(ConfiguredJudge, Generic[I, R]):
    """Base of all judges: plan, ask, pool. ``I`` is the type of the items, ``R`` of the results."""

    @abstractmethod
    def plan(self, item: I, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots to ask next, given the votes so far; none when there are enough."""

    @abstractmethod
    def pool(self, item: I, votes: Sequence[Vote]) -> R:
        """Pool the votes into one result."""

    @abstractmethod
    def check(self, item: I) -> None:
        """Raise a SetupError if the item cannot be judged.

        It is called for all items before any model is asked.
        """

    @abstractmethod
    def fallback_result(self, result: R, choice: random.Random) -> R:
        """Return ``result`` with a stand-in, marked as such: a random option for
        ``on_failure="random"``, a fixed one for "fallback".
        """

    def ask(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        """Ask for one vote; a failure is a vote too."""
        return ask(ballot, self.panel[ballot.model], self.max_repairs)

    async def answer_once(self, ballot: Ballot) -> Vote:
        """Return the vote on a ballot that several others depend on, such as a persona.

        A run asks it once, keeps it and counts it like any other vote.
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
        """Return a result for each item, in their order.

        ``progress``: True shows a bar, a function is called with each result as it comes. ``run``:
        a folder in which every answer is kept; stored answers are not asked again. ``budget``: the
        spending limit; at the limit BudgetSpent is raised, with the ``results`` so far.
        """
        # Check all items first, so that a bad one costs no calls for the others.
        for number, item in enumerate(items, 1):
            try:
                self.check(item)
            except SetupError as error:
                raise SetupError(
                    "instance {id}: {error}", id=item.id or number, error=error
                ) from None
        results: dict[int, R] = {}
        reported: set[int] = set()
        on_progress = ProgressBar(len(items)) if progress is True else progress or None
        if on_progress is not None and not callable(on_progress):
            raise SetupError("progress must be True or a function, not {value!r}", value=progress)

        def report(number: int, result: R) -> None:
            if on_progress is not None and number not in reported:
                reported.add(number)
                on_progress(result)

        def on_result(number: int, result: R) -> None:
            results[number] = result
            if on_progress is not None:
                report(number, result)

        try:
            if isinstance(run, RunSettings) and run.on is not None:
                await self._judge_on(run.on, items, run, budget, report)
            # After a cluster, every answer is in the ledger: this only pools them.
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
        report: Callable[[int, R], None],
    ) -> None:
        """Have a cluster fill the run's ledger with answers."""
        cluster = Cluster.of(on)
        task = ClusterTask(type(self).__name__, self.criteria_of(items), run, budget)
        await event_loop.visit(cluster.load()(cluster, self, items, task, report))

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
        """Call ``on_result`` with every item's position and result, in the order they come. Memory
        does not grow with the items.

        ``criteria``: the criteria of the items, for the run's record. ``label``: the name under
        which the judgments are filed. ``on_vote``: called with every vote that was asked for.
        ``deferred``: takes the items that a backend answers later.
        """
        name, configuration = label or type(self).__name__, partial(self.configuration, criteria)
        ask_model = self.ask if on_vote is None else _report_votes(self.ask, on_vote)
        asker = Asker(name, ask_model, self.vote_keys(), self.panel.at_once, configuration)
        with calling(judge=partial(self._identity, name, criteria)):
            await event_loop.visit(
                self._stream(items, StreamWanted(on_result, asker, run, budget, deferred))
            )

    def _identity(self, label: str, criteria: Sequence[Criteria]) -> int:
        return hash(
            (label, repr(self.recorded_settings()), *(criterion.name for criterion in criteria))
        )

    async def _stream(self, items: Iterable[I], wanted: StreamWanted[R]) -> None:
        async with vote_source(wanted.asker, wanted.run, wanted.budget) as answers:

            async def store(number: int, result: R, ballots: Sequence[Ballot]) -> None:
                if result.status not in (Status.SCORED, Status.SKIPPED):
                    result = self._after_failure(result)
                await answers.keep_judgment(number, result, self.ballots_of_result(ballots))
                wanted.on_result(number, result)

            with OpenedSession(replace(session(), judge=self, votes=answers)):
                await answers.finish(await judge_each(self, items, answers, store, wanted.deferred))

    def estimate(
        self, items: Iterable[I], known: Known | None = None, prices: PriceTable | None = None
    ) -> CostEstimate:
        """Estimate what judging ``items`` would take, before anything is asked.

        ``known``: the answers that a run already has.
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
            self.failing_ballots,
            all_votes.replacing_ballots,
            self.panel,
        )
        return estimate(judge, items, answered, prices or PriceTable.load())

    def replaced_by(self, votes: Sequence[Vote], min_valid: int = 1) -> Mapping[str, str]:
        """Map the member of the panel that was replaced to its replacement; empty if there is
        none.
        """
        panel = self.panel
        if panel.replacement is None or all(vote.model != panel.replacement for vote in votes):
            return NOTHING
        # The replacement takes one place: with two, one model would count twice.
        failed = panel.failed_members(votes, min_valid)[:1]
        return FrozenDict(dict.fromkeys(failed, panel.replacement))

    def companion(self, criteria: Criteria) -> Companion | None:  # noqa: ARG002
        """Return a function that maps another judge's ballot to this judge's ballot about the same
        row.

        A decision model is then asked both in one request. None if the ballot cannot be derived
        that way.
        """
        return None

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """Return the ballots whose votes belong to the result."""
        return ballots

    def plan_all(self, item: I) -> Sequence[Ballot]:
        """Return all ballots that may be asked about an item, without early stopping."""
        return self.plan(item, ())

    def replacing_ballots(self, item: I) -> Sequence[Ballot]:  # noqa: ARG002
        """Return the ballots for the replacement of a member; none if there is no replacement."""
        return ()

    # Most judges ask every ballot that they plan.
    def failing_ballots(self, item: I) -> Sequence[tuple[Ballot, str]]:  # noqa: ARG002
        """Return the ballots on an item that fail before any model is asked, each with the
        reason.
        """
        return ()

    def plan_if_allowed(self, item: I) -> Sequence[Ballot]:
        """Like ``plan_all``, but also plan an item whose precondition is not known yet."""
        return self.plan_all(item)

    def row_criteria(self) -> Criteria | None:
        """Return the judge's own criterion, which names the fields of a row that it reads; None if
        it has none.
        """
        criteria = getattr(self, "criteria", None)
        return criteria if isinstance(criteria, Criteria) else None

    # Judges whose items bring criteria override this method.
    def criteria_of(self, items: Sequence[I]) -> list[Criteria]:  # noqa: ARG002
        """Return the distinct criteria that ``items`` bring along."""
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


def _report_votes(ask: Ask, on_vote: Callable[[Vote], None]) -> Ask:
    async def ask_and_report(ballot: Ballot) -> Vote:
        vote = await ask(ballot)
        on_vote(vote)
        return vote

    return ask_and_report
