"""The agent evaluator: judge trajectories by rules, which cost nothing, and by questions to
models.
"""

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
from adjudge.errors import SetupError
from adjudge.features.agents.item import AgentItem, RowWork, as_instance, trajectory_in
from adjudge.features.agents.measure_plan import Measuring
from adjudge.features.agents.measures import REPORTED
from adjudge.features.agents.model_measures import POINTS
from adjudge.features.agents.result import MeasureResult, TrajectoryResult
from adjudge.features.agents.scope import parts_of
from adjudge.features.agents.settings import AgentSettings
from adjudge.features.agents.systems import by_task, runs_in
from adjudge.features.agents.traces.files import placed_traces
from adjudge.features.agents.traces.reader import read_rows
from adjudge.features.agents.traces.row import TraceRow
from adjudge.features.agents.trajectory import Trajectory
from adjudge.features.agents.window import StepsBudget
from adjudge.features.evidence.judge import with_wording
from adjudge.runs.results.systems import SystemDifference, SystemsTally

_WITHOUT_MODELS = 64
"""Rows under way at once where nobody is asked."""
Row = Mapping[str, object]
"""A run from a program, with its columns: ``{"messages": [...], "reference_calls": [...]}``."""
Rows = Sequence[Trajectory | Instance | Sequence[object] | Row]
Given = str | Path | Trajectory | Instance | Row | Rows


@dataclass(frozen=True)
class AgentEvaluator(AgentSettings, Judge[AgentItem, MeasureResult]):
    """Measures an agent's trajectory.

    Rules need no model, and name the call and the step. The other measures ask models, which
    answer with steps and quotes that are checked against the trace.

    Example::

        judge = AgentEvaluator("openai/gpt-4o-mini", measures=["errors", "steps", "goal"])
        for result in judge.evaluate("runs.jsonl"):
            print(result.id, result.scores, result.options["goal"])
    """

    _points: dict[str, asyncio.Task[Vote]] = field(
        init=False, repr=False, compare=False, default_factory=dict, kw_only=True
    )

    def __post_init__(self) -> None:
        self.take_names()
        super().__post_init__()
        check_mode(self.mode, self.panel)
        if self.derive and self.panel and len(self.panel.deciding) == len(self.panel):
            raise SetupError(
                "{model} is a decision model, which generates no text: it cannot derive a "
                "checklist. Add the column checklist, or a model that writes",
                model=self.panel.deciding[0],
            )

    def check_settings(self) -> None:
        """Raise a SetupError if the fields do not fit together."""
        super().check_settings()
        self.check_agent_settings()

    def open_models(self) -> ModelPanel:
        """Open the models; return an empty panel if all measures are rules."""
        return ModelPanel.of(self.models) if self.asks else NO_MODELS

    @property
    def samples(self) -> int:
        """Votes per model and question."""
        return self.votes

    @property
    def max_in_flight(self) -> int:
        """The maximum number of measures in progress at the same time."""
        return super().max_in_flight or _WITHOUT_MODELS

    def criteria_of(self, items: Sequence[AgentItem]) -> list[Criteria]:  # noqa: ARG002
        """Return the criteria, which do not depend on the rows."""
        return list(self.criteria)

    # -- rows ----------------------------------------------------------------

    def rows(self, instance: Instance) -> list[AgentItem]:
        """Return one item for each measure of each part of each run in the instance."""
        return [
            AgentItem(instance_part, part, name, first=place == 0, judged_step=step, work=work)
            for run in runs_in(instance)
            for instance_part, part, step in parts_of(
                run, trajectory_in(run), self.per, self.picked
            )
            for work in [RowWork()]
            for place, name in enumerate(self.measures)
        ]

    @overload
    async def aevaluate(
        self,
        trajectories: Trajectory | Instance | Row,
        *,
        format: str | None = ...,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[MeasureResult] | None = ...,
    ) -> TrajectoryResult | list[TrajectoryResult]: ...
    @overload
    async def aevaluate(
        self,
        trajectories: str | Path | Rows,
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

        One may also be a row: a mapping with ``messages`` and columns such as ``id`` and
        ``reference_calls``. Many are a file or a folder of traces, or a list of trajectories,
        Instances, rows or messages.
        With ``per`` "turn" or "step", even one trajectory returns a list. ``format``: the
        trace format, if it cannot be detected.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """
        items = [item for row in instances_of(trajectories, format) for item in self.rows(row)]
        results = await self.judge_items(items, run=run, budget=budget, progress=progress)
        width = len(self.measures)
        trajectory_results = [
            TrajectoryResult(
                items[start].instance,
                items[start].trajectory,
                {result.measure: result for result in results[start : start + width]},
            )
            for start in range(0, len(items), width)
        ]
        is_one = (
            isinstance(trajectories, Trajectory | Instance | Mapping) and self.per == "trajectory"
        )
        return (
            trajectory_results[0] if is_one and len(trajectory_results) == 1 else trajectory_results
        )

    evaluate = sync_edge(aevaluate)

    def compare_systems(
        self, systems: Mapping[str, Given], *, run: RunLike | None = None
    ) -> tuple[SystemDifference, ...]:
        """Compare each pair of systems on every measure.

        ``systems``: each system's runs, as a file, a folder of traces, or a list. Tasks are matched
        by ``task_id``, else by their id; runs passed as Python objects without either, by position.
        ``run``: a folder that stores every answer.
        """
        rows = ((name, row) for name, runs in systems.items() for row in instances_of(runs))
        instances = [instance for task in by_task(rows) for instance in runs_in(task)]
        tally, judge = SystemsTally(), type(self).__name__
        for index, result in enumerate(self.evaluate(instances, run=run)):
            for measure_result in result.results.values():
                tally.add(measure_result.record(judge, index))
        return tally.summary()

    def check(self, item: AgentItem) -> None:
        """Accept any item; missing data is reported in the result instead of raising an error."""

    # -- plan and pool ---------------------------------------------------------

    @cached_property
    def measuring(self) -> Measuring:
        """Plans and pools all measures."""
        return Measuring(self, self.budget, self._ballots)

    @cached_property
    def budget(self) -> StepsBudget:
        """The token budget for the steps that the models can be shown."""
        windows = {name: model.window for name, model in self.panel.items()}
        return StepsBudget(self.steps_tokens, windows)

    def _ballots(
        self,
        criteria: Criteria,
        instance: Instance,
        question: Choice,
        template: str,
        votes: int,
        *,
        deciding: bool | None = None,
    ) -> list[Ballot]:
        return [
            self.ballot_for(criteria, instance, question, template, model, sample, self.mode)
            for model in self.panel
            if deciding is None or (model in self.panel.deciding) is deciding
            for sample in range(votes)
        ]

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the next ballots: first those for the conditions, then those for the measure
        itself.
        """
        return self.measuring.plan(item, votes)

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """Return all ballots that may be cast, except those too long for the models."""
        ballots = self.measuring.plan_all(item)
        return [ballot for ballot in ballots if self.budget.reason_against(ballot) is None]

    def failing_ballots(self, item: AgentItem) -> Sequence[tuple[Ballot, str]]:
        """Return the ballots that fail without a request because they are too long, with the
        reason.
        """
        return self.budget.too_long(self.measuring.plan_all(item))

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """Apply the rule or pool the votes. The first measure of a row also stores the
        trajectory.
        """
        result = self.measuring.pool(item, votes)
        return replace(result, trajectory=item.trajectory) if item.first else result

    def fallback_result(self, result: MeasureResult, choice: random.Random) -> MeasureResult:
        """Return the result with a random scored option, if the criteria have any. The status
        does not change.
        """
        options = [
            criteria_option
            for criteria_option in result.criteria.options
            if criteria_option.points is not None
        ]
        if not options:
            return result
        option = choice.choice(options)
        return replace(result, option=option.name, score=option.points, fallback="random")

    # -- asking ----------------------------------------------------------------

    async def ask(self, ballot: Ballot) -> Vote:
        """Cast one ballot. Errors, and ballots that are too long, become failed votes.

        The points of a derived checklist are requested once for all runs of a task.
        """
        reason = self.budget.reason_against(ballot)
        if reason is not None:
            return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=reason)
        if ballot.template != POINTS:
            return await super().ask(ballot)
        # once for all runs of a task, so that they are measured by the same list; shielded, since
        # other runs wait for the same task
        points_task = self._points.get(ballot.id)
        has_failed = (
            points_task is not None
            and points_task.done()
            and (
                points_task.cancelled()
                or points_task.exception() is not None
                or not points_task.result().valid
            )
        )
        if points_task is None or has_failed:
            points_task = self._points[ballot.id] = asyncio.ensure_future(super().ask(ballot))
        return await asyncio.shield(points_task)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the configuration; if a model is asked, with the wording of the questions
        about steps.
        """
        configuration_data = super().configuration(criteria or self.criteria)
        if not self.asks:
            return configuration_data
        return with_wording(
            configuration_data,
            self.language,
            sentences=REPORTED in self.measuring.questions,
            further_templates=ABOUT_STEPS,
        )

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings, with the contents of files instead of their paths."""
        recorded = super().recorded_settings()
        return {**recorded, "policy": self.policy_text, "expect": repr(self.expectations.calls)}


def instances_of(source: Given, format: str | None = None) -> Iterator[Instance]:
    """Yield one row per trajectory in a file, a folder or a Python object."""
    if isinstance(source, str | Path):
        yield from (row.instance(place) for place, row in placed_traces(source, format))
        return
    if isinstance(source, Trajectory | Instance | Mapping):
        source = [source]
    # a list of mappings is one chat, or several rows, which its structure shows
    if source and all(isinstance(entry, Mapping) for entry in source):
        source = [source]
    number = 0
    for entry in source:
        if isinstance(entry, Instance):
            number += 1
            yield entry
            continue
        if isinstance(entry, str):
            raise SetupError(
                "{text!r} is not a trajectory: pass messages, a Trajectory or the path of a file",
                text=entry[:80],
            )
        rows = [TraceRow(entry)] if isinstance(entry, Trajectory) else read_rows(entry, format)
        for row in rows:
            number += 1
            yield as_instance(row.trajectory, number, row.columns)
