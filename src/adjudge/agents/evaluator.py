"""The agent evaluator: trajectories by rules, which cost nothing, and by questions to models."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from adjudge.agents.expected import (
    ORDERS,
    Expectations,
    Order,
    read_calls,
    read_expected,
    read_pairs,
    read_patterns,
)
from adjudge.agents.item import AgentItem, as_instance, trajectory_in
from adjudge.agents.judging import (
    POINTS,
    BlameQuestioning,
    ChecklistQuestioning,
    CriteriaQuestioning,
    Questioning,
    ReportedQuestioning,
)
from adjudge.agents.matching import ValueComparison
from adjudge.agents.measures import (
    BLAME,
    BLAME_METHODS,
    BY_SETTING,
    CHECKLIST,
    DEFAULT,
    JUDGED,
    REPORTED,
    BlameMethod,
    check_measures,
    measure_criteria,
)
from adjudge.agents.only import MeasureCondition, read_conditions
from adjudge.agents.result import MeasureResult, TrajectoryResult
from adjudge.agents.rules import RULES, measure
from adjudge.agents.steps_of import Per, StepsPicked, parts_of, read_picked
from adjudge.aio.event_loop import sync_edge
from adjudge.domain.agent_record import MeasuredPart
from adjudge.domain.check_result import FAIL, PASS
from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.json_types import JsonDict, JsonValue
from adjudge.domain.question import Choice
from adjudge.domain.results import Status
from adjudge.domain.steps import STEPS
from adjudge.domain.trajectory import Trajectory
from adjudge.domain.vote import Ballot, Mode, Outcome, Vote
from adjudge.engine.backends.ray.place import On
from adjudge.engine.run import RunLike
from adjudge.errors import SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.gateway.open import ModelLike
from adjudge.judges.evidence import EvidenceJudge, worded
from adjudge.judges.judge import Judge, Progress
from adjudge.judges.settings import (
    NO_MODELS,
    AskSettings,
    ModelPanel,
    OnFailure,
    alias,
    at_least,
    check_mode,
    check_votes,
    one_of,
)
from adjudge.messages import Message, join
from adjudge.prompts.render import ABOUT_STEPS
from adjudge.prompts.steps import tokens_of
from adjudge.reading.values import Place

STEPS_TOKENS = 100_000
"""Tokens of the steps that are shown, unless said otherwise: what models of today take."""
_WITHOUT_MODELS = 64
"""Rows under way at once where nobody is asked."""
Given = str | Path | Trajectory | Instance | Sequence[Trajectory | Instance | Sequence[object]]
Expected = str | Path | Mapping[str, Sequence[str | Mapping[str, JsonValue]]]


@dataclass(frozen=True)
class AgentEvaluator(AskSettings, Judge[AgentItem, MeasureResult]):
    """Measures what an agent did.

    Rules come first: they ask nobody, and say which call at which step. What needs a model is one
    question each, answered with steps and quotes that a program looks for.

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model. Where only rules are measured, none is needed.
        model: another name of ``models``.
        measures: what to measure, by name, such as "calls_f1" or "goal"; by default rules that need
            nothing but the trajectory, and what ``expect``, ``required``, ``forbidden``, ``before``
            and ``policy`` are for, where they are given.
        policy: the rules that "policy" judges by, as a text, or a Path; None: the system prompt.
        expect: the expected calls by task: a file, or a mapping; a row may have them in the column
            ``reference_calls``.
        order: of expected calls: "exact", "in_order", "any_order" or "only".
        required: calls that must be made, by name or with arguments.
        forbidden: calls that must not be made.
        before: pairs of calls, of which the first must come before the second.
        ignore: arguments that do not count, such as "request_id" or "*.timestamp".
        steps_tokens: how many tokens of steps a model is shown; what does not fit is shortened.
        only: measure → option: judge only where another measure says so.
        per: "trajectory", each "turn" of a conversation, or each "step" that ``steps`` picks.
        steps: which, for per="step": "errors", "last 3", "calls of pay".
        derive: have a model write the checklist of a task, once, where a row has none.
        blame: "at once" (two votes, step by step where they differ), "step by step", or "halves".
        kinds: kinds of mistakes that blame chooses from; the default has eleven.
        votes: votes per model and question.
        strictness: another name of ``votes``.
        language: of prompts and explanations: "en" or "ru".
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: of the first vote, the next one has the next number; None: the model's own, if it has
            one.
        mode: "generate": the model writes a verdict with its evidence; "likelihood": the options
            are compared by their log-probability, without evidence.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: what a measure without a verdict becomes: "abstain", "raise" or "random".
    """

    model: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    _: KW_ONLY
    measures: Sequence[str] = DEFAULT
    policy: str | Path | None = None
    expect: Expected | None = field(default=None, hash=False)
    order: Order = "in_order"
    required: JsonValue = field(default=(), hash=False)
    forbidden: JsonValue = field(default=(), hash=False)
    before: JsonValue = field(default=(), hash=False)
    ignore: Sequence[str] = ()
    steps_tokens: int = STEPS_TOKENS
    only: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    per: Per = "trajectory"
    steps: str | None = None
    derive: bool = False
    blame: BlameMethod = "at once"
    kinds: Sequence[str] = ()
    strictness: int = 1
    models: ModelLike | Sequence[ModelLike] | None = alias("model")
    votes: int | None = alias("strictness")
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"
    _points: dict[str, asyncio.Task[Vote]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        named = (self.measures,) if isinstance(self.measures, str) else tuple(self.measures)
        if named is DEFAULT:
            named += tuple(name for setting, name in BY_SETTING.items() if getattr(self, setting))
        object.__setattr__(self, "measures", named)
        for name in ("ignore", "kinds"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        super().__post_init__()
        check_mode(self.mode, self.panel)

    def check_settings(self) -> None:
        """Raise a SetupError when the fields cannot be."""
        super().check_settings()
        check_votes("strictness", self.strictness)
        at_least("steps_tokens", self.steps_tokens, 100)
        one_of("order", self.order, ORDERS)
        one_of("blame", self.blame, BLAME_METHODS)
        if not self.measures:
            raise SetupError("name at least one measure, such as goal or calls_f1")
        check_measures(self.measures)
        if (self.per == "step") != (self.steps is not None):
            raise SetupError("per: step needs steps, such as errors, last 3 or calls of pay")
        _ = self.expectations, self._policy, self._conditions, self._picked

    def open_models(self) -> ModelPanel:
        """The models, ready to be asked; rules need none."""
        return ModelPanel.of(self.model) if self.asks else NO_MODELS

    @property
    def asks(self) -> bool:
        """Whether a model is asked."""
        return any(name in JUDGED for name in (*self.measures, *self.only))

    @property
    def samples(self) -> int:
        """Votes per model and question."""
        return self.strictness

    @property
    def max_in_flight(self) -> int:
        """How many measures are under way at the same time."""
        return super().max_in_flight or _WITHOUT_MODELS

    @cached_property
    def expectations(self) -> Expectations:
        """What rules measure by."""
        place = Place(Message("the evaluator"))
        expect = self.expect
        if isinstance(expect, str | Path):
            calls = read_expected(Path(expect))
        else:
            calls = {
                task: read_calls(list(given), place.at(task))
                for task, given in (expect or {}).items()
            }
        return Expectations(
            calls,
            self.order,
            read_patterns(self.required, place.at("required")) if self.required else (),
            read_patterns(self.forbidden, place.at("forbidden")) if self.forbidden else (),
            read_pairs(self.before, place.at("before")) if self.before else (),
            ValueComparison(ignore=tuple(self.ignore)),
        )

    @cached_property
    def _policy(self) -> str | None:
        if not isinstance(self.policy, Path):
            return self.policy
        from adjudge.reading.values import text_in

        return text_in(self.policy)

    @cached_property
    def _conditions(self) -> tuple[MeasureCondition, ...]:
        return read_conditions(self.only, self.language)

    @cached_property
    def _picked(self) -> StepsPicked | None:
        return None if self.steps is None else read_picked(self.steps)

    @cached_property
    def criteria(self) -> tuple[Criteria, ...]:
        """What each measure is about, in their order."""
        return tuple(measure_criteria(name, self.language, self.kinds) for name in self.measures)

    def criteria_of(self, items: Sequence[AgentItem]) -> list[Criteria]:  # noqa: ARG002
        """What is asked, whatever the rows."""
        return list(self.criteria)

    # -- rows ----------------------------------------------------------------

    def rows(self, instance: Instance) -> list[AgentItem]:
        """What is looked at of a row, one for each result."""
        run = trajectory_in(instance)
        return [
            AgentItem(own, part, name, first=place == 0, judged_step=step)
            for own, part, step in parts_of(instance, run, self.per, self._picked)
            for place, name in enumerate(self.measures)
        ]

    async def aevaluate(
        self,
        trajectories: Given,
        *,
        format: str | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[MeasureResult] | None = None,
        on: On | None = None,
    ) -> list[TrajectoryResult]:
        """A result for each trajectory of a file or a folder of traces (``format`` names what the
        structure does not show), of a list of them, of messages, or of one.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes. ``on``: a
        Ray cluster whose workers ask, such as "ray"; it needs ``run``.
        """
        items = [item for one in instances_of(trajectories, format) for item in self.rows(one)]
        results = await self.judge_items(items, run=run, budget=budget, progress=progress, on=on)
        width = len(self.measures)
        return [
            TrajectoryResult(
                items[start].instance,
                items[start].trajectory,
                {one.measure: one for one in results[start : start + width]},
            )
            for start in range(0, len(items), width)
        ]

    evaluate = sync_edge(aevaluate)

    def check(self, item: AgentItem) -> None:
        """Whatever a trajectory lacks is a result, not an error."""

    # -- plan and pool ---------------------------------------------------------

    @cached_property
    def _questions(self) -> Mapping[str, Questioning]:
        names = [name for name in (*self.measures, *self.only) if name in JUDGED]
        return {name: self._question(name) for name in dict.fromkeys(names)}

    def _question(self, name: str) -> Questioning:
        common = (name, self.language, self.steps_tokens, self.strictness, self._ballots)
        criteria = measure_criteria(name, self.language, self.kinds)
        if name == CHECKLIST:
            return ChecklistQuestioning(*common, derive=self.derive)
        if name == REPORTED:
            return ReportedQuestioning(*common, judge=self._evidence, criteria=criteria)
        if name == BLAME:
            return BlameQuestioning(*common, kinds=self.kinds, method=self.blame)
        return CriteriaQuestioning(*common, criteria=criteria, policy=self._policy)

    @cached_property
    def _evidence(self) -> EvidenceJudge:
        writes = all(
            (self.mode or model.mode) == "generate" for model in ModelPanel.of(self.model).values()
        )
        return EvidenceJudge(
            self.model,
            method="joint" if writes else "each",
            strictness=self.strictness,
            language=self.language,
            temperature=self.temperature,
            seed=self.seed,
            mode=self.mode,
            max_repairs=self.max_repairs,
        )

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
        for name, cast in self._votes_by_measure(item, votes).items():
            asked = self._questions.get(name)
            if asked is None or asked.reason_against(item) is not None:
                if name != item.measure and self._refusal(item, votes) is not None:
                    return []
                continue
            ballots = asked.plan(item, cast)
            if ballots:
                return ballots
            if name != item.measure and self._refusal(item, votes) is not None:
                return []
        return []

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """All that may be asked; what is too long to be shown will not be."""
        found = [
            ballot
            for name in self._needed(item)
            if (asked := self._questions.get(name)) and asked.reason_against(item) is None
            for ballot in asked.plan_all(item)
        ]
        return [ballot for ballot in found if self._too_long(ballot) is None]

    def _needed(self, item: AgentItem) -> list[str]:
        """The measures behind an item, its own last."""
        return [*(one.measure for one in self._conditions), item.measure]

    def _votes_by_measure(
        self, item: AgentItem, votes: Sequence[Vote]
    ) -> Mapping[str, Sequence[Vote]]:
        """The votes of each measure that is needed, in the order they are asked."""
        needed = self._needed(item)
        if len(needed) == 1:
            return {item.measure: votes}
        return {
            name: [vote for vote in votes if _measure_of(vote) == name]
            for name in dict.fromkeys(needed)
        }

    def _refusal(self, item: AgentItem, votes: Sequence[Vote]) -> Message | None:
        """Which condition does not hold; None where all do that can be told so far."""
        cast = self._votes_by_measure(item, votes)
        for one in self._conditions:
            found = self._measured(replace(item, measure=one.measure), cast.get(one.measure, ()))
            if not one.holds(found):
                said = found.option or (found.reason if found.score is None else f"{found.score:g}")
                return Message(
                    "not judged: {measure} is {said}", measure=one.measure, said=said or "–"
                )
        return None

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """The number of a rule, or what the votes come to."""
        refusal = self._refusal(item, votes) if self._conditions else None
        if refusal is not None:
            found = self._skipped(item, refusal)
        else:
            own = self._votes_by_measure(item, votes)[item.measure]
            found = self._measured(item, own)
        return replace(found, trajectory=item.trajectory) if item.first else found

    def _measured(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        if item.measure in RULES:
            return self._by_rule(item)
        asked = self._questions[item.measure]
        reason = asked.reason_against(item)
        return self._skipped(item, reason) if reason is not None else asked.pool(item, votes)

    def _by_rule(self, item: AgentItem) -> MeasureResult:
        found = measure(item.measure, item.trajectory, self.expectations, item.columns)
        if found.value is None:
            reason = found.reason or Message("there is nothing to measure")
            skipped = self._skipped(item, reason)
            return replace(skipped, status=Status.ABSTAINED) if found.untold else skipped
        verdict = (PASS if found.value else FAIL) if isinstance(found.value, bool) else None
        parts = tuple(MeasuredPart(text=one.sentence, step=one.step) for one in found.parts)
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.language),
            measure=item.measure,
            score=float(found.value),
            option=verdict,
            parts=parts,
            explanation=join("; ", [one.text for one in parts[:_MOST_SAID]]) if parts else None,
        )

    def _skipped(self, item: AgentItem, reason: Message) -> MeasureResult:
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.language, self.kinds),
            status=Status.SKIPPED,
            measure=item.measure,
            explanation=reason,
        )

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
        tokens = self._too_long(ballot)
        if tokens is not None:
            return Vote(
                ballot=ballot,
                outcome=Outcome.MODEL_ERROR,
                reason=Message(
                    "too long for {model}: {tokens:,} tokens", model=ballot.model, tokens=tokens
                ),
            )
        if ballot.template != POINTS:
            return await super().ask(ballot)
        # once for all runs of a task, so that they are measured by the same list
        known = self._points.get(ballot.id)
        if known is None or (known.done() and not _answered(known)):
            known = self._points[ballot.id] = asyncio.ensure_future(super().ask(ballot))
        return await asyncio.shield(known)

    def _too_long(self, ballot: Ballot) -> int | None:
        """How many tokens the steps have, where that is more than may be shown."""
        names = (STEPS, "tools") if ballot.question.cites else ("contexts",)
        texts = [text for name in names for text in _texts(ballot.instance.fields.get(name, ()))]
        tokens = sum(map(tokens_of, texts))
        return tokens if tokens > self.steps_tokens else None

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """With the wording of the questions about steps."""
        made = super().configuration(criteria or self.criteria)
        if not self.asks:
            return made
        return worded(
            made, self.language, sentences=REPORTED in self._questions, others=ABOUT_STEPS
        )

    def recorded_settings(self) -> dict[str, object]:
        """What is set; files by what stands in them."""
        found = super().recorded_settings()
        return {**found, "policy": self._policy, "expect": repr(self.expectations.calls)}


_MOST_SAID = 5


def instances_of(given: Given, format: str | None = None) -> Iterator[Instance]:
    """What a program gave, as rows with a trajectory each."""
    from adjudge.traces.files import placed_traces

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


def _measure_of(vote: Vote) -> str:
    """The measure that a vote belongs to."""
    name, template = vote.ballot.criteria.name, vote.ballot.template
    if template.startswith("evidence") or template == "claims":
        return REPORTED
    if template == POINTS:
        return CHECKLIST
    return BLAME if name.startswith("blame") else name


def _answered(known: asyncio.Task[Vote]) -> bool:
    return not known.cancelled() and known.exception() is None and known.result().valid


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
