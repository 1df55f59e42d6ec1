"""Judges of the form ``judge(instances, criteria)``: their input, their base classes, and how a judge of one's own is run."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from adjudge.aio import event_loop
from adjudge.catalog.criteria import criteria_of
from adjudge.catalog.entry import Kind
from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria, yes_no_criteria
from adjudge.domain.frozen import FrozenDict
from adjudge.domain.instance import Instance
from adjudge.domain.message import Prompt
from adjudge.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.domain.question import Comparison, Question
from adjudge.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result, Status
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Outcome, Vote
from adjudge.engine.run import Asker, RunLike
from adjudge.errors import HALTS, ModelError, Refused, SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.gateway.open import OpenModel
from adjudge.judges.batches import Batches, answers_of, gathered
from adjudge.judges.inputs import DataSet, Frame, fitted, items_of
from adjudge.judges.notes import notes_on
from adjudge.judges.planned import InstanceLike, OnFailure, PlannedJudge, Progress, at_least, check_votes, one_of, temperature_for
from adjudge.prompts.template import check_language

R = TypeVar("R", bound=Result)
CriteriaLike = str | Criteria
MultiCriteriaLike = MultiCriteria | Iterable[MultiCriteriaItem | Criteria | str]
PairwiseLike = Sequence[str] | Mapping[str, object] | Instance
InstancesLike = Instance | Iterable[InstanceLike | PairwiseLike] | Frame | DataSet
"""One or many; a data frame or a data set is its rows."""
_DEFAULT_CONSISTENCY = 3
_BATCHES_AT_ONCE = 8
_NO_VERDICT = "the judge gave no verdict"
_BATCHES: ContextVar[tuple[object, Batches] | None] = ContextVar("batches", default=None)
"""The judge of one's own that is at work, and where its cases are gathered."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged, and by what."""

    instance: Instance
    criteria: Criteria
    template: str = "direct"
    """The words in which it is asked, where that is for the case to say."""

    @property
    def id(self) -> str | None:
        """What the caller calls the instance."""
        return self.instance.id


@dataclass(kw_only=True, eq=False)
class Judge(PlannedJudge[Case, R], Generic[R]):
    """The base of all judges that are called with instances and criteria.

    Parameters:
        self_consistency: votes per model and order: False is 1, True is 3, k is k.
        check_positional_bias: ask the same again with the options (or the responses) in reversed order.
        language: of the prompt and the explanation: "en" or "ru".
        seed: of the first vote, the next one has the next number; None: the model's own, if it has one.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_failure: what a case without a verdict becomes: "abstain" (a result that says so), "raise" (a RunError), or
            "random" (an option by chance, marked as such and left out of every aggregate).
        batch_size: cases that a judge of one's own is handed at once, at most.
    """

    self_consistency: bool | int = False
    check_positional_bias: bool = False
    language: str = "en"
    seed: int | None = None
    max_repairs: int = 3
    on_failure: OnFailure = "abstain"
    kind: ClassVar[Kind] = "direct"
    """Whether texts are judged one by one or compared: what a catalogue name may mean."""
    batch_size: int = 32

    def __post_init__(self) -> None:
        if not isinstance(self.self_consistency, bool):
            check_votes("self_consistency", self.self_consistency)
        at_least("max_repairs", self.max_repairs, 0)
        at_least("batch_size", self.batch_size, 1)
        one_of("on_failure", self.on_failure, ("abstain", "raise", "random"))
        check_language(self.language)

    @property
    def samples(self) -> int:
        """Votes per model and order."""
        if isinstance(self.self_consistency, bool):
            return _DEFAULT_CONSISTENCY if self.self_consistency else 1
        return self.self_consistency

    @property
    def panel(self) -> Mapping[str, OpenModel]:
        """The models by the names on the ballots; a judge of one's own has none."""
        return {}

    @property
    def width(self) -> int:
        """Cases under way at once."""
        return super().width or _BATCHES_AT_ONCE * self.batch_size

    @abstractmethod
    def instance_of(self, item: Any) -> Instance:
        """What the caller gave, as an instance."""

    def __call__(
        self,
        instances: InstancesLike,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> list[R]:
        """The same as ``evaluate``."""
        return self.evaluate(instances, criteria, run=run, budget=budget, progress=progress)

    def evaluate(
        self,
        instances: InstancesLike,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> list[R]:
        """A result for each instance. Criteria: a question, a Criteria, or one for each instance.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again. ``budget``: what may be
        spent; at its limit BudgetSpent is raised. ``progress`` is called with each result as it comes.
        """
        return event_loop.run(self.aevaluate(instances, criteria, run=run, budget=budget, progress=progress))

    async def aevaluate(
        self,
        instances: InstancesLike,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> list[R]:
        """``evaluate`` for async code."""
        return await self.judge_items(self._cases(instances, criteria), run=run, budget=budget, progress=progress)

    def criteria_of(self, items: Sequence[Case]) -> list[Criteria]:
        """The criteria that ``items`` are judged by, each once."""
        return list({item.criteria.identity: item.criteria for item in items}.values())

    def case(self, instance: Instance, criteria: Criteria) -> Case:
        """An instance with its criteria."""
        return Case(fitted(instance, criteria), criteria)

    def instances_of(self, instances: InstancesLike) -> list[Instance]:
        """What the caller gave, one or many, as instances; of a data frame or a data set its rows."""
        reader = "read_comparisons" if self.kind == "pairwise" else "read_instances"
        return [self.instance_of(item) for item in items_of(instances, reader)]

    def as_criteria(self, criteria: CriteriaLike) -> Criteria:
        """A text that names ready-made criteria means those; any other is a question with the options Yes and No."""
        if isinstance(criteria, Criteria):
            return criteria
        if isinstance(criteria, str):
            return criteria_of(criteria, self.kind, self.language)
        raise SetupError(f"criteria are a question or a Criteria, not {type(criteria).__name__}")

    def as_multi_criteria(self, criteria: MultiCriteriaLike) -> MultiCriteria:
        """Texts as for one criteria, each with the same weight."""
        if isinstance(criteria, MultiCriteria):
            return replace(criteria, items=tuple(map(self._ready_made, criteria.items)))
        several = [criteria] if isinstance(criteria, str | Criteria | MultiCriteriaItem) else criteria
        return MultiCriteria.of([self.as_criteria(one) if isinstance(one, str) else one for one in several])

    def _ready_made(self, item: MultiCriteriaItem) -> MultiCriteriaItem:
        """A MultiCriteria makes questions of texts, since it does not know the catalogue."""
        asked = item.criterion
        was_text = asked.name == asked.description and asked == yes_no_criteria(asked.name)
        return replace(item, criterion=self.as_criteria(asked.name)) if was_text else item

    def prompt(self, ballot: Ballot) -> Prompt | None:  # noqa: ARG002 - judges that ask models have one
        """What a model is shown."""
        return None

    def metadata(self, votes: Sequence[Vote]) -> Mapping[str, object]:
        """The prompt of the first vote, where there is one."""
        prompt = self.prompt(votes[0].ballot) if votes else None
        return FrozenDict({"prompt": prompt.text} if prompt else None)

    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:  # noqa: ARG002 - judges of one's own may need it
        """What a reader of the result must know."""
        return notes_on(votes, self.language, self.temperatures)

    @property
    def temperatures(self) -> Mapping[str, float]:
        """What each model is asked at."""
        return {name: temperature_for(model, self.temperature, self.samples) for name, model in self.panel.items()}

    def metadata_with(self, votes: Sequence[Vote], option: object) -> Mapping[str, object]:
        """The metadata, and what a judge of one's own returned along with ``option``."""
        own = [vote for vote in votes if vote.metadata]
        agreeing = [vote for vote in own if vote.verdict and vote.verdict.option == str(option)]
        return FrozenDict({**self.metadata(votes), **((agreeing or own)[0].metadata if own else {})})

    def _cases(self, instances: InstancesLike, criteria: CriteriaLike | Sequence[CriteriaLike]) -> list[Case]:
        found = self.instances_of(instances)
        if isinstance(criteria, str | Criteria) or not isinstance(criteria, Sequence):
            one = self.as_criteria(criteria)
            return [self.case(instance, one) for instance in found]
        if len(criteria) != len(found):
            raise SetupError(f"there are {len(found)} instances and {len(criteria)} criteria: give one, or as many as instances")
        return [self.case(instance, self.as_criteria(one)) for instance, one in zip(found, criteria, strict=True)]

    # -- judges of one's own -------------------------------------------------

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> Any:
        """Judge each instance by the criteria at the same place; sync or async. Judges of one's own write this."""
        raise NotImplementedError(f"{type(self).__name__} has to write _run(instances, criteria)")

    async def _stream(
        self, items: Iterable[Case], saw: Callable[[int, R], None], asker: Asker, run: RunLike | None, budget: Budget | None
    ) -> None:
        async with gathered(self._run, self.batch_size) as batches:
            token = _BATCHES.set((self, batches))
            try:
                await super()._stream(items, saw, asker, run, budget)
            finally:
                _BATCHES.reset(token)

    async def _ask_own(self, ballot: Ballot, shown: Instance, criteria: Criteria) -> Vote:
        """What ``_run`` says of one case, as a vote. Whatever it raises is one failed vote."""
        judge, batches = _BATCHES.get() or (None, None)
        try:
            if batches and judge is self:
                said = await batches.answer(shown, criteria)
            else:
                (said,) = await answers_of(self._run, [shown], [criteria])
            return _own_vote(ballot, said)
        except HALTS:
            raise
        except ModelError as error:
            outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.MODEL_ERROR
            return Vote(ballot=ballot, outcome=outcome, reason=str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a judge of somebody's own: its failure is one failed vote
            return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=f"{type(error).__name__}: {error}")


def _own_vote(ballot: Ballot, said: object) -> Vote:
    """What ``_run`` returned for one case, as a vote; only what was offered counts, and no stand-in of another judge."""
    if not isinstance(said, DirectInstanceResult | PairwiseInstanceResult):
        return _option_vote(ballot, said)
    chosen = said.selected_option if said.status is Status.SCORED and not said.fallback else None
    vote = _no_verdict(ballot, said) if chosen is None else _option_vote(ballot, chosen)
    verdict = vote.verdict and _with_details(replace(vote.verdict, explanation=said.explanation), said, ballot.question)
    return replace(vote, verdict=verdict, metadata=FrozenDict(said.metadata), usage=said.usage)


def _with_details(verdict: Verdict, said: Result, question: Question) -> Verdict:
    """What the judge said beside its verdict; a ranking only where it fits."""
    if isinstance(verdict, Chosen) and isinstance(said, DirectInstanceResult):
        return replace(verdict, feedback=said.feedback, score=_own_score(said.score))
    if isinstance(verdict, Compared) and isinstance(said, PairwiseInstanceResult) and isinstance(question, Comparison):
        ranking = question.ranking_of(said.ranking)
        return replace(verdict, ranking=ranking if ranking and best_of(ranking) == verdict.winner else None)
    return verdict


def _no_verdict(ballot: Ballot, said: Result) -> Vote:
    outcome = Outcome.ABSTAINED if said.status is Status.ABSTAINED else Outcome.UNREADABLE
    reasons = [said.explanation, *(vote.reason for vote in said.votes)]
    return Vote(ballot=ballot, outcome=outcome, reason=next(filter(None, reasons), _NO_VERDICT))


def _option_vote(ballot: Ballot, option: object) -> Vote:
    """A vote for what was chosen, if it was offered."""
    if option is None:
        return Vote(ballot=ballot, outcome=Outcome.ABSTAINED, reason=_NO_VERDICT)
    verdict = ballot.question.chosen(option)
    if verdict is None:
        return Vote(ballot=ballot, outcome=Outcome.UNREADABLE, reason=f"{option!r} is not {ballot.question.choices}")
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=verdict)


def _own_score(score: float | None) -> float | None:
    if score is not None and not math.isfinite(score):
        raise ValueError(f"the score {score} is no number")
    return score if score is None else float(score)
