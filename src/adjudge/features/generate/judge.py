"""Shared parts of criteria in natural language: sampling, callbacks, and too few valid samples."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

from adjudge.core.data.sources.opener import is_data_file
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Choice, Rating
from adjudge.core.domain.sampled import SampledResult
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.run import RunLike
from adjudge.core.engine.session import OpenedSession, SampleNumbers, session
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.judge import Judge, Progress
from adjudge.core.judges.settings import (
    AskSettings,
    ModelPanel,
    OnTooFew,
    alias,
    at_least,
    check_votes,
    temperature_for,
)
from adjudge.core.pooling.majority import notes_on
from adjudge.core.verdicts.code_text import extract_code
from adjudge.errors import SetupError
from adjudge.messages import Message, join

R = TypeVar("R", bound=SampledResult)
_LOG = logging.getLogger("adjudge")


@contextmanager
def sampling(
    first: int = 0,
    count: int | None = None,
    on_result: Callable[[SampledResult], None] | None = None,
) -> Iterator[None]:
    """Set the sample numbers and the callback for all criteria evaluated inside the block.

    This includes criteria used in functions and subclasses.
    """
    with OpenedSession(replace(session(), sampling=SampleNumbers(first, count, on_result))):
        yield


@runtime_checkable
class _HasTask(Protocol):
    """An agent that has a task."""

    task: str


@runtime_checkable
class _Writer(Protocol):
    """An agent that can describe its output."""

    writes: Literal["code", "text"]


class _Samples:
    """Fields whose position differs between the kinds of criteria."""

    votes: int
    min_samples_for_aggregation: int


@dataclass(frozen=True)
class SampledCriteria(_Samples, AskSettings, Judge[Instance, R], Generic[R]):
    """One question in natural language about code (or a text), asked several times at once.

    Subclasses may override its methods and add attributes of their own.

    Parameters:
        models: who is asked: an LLM, a model id, a function ``prompt -> text``, or several; None is
            the embedded model.
        llm: A1's name of ``models``.
        votes: samples per model, all at once.
        num_samples: A1's name of ``votes``.
        language: of the prompt and the explanation: "en" or "ru".
        temperature: by default the model's own setting, else 0 for one sample and 1 for several.
        seed: of the first sample, the next one has the next number; None: the model's own, if it
            has one.
        max_repairs: how often a model is asked again after a reply that cannot be read.
        on_result: called with every full result.
    """

    expression: str
    models: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    _: KW_ONLY
    llm: ModelLike | Sequence[ModelLike] | None = alias("models")
    num_samples: int | None = alias("votes")
    on_failure: OnTooFew = "fallback"
    on_result: Callable[[R], object] | None = None

    stored_names: ClassVar[Mapping[str, str]] = {"votes": "num_samples"}
    template: ClassVar[str]
    options: ClassVar[tuple[CriteriaOption, ...]] = ()
    endings: ClassVar[tuple[str, ...]] = ("fallback", "raise")

    def check_settings(self) -> None:
        """Raise a SetupError if a setting is wrong."""
        if not isinstance(self.expression, str) or not self.expression.strip():
            raise SetupError("the expression is empty: describe in a sentence what to judge")
        check_votes("votes", self.votes)
        at_least("min_samples_for_aggregation", self.min_samples_for_aggregation, 1)
        super().check_settings()

    def open_models(self) -> ModelPanel:
        """Open the models; each is asked ``votes`` times."""
        return ModelPanel.of(self.models)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_reachable("min_samples_for_aggregation", self.min_samples_for_aggregation)

    @property
    def samples(self) -> int:
        """Number of samples per model."""
        return session().sampling.count or self.votes

    async def evaluate(
        self,
        code: str,
        agent: object | None = None,
        *,
        run: RunLike | None = None,
        budget: Budget | None = None,
        progress: Progress[R] | None = None,
    ) -> R:
        """Return the full result with every sample.

        The ``agent``, if given, provides the task and whether it writes code.

        ``run``: a folder that keeps every answer; answers in it are not asked again.
        ``budget``: an ``adjudge.Budget``; BudgetSpent is raised at its limit.
        ``progress`` is called with the result.
        """
        (result,) = await self.judge_items(
            [self._instance(code, agent)], run=run, budget=budget, progress=progress
        )
        for hear in (self.on_result, session().sampling.on_result):
            if hear:
                hear(result)
        return result

    @property
    def question(self) -> Choice | Rating:
        return Choice(
            tuple(option.name for option in self.options),
            tuple(option.points for option in self.options),
        )

    def criteria_for(self, item: Instance) -> Criteria:
        """Return the expression as criteria that judge the last field."""
        judged_field = list(item.fields)[-1]
        return Criteria(
            type(self).__name__,
            self.expression.strip(),
            self.options,
            to_evaluate_field=judged_field,
        )

    def check(self, item: Instance) -> None:
        """Accept any instance, because this class creates them itself."""

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the ballots for all samples of all models."""
        if votes:
            return []
        sample_numbers = session().sampling
        samples = range(sample_numbers.first, sample_numbers.first + self.samples)
        return [self.ballot(item, name, sample) for name in self.panel for sample in samples]

    def ballot(self, item: Instance, model: str, sample: int) -> Ballot:
        """Return a ballot for one sample of one model."""
        ballot = self.ballot_for(
            self.criteria_for(item), item, self.question, self.template, model, sample
        )
        return replace(
            ballot, temperature=temperature_for(self.panel[model], self.temperature, self.samples)
        )

    def notes(self, votes: Sequence[Vote]) -> tuple[str, ...]:
        """Return warnings for readers of the result."""
        return notes_on(votes, {vote.model: vote.ballot.temperature for vote in votes})

    def enough(self, votes: Sequence[Vote]) -> bool:
        """Return True if enough samples are valid."""
        return sum(vote.valid for vote in votes) >= min(
            self.min_samples_for_aggregation, len(votes)
        )

    def _fall_back(self, result: R, name: str, fallback_result: str) -> R:
        reasons = join("; ", dict.fromkeys(vote.failure for vote in result.votes if not vote.valid))
        counts = Message(
            "{valid} of {requested} samples valid, {needed} needed",
            valid=result.votes_valid,
            requested=result.votes_requested,
            needed=self.min_samples_for_aggregation,
        )
        _LOG.warning(
            Message(
                "{expression!r}: {counts}, so it is {result} ({reasons})",
                expression=self.expression,
                counts=counts,
                result=fallback_result,
                reasons=reasons,
            )
        )
        return replace(result, fallback=name)

    def _check_reachable(self, name: str, needed: int) -> None:
        most = self.votes * len(self.panel)
        if needed > most:
            raise SetupError(
                "{name}={needed} can never be reached with votes={votes}",
                name=name,
                needed=needed,
                votes=self.votes,
            )

    def _instance(self, code: str, agent: object | None) -> Instance:
        if not isinstance(code, str):
            raise SetupError("the input must be a string, not {name}", name=type(code).__name__)
        if agent is None and is_data_file(code):  # with an agent, it is what a model wrote
            raise SetupError(
                "{code!r} is a file, so its name would be judged: pass its contents instead",
                code=code,
            )
        task = agent.task if isinstance(agent, _HasTask) else ""
        fields = (
            {"text": code}
            if isinstance(agent, _Writer) and agent.writes == "text"
            else {"code": extract_code(code)}
        )
        return Instance({"task": task, **fields} if task else fields)
