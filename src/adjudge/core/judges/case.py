"""The base of judges called as ``judge(instances, criteria)``: their input, their results, and
several criteria at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast, overload

from adjudge.core.aio.event_loop import same_as, sync_edge
from adjudge.core.catalog.entry import Kind
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict
from adjudge.core.domain.instance import Instance, Metadata
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Prompt
from adjudge.core.domain.multi_criteria import MultiCriteria
from adjudge.core.domain.result_list import ResultList, Tabular
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import prompt_for
from adjudge.core.engine.run import RunLike
from adjudge.core.engine.session import Companion
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.attributes import code_of
from adjudge.core.judges.companions import with_companions
from adjudge.core.judges.frames import F, with_verdicts
from adjudge.core.judges.inputs import (
    CriteriaLike,
    DataSet,
    Frame,
    MultiCriteriaLike,
    as_criteria,
    as_multi_criteria,
    fit_to_criteria,
    items_of,
    one_or_all,
    warn_of_labels,
)
from adjudge.core.judges.judge import InstanceLike, Judge, Progress
from adjudge.core.judges.settings import at_least, check_votes
from adjudge.core.pooling.majority import notes_on, replacement_notes
from adjudge.errors import SetupError


@light_dataclass(frozen=True)
class Case:
    """One instance with one criterion, ready to be judged.

    Example: ``Case(Instance({"response": "Paris."}), Criteria("short", "Is it short?", options))``
    """

    instance: Instance
    criteria: Criteria
    template: str = "direct"
    """The prompt template, if the case chooses it."""

    @property
    def id(self) -> str | None:
        """Return the instance's id; None if the caller gave none."""
        return self.instance.id


R = TypeVar("R", bound=Result)
M = TypeVar("M", bound=Tabular)
PairwiseLike = Sequence[str] | Mapping[str, object] | Instance
OneLike = str | float | Mapping[str, object] | Instance
ManyLike = Iterable[InstanceLike | PairwiseLike] | Frame | DataSet
"""A data frame or a data set is its rows."""
InstancesLike = OneLike | ManyLike


class CaseJudge(Judge[Case, R], Generic[R, M]):
    """Base of judges called with instances and criteria. ``M`` is the result of several criteria
    at once.

    Parameters:
        votes: votes per model and order.
        self_consistency: EvalAssist's name for ``votes``: False is 1, True is 3, k is k.
        check_positional_bias: ask again with the options (or the responses) in reversed order.
        language: "en" or "ru", for the prompt and the explanation.
        seed: the first vote's seed, increased by 1 for each further vote; None: the model's own, if
            it has one.
        max_repairs: how often a model is asked again after an unreadable reply.
        on_failure: the treatment of a case without a verdict: "abstain" (a result that says so),
            "raise" (a RunError), or "random" (a random option, marked as such and left out of
            every aggregate).
        batch_size: the most cases that a custom judge gets at once.
    """

    votes: int = 1
    check_positional_bias: bool = False
    batch_size: int = 32
    stored_names: ClassVar[Mapping[str, str]] = {"votes": "self_consistency"}
    kind: ClassVar[Kind] = "direct"
    """"pairwise" if responses are compared: it decides which catalogue entries a name may mean."""

    def check_settings(self) -> None:
        """Raise a SetupError if a field has a value that is not allowed."""
        check_votes("votes", self.votes)
        at_least("batch_size", self.batch_size, 1)
        super().check_settings()

    @property
    def samples(self) -> int:
        """Votes per model and order."""
        return self.votes

    @abstractmethod
    def instance_of(self, item: InstanceLike | PairwiseLike) -> Instance:
        """Return the caller's input as an instance."""

    @abstractmethod
    def arrange(self, ballot: Ballot) -> tuple[Instance, Criteria]:
        """Return the ballot's instance and criterion in the order shown, as a custom judge receives
        them.
        """

    @abstractmethod
    def combine(self, instance: Instance, multi: MultiCriteria, results: Sequence[R]) -> M:
        """Combine the results of one instance, one per criterion, into one."""

    @abstractmethod
    def check_multi_criteria(self, multi: MultiCriteria) -> None:
        """Raise a SetupError if results under these criteria cannot be combined."""

    @overload
    async def aevaluate(  # type: ignore[overload-overlap]  # a text is one thing to judge
        self,
        instances: OneLike,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> R: ...
    @overload
    async def aevaluate(
        self,
        instances: ManyLike,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> list[R]: ...
    @overload
    async def aevaluate(
        self,
        instances: F,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        columns: Mapping[str, str],
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> F: ...
    async def aevaluate(
        self,
        instances: InstancesLike | F,
        criteria: CriteriaLike | Sequence[CriteriaLike],
        *,
        columns: Mapping[str, str] | None = None,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> R | list[R] | F:
        """Judge one instance (→ one result), or a list of them (→ a list). With ``columns``, a data
        frame comes back with the columns verdict, score, explanation and status.

        ``columns``: field → column of the frame; {} if its columns have the usual names.

        ``criteria``: a question, a Criteria, or a list with one for each instance.

        ``run``: a folder in which every answer is kept; what it holds already is not asked again.
        ``budget``: what may be spent, an ``adjudge.Budget``; at its limit BudgetSpent is raised.
        ``progress``: True shows a bar, a function is called with each result as it comes.
        """

        async def judge(given: Any) -> list[R]:
            return await self.judge_items(
                self.cases(given, criteria), run=run, budget=budget, progress=progress
            )

        if columns is not None:
            return await with_verdicts(cast(F, instances), columns, judge)
        return one_or_all(instances, await judge(instances))

    evaluate = sync_edge(aevaluate)
    __call__ = same_as(evaluate)

    @overload
    async def aevaluate_multi_criteria(  # type: ignore[overload-overlap]
        self,
        instances: OneLike,
        multi_criteria: MultiCriteriaLike,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> M: ...
    @overload
    async def aevaluate_multi_criteria(
        self,
        instances: ManyLike,
        multi_criteria: MultiCriteriaLike,
        *,
        run: RunLike | None = ...,
        budget: Budget | None = ...,
        progress: Progress[R] | None = ...,
    ) -> list[M]: ...
    async def aevaluate_multi_criteria(
        self,
        instances: InstancesLike,
        multi_criteria: MultiCriteriaLike,
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> M | list[M]:
        """Judge one instance (→ one aggregate), or a list of them (→ a list), by several criteria.

        ``multi_criteria``: a list of questions or Criteria of equal weight, or a MultiCriteria.
        ``run``, ``budget`` and ``progress`` as for ``evaluate``: they see one result per instance
        and criterion.
        """
        multi = as_multi_criteria(multi_criteria, self.kind, self.language)
        self.check_multi_criteria(multi)
        cases = self.instances_of(instances)
        pairs = [(instance, item.criterion) for instance in cases for item in multi.items]
        pair_criteria = [criteria for _, criteria in pairs]
        with with_companions([(self, [item.criterion for item in multi.items])]):
            results = await self.aevaluate(
                [judged_instance for judged_instance, _ in pairs],
                pair_criteria,
                run=run,
                budget=budget,
                progress=progress,
            )
        width = len(multi.items)
        aggregates = ResultList(
            [
                self.combine(judged_instance, multi, results[number * width : (number + 1) * width])
                for number, judged_instance in enumerate(cases)
            ]
        )
        return one_or_all(instances, aggregates)

    evaluate_multi_criteria = sync_edge(aevaluate_multi_criteria)

    def criteria_of(self, items: Sequence[Case]) -> list[Criteria]:
        """Return the distinct criteria of the items."""
        return list({item.criteria.identity: item.criteria for item in items}.values())

    def companion(self, criteria: Criteria) -> Companion | None:
        return partial(self._companion_ballot, criteria) if self._plans_alone else None

    @property
    def _plans_alone(self) -> bool:
        """Return True if ``ballots`` returns the whole plan, whatever the votes so far."""
        return False

    def _companion_ballot(self, criteria: Criteria, ballot: Ballot) -> Ballot | None:
        """Return the ballot of another criterion about the same row, model and order; None if there
        is none.
        """
        if ballot.model not in self.panel.members:
            return None
        try:
            case = self.case(ballot.instance, criteria)
            self.check(case)
        except SetupError:
            return None
        like = (ballot.model, ballot.sample, ballot.question.order)
        return next(
            (
                candidate
                for candidate in self.ballots(case)
                if (candidate.model, candidate.sample, candidate.question.order) == like
                and candidate.instance == ballot.instance
            ),
            None,
        )

    @abstractmethod
    def ballots(self, case: Case) -> list[Ballot]:
        """Return all ballots of a case."""

    def case(self, instance: Instance, criteria: Criteria) -> Case:
        """Pair an instance with a criterion, adding the fields of its row that the criterion
        reads.
        """
        return Case(fit_to_criteria(instance, criteria), criteria)

    def instances_of(self, instances: InstancesLike) -> list[Instance]:
        """Return the caller's input as instances; a data frame or a data set gives its rows."""
        return [self.instance_of(item) for item in items_of(instances)]

    def prompt_of(self, votes: Sequence[Vote]) -> Metadata:
        """Return the first vote's prompt under the key "prompt"; an empty mapping without votes."""
        return PromptOf(votes[0].ballot) if votes else NOTHING

    def metadata(self, votes: Sequence[Vote], option: object) -> Metadata:
        """Return the prompt with one vote's metadata: the first vote for ``option`` that has any,
        else the first vote that has any.

        Votes of decision models are skipped.
        """
        votes_with_metadata = [
            vote for vote in votes if vote.metadata and vote.ballot.mode != "decide"
        ]
        prompt = self.prompt_of(votes)
        if not votes_with_metadata:
            return prompt
        agreeing = [
            vote
            for vote in votes_with_metadata
            if vote.verdict and vote.verdict.option == str(option)
        ]
        return FrozenDict({**prompt, **(agreeing or votes_with_metadata)[0].metadata})

    # ``item`` is for custom judges that override this method.
    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:  # noqa: ARG002
        """Return notes for readers of the result."""
        replaced = self.replaced_by(votes)
        return (*notes_on(votes, self.temperatures), *replacement_notes(replaced))

    def replacement_ballots(self, case: Case, votes: Sequence[Vote]) -> list[Ballot]:
        """Return the ballots for the replacement of a member that failed; none if there is no such
        member, or if they were asked.
        """
        name = self.panel.replacement
        if name is None or any(vote.model == name for vote in votes):
            return []
        return self.replacing_ballots(case) if self.panel.failed_members(votes) else []

    def replacing_ballots(self, case: Case) -> list[Ballot]:
        name = self.panel.replacement
        if name is None:
            return []
        first = self.panel.members[0]
        return [
            self._ballot_like(ballot, case, name)
            for ballot in self.ballots(case)
            if ballot.model == first
        ]

    def _ballot_like(self, ballot: Ballot, case: Case, model: str) -> Ballot:
        """Return a ballot that asks another model the same question."""
        return cast(Ballot, cast(Any, self).ballot(case, model, ballot.question, ballot.sample))

    def cases(
        self, instances: InstancesLike, criteria: CriteriaLike | Sequence[CriteriaLike]
    ) -> list[Case]:
        """Return the cases to judge, with one criterion for all instances or one for each."""
        all_instances = self.instances_of(instances)
        if isinstance(criteria, str | Criteria) or not isinstance(criteria, Sequence):
            criterion = as_criteria(criteria, self.kind, self.language)
            warn_of_labels((instance, criterion) for instance in all_instances)
            return [self.case(instance, criterion) for instance in all_instances]
        if len(criteria) != len(all_instances):
            raise SetupError(
                "there are {instances} instances and {criteria} criteria: give one criterion, or "
                "one per instance",
                instances=len(all_instances),
                criteria=len(criteria),
            )
        pairs = [
            (instance, as_criteria(criterion, self.kind, self.language))
            for instance, criterion in zip(all_instances, criteria, strict=True)
        ]
        warn_of_labels(pairs)
        return [self.case(instance, criterion) for instance, criterion in pairs]

    def recorded_settings(self) -> dict[str, object]:
        """Return the settings, plus the hash of the eval file if the judge was made from one."""
        return super().recorded_settings() | code_of(self)


_NAME = "prompt"
Render = Callable[[Ballot], Prompt]
"""A function of a module: results travel between processes."""


@dataclass(frozen=True, eq=False, repr=False)
class PromptOf(Mapping[str, object]):
    """A prompt as the mapping ``{"prompt": text}``, rendered on access."""

    ballot: Ballot
    render: Render = prompt_for

    def __getitem__(self, name: str) -> object:
        if name != _NAME:
            raise KeyError(name)
        # Nothing is stored: rendering a ballot gives the same text every time.
        return self.render(self.ballot).text

    def __iter__(self) -> Iterator[str]:
        return iter((_NAME,))

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return repr(dict(self))
