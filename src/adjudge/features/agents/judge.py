"""The agent evaluator: trajectories by rules, which cost nothing, and by questions to models."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import overload

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.judge import Judge, Progress
from adjudge.core.judges.settings import NO_MODELS, ModelPanel, check_mode
from adjudge.core.prompts.renderer import ABOUT_STEPS
from adjudge.features.agents.item import AgentItem, RowWork, as_instance, trajectory_in
from adjudge.features.agents.measure_plan import Measuring
from adjudge.features.agents.measures import REPORTED
from adjudge.features.agents.model_measures import POINTS
from adjudge.features.agents.result import MeasureResult, TrajectoryResult
from adjudge.features.agents.scope import parts_of
from adjudge.features.agents.settings import AgentSettings
from adjudge.features.agents.systems import runs_in
from adjudge.features.agents.trajectory import Trajectory
from adjudge.features.agents.window import StepsBudget
from adjudge.features.evidence.judge import with_wording

_WITHOUT_MODELS = 64
"""Rows under way at once where nobody is asked."""
Given = str | Path | Trajectory | Instance | Sequence[Trajectory | Instance | Sequence[object]]


@dataclass(frozen=True)
class AgentEvaluator(AgentSettings, Judge[AgentItem, MeasureResult]):
    """Measures what an agent did.

    Rules come first: they ask nobody, and say which call at which step. What needs a model is one
    question each, answered with steps and quotes that a program looks for.
    """

    _points: dict[str, asyncio.Task[Vote]] = field(
        init=False, repr=False, compare=False, default_factory=dict, kw_only=True
    )

    def __post_init__(self) -> None:
        self.take_names()
        super().__post_init__()
        check_mode(self.mode, self.panel)

    def check_settings(self) -> None:
        """Raise a SetupError when the fields cannot be."""
        super().check_settings()
        self.check_measured()

    def open_models(self) -> ModelPanel:
        """The models, ready to be asked; rules need none."""
        return ModelPanel.of(self.models) if self.asks else NO_MODELS

    @property
    def samples(self) -> int:
        """Votes per model and question."""
        return self.votes

    @property
    def max_in_flight(self) -> int:
        """How many measures are under way at the same time."""
        return super().max_in_flight or _WITHOUT_MODELS

    def criteria_of(self, items: Sequence[AgentItem]) -> list[Criteria]:  # noqa: ARG002
        """What is asked, whatever the rows."""
        return list(self.criteria)

    # -- rows ----------------------------------------------------------------

    def rows(self, instance: Instance) -> list[AgentItem]:
        """What is looked at of a row, or of all runs of a task, one for each result."""
        return [
            AgentItem(own, part, name, first=place == 0, judged_step=step, work=work)
            for run in runs_in(instance)
            for own, part, step in parts_of(run, trajectory_in(run), self.per, self.picked)
            for work in [RowWork()]
            for place, name in enumerate(self.measures)
        ]

    @overload
    async def aevaluate(
        self,
        trajectories: Trajectory | Instance,
        *,
        format: str | None = ...,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[MeasureResult] | None = ...,
    ) -> TrajectoryResult | list[TrajectoryResult]: ...
    @overload
    async def aevaluate(
        self,
        trajectories: str | Path | Sequence[Trajectory | Instance | Sequence[object]],
        *,
        format: str | None = ...,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[MeasureResult] | None = ...,
    ) -> list[TrajectoryResult]: ...
    async def aevaluate(
        self,
        trajectories: Given,
        *,
        format: str | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[MeasureResult] | None = None,
    ) -> TrajectoryResult | list[TrajectoryResult]:
        """Measure one Trajectory (→ one result), or many (→ a list).

        Many are a file or a folder of traces, or a list of trajectories, Instances or messages.
        With ``per`` "turn" or "step" one trajectory has a list of results, too. ``format``: of the
        traces, if their structure does not show it.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """
        items = [item for one in instances_of(trajectories, format) for item in self.rows(one)]
        results = await self.judge_items(items, run=run, budget=budget, progress=progress)
        width = len(self.measures)
        found = [
            TrajectoryResult(
                items[start].instance,
                items[start].trajectory,
                {one.measure: one for one in results[start : start + width]},
            )
            for start in range(0, len(items), width)
        ]
        is_one = isinstance(trajectories, Trajectory | Instance) and self.per == "trajectory"
        return found[0] if is_one and len(found) == 1 else found

    evaluate = sync_edge(aevaluate)

    def check(self, item: AgentItem) -> None:
        """Whatever a trajectory lacks is a result, not an error."""

    # -- plan and pool ---------------------------------------------------------

    @cached_property
    def measuring(self) -> Measuring:
        """All measures, ready to be planned and pooled."""
        return Measuring(self, self.budget, self._ballots)

    @cached_property
    def budget(self) -> StepsBudget:
        """How many tokens of steps the models can be shown."""
        windows = {name: model.window for name, model in self.panel.items()}
        return StepsBudget(self.steps_tokens, windows)

    def _ballots(
        self, criteria: Criteria, instance: Instance, question: Choice, template: str, votes: int
    ) -> list[Ballot]:
        return [
            self.ballot_for(criteria, instance, question, template, model, sample, self.mode)
            for model in self.panel
            for sample in range(votes)
        ]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """What the conditions need first, then the question itself."""
        return self.measuring.plan(item, votes)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """All that may be asked; what is too long to be shown will not be."""
        found = self.measuring.plan_all(item)
        return [ballot for ballot in found if self.budget.reason_against(ballot) is None]

    def failing_ballots(self, item: AgentItem) -> Sequence[tuple[Ballot, str]]:
        """The votes that will fail before anybody is asked: what is too long, with its size."""
        return self.budget.too_long(self.measuring.plan_all(item))

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """The number of a rule, or what the votes come to."""
        found = self.measuring.pool(item, votes)
        return replace(found, trajectory=item.trajectory) if item.first else found

    def fallback_result(self, result: MeasureResult, choice: random.Random) -> MeasureResult:
        """A random option where there are some; the status stays what it was."""
        options = [one for one in result.criteria.options if one.points is not None]
        if not options:
            return result
        option = choice.choice(options)
        return replace(result, option=option.name, score=option.points, fallback="random")

    # -- asking ----------------------------------------------------------------

    async def ask(self, ballot: Ballot) -> Vote:
        """One vote; a failure is a vote too, and so is what is too long to be shown."""
        reason = self.budget.reason_against(ballot)
        if reason is not None:
            return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=reason)
        if ballot.template != POINTS:
            return await super().ask(ballot)
        # once for all runs of a task, so that they are measured by the same list
        known = self._points.get(ballot.id)
        if known is None or (known.done() and not _answered(known)):
            known = self._points[ballot.id] = asyncio.ensure_future(super().ask(ballot))
        return await asyncio.shield(known)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """With the wording of the questions about steps."""
        made = super().configuration(criteria or self.criteria)
        if not self.asks:
            return made
        return with_wording(
            made, self.language, sentences=REPORTED in self.measuring.questions, others=ABOUT_STEPS
        )

    def recorded_settings(self) -> dict[str, object]:
        """What is set; files by what stands in them."""
        found = super().recorded_settings()
        return {**found, "policy": self.policy_text, "expect": repr(self.expectations.calls)}


def instances_of(given: Given, format: str | None = None) -> Iterator[Instance]:
    """What a program gave, as rows with a trajectory each."""
    from adjudge.features.agents.traces.files import placed_traces

    if isinstance(given, str | Path):
        yield from (row.instance(place) for place, row in placed_traces(given, format))
        return
    if isinstance(given, Trajectory | Instance):
        given = [given]
    if given and all(isinstance(one, Mapping) for one in given):
        given = [Trajectory.of(given)]
    for number, one in enumerate(given, 1):
        if isinstance(one, Instance):
            yield one
        else:
            run = one if isinstance(one, Trajectory) else Trajectory.of(one)
            yield as_instance(run, number, {})


def _answered(known: asyncio.Task[Vote]) -> bool:
    return not known.cancelled() and known.exception() is None and known.result().valid
