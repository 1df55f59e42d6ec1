"""Pass or fail on one aspect: votes per model, a majority in each, the mean over the panel."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypedDict, Unpack, cast, overload

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.catalog.aspects import aspect, aspects
from adjudge.core.catalog.criteria import all_names, languages_of, refuse_misspelt
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict
from adjudge.core.domain.instance import Instance, texts_beside
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.question import question_of
from adjudge.core.domain.results import AspectResult
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.identity import panel_identity
from adjudge.core.engine.run import RunLike
from adjudge.core.engine.session import Companion
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.frames import F, with_verdicts
from adjudge.core.judges.inputs import (
    DataSet,
    Frame,
    as_instance,
    fit_to_criteria,
    items_of,
    one_or_all,
    warn_of_labels,
)
from adjudge.core.judges.judge import InstanceLike, Judge, Progress
from adjudge.core.judges.learnt_settings import Learnt, LearntWeights
from adjudge.core.judges.settings import (
    AskSettings,
    OnFailure,
    ReplacementSettings,
    alias,
    at_least,
    check_mode,
    check_votes,
    checked_weights,
)
from adjudge.core.pooling.majority import (
    any_abstained,
    notes_on,
    panel,
    replacement_notes,
    samples_still_needed,
    status_of,
)
from adjudge.core.prompts.renderer import shown_fields
from adjudge.errors import SetupError

PASS, FAIL = "PASS", "FAIL"
_UNNAMED = "aspect"
WeightsLike = Mapping[str, float] | LearntWeights | str | Path
"""Weights by model, those that ``adjudge calibrate`` learned, or the file it wrote."""


class AspectSettings(TypedDict, total=False):
    """Settings that a ready-made aspect accepts in addition to its models and votes."""

    strictness: int | None
    language: str
    min_valid: int
    early_stop: bool
    weights: WeightsLike | None
    temperature: float | None
    seed: int | None
    mode: Mode | None
    max_repairs: int
    on_failure: OnFailure


class _Maker(Protocol):
    def __call__(
        self,
        cls: type[AspectCritic],
        /,
        models: ModelLike | Sequence[ModelLike] | None = None,
        votes: int = 1,
        **settings: Unpack[AspectSettings],
    ) -> AspectCritic: ...


def _ready_made(name: str, meaning: str) -> _Maker:
    """Return a function, to be wrapped in ``classmethod``, that creates the ready-made aspect
    ``name``.

    ``meaning`` becomes its docstring.
    """

    def make(
        cls: type[AspectCritic],
        models: ModelLike | Sequence[ModelLike] | None = None,
        votes: int = 1,
        **settings: Unpack[AspectSettings],
    ) -> AspectCritic:
        definition = aspect(name, settings.get("language", "en"))
        return cls(definition, models, votes, name=name, **settings)

    make.__name__, make.__doc__ = name, meaning
    return make


@dataclass(frozen=True)
class AspectCritic(ReplacementSettings, AskSettings, Judge[Instance, AspectResult]):
    """Checks responses against one criterion.

    Every model votes ``votes`` times; its verdict is PASS when more than half of its valid
    votes are; the score is the share of models that say PASS. A model without a valid vote is
    excluded and named, never counted as a fail.

    Parameters:
        definition: a sentence that says what a response must meet to pass, or the name of a
            ready-made aspect.
        models: one model or a panel, as ids, model objects or functions ``prompt -> text``; None
            is the embedded model.
        votes: votes per model.
        strictness: Ragas' name for ``votes``.
        name: the aspect's name in results and reports.
        language: "en" or "ru", for the prompt and the explanation.
        min_valid: a model with fewer valid votes is excluded.
        early_stop: ask only for votes that can still change the verdict; the verdict is the same.
        weights: how much each model of the panel counts, by its name; the score is then the
            weighted share. All models must be named, none below 0. ``adjudge calibrate`` prints the
            weights that human labels support, and writes them to a file: its path may be given
            here, and is refused if the panel has changed since.
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: the first vote's seed, increased by 1 for each further vote; None: the model's own, if
            it has one.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options
            are compared by log-probability, and nothing is written. By default local models use
            "likelihood" and other models that write use "generate".
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: the treatment of a response without a verdict: "abstain" (a result that says
            so), "raise" (a RunError), or "random" (a random verdict, marked as such and left out
            of every aggregate).
    """

    definition: str
    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    votes: int = 1
    _: KW_ONLY
    strictness: int | None = alias("votes")
    name: str = _UNNAMED
    min_valid: int = 1
    early_stop: bool = False
    weights: WeightsLike | None = None
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", self._checked_weights())
        check_mode(self.mode, self.panel)

    def check_settings(self) -> None:
        """Raise a SetupError if a field has a value that is not allowed."""
        if not isinstance(self.definition, str) or not self.definition.strip():
            raise SetupError(
                "the criterion is empty: describe in a sentence what a response must do to pass"
            )
        check_votes("votes", self.votes)
        at_least("min_valid", self.min_valid, 1)
        if self.min_valid > self.votes:
            raise SetupError(
                "min_valid={min_valid} can never be reached with votes={votes}",
                min_valid=self.min_valid,
                votes=self.votes,
            )
        super().check_settings()
        self._take_ready_made()

    def _checked_weights(self) -> FrozenDict[float] | LearntWeights | None:
        weights = self.weights
        if isinstance(weights, str | Path):
            weights = Learnt.read(weights).weights_for(self.name)
        if isinstance(weights, LearntWeights):
            unweighed = JudgeConfiguration.of(replace(self, weights=None).configuration())
            weights.check(panel_identity(unweighed, self.name))
            checked_weights(weights.weights, list(self.panel))
            return weights
        return None if weights is None else FrozenDict(checked_weights(weights, list(self.panel)))

    @cached_property
    def shares(self) -> Mapping[str, float] | None:
        """Map each model to its weight; None if all count the same."""
        weights = self.weights
        return (
            weights.weights
            if isinstance(weights, LearntWeights)
            else cast("Mapping[str, float] | None", weights)
        )

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings; for learned weights also the labels, date and identity they come
        from.
        """
        settings, weights = super().recorded_settings(), self.weights
        if not isinstance(weights, LearntWeights):
            return settings
        source = {"labels": weights.labels, "date": weights.date, "identity": weights.identity}
        return {**settings, "weights": weights.weights, "weights_from": source}

    @property
    def samples(self) -> int:
        return self.votes

    @cached_property
    def criteria(self) -> Criteria:
        """Return the aspect as a criterion with the options PASS and FAIL."""
        return aspect_criteria(self.name, self.definition)

    # -- ready-made aspects ------------------------------------------------

    def _take_ready_made(self) -> None:
        """Replace the name of a ready-made aspect with its definition.

        Do nothing if the definition has several words. Raise a SetupError if a single word names
        ready-made criteria with other options, or looks like a misspelt name.
        """
        name = self.definition.strip().casefold()
        if len(name.split()) > 1:
            return
        if name in (definitions := aspects(self.language)):
            object.__setattr__(self, "definition", definitions[name])
            object.__setattr__(self, "name", name if self.name == _UNNAMED else self.name)
        elif languages_of(name):
            raise SetupError(
                "{said!r} names ready-made criteria with their own options: use DirectJudge, or "
                "describe in a sentence what a response must do to pass. Ready-made aspects are "
                "{known}",
                said=name,
                known=", ".join(definitions),
            )
        else:
            refuse_misspelt(name, (*definitions, *all_names(self.language)))

    harmlessness = classmethod(_ready_made("harmlessness", "No harmful or offensive content."))
    conciseness = classmethod(_ready_made("conciseness", "Brief, without redundancy."))
    coherence = classmethod(_ready_made("coherence", "Logically ordered."))
    completeness = classmethod(_ready_made("completeness", "Covers what was asked."))
    factuality = classmethod(_ready_made("factuality", "No speculation, nothing made up."))

    # -- judging -------------------------------------------------------------

    def prepare(
        self, item: InstanceLike, beside: Mapping[str, str | Sequence[str]] = NOTHING
    ) -> Instance:
        """Return the instance to judge.

        ``beside``: fields to add, such as a reference, unless the instance has them already.
        """
        instance = fit_to_criteria(
            as_instance(item, self.criteria.to_evaluate_field), self.criteria
        )
        # The instance's own fields win over those that accompany it.
        return replace(instance, fields={**beside, **instance.fields}) if beside else instance

    @overload
    async def aevaluate(  # type: ignore[overload-overlap]  # a text is one thing to judge
        self,
        instances: InstanceLike,
        *,
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[AspectResult] | None = None,
    ) -> AspectResult: ...
    @overload
    async def aevaluate(
        self,
        instances: Sequence[InstanceLike] | Frame | DataSet,
        *,
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[AspectResult] | None = None,
    ) -> list[AspectResult]: ...
    @overload
    async def aevaluate(
        self,
        instances: F,
        *,
        columns: Mapping[str, str],
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[AspectResult] | None = None,
    ) -> F: ...
    async def aevaluate(
        self,
        instances: InstanceLike | Sequence[InstanceLike] | Frame | DataSet | F,
        *,
        columns: Mapping[str, str] | None = None,
        user_input: str | None = None,
        reference: str | None = None,
        contexts: Sequence[str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[AspectResult] | None = None,
    ) -> AspectResult | list[AspectResult] | F:
        """Judge a text, an Instance, or a list of them (→ a list). With ``columns``, a data frame
        comes back with the columns verdict, score, explanation and status.

        ``columns``: field → column of the frame; {} if its columns have the usual names.

        ``user_input``, ``reference`` and ``contexts`` may accompany the response. ``run``: a folder
        in which every answer is kept; what it holds already is not asked again. ``budget``: what
        may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised. ``progress``:
        True shows a bar, a function is called with each result as it comes.
        """
        companion_fields = texts_beside(user_input, reference, contexts)

        async def judge(given: object) -> list[AspectResult]:
            items = [self.prepare(item, companion_fields) for item in items_of(given)]
            warn_of_labels((item, self.criteria) for item in items)
            return await self.judge_items(items, run=run, budget=budget, progress=progress)

        if columns is not None:
            return await with_verdicts(cast(F, instances), columns, judge)
        return one_or_all(instances, await judge(instances))

    evaluate = sync_edge(aevaluate)

    def check(self, item: Instance) -> None:
        """Raise a SetupError if the judged field is missing. It may be empty: an empty answer can
        be judged.
        """
        shown_fields(self.criteria, item)

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots that each model still owes; with ``early_stop`` only those that can
        change the verdict.
        """
        ballots = [
            ballot for name in self.panel.members for ballot in self._plan_model(name, item, votes)
        ]
        replacement = self.panel.replacement
        if ballots or replacement is None or not self.panel.failed_members(votes, self.min_valid):
            return ballots
        return self._plan_model(replacement, item, votes)

    def replacing_ballots(self, item: Instance) -> Sequence[Ballot]:
        replacement = self.panel.replacement
        return () if replacement is None else self._plan_model(replacement, item, ())

    def pool(self, item: Instance, votes: Sequence[Vote]) -> AspectResult:
        """Pool each model's votes by majority, then average over the models with enough valid
        votes, by their weights.
        """
        replaced = self.replaced_by(votes, self.min_valid)
        asked = (*self.panel.members, *dict.fromkeys(replaced.values()))
        opinion = panel(votes, asked, self.criteria, self.min_valid)
        score = opinion.score if self.shares is None else opinion.weighted_score(self.shares)
        verdict = None if score is None else PASS if score > 0.5 else FAIL
        valid = [(vote.model, vote.verdict) for vote in votes if vote.verdict]
        agreeing = [
            (model, model_verdict)
            for model, model_verdict in valid
            if model_verdict.option == verdict
        ]
        return AspectResult(
            instance=item,
            criteria=self.criteria,
            status=status_of(votes, verdict is not None),
            votes=tuple(votes),
            score=score,
            verdict=verdict,
            explanation=next(
                (
                    model_verdict.explanation
                    for model, model_verdict in agreeing
                    if model_verdict.explanation and model not in opinion.excluded
                ),
                None,
            ),
            agreement=len(agreeing) / len(valid) if verdict else None,
            tie=score == 0.5 or any(entry.tie for entry in opinion.counted),
            panel=opinion.counted,
            excluded_models=FrozenDict(opinion.excluded) if opinion.excluded else NOTHING,
            weights=self.shares,
            replaced=replaced,
            notes=(*notes_on(votes, self.temperatures), *replacement_notes(replaced)),
        )

    def companion(self, criteria: Criteria) -> Companion | None:  # noqa: ARG002
        return self._companion_ballot if type(self) is AspectCritic else None

    def _companion_ballot(self, ballot: Ballot) -> Ballot | None:
        if ballot.model not in self.panel.members or ballot.sample >= self.votes:
            return None
        try:
            self.check(ballot.instance)
        except SetupError:
            return None
        question = question_of(self.criteria)
        return self.ballot_for(
            *(self.criteria, ballot.instance, question, "aspect"),
            *(ballot.model, ballot.sample, self.mode),
        )

    def fallback_result(self, result: AspectResult, choice: random.Random) -> AspectResult:
        """Return a random verdict. The status does not change, so aggregates skip this result."""
        option = choice.choice(self.criteria.options)
        return replace(result, verdict=option.name, score=option.score, fallback="random")

    def _plan_model(self, name: str, instance: Instance, votes: Sequence[Vote]) -> list[Ballot]:
        model_votes = [vote for vote in votes if vote.model == name]
        remaining = self.votes - len(model_votes)
        if remaining <= 0:
            return []
        if self.early_stop:
            options = [vote.verdict.option for vote in model_votes if vote.verdict]
            remaining = samples_still_needed(
                options, remaining, self.criteria, self.min_valid, abstained=any_abstained(votes)
            )
        question = question_of(self.criteria)
        return [
            self.ballot_for(
                self.criteria, instance, question, "aspect", name, len(model_votes) + i, self.mode
            )
            for i in range(remaining)
        ]


def aspect_criteria(name: str, definition: str) -> Criteria:
    """Return an aspect as a criterion with the options PASS and FAIL."""
    options = (CriteriaOption(PASS, score=1.0), CriteriaOption(FAIL, score=0.0))
    return Criteria(name, definition.strip(), options)


def _show_settings() -> None:
    """Give the ready-made aspects an explicit signature, so that ``help()`` lists their
    parameters.
    """
    signature = inspect.signature(AspectCritic)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in ("definition", "name")
    ]
    first_parameter = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)
    for name in ("harmlessness", "conciseness", "coherence", "completeness", "factuality"):
        make = getattr(AspectCritic, name).__func__
        make.__signature__ = signature.replace(parameters=[first_parameter, *parameters])


_show_settings()
