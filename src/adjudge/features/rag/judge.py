"""The RAG evaluator: it scores every answer on every dimension, and computes their composite."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast, overload

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.data.columns import is_blank_row
from adjudge.core.data.dataset import Source
from adjudge.core.data.sources.row import Row as TableRow
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.gate_figure import GateFigure
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.ask import ask_with, prompt_for
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.frames import F, is_frame, with_verdicts
from adjudge.core.judges.judge import Progress
from adjudge.core.judges.settings import (
    NO_MODELS,
    AskOptions,
    AskSettings,
    ModelPanel,
    OnFailure,
    alias,
    check_votes,
    one_of,
    take_aliases,
)
from adjudge.core.prompts.renderer import CHECK, CHECKED_TOGETHER
from adjudge.core.verdicts.text import read_text
from adjudge.errors import SetupError
from adjudge.features.evidence.judge import EvidenceJudge, Method, with_wording
from adjudge.features.rag import standalone_question as standalone
from adjudge.features.rag.blame import blame
from adjudge.features.rag.composite_rule import composite
from adjudge.features.rag.dimensions import (
    Dimension,
    absent,
    choose_dimensions,
    rag_dimensions,
    read_dimensions,
    reweight,
)
from adjudge.features.rag.joint_questions import CHECKS, Checks, split
from adjudge.features.rag.measure_plan import RagMeasuring
from adjudge.features.rag.measure_questions import row_texts
from adjudge.features.rag.measure_result import NOTHING_MEASURED, Measured
from adjudge.features.rag.measures import RagMeasure, weighed_measures
from adjudge.features.rag.plan import RagPlans
from adjudge.features.rag.result import GROUNDEDNESS, RagResult
from adjudge.features.rag.rows import (
    RagRows,
    Row,
    check_fields,
    columns_of,
    needed_fields,
    read_rows,
)
from adjudge.features.rag.standalone_question import JudgedQuestion
from adjudge.features.rag.votes import (
    about_sentences,
    key_of,
    nobody,
    score_groundedness,
    status_of_row,
    votes_by_case,
)
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.rag")
Named = Mapping[str, str] | None
Most = int | None
Kept = RunLike | None
Limit = Budget | None
Told = Progress[RagResult] | None
_WITHOUT_MODELS = 64
"""Rows under way at once if no model is asked."""


@dataclass(frozen=True)
class RagEvaluator(AskSettings, RagPlans):
    """Scores the answers of a retrieval-augmented assistant.

    Example:
        judge = RagEvaluator("mistral/mistral-small-latest", dimensions=["groundedness"])
        result = judge.evaluate({"user_input": "…", "contexts": ["…"], "response": "…"})
        result.score, result.explanations["groundedness"]

    Each dimension is judged separately and sees only the fields that it reads. With several models
    or samples, its score is that of most valid votes; a tie goes to the lower score.

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model.
        model: another name of ``models``.
        dimensions: which to score, by name or as custom objects; None: all.
        config: a file with further dimensions, or other weights and gates for the ready-made ones.
        measures: what else to measure, by name, such as "ndcg@5" or "context_recall";
            ``known_measures()`` has them all. With ``dimensions="none"`` nothing else is judged;
            measures of ids then need no model.
        weights: dimension or measure → weight, if it is not the usual one. Measures have none, so
            they are no part of the composite. Without any dimension, each has the weight 1.
        votes: votes per model and dimension.
        strictness: another name of ``votes``.
        language: of prompts, explanations and scale texts: "en" or "ru".
        early_stop: ask only as many votes as can still change a score.
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: of the first vote, the next one has the next number; None: the model's own, if it has
            one.
        mode: "generate": the model writes a score with its explanation; "likelihood": the scores
            are compared by their log-probability. By default local models do the latter, all others
            the former.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: what a row without a score becomes: "abstain" (a result that says so), "raise"
            (a RunError), or "random" (scores by chance, marked as such and left out of every
            aggregate).
        evidence: look every sentence of the answer up in the fragments: "each" (one question per
            sentence) or "joint" (one for all of them), which also decide groundedness, "rules"
            (no model) or "flags" (what the embedded model points at); with these groundedness is
            asked about as ever.
        claims: have a model say first what each sentence claims, and look that up.
        rewrite_questions: have follow-up questions made self-contained if a row has a
            conversation, and judge relevance by those; the result says by which question.
        checks: how measures ask about fragments and sentences: "each" by itself, or "joint", many
            in one call.
    """

    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    _: KW_ONLY
    dimensions: Sequence[str | Dimension] | None = field(default=None, hash=False)
    measures: Sequence[str] = ()
    config: str | Path | None = None
    weights: Mapping[str, float] = field(default_factory=FrozenDict, hash=False)
    votes: int = 1
    model: ModelLike | Sequence[ModelLike] | None = alias("models")
    strictness: int | None = alias("votes")
    early_stop: bool = False
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"
    evidence: Method | None = None
    claims: bool = False
    rewrite_questions: bool = False
    checks: Checks = "each"
    _scored: tuple[Dimension, ...] = field(init=False, repr=False, compare=False)
    _measuring: RagMeasuring = field(init=False, repr=False, compare=False)
    _judge: DirectJudge = field(init=False, repr=False, compare=False)
    _looks_up: EvidenceJudge | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        take_aliases(self)
        check_votes("votes", self.votes)
        one_of("checks", self.checks, CHECKS)
        available = (
            read_dimensions(self.config, self.language)
            if self.config
            else rag_dimensions(self.language)
        )
        wanted_dimensions = (
            [self.dimensions] if isinstance(self.dimensions, str) else self.dimensions
        )
        measure_names = [self.measures] if isinstance(self.measures, str) else self.measures
        measures, dimension_weights = weighed_measures(
            measure_names,
            self.weights,
            self.language,
            alone=not choose_dimensions(available, wanted_dimensions),
        )
        has_weighted_measure = any(measure.weight for measure in measures)
        if (
            self.evidence
            and not has_weighted_measure
            and not choose_dimensions(available, wanted_dimensions)
        ):
            raise SetupError(
                "evidence alone gives no composite: add groundedness to the dimensions, or use a "
                "judge of kind evidence"
            )
        object.__setattr__(self, "measures", tuple(measure.name for measure in measures))
        object.__setattr__(self, "_measuring", RagMeasuring(measures, self.language))
        object.__setattr__(
            self,
            "_scored",
            reweight(
                choose_dimensions(available, wanted_dimensions),
                dimension_weights,
                beside=has_weighted_measure,
            ),
        )
        object.__setattr__(self, "_judge", _dimension_judge(self))
        object.__setattr__(self, "_looks_up", _evidence_judge(self) if self.evidence else None)
        if self.evidence == "flags-first":
            raise SetupError("evidence='flags-first' works only with a judge of kind evidence")
        if self.claims and self.evidence not in ("each", "joint"):
            raise SetupError(
                "looking up claims takes a model: add evidence='each' or evidence='joint'"
            )
        # last, because it opens the models of ``_judge``
        super().__post_init__()

    def open_models(self) -> ModelPanel:
        """Open the models that are asked about dimensions; none if no model is asked."""
        return self._judge.panel if self._asks else NO_MODELS

    @property
    def _asks(self) -> bool:
        return bool(self._scored or self._measuring.checks or self._by_sentence)

    @property
    def max_in_flight(self) -> int:
        """Rows that are judged at the same time."""
        return super().max_in_flight or _WITHOUT_MODELS

    @property
    def samples(self) -> int:
        """Votes per model and dimension."""
        return self.votes

    @property
    def scored(self) -> tuple[Dimension, ...]:
        """The dimensions that are scored, with their weights."""
        return self._scored

    @property
    def measured(self) -> tuple[RagMeasure, ...]:
        """The measures that are taken, with their weights."""
        return self._measuring.measures

    @property
    def gate_figures(self) -> tuple[GateFigure, ...]:
        """The figures that a gate can name besides the composite: dimensions and measures."""
        return (
            *(GateFigure(figure.name) for figure in self._scored),
            *(GateFigure(figure.name, _refusal(figure)) for figure in self.measured),
        )

    @cached_property
    def criteria(self) -> Criteria:
        """Criteria that stand for all dimensions together."""
        parts = [(component.name, component.title) for component in self._scored] + [
            (component.name, component.title) for component in self._measuring.weighed
        ]
        return Criteria("rag", "composite", [CriteriaOption(name, title) for name, title in parts])

    # -- judging -------------------------------------------------------------

    def rows(
        self, source: Source, columns: Mapping[str, str] | None = None, limit: int | None = None
    ) -> RagRows:
        """Read the rows of a file or list, and the columns chosen for its fields."""
        return read_rows(source, self._scored, columns, limit, self.measured, self._sources)

    def columns_of(
        self, first: Instance, columns: Mapping[str, str], source: Source
    ) -> Mapping[str, str]:
        """Map fields to the columns of the first row.

        ``columns`` are those that the user named.
        """
        return columns_of(
            first, columns, source, [*needed_fields(self._scored, self.measured), *self._sources]
        )

    @property
    def _sources(self) -> tuple[str, ...]:
        """The field that evidence is looked for in, unless a dimension or a measure reads it
        anyway.
        """
        source_field = self._looks_up.source_field if self._looks_up else None
        return (
            (source_field,)
            if source_field and source_field not in needed_fields(self._scored, self.measured)
            else ()
        )

    @overload
    async def aevaluate(
        self,
        rows: Row,
        *,
        columns: Named = ...,
        limit: Most = ...,
        run: Kept = ...,
        budget: Limit = ...,
        progress: Told = ...,
    ) -> RagResult: ...
    @overload
    async def aevaluate(
        self,
        rows: Source,
        *,
        columns: Named = ...,
        limit: Most = ...,
        run: Kept = ...,
        budget: Limit = ...,
        progress: Told = ...,
    ) -> list[RagResult]: ...
    @overload
    async def aevaluate(
        self,
        rows: F,
        *,
        columns: Mapping[str, str],
        run: Kept = ...,
        budget: Limit = ...,
        progress: Told = ...,
    ) -> F: ...
    async def aevaluate(
        self,
        rows: Row | Source | F,
        *,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[RagResult] | None = None,
    ) -> RagResult | list[RagResult] | F:
        """Score the rows of a file (a path) or of a list, or a single Instance or mapping. With
        ``columns``, a data frame comes back with the verdicts and a column per dimension and
        measure.

        ``columns`` maps fields to columns (``{"response": "Bot said"}``); ``limit`` takes only the
        first rows. ``run`` is a folder that keeps every answer; answers already in it are reused.
        ``budget`` is an ``adjudge.Budget``; at its limit BudgetSpent is raised. ``progress`` is
        True
        for a bar, or a function that is called with each result as it arrives.
        """

        async def judge(frame_rows: list[TableRow]) -> list[RagResult | None]:
            cells = [cast("Mapping[str, object]", row.cells) for row in frame_rows]
            filled = [dict(row) for row in cells if not is_blank_row(row)]
            items = self.rows(filled).instances if filled else []
            results = iter(await self.judge_items(items, run=run, budget=budget, progress=progress))
            return [None if is_blank_row(row) else next(results) for row in cells]

        if columns is not None and is_frame(rows):
            if limit is not None:
                raise SetupError(
                    "limit works only for files and lists: pass the first rows of the frame instead"
                )
            return await with_verdicts(
                cast(F, rows),
                columns,
                judge,
                [*(part.name for part in self._scored), *(part.name for part in self.measured)],
                lambda result: {**result.scores, **result.measures},
            )
        source = cast("Row | Source", rows)
        instances = _instances(self, source, columns, limit)
        results = await self.judge_items(instances, run=run, budget=budget, progress=progress)
        return results[0] if isinstance(source, Mapping | Instance) else results

    evaluate = sync_edge(aevaluate)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the settings with the dimensions and measures in full, wherever they came from."""
        settings = super().configuration(criteria)
        settings["dimensions"] = {component.name: plain(component) for component in self._scored}
        if self.measured:
            settings["measures"] = {component.name: plain(component) for component in self.measured}
            if self._measuring.checks:
                settings["checks"] = [
                    plain(component) for component in self._measuring.checks.values()
                ]
        checks = [CHECK, *(CHECKED_TOGETHER if self.checks == "joint" else ())]
        templates = [
            *(checks if self._measuring.checks else ()),
            *([standalone.TEMPLATE] if self.rewrite_questions else ()),
        ]
        return with_wording(
            settings, self.language, sentences=bool(self.evidence), further_templates=templates
        )

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask for one vote; a failure is a vote too."""
        if ballot.template == standalone.TEMPLATE:
            return await ask_with(ballot, self.panel[ballot.model], prompt_for(ballot), read_text)
        return await self._judge.ask(ballot)

    def check(self, item: Instance) -> None:
        """Raise a SetupError if the row lacks a field that a dimension reads.

        A conversation and fragments may be empty.
        """
        for dimension in self._scored:
            check_fields(item, dimension, absent(self.language))

    def pool(self, item: Instance, votes: Sequence[Vote]) -> RagResult:
        """Pool each dimension's votes, then the measures, then the composite."""
        question = self._question(item, votes_by_case(split(votes)))
        result = self._pool_votes(item, votes, question)
        result = (
            replace(result, notes=(*result.notes, *question.notes))
            if question and question.notes
            else result
        )
        models = dict.fromkeys(vote.model for vote in votes)
        if not self._measuring.weighed or len(models) < 2:
            return result
        # a panel's models may differ in measures too, so each gets a composite of its own votes
        votes_by_model = {name: [vote for vote in votes if vote.model == name] for name in models}
        composites = {
            name: self._pool_votes(item, model_votes, question).composite.value
            for name, model_votes in votes_by_model.items()
        }
        return replace(
            result,
            own_composites={name: value for name, value in composites.items() if value is not None},
        )

    def _pool_votes(
        self, item: Instance, votes: Sequence[Vote], question: JudgedQuestion | None
    ) -> RagResult:
        cast = votes_by_case(split(votes))
        evidence = self._looks_up.pool(item, about_sentences(votes)) if self._looks_up else None
        results = {
            case.criteria.name: score_groundedness(case, evidence)
            if evidence and case.criteria.name == self._by_sentence
            else self._judge.pool(case, cast.get(key_of(case), []))
            for case in self._cases(item, question)
        }
        if not self.measured:
            return replace(
                _result(self, item, tuple(votes), results), evidence=evidence, question=question
            )
        measured, parts = self._measuring.compute(row_texts(item, question), self._results(cast))
        result = _result(self, item, tuple(votes), results, measured)
        by_sentence = evidence.score if evidence and self._by_sentence else None
        share = result.normalized.get(GROUNDEDNESS, by_sentence)
        return replace(
            result, evidence=evidence, question=question, parts=parts, blame=blame(measured, share)
        )

    def fallback_result(self, result: RagResult, choice: random.Random) -> RagResult:
        """Fill missing scores at random. The status stays, so aggregates leave them out."""
        results = {
            name: result_of_dimension
            if result_of_dimension.status is Status.SCORED
            else self._judge.fallback_result(result_of_dimension, choice)
            for name, result_of_dimension in result.judged.items()
        }
        made_up = _result(self, result.instance, result.votes, results, result.measured)
        made_up = replace(
            made_up,
            parts=result.parts,
            blame=result.blame,
            evidence=result.evidence,
            question=result.question,
        )
        return replace(made_up, status=result.status, fallback="random")


def _instances(
    rag: RagEvaluator,
    source: Row | Source,
    columns: Mapping[str, str] | None,
    limit: int | None,
) -> Sequence[Instance]:
    if isinstance(source, Mapping | Instance):
        return rag.rows([source], columns).instances
    rows = rag.rows(source, columns, limit)
    if rows.blank:
        _LOG.warning(rows.blank)
    return rows.instances


def _result(
    rag: RagEvaluator,
    item: Instance,
    votes: tuple[Vote, ...],
    results: Mapping[str, DirectInstanceResult],
    measured: Mapping[str, Measured] = NOTHING_MEASURED,
) -> RagResult:
    scores = {
        name: None if dimension_result.score is None else int(dimension_result.score)
        for name, dimension_result in results.items()
    }
    combined = composite(scores, rag._scored, list(measured.values()))
    status = (
        Status.SCORED
        if combined.value is not None
        else status_of_row([dimension_result.status for dimension_result in results.values()])
    )
    agreements = [
        dimension_result.agreement
        for dimension_result in results.values()
        if dimension_result.agreement is not None
    ]
    return RagResult(
        instance=item,
        criteria=rag.criteria,
        status=status,
        votes=votes,
        score=combined.value,
        agreement=sum(agreements) / len(agreements) if agreements else None,
        tie=any(dimension_result.tie for dimension_result in results.values()),
        composite=combined,
        dimensions=rag._scored,
        judged=FrozenDict(results),
        measured=FrozenDict(measured),
        notes=tuple(
            dict.fromkeys(
                note for dimension_result in results.values() for note in dimension_result.notes
            )
        ),
    )


def _dimension_judge(rag: RagEvaluator) -> DirectJudge:
    return DirectJudge(
        rag.model if rag._asks else nobody,
        votes=rag.votes,
        early_stop=rag.early_stop,
        on_failure=rag.on_failure,
        **_ask_options(rag),
    )


def _evidence_judge(rag: RagEvaluator) -> EvidenceJudge:
    return EvidenceJudge(
        rag.model,
        method=rag.evidence or "rules",
        split="claims" if rag.claims else "sentences",
        votes=rag.votes,
        **_ask_options(rag),
    )


def _ask_options(rag: RagEvaluator) -> AskOptions:
    return AskOptions(
        language=rag.language,
        temperature=rag.temperature,
        seed=rag.seed,
        mode=rag.mode,
        max_repairs=rag.max_repairs,
    )


def _refusal(measure: RagMeasure) -> Message | None:
    """Return why a gate cannot require a minimum mean of this measure; None if it can."""
    if measure.higher_is_better:
        return None
    return Message(
        "fail_under cannot be used for {name!r}, because lower values are better: name "
        "context_precision, or give it a weight in the composite",
        name=measure.name,
    )
