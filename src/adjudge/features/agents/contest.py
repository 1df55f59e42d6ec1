"""Compare two runs of one task: which one reached the goal better?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.results import PairwiseInstanceResult
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.case import Case
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.core.prompts.fence import neutral, without_headers
from adjudge.features.agents.item import trajectory_in
from adjudge.features.agents.judge import Given, instances_of
from adjudge.features.agents.measures import BETTER, own_criteria
from adjudge.features.agents.step_prompts import show_within
from adjudge.features.agents.steps import numbered_text
from adjudge.features.agents.systems import ANSWERED_ROW, SYSTEM, TRIAL, by_task, pairs_in
from adjudge.features.agents.trajectory import Trajectory
from adjudge.features.agents.window import RUNS, StepsBudget
from adjudge.messages import Message

_SHORTENED = "shortened"


@dataclass(frozen=True, kw_only=True)
class RunContest(PairwiseJudge):
    """Asks models which of two runs of a task reached the goal better, in both orders.

    Both runs are shown step by step. Each is shortened to half of the token budget.

    Parameters:
        steps_tokens: token budget for the steps of both runs together; None: as many as the
            models' context windows hold.
    """

    check_positional_bias: bool = True
    steps_tokens: int | None = None

    @cached_property
    def criterion(self) -> Criteria:
        return own_criteria(BETTER, self.language)

    @cached_property
    def budget(self) -> StepsBudget:
        """The token budget for the steps that these models can be shown."""
        windows = {name: model.window for name, model in self.panel.items()}
        return StepsBudget(self.steps_tokens, windows)

    def rows(self, instance: Instance) -> list[Case]:
        """Return one case per pair of runs of a task by different systems."""
        return [self._case(*pair) for pair in pairs_in(instance)]

    def _case(self, run_a: Instance, run_b: Instance) -> Case:
        runs = trajectory_in(run_a), trajectory_in(run_b)
        goal = next((run.goal for run in runs if run.goal), "")
        # both runs share the room that goal and answers leave
        other_texts = [goal, *(run.answer or "" for run in runs)]
        shown_runs = [self._render(run, self.budget.of_steps(other_texts) // 2) for run in runs]
        notes = [note for _, note in shown_runs if note]
        columns = {name: run_a.input[name] for name in (ANSWERED_ROW, TRIAL) if name in run_a.input}
        task, trial = str(run_a.input[ANSWERED_ROW]), run_a.input.get(TRIAL)
        systems = tuple(str(instance.input[SYSTEM]) for instance in (run_a, run_b))
        title = " – ".join(systems) + (f" #{trial}" if trial is not None else "")
        return Case(
            PairwiseInstance(
                {
                    "user_input": goal or Message("(none)").render(self.language),
                    RUNS: [text for text, _ in shown_runs],
                },
                f"{task} [{title}]",
                {"systems": systems, "row": columns, _SHORTENED: notes},
            ),
            self.criterion,
        )

    def _render(self, run: Trajectory, budget: int) -> tuple[str, Message | None]:
        """Render the steps and the answer under headers that text inside a step cannot forge."""
        trajectory = show_within(run, budget, language=self.language)
        blocks = map(numbered_text, trajectory.steps)
        steps = [f"[{_label(numbers)}] {_safe(text)}" for numbers, text in blocks]
        none = Message("(none)").render(self.language)
        answer = Message("final answer: {text}", text=_safe(run.answer or none))
        return "\n".join((*steps, f"[{answer.render(self.language)}]")), trajectory.note

    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:
        """Return the usual notes, plus how much of the runs was not shown."""
        shortened = item.instance.metadata.get(_SHORTENED)
        return (*super().notes(item, votes), *(shortened if isinstance(shortened, list) else ()))

    def plan_all(self, item: Case) -> Sequence[Ballot]:
        """Return all ballots that might be cast, except those too long for the models."""
        return [
            ballot for ballot in self.ballots(item) if self.budget.reason_against(ballot) is None
        ]

    def failing_ballots(self, item: Case) -> Sequence[tuple[Ballot, str]]:
        """Return the ballots that fail without a request because they are too long, with the
        reason.
        """
        return self.budget.too_long(self.ballots(item))

    async def ask(self, ballot: Ballot) -> Vote:
        """Cast one ballot. A ballot that is too long becomes a failed vote without a request."""
        reason = self.budget.reason_against(ballot)
        if reason is not None:
            return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=reason)
        return await super().ask(ballot)

    async def acompare(
        self,
        systems: Mapping[str, Given],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
    ) -> list[PairwiseInstanceResult]:
        """Return one result per pair of runs of the same task by different systems.

        ``systems``: each system's runs, as a file, a folder of traces, or a list. Tasks are matched
        by ``task_id``, else by their id.
        """
        rows = ((name, row) for name, runs in systems.items() for row in instances_of(runs))
        items = [case for task in by_task(rows) for case in self.rows(task)]
        return await self.judge_items(items, run=run, budget=budget)

    compare = sync_edge(acompare)


def _label(numbers: range) -> str:
    return f"step {numbers[0]}" if len(numbers) == 1 else f"steps {numbers[0]}–{numbers[-1]}"


def _safe(text: str) -> str:
    return without_headers(neutral(text))
