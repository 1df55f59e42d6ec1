"""The judge of conversations: it decides how each ended, and whose fault that is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.inputs import as_criteria
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.settings import NO_MODELS, ModelPanel
from adjudge.errors import SetupError
from adjudge.features.conversations.attribution import FAULTS, attribute
from adjudge.features.conversations.conversation import END_WORDS, Conversation
from adjudge.features.conversations.outcome import ScenarioOutcome, outcome_of
from adjudge.features.conversations.record import (
    ATTRIBUTION,
    FAILED,
    OUTCOME,
    PASSED,
    ConversationDetail,
    ConversationResult,
)
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.simulation import CONVERSATION, scenario_in
from adjudge.features.conversations.user_checks import UserChecks
from adjudge.messages import Message, join

_AT_ONCE = 64
_OUTCOME = Criteria(
    OUTCOME,
    "Did the agent bring the conversation to the end that the scenario expects? For labels: would "
    "it have, with a user who makes no mistake?",
    (CriteriaOption(PASSED, score=1.0), CriteriaOption(FAILED, score=0.0)),
)
_OPTIONS = {
    "user": "The simulated user broke its scenario, and that could have led to this outcome.",
    "agent": "The agent failed, and the user did as the scenario says.",
    "environment": "An error of a tool, a server or a limit ended the conversation.",
    "cannot tell": "The conversation does not show whose fault it is.",
    "nobody": "It came out well, and no mistake of the user helped.",
}
_ATTRIBUTION = Criteria(
    ATTRIBUTION,
    "Whose fault is the outcome of the conversation?",
    tuple(CriteriaOption(name, _OPTIONS[name]) for name in FAULTS),
)
USER_QUESTION, GOAL_QUESTION = "user_behaved", "goal_completion"
"""The ready-made criteria that models are asked, if there are models."""
_MEASURES = (OUTCOME, ATTRIBUTION)


@dataclass(frozen=True)
class ConversationItem:
    """One measure to apply to a conversation."""

    instance: Instance
    scenario: Scenario
    conversation: Conversation
    measure: str
    said_outcome: bool | None = None
    """The outcome as the record of another tool has it."""

    @property
    def id(self) -> str | None:
        return self.instance.id


@dataclass(frozen=True)
class ConversationJudge(Judge[ConversationItem, ConversationResult]):
    """Decides whether each conversation passed, and who is at fault.

    Rules come first and need no model. With ``models``, one question is asked about the simulated
    user, and another about the goal if the rules cannot decide the outcome.
    """

    models: ModelLike | Sequence[ModelLike] | None = None
    votes: int = 1
    language: str = "en"
    temperature: float | None = None
    seed: int | None = None
    takes_lost: ClassVar[bool] = True
    """Lost conversations are recorded as lost."""
    _running: dict[str, asyncio.Task[Vote]] = field(
        init=False, repr=False, compare=False, default_factory=dict, kw_only=True
    )

    def open_models(self) -> ModelPanel:
        return ModelPanel.of(self.models) if self.models else NO_MODELS

    @property
    def samples(self) -> int:
        return self.votes

    @property
    def max_in_flight(self) -> int:
        return super().max_in_flight or _AT_ONCE

    @cached_property
    def criteria(self) -> tuple[Criteria, ...]:
        return (_OUTCOME, _ATTRIBUTION)

    @cached_property
    def _direct(self) -> DirectJudge:
        return DirectJudge(
            self.models,
            votes=self.votes,
            language=self.language,
            temperature=self.temperature,
            seed=self.seed,
        )

    @cached_property
    def _questions(self) -> Mapping[str, Criteria]:
        return {
            name: as_criteria(name, "direct", self.language)
            for name in (USER_QUESTION, GOAL_QUESTION)
        }

    def rows(self, instance: Instance) -> list[ConversationItem]:
        """Return one item per measure of a conversation."""
        conversation = instance.metadata.get(CONVERSATION)
        if not isinstance(conversation, Conversation):
            raise SetupError(
                "{id} contains no conversation: add a target that the simulated users talk to, "
                "or give a file of conversations",
                id=instance.id or Message("the row"),
            )
        recorded_outcome = instance.metadata.get(SAID_OUTCOME)
        return [
            ConversationItem(
                instance,
                scenario_in(instance),
                conversation,
                name,
                recorded_outcome if isinstance(recorded_outcome, bool) else None,
            )
            for name in _MEASURES
        ]

    def check(self, item: ConversationItem) -> None:
        """Accept any conversation; missing data is reported in the result instead of raising an
        error.
        """

    # -- plan and pool -------------------------------------------------------------------

    def _asks(self, item: ConversationItem) -> list[str]:
        """Return the names of the questions to ask the models."""
        # the outcome of a lost conversation is unknown, so nothing is worth asking
        if not self.models or item.conversation.is_lost or not item.conversation.turns:
            return []
        goal = [GOAL_QUESTION] if _outcome(item).passed is None else []
        return goal if item.measure == OUTCOME else [*goal, USER_QUESTION]

    def _case(self, item: ConversationItem, question: str) -> Case:
        return self._direct.case(item.instance, self._questions[question])

    def plan(self, item: ConversationItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        if votes:
            return ()
        return [
            ballot
            for question in self._asks(item)
            for ballot in self._direct.plan(self._case(item, question), ())
        ]

    async def ask(self, ballot: Ballot) -> Vote:
        """Cast one ballot. Outcome and attribution share their votes, so each is requested only
        once.
        """
        running = self._running.get(ballot.id)
        if running is None or running.cancelled() or (running.done() and running.exception()):
            running = self._running[ballot.id] = asyncio.ensure_future(self._direct.ask(ballot))
        # shielded: if one of the two waits no longer, the other still gets the vote
        return await asyncio.shield(running)

    def pool(self, item: ConversationItem, votes: Sequence[Vote]) -> ConversationResult:
        conversation, outcome = item.conversation, _outcome(item)
        model_answers = {name: self._pool_question(item, name, votes) for name in self._asks(item)}
        goal = model_answers.get(GOAL_QUESTION)
        if goal is not None and outcome.passed is None:
            outcome = goal[1]
        # a lost conversation has no outcome, even if the rules or a model give one
        passed = None if conversation.is_lost else outcome.passed
        faults = UserChecks(item.scenario, conversation, passed).faults()
        behaved = model_answers[USER_QUESTION][1] if USER_QUESTION in model_answers else None
        cause = attribute(conversation, passed, faults, behaved.passed if behaved else None)
        is_outcome = item.measure == OUTCOME
        option = (
            (None if passed is None else PASSED if passed else FAILED)
            if is_outcome
            else cause.fault
        )
        lost = is_outcome and passed is None
        why = cause.reason if conversation.is_lost else outcome.reason
        return ConversationResult(
            instance=_without_messages(item.instance),
            criteria=self.criteria[_MEASURES.index(item.measure)],
            status=Status.FAILED if lost else Status.SCORED,
            votes=tuple(votes),
            score=None if passed is None or not is_outcome else float(passed),
            explanation=None if lost else outcome.reason if is_outcome else cause.reason,
            reason_text=why if lost else None,
            details=ConversationDetail(
                measure=item.measure,
                option=option,
                fault=cause.fault,
                validity=cause.validity,
                reason_of_fault=cause.reason,
                fault_turn=cause.turn,
                user_faults=faults,
                behaved=model_answers[USER_QUESTION][0] if USER_QUESTION in model_answers else None,
                ended=conversation.ended,
                user=conversation.user,
                # stored with one of its two judgments only
                conversation=conversation if is_outcome else None,
                scenario=item.scenario.to_dict() if is_outcome else None,
                recorded_outcome=item.said_outcome if is_outcome else None,
            ),
        )

    def _pool_question(
        self, item: ConversationItem, question: str, votes: Sequence[Vote]
    ) -> tuple[str | None, ScenarioOutcome]:
        """Return the option chosen by the models, and the outcome that follows from it."""
        case = self._case(item, question)
        question_votes = [vote for vote in votes if vote.ballot.criteria.name == case.criteria.name]
        result = self._direct.pool(case, question_votes)
        if result.option is None:
            return None, ScenarioOutcome(
                None, result.reason or Message("the models gave no answer")
            )
        if result.score is None:
            return result.option, ScenarioOutcome(None, result.option)
        reason = join(": ", filter(None, (result.option, result.explanation)))
        return result.option, ScenarioOutcome(result.score == 1.0, reason)

    def fallback_result(
        self,
        result: ConversationResult,
        choice: random.Random,  # noqa: ARG002
    ) -> ConversationResult:
        """Return the result unchanged, because an outcome must not be random."""
        return result


SAID_OUTCOME = "said_outcome"
"""Metadata key of an instance: the outcome that another tool recorded."""


def _outcome(item: ConversationItem) -> ScenarioOutcome:
    if item.conversation.is_lost:
        return ScenarioOutcome(None, END_WORDS[item.conversation.ended])
    if item.said_outcome is not None:
        return ScenarioOutcome(item.said_outcome, Message("as recorded"))
    return outcome_of(item.scenario, item.conversation)


def _without_messages(instance: Instance) -> Instance:
    """Return the row without its messages, which the record already stores."""
    row = {name: value for name, value in instance.input.items() if name != "messages"}
    return replace(instance, metadata={"place": instance.metadata.get("place"), "row": row})
