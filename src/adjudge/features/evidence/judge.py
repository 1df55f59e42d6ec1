"""Texts looked up in their sources, sentence by sentence: what is supported, what is contradicted,
what is not found.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, overload

from adjudge.core.aio.event_loop import same_as, sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.gateway.registry import EMBEDDED
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
    Looked,
    claims_of,
    evidence_text,
    looked_up,
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
    """Looks every sentence of a text up in its sources. A quote counts as evidence only where a
    program finds it there.

    Parameters:
        models: one model or a panel: ids, model objects or functions ``prompt -> text``; None is
            the embedded model.
        model: another name of ``models``.
        method: "each": one question a sentence; "joint": one for all sentences, 20 at most, for
            models that write; "rules": no model is asked, and numbers, dates, units, names and
            quotations that no source contains are marked; "flags": the embedded model says what
            is surely unsupported and where to look, with what the sources lack; "flags-first": the
            same model first, and then one question a sentence about what it is not sure of.
        split: "sentences": by rule; "claims": a model says first what each sentence claims.
        text_field: what is looked up.
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
        """Raise a SetupError when the fields cannot be."""
        super().check_settings()
        check_votes("votes", self.votes)
        one_of("method", self.method, METHODS)
        one_of("split", self.split, SPLITS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.mode, self.panel)
        if self.method == _FLAGS_FIRST and self.split == CLAIMS:
            raise SetupError(
                "method='flags-first' is fitted to sentences: leave split='claims' out, or take "
                "method='each'"
            )
        for name in self._asked:
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
                    "{name} compares options and writes nothing: {what} needs a model that "
                    "writes, or mode='generate'",
                    name=name,
                    what=what,
                )

    def open_models(self) -> ModelPanel:
        """The models, ready to be asked; rules need none."""
        if self.method == "rules":
            return NO_MODELS
        named = ModelPanel.of(self.models)
        if self.method != _FLAGS_FIRST:
            return named
        if EMBEDDED in named:
            raise SetupError(
                "method='flags-first' asks {name} before the models that are named: name another "
                "one, or take method='flags'",
                name=EMBEDDED,
            )
        return ModelPanel({**ModelPanel.of(EMBEDDED), **named})

    @property
    def _asked(self) -> list[str]:
        """The models that were named."""
        return [name for name in self.panel if self.method != _FLAGS_FIRST or name != EMBEDDED]

    @property
    def samples(self) -> int:
        """Votes per model and sentence."""
        return self.votes

    @property
    def max_in_flight(self) -> int:
        """Texts under way at once."""
        return super().max_in_flight or 1

    @property
    def criteria(self) -> Criteria:
        """What is asked of a sentence."""
        return support_criteria(self.language)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """With the wording of the questions about sentences."""
        return worded(super().configuration(criteria), self.language)

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
    async def aevaluate(
        self,
        instances: Given,
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Told | None = None,
    ) -> EvidenceResult | list[EvidenceResult]:
        """Judge one instance (→ one result), or a list of them (→ a list).

        An instance is a mapping or an Instance with the text and its sources.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """
        many = [instances] if isinstance(instances, Instance) else instances
        found = [as_instance(item, self.text_field) for item in items_of(many, "read_instances")]
        results = await self.judge_items(found, run=run, budget=budget, progress=progress)
        return one_or_all(instances, results)

    evaluate = sync_edge(aevaluate)
    __call__ = same_as(evaluate)

    def check(self, item: Instance) -> None:
        """The text must be there, and a field for its sources; a text without any fragment has
        nothing to be found in.
        """
        for name in (self.text_field, self.source_field):
            if name not in item.fields:
                found = ", ".join(sorted(item.fields))
                raise SetupError(
                    "evidence needs the field {name!r}; the instance has only: {found}",
                    name=name,
                    found=found,
                )
        if not isinstance(item.fields[self.text_field], str):
            raise SetupError(
                "evidence is looked for one text at a time: the field {text_field!r} holds a list",
                text_field=self.text_field,
            )

    def looked(self, item: Instance) -> Looked:
        """The sentences of the text and the fragments they are looked for in."""
        text = evidence_text(item, self.text_field)
        asked = evidence_text(item, QUESTION)
        return Looked(
            text, sentences(text), fragments_in(item.fields.get(self.source_field, ())), asked
        )

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """One ballot for each sentence that claims something, or one for all of them; equal
        sentences once.
        """
        looked = self.looked(item)
        if self.method == "rules" or not looked.fragments or not looked.claims:
            return []
        if self.method == _FLAGS_FIRST:
            return self._after_flags(looked, votes)
        if self.split == "sentences":
            return [] if votes else self._ballots(looked, looked.claims)
        if not votes:
            first = next(iter(self.panel))  # once, for all votes
            return [self.ballot_for(*one, first, 0) for one in self._questions(looked).claims()]
        made, asked = _apart(votes)
        return (
            []
            if asked
            else self._ballots(
                looked, [claim for some in claims_of(made).values() for claim in some]
            )
        )

    def plan_all(self, item: Instance) -> Sequence[Ballot]:
        """Before it is known what the sentences claim, each counts as one claim."""
        first = self.plan(item, ())
        looked = self.looked(item)
        twice = self.split == CLAIMS or self.method == _FLAGS_FIRST
        return [*first, *self._ballots(looked, looked.claims)] if first and twice else first

    def pool(self, item: Instance, votes: Sequence[Vote]) -> EvidenceResult:
        """Each sentence by its own votes: the majority, and the quotes of those who are in it."""
        made, asked = _apart(votes)
        looked = self.looked(item)
        flags, others = _flags_apart(asked, self.method)

        def pool_some(some: Sequence[Vote]) -> EvidenceResult:
            return looked_up(looked, some, self.criteria, self.method, made, flags)

        result = pool_some(others)
        panel = {
            model: pool_some([one for one in others if one.model == model]).scale
            for model in self._asked
        }
        return replace(
            result,
            instance=item,
            votes=tuple(votes),
            text_field=self.text_field,
            source_field=self.source_field,
            invented=_invented(votes),
            model_scales=panel if len(panel) > 1 else {},
            notes=(*result.notes, *notes_on(asked, self.temperatures)),
        )

    def row_criteria(self) -> Criteria:
        return replace(
            self.criteria,
            to_evaluate_field=self.text_field,
            context_fields=(self.source_field, QUESTION),
        )

    def fallback_result(self, result: EvidenceResult, choice: random.Random) -> EvidenceResult:
        """A share by chance, between what it could be; the status stays what it was."""
        return replace(result, score=choice.uniform(*result.bounds), fallback="random")

    def _questions(self, looked: Looked) -> EvidenceQuestions:
        return EvidenceQuestions(looked, self.criteria, self.text_field, self.source_field)

    def _ballots(self, looked: Looked, claims: Sequence[str]) -> list[Ballot]:
        """To every model, as often as there are votes."""
        asked, several = self._questions(looked), tuple(dict.fromkeys(claims))
        return [
            self.ballot_for(*one, model, sample, mode)
            for model in self._asked
            for sample in range(self.samples)
            for mode, questions in (
                (None, asked.about_all(several))
                if self.method == "joint"
                else ("likelihood", asked.flags())
                if self.method == "flags"
                else (self.mode, asked.about_each(several, alone=self._compares_options(model))),
            )
            for one in questions
        ]

    def _compares_options(self, model: str) -> bool:
        asked = self.panel[model].mode
        return asked == "decide" or (self.mode or asked) == "likelihood"

    def _after_flags(self, looked: Looked, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Flags first; then what is not surely unsupported, which includes what was not read."""
        flags, others = _flags_apart(votes, self.method)
        if not flags:
            asked = self._questions(looked).flags()
            return [self.ballot_for(*one, EMBEDDED, 0, "likelihood") for one in asked]
        if others:
            return []
        first = looked_up(looked, flags, self.criteria, "flags")
        return self._ballots(looked, [one.text for one in first.claims if one.support is None])


def worded(
    configuration: JsonDict,
    language: str,
    *,
    sentences: bool = True,
    others: Sequence[str] = (),
) -> JsonDict:
    """A configuration with the wording of the questions about sentences, and of other templates
    that not every judge uses.
    """
    templates = configuration.get("templates")
    found = {**sentence_wordings(language)} if sentences else {}
    found |= {f"{name}.jinja": wording(f"{name}.jinja", language) for name in others}
    return (
        {
            **configuration,
            "templates": {**(templates if isinstance(templates, dict) else {}), **found},
        }
        if found
        else configuration
    )


def _flags_apart(votes: Sequence[Vote], method: Method) -> tuple[Sequence[Vote], Sequence[Vote]]:
    """The votes of the model that comes before those who were named, and the others."""
    if method != _FLAGS_FIRST:
        return (), votes
    return (
        [vote for vote in votes if vote.model == EMBEDDED],
        [vote for vote in votes if vote.model != EMBEDDED],
    )


def _apart(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """The votes that say what the sentences claim, and those on the claims."""
    made = [vote for vote in votes if vote.ballot.template == CLAIMS]
    return made, [vote for vote in votes if vote.ballot.template != CLAIMS]


def _invented(votes: Sequence[Vote]) -> dict[str, int]:
    """Model → quotes that stand in no such fragment."""
    found: dict[str, int] = {}
    for vote in votes:
        count = vote.metadata.get(INVENTED)
        if isinstance(count, int):
            found[vote.model] = found.get(vote.model, 0) + count
    return found
