"""The evidence judge: it looks texts up in their sources, sentence by sentence, and finds what is
supported, contradicted or not found.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, cast, overload

from adjudge.core.aio.event_loop import same_as, sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.gateway.registry import EMBEDDED
from adjudge.core.judges.frames import F, with_verdicts
from adjudge.core.judges.inputs import DataSet, Frame, as_instance, items_of, one_or_all
from adjudge.core.judges.judge import InstanceLike, Judge, Progress
from adjudge.core.judges.settings import (
    NO_MODELS,
    AskSettings,
    ModelPanel,
    OnFailure,
    alias,
    check_mode,
    check_votes,
    one_of,
)
from adjudge.core.pooling.majority import notes_on
from adjudge.core.prompts.renderer import sentence_wordings, wording
from adjudge.errors import SetupError
from adjudge.features.evidence.fragments import fragments_in
from adjudge.features.evidence.pool import (
    CheckedText,
    claims_of,
    evidence_text,
    look_up,
    support_criteria,
)
from adjudge.features.evidence.questions import CLAIMS, QUESTION, EvidenceQuestions
from adjudge.features.evidence.result import EvidenceResult
from adjudge.features.evidence.sentences import sentences
from adjudge.features.evidence.support import INVENTED

Method = Literal["each", "joint", "rules", "flags", "flags-first"]
METHODS: tuple[Method, ...] = ("each", "joint", "rules", "flags", "flags-first")
Split = Literal["sentences", "claims"]
SPLITS: tuple[Split, ...] = ("sentences", "claims")
_FLAGS_FIRST = "flags-first"
Given = InstanceLike | Sequence[InstanceLike] | Frame | DataSet
Told = Progress[EvidenceResult]


@dataclass(frozen=True)
class EvidenceJudge(AskSettings, Judge[Instance, EvidenceResult]):
    """Looks up every sentence of a text in its sources. A quote counts as evidence only if a
    program finds it there.

    Example:
        judge = EvidenceJudge("mistral/mistral-small-latest")
        result = judge({"response": "It opened in 1889.", "contexts": ["Opened in 1889."]})
        result.verdict  # "supported"

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model.
        model: another name of ``models``.
        method: "each": one question per sentence; "joint": one for all sentences, 20 at most, for
            models that write; "rules": no model is asked, and numbers, dates, units, names and
            quotations that no source contains are marked; "flags": the embedded model says what
            is surely unsupported and where to look, with what the sources lack; "flags-first": the
            same model first, and then one question per sentence about what it is not sure of.
        split: "sentences": by rule; "claims": a model says first what each sentence claims.
        text_field: the field that is looked up.
        source_field: the field that holds the fragments.
        votes: votes per model and sentence.
        strictness: another name of ``votes``.
        language: of prompts and explanations: "en" or "ru".
        temperature: by default the model's own setting, else 0 for one vote and 1 for several.
        seed: of the first vote, the next one has the next number; None: the model's own, if it has
            one.
        mode: "generate": the model writes a verdict with its quotes; "likelihood": the verdicts are
            compared by their log-probability, and a program chooses the passage that is most alike.
            By default local models do the latter.
        max_repairs: how often a model is asked again after a reply that cannot be read, or a quote
            that does not exist.
        on_failure: what a text without a verdict becomes: "abstain", "raise" or "random".
    """

    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    _: KW_ONLY
    method: Method = "each"
    split: Split = "sentences"
    text_field: str = "response"
    source_field: str = "contexts"
    votes: int = 1
    model: ModelLike | Sequence[ModelLike] | None = alias("models")
    strictness: int | None = alias("votes")
    mode: Mode | None = None
    on_failure: OnFailure = "abstain"

    def check_settings(self) -> None:
        """Raise a SetupError if a setting is wrong."""
        super().check_settings()
        check_votes("votes", self.votes)
        one_of("method", self.method, METHODS)
        one_of("split", self.split, SPLITS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.mode, self.panel)
        if self.method == _FLAGS_FIRST and self.split == CLAIMS:
            raise SetupError(
                "method='flags-first' is fitted to sentences: leave split='claims' out, or use "
                "method='each'"
            )
        for name in self._named_models:
            model = self.panel[name]
            if self.method == "flags" and (
                self.split == CLAIMS or not model.capabilities.calibration
            ):
                raise SetupError(
                    "method='flags' is fitted to sentences and the embedded model, "
                    "local/smollm2-135m: {name} or split='claims' cannot be used with it",
                    name=name,
                )
            if self._compares_options(name) and (self.method == "joint" or self.split == CLAIMS):
                what = "method='joint'" if self.method == "joint" else "split='claims'"
                raise SetupError(
                    "{name} only compares options and generates no text: {what} needs a model "
                    "that does, or mode='generate'",
                    name=name,
                    what=what,
                )

    def open_models(self) -> ModelPanel:
        """Open the models; an empty panel for rules. ``flags-first`` adds the embedded model."""
        if self.method == "rules":
            return NO_MODELS
        panel = ModelPanel.of(self.models)
        if self.method != _FLAGS_FIRST:
            return panel
        if EMBEDDED in panel:
            raise SetupError(
                "method='flags-first' already asks {name} before the named models: name another "
                "model, or use method='flags'",
                name=EMBEDDED,
            )
        # first in the panel: it is asked before the others
        return ModelPanel({**ModelPanel.of(EMBEDDED), **panel})

    @property
    def _named_models(self) -> list[str]:
        """The panel without the embedded model that ``flags-first`` adds."""
        return [name for name in self.panel if self.method != _FLAGS_FIRST or name != EMBEDDED]

    @property
    def samples(self) -> int:
        """Number of votes per model and sentence."""
        return self.votes

    @property
    def max_in_flight(self) -> int:
        """The maximum number of texts judged at the same time."""
        return super().max_in_flight or 1

    @property
    def criteria(self) -> Criteria:
        """The question about a sentence."""
        return support_criteria(self.language)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the configuration, including the wording of the questions about sentences."""
        return with_wording(super().configuration(criteria), self.language)

    @overload
    async def aevaluate(  # type: ignore[overload-overlap]
        self,
        instances: InstanceLike,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Told | None = ...,
    ) -> EvidenceResult: ...
    @overload
    async def aevaluate(
        self,
        instances: Sequence[InstanceLike] | Frame | DataSet,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Told | None = ...,
    ) -> list[EvidenceResult]: ...
    @overload
    async def aevaluate(
        self,
        instances: F,
        *,
        columns: Mapping[str, str],
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Told | None = ...,
    ) -> F: ...
    async def aevaluate(
        self,
        instances: Given | F,
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> EvidenceResult | list[EvidenceResult] | F:
        """Judge one instance (→ one result), or a list of them (→ a list). With ``columns``
        (field → column, or {}), a data frame comes back with the verdicts.

        An instance is a mapping or an Instance with the text and its sources.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """

        async def judge(given: object) -> list[EvidenceResult]:
            many = [given] if isinstance(given, Instance) else given
            rows = items_of(many)
            also = (self.text_field, self.source_field)
            items = [as_instance(item, self.text_field, also) for item in rows]
            return await self.judge_items(items, run=run, budget=budget, progress=progress)

        if columns is not None:
            return await with_verdicts(cast(F, instances), columns, judge)
        return one_or_all(instances, await judge(instances))

    evaluate = sync_edge(aevaluate)
    __call__ = same_as(evaluate)

    def check(self, item: Instance) -> None:
        """Raise a SetupError if the text or the source field is missing, or the text is a list.

        The source field may be empty; then nothing is found.
        """
        for name in (self.text_field, self.source_field):
            if name not in item.fields:
                names = ", ".join(sorted(item.fields))
                raise SetupError(
                    "evidence needs the field {name!r}, but the instance has only: {found}",
                    name=name,
                    found=names,
                )
        if not isinstance(item.fields[self.text_field], str):
            raise SetupError(
                "evidence can be looked up only for a single text, but the field {text_field!r} "
                "contains a list",
                text_field=self.text_field,
            )

    def checked_text(self, item: Instance) -> CheckedText:
        """Split the text into sentences, and the sources into fragments."""
        text = evidence_text(item, self.text_field)
        question = evidence_text(item, QUESTION)
        return CheckedText(
            text, sentences(text), fragments_in(item.fields.get(self.source_field, ())), question
        )

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the next ballots: one per sentence that makes a claim, or one for several at once.

        Equal sentences are asked about once. With claims or ``flags-first``, another round comes
        first.
        """
        checked = self.checked_text(item)
        if self.method == "rules" or not checked.fragments or not checked.claims:
            return []
        if self.method == _FLAGS_FIRST:
            return self._after_flags(checked, votes)
        if self.split == "sentences":
            return [] if votes else self._ballots(checked, checked.claims)
        if not votes:
            model = next(iter(self.panel))  # once, for all votes
            return [
                self.ballot_for(*claims_question, model, 0)
                for claims_question in self._questions(checked).claims()
            ]
        claim_votes, support_votes = _split_votes(votes)
        return (
            []
            if support_votes
            else self._ballots(
                checked, [claim for claims in claims_of(claim_votes).values() for claim in claims]
            )
        )

    def plan_all(self, item: Instance) -> Sequence[Ballot]:
        """Return all ballots that may be needed, with each sentence counted as one claim."""
        ballots = self.plan(item, ())
        checked = self.checked_text(item)
        twice = self.split == CLAIMS or self.method == _FLAGS_FIRST
        # before it is known what the sentences claim, each counts as one claim
        return [*ballots, *self._ballots(checked, checked.claims)] if ballots and twice else ballots

    def pool(self, item: Instance, votes: Sequence[Vote]) -> EvidenceResult:
        """Pool each sentence's votes: the majority verdict, with the quotes of the agreeing
        votes.
        """
        claim_votes, support_votes = _split_votes(votes)
        checked = self.checked_text(item)
        flags, other_votes = _split_flags(support_votes, self.method)

        def pool_some(some: Sequence[Vote]) -> EvidenceResult:
            return look_up(checked, some, self.criteria, self.method, claim_votes, flags)

        result = pool_some(other_votes)
        panel = {
            model: pool_some([vote for vote in other_votes if vote.model == model]).scale
            for model in self._named_models
        }
        return replace(
            result,
            instance=item,
            votes=tuple(votes),
            text_field=self.text_field,
            source_field=self.source_field,
            invented=_count_invented(votes),
            model_scales=panel if len(panel) > 1 else {},
            notes=(*result.notes, *notes_on(support_votes, self.temperatures)),
        )

    def row_criteria(self) -> Criteria:
        return replace(
            self.criteria,
            to_evaluate_field=self.text_field,
            context_fields=(self.source_field, QUESTION),
        )

    def fallback_result(self, result: EvidenceResult, choice: random.Random) -> EvidenceResult:
        """Draw a random score within the bounds. The status is unchanged, so aggregates do not
        count it.
        """
        return replace(result, score=choice.uniform(*result.bounds), fallback="random")

    def _questions(self, checked: CheckedText) -> EvidenceQuestions:
        return EvidenceQuestions(checked, self.criteria, self.text_field, self.source_field)

    def _ballots(self, checked: CheckedText, claims: Sequence[str]) -> list[Ballot]:
        """Return the ballots for all models and samples."""
        questions_about, several = self._questions(checked), tuple(dict.fromkeys(claims))
        return [
            self.ballot_for(*question, model, sample, mode)
            for model in self._named_models
            for sample in range(self.samples)
            for mode, questions in (
                (None, questions_about.about_all(several))
                if self.method == "joint"
                else ("likelihood", questions_about.flags())
                if self.method == "flags"
                else (
                    self.mode,
                    questions_about.about_each(several, alone=self._compares_options(model)),
                ),
            )
            for question in questions
        ]

    def _compares_options(self, model: str) -> bool:
        model_mode = self.panel[model].mode
        return model_mode == "decide" or (self.mode or model_mode) == "likelihood"

    def _after_flags(self, checked: CheckedText, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots for the flags, then those for sentences that are not surely
        unsupported.
        """
        flags, other_votes = _split_flags(votes, self.method)
        if not flags:
            questions = self._questions(checked).flags()
            return [self.ballot_for(*question, EMBEDDED, 0, "likelihood") for question in questions]
        if other_votes:
            return []
        result = look_up(checked, flags, self.criteria, "flags")
        # this includes sentences whose flag could not be read
        return self._ballots(
            checked, [claim.text for claim in result.claims if claim.support is None]
        )


def with_wording(
    configuration: JsonDict,
    language: str,
    *,
    sentences: bool = True,
    further_templates: Sequence[str] = (),
) -> JsonDict:
    """Add the wording of the questions about sentences, and of further templates, to a
    configuration.
    """
    templates = configuration.get("templates")
    wordings = {**sentence_wordings(language)} if sentences else {}
    wordings |= {f"{name}.jinja": wording(f"{name}.jinja", language) for name in further_templates}
    return (
        {
            **configuration,
            "templates": {**(templates if isinstance(templates, dict) else {}), **wordings},
        }
        if wordings
        else configuration
    )


def _split_flags(votes: Sequence[Vote], method: Method) -> tuple[Sequence[Vote], Sequence[Vote]]:
    """Split votes into those of the flagging model and the others; only ``flags-first`` has
    both.
    """
    if method != _FLAGS_FIRST:
        return (), votes
    return (
        [vote for vote in votes if vote.model == EMBEDDED],
        [vote for vote in votes if vote.model != EMBEDDED],
    )


def _split_votes(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """Split votes into those that list the sentences' claims and those on support."""
    claim_votes = [vote for vote in votes if vote.ballot.template == CLAIMS]
    return claim_votes, [vote for vote in votes if vote.ballot.template != CLAIMS]


def _count_invented(votes: Sequence[Vote]) -> dict[str, int]:
    """Count each model's quotes that are not in the fragment it named."""
    counts: dict[str, int] = {}
    for vote in votes:
        count = vote.metadata.get(INVENTED)
        if isinstance(count, int):
            counts[vote.model] = counts.get(vote.model, 0) + count
    return counts
