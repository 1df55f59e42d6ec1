"""Ask judges one after the other: the next only if the previous one is not confident enough."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, cast, overload

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.message import Usage
from adjudge.core.domain.results import (
    AspectResult,
    DirectInstanceResult,
    Result,
    Status,
    StepTaken,
)
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.estimate import CostEstimate, ExpectedSaving, Known
from adjudge.core.engine.identity import step_identities
from adjudge.core.engine.run import RunLike
from adjudge.core.engine.session import Companion
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.model import Accepting, TrainedModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.case import Case, InstancesLike, ManyLike, OneLike
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.frames import F, with_verdicts
from adjudge.core.judges.inputs import CriteriaLike, items_of, one_or_all
from adjudge.core.judges.judge import I, Judge, Progress, R
from adjudge.core.judges.learnt_settings import CascadeThresholds, Learnt
from adjudge.core.judges.settings import (
    OTHERWISE,
    ModelPanel,
    OnFailure,
    OnTooFew,
    Otherwise,
    one_of,
    provenance,
)
from adjudge.core.pooling.confidence import confidence
from adjudge.errors import SetupError
from adjudge.messages import join

_OF_A_STEP = ("judge", "plugin", "settings", "models")


class _Step(NamedTuple, Generic[I, R]):
    """One step of the cascade, with its threshold for one criterion."""

    judge: Judge[I, R]
    needed: float | None
    """None: its verdict is never accepted for its confidence."""
    decides: bool
    """True if its verdict is accepted at any confidence."""

    @property
    def name(self) -> str:
        return next(iter(self.judge.panel))

    def own(self, votes: Sequence[Vote]) -> list[Vote]:
        return [vote for vote in votes if vote.model == self.name]

    def outcome_of(self, item: I, votes: Sequence[Vote]) -> tuple[R, StepTaken]:
        """Pool the step's votes and tell whether its verdict is accepted."""
        result, step_votes = self.judge.pool(item, votes), list(votes)
        verdict = _verdict(result)
        certainty = confidence(step_votes, verdict)
        is_sure = certainty is not None and self.needed is not None and certainty >= self.needed
        used = sum((vote.usage for vote in step_votes), Usage())
        accepted = verdict is not None and (is_sure or self.decides)
        return result, StepTaken(
            step=self.name,
            verdict=verdict,
            confidence=certainty,
            needed=self.needed,
            accepted=accepted,
            usage=used,
        )


@dataclass(frozen=True)
class Cascade(Judge[I, R]):
    """Asks a cheap judge first, and a more expensive one only if the first is not sure enough.

    The confidence from which a step's verdict is accepted is learned from human labels, with a
    stated risk: ``adjudge calibrate RUN --cascade -o FILE``. A step that the labels do not support
    is never accepted, and not asked. Without a calibration every step is asked about everything and
    the last one decides: label that run and learn from it. A learned judge before the last step
    brings its own threshold, which replaces a calibration.

    Example: ``Cascade([AspectCritic("Polite?", small), AspectCritic("Polite?", large)])``

    Parameters:
        steps: two or more AspectCritics, or DirectJudges, of one model each, which ask the same;
            the cheapest first. With a calibration one step is enough: it abstains if it is not
            sure enough.
        calibration: the file that ``adjudge calibrate`` wrote; it is refused if a step has changed
            since.
        otherwise: the result of an item that no step is sure enough of: "abstain" (no verdict: the
            stated risk holds for all verdicts), or "last" (the last step decides, and the risk
            holds only for the others).
    """

    steps: Sequence[Judge[I, R]]
    _: KW_ONLY
    calibration: Learnt | str | Path | None = None
    otherwise: Otherwise = "abstain"
    language: str = field(init=False, default="en")
    panel: ModelPanel = field(init=False, repr=False, compare=False)
    _known_steps: dict[str, tuple[_Step[I, R], ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        if isinstance(self.calibration, str | Path):
            object.__setattr__(self, "calibration", Learnt.read(self.calibration))
        super().__post_init__()
        self.check_criteria(self._own_criteria)

    def check_settings(self) -> None:
        """Raise a SetupError if a field has a value that is not allowed."""
        one_of("otherwise", self.otherwise, OTHERWISE)
        if len(self.steps) < (1 if self.calibration else 2):
            raise SetupError(
                "a cascade needs at least two steps, cheapest first. With a calibration, one "
                "step is enough; it abstains if it is not confident"
            )
        for step in self.steps:
            _check_step(step, self.steps[0])
        names = [name for step in self.steps for name in step.panel]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise SetupError(
                "two steps of the cascade use {twice}: give each step a different model",
                twice=twice[0],
            )
        object.__setattr__(self, "language", self.steps[0].language)
        super().check_settings()

    def open_models(self) -> ModelPanel:
        """Return the models of all steps, in their order."""
        return ModelPanel(
            {name: model for step in self.steps for name, model in step.panel.items()}
        )

    @property
    def on_failure(self) -> OnFailure | OnTooFew:
        return self.steps[-1].on_failure

    @property
    def samples(self) -> int:
        """Votes per model, at most."""
        return max(step.samples for step in self.steps)

    @cached_property
    def _own_criteria(self) -> tuple[Criteria, ...]:
        """Return the criterion that aspect critics bring; none for other steps."""
        first_step = self.steps[0]
        return (first_step.criteria,) if isinstance(first_step, AspectCritic) else ()

    # -- thresholds ----------------------------------------------------------

    def check_criteria(self, criteria: Iterable[Criteria]) -> None:
        """Raise a SetupError unless the steps can be asked under these criteria.

        They cannot if the calibration lacks a criterion, was made for other steps or accepts none
        of them, or if a learned step's promise refers to another model.
        """
        for criterion in criteria:
            self._steps_for(criterion)

    def _steps_for(self, criteria: Criteria) -> tuple[_Step[I, R], ...]:
        """Return the steps to ask under one criterion; a step that is never accepted is left
        out.
        """
        steps = self._known_steps.get(criteria.identity)
        if steps is None:
            steps = self._known_steps[criteria.identity] = tuple(_steps_of(self, criteria))
        return steps

    @cached_property
    def promise(self) -> Accepting | None:
        """Return the threshold of a learned first step; None if there is a calibration, no such
        threshold, or not exactly two steps.

        Raise a SetupError if it was learned relative to a model other than the last one.
        """
        first_model, *later_models = (model for step in self.steps for model in step.panel.values())
        if self.calibration is not None or len(later_models) != 1:
            return None
        promise = (
            first_model.provider.accepting
            if isinstance(first_model.provider, TrainedModel)
            else None
        )
        if promise and promise.reference not in ("", later_models[0].name):
            raise SetupError(
                "the threshold of {first} limits its errors relative to {reference}, but this "
                "cascade ends with {last}: learn it again from a run of that model, or calibrate "
                "the cascade",
                first=first_model.name,
                reference=promise.reference,
                last=later_models[0].name,
            )
        return promise

    def thresholds(self, criteria: Criteria) -> CascadeThresholds:
        """Return the learned thresholds for one criterion, after checking that they belong to these
        steps.
        """
        learnt = cast(Learnt, self.calibration).cascade_for(criteria.name)
        configuration = JudgeConfiguration.of(self.configuration([criteria]))
        learnt.check(step_identities(configuration, criteria.name))
        return learnt

    # -- judging -------------------------------------------------------------

    @overload
    async def aevaluate(  # type: ignore[overload-overlap]
        self,
        instances: OneLike,
        criteria: CriteriaLike | Sequence[CriteriaLike] | None = ...,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> R: ...
    @overload
    async def aevaluate(
        self,
        instances: ManyLike,
        criteria: CriteriaLike | Sequence[CriteriaLike] | None = ...,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> list[R]: ...
    @overload
    async def aevaluate(
        self,
        instances: F,
        criteria: CriteriaLike | Sequence[CriteriaLike] | None = ...,
        *,
        columns: Mapping[str, str],
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> F: ...
    async def aevaluate(
        self,
        instances: InstancesLike | F,
        criteria: CriteriaLike | Sequence[CriteriaLike] | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> R | list[R] | F:
        """Judge one instance (→ one result), or a list of them (→ a list). With ``columns``
        (field → column, or {}), a data frame comes back with the verdicts.

        ``criteria``: as for the steps; aspect critics have their own.

        ``run`` (a folder that keeps every answer), ``budget`` and ``progress`` are as for
        the steps, over all of them.
        """

        async def judge(given: object) -> list[R]:
            taken = _items(self.steps[0], cast(InstancesLike, given), criteria)
            items = cast("list[I]", taken)
            return await self.judge_items(items, run=run, budget=budget, progress=progress)

        if columns is not None:
            return await with_verdicts(cast(F, instances), columns, judge)
        return one_or_all(instances, await judge(instances))

    evaluate = sync_edge(aevaluate)

    def check(self, item: I) -> None:
        for step in self.steps:
            step.check(item)
        self._planned_steps(item)

    def _planned_steps(self, item: I) -> tuple[_Step[I, R], ...]:
        (criteria,) = self._own_criteria or (cast(Case, item).criteria,)
        return self._steps_for(criteria)

    def plan(self, item: I, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the next step's ballots until a step is accepted; those of all steps at once if
        neither a calibration nor a learned step sets thresholds.
        """
        if self.calibration is None and self.promise is None:
            return [
                ballot
                for step in self._planned_steps(item)
                for ballot in step.judge.plan(item, step.own(votes))
            ]
        for step in self._planned_steps(item):
            step_votes = step.own(votes)
            if ballots := step.judge.plan(item, step_votes):
                return ballots
            if step.outcome_of(item, step_votes)[1].accepted:
                return []
        return []

    def estimate(
        self, items: Iterable[I], known: Known | None = None, prices: PriceTable | None = None
    ) -> CostEstimate:
        """Like ``Judge.estimate``, plus the number of rows that a learned first step is expected to
        decide alone.
        """
        cost = super().estimate(items, known, prices)
        promise = self.promise
        if promise is None or promise.confidence is None or not cost.rows:
            return cost
        first, last = self.panel
        saving = ExpectedSaving(first, last, cost.rows, promise.share, promise.rows, promise.lines)
        return replace(cost, savings=(saving,))

    def companion(self, criteria: Criteria) -> Companion | None:
        """Return a function that maps another judge's ballot to a ballot of this cascade about the
        same row.

        It covers the steps that are always asked: the first, or all of them without learned
        thresholds.
        """
        criterion = self._own_criteria[0] if self._own_criteria else criteria
        all_steps = self._steps_for(criterion)
        asks_all = self.calibration is None and self.promise is None
        certain_steps = all_steps if asks_all else all_steps[:1]
        steps = {step.name: step.judge.companion(criteria) for step in certain_steps}

        def companion_ballot(ballot: Ballot) -> Ballot | None:
            step = steps.get(ballot.model)
            return step(ballot) if step else None

        return companion_ballot

    def pool(self, item: I, votes: Sequence[Vote]) -> R:
        """Return the result of the first accepted step; if there is none, a result without a
        verdict.
        """
        taken: list[StepTaken] = []
        for step in self._planned_steps(item):
            result, outcome = step.outcome_of(item, step.own(votes))
            taken.append(outcome)
            if outcome.accepted:
                break
        else:
            result = _drop_verdict(result)
        return replace(result, votes=tuple(votes), steps=tuple(taken))

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask the step whose model the ballot names for one vote."""
        (step,) = (candidate for candidate in self.steps if ballot.model in candidate.panel)
        return await step.ask(ballot)

    def fallback_result(self, result: R, choice: random.Random) -> R:
        return self.steps[-1].fallback_result(result, choice)

    def plan_all(self, item: I) -> Sequence[Ballot]:
        """Plan all steps, as if none were ever accepted early."""
        return [
            ballot
            for step in self._planned_steps(item)
            for ballot in step.judge.plan(item, step.own(()))
        ]

    # -- provenance ------------------------------------------------------------

    def criteria_of(self, items: Sequence[I]) -> list[Criteria]:
        """Return the distinct criteria of the items."""
        return list(self._own_criteria) or self.steps[0].criteria_of(items)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return everything that decides what is asked and what is accepted, including each step's
        configuration.
        """
        used_criteria = self._own_criteria or criteria
        record = provenance(
            type(self).__name__, self.recorded_settings(), self.panel, used_criteria, self.language
        )
        parts = [step.configuration(used_criteria) for step in self.steps]
        return {
            **record,
            "steps": [{name: part[name] for name in _OF_A_STEP if name in part} for part in parts],
        }

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings other than the steps."""
        learnt = plain(cast(Learnt, self.calibration).cascades) if self.calibration else None
        promise: dict[str, object] = {}
        if self.promise:
            promise = {
                "promised": self.promise.confidence,
                "promise": some_of(self.promise, "risk", "delta", "reference"),
            }
        return {
            "otherwise": self.otherwise,
            "language": self.language,
            "calibration": learnt,
            **promise,
        }


def _steps_of(cascade: Cascade[I, R], criteria: Criteria) -> Iterator[_Step[I, R]]:
    if cascade.promise is not None:
        cheap_step, last_step = cascade.steps
        if cascade.promise.confidence is not None:
            yield _Step(cheap_step, cascade.promise.confidence, False)
        yield _Step(last_step, None, True)
        return
    if cascade.calibration is None:
        yield from (_Step(step, None, step is cascade.steps[-1]) for step in cascade.steps)
        return
    thresholds = cascade.thresholds(criteria)
    pairs = list(zip(cascade.steps, thresholds.steps, strict=True))
    if cascade.otherwise == "abstain" and all(
        threshold.confidence is None for threshold in thresholds.steps
    ):
        reasons = join(
            "; ", (join(": ", (threshold.step, threshold.reason)) for threshold in thresholds.steps)
        )
        raise SetupError(
            "the calibration accepts no step of the cascade for {name!r}, so no row would get a "
            "verdict ({reasons}). Allow a greater risk, label more rows, or let the last step "
            "decide (otherwise: last)",
            name=criteria.name,
            reasons=reasons,
        )
    for step, threshold in pairs:
        decides = cascade.otherwise == "last" and step is cascade.steps[-1]
        if threshold.confidence is not None or decides:
            yield _Step(step, threshold.confidence, decides)


def _items(
    first_step: object,
    instances: InstancesLike,
    criteria: CriteriaLike | Sequence[CriteriaLike] | None,
) -> Sequence[object]:
    """Turn the caller's input into items of the type that the steps judge.

    Raise a SetupError if criteria are missing, or given although the steps have their own.
    """
    if isinstance(first_step, DirectJudge):
        if criteria is None:
            raise SetupError("name the criteria: cascade.evaluate(instances, criteria)")
        return first_step.cases(instances, criteria)
    if criteria is not None or not isinstance(first_step, AspectCritic):
        raise SetupError(
            "the steps are aspect critics, which have their own criterion: leave out the criteria"
        )
    return [first_step.prepare(item) for item in items_of(instances)]


def _check_step(step: object, first_step: object) -> None:
    """Raise a SetupError if ``step`` cannot be part of a cascade that begins with
    ``first_step``.
    """
    if not isinstance(step, AspectCritic | DirectJudge) or type(step) is not type(first_step):
        raise SetupError("the steps of a cascade must all be AspectCritics, or all DirectJudges")
    if len(step.panel) != 1:
        raise SetupError(
            "a step of a cascade can only ask one model, not {count}: {panel}",
            count=len(step.panel),
            panel=", ".join(step.panel),
        )
    if step.early_stop:
        raise SetupError(
            "a step of a cascade cannot stop early, because its confidence is computed from all "
            "its votes"
        )
    if isinstance(step, DirectJudge) and step.generate_synthetic_persona:
        raise SetupError(
            "a step of a cascade cannot have a synthetic persona: describe the judge with "
            "judge_description_prompt"
        )
    if (
        isinstance(step, AspectCritic)
        and isinstance(first_step, AspectCritic)
        and step.criteria != first_step.criteria
    ):
        raise SetupError(
            "the steps of a cascade must ask the same question: give all of them the same "
            "definition and name"
        )
    if step.language != first_step.language:
        raise SetupError("the steps of a cascade must use the same language")


def _verdict(result: Result) -> str | None:
    if result.status is not Status.SCORED:
        return None
    return (
        result.verdict
        if isinstance(result, AspectResult)
        else cast(DirectInstanceResult, result).option
    )


def _drop_verdict(result: R) -> R:
    """Return a scored result without its verdict and numbers, and any other result unchanged."""
    if result.status is not Status.SCORED:
        return result
    nothing = replace(
        result, status=Status.ABSTAINED, score=None, explanation=None, agreement=None, tie=False
    )
    if isinstance(nothing, AspectResult):
        return cast(R, replace(nothing, verdict=None, panel=()))
    return cast(
        R, replace(cast(DirectInstanceResult, nothing), option=None, mean_score=None, feedback=None)
    )
