"""Make a follow-up question understandable without the conversation before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Vote
from adjudge.core.judges.case import Case
from adjudge.features.rag.record import QuestionRecord
from adjudge.messages import Message

TEMPLATE = "standalone"
CRITERIA = Criteria(
    "standalone_question",
    "What does the last question of the conversation ask, said by itself?",
    to_evaluate_field="user_input",
)
A_TEXT = Choice(())
READERS = ("answer_relevance",)
"""The dimensions that see the question without the conversation, and so are asked about the
rewritten one.
"""
_LONGEST = 4000
M = TypeVar("M")


@dataclass(frozen=True)
class JudgedQuestion:
    """The question that relevance was judged by."""

    text: str
    rewritten: bool = False
    """True if it is not the user's own."""
    reason: str = ""
    """Why it could not be made self-contained, if that failed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the result."""
        if not self.reason:
            return ()
        note = Message(
            "the question could not be made self-contained and was judged as it is: {reason}",
            reason=self.reason,
        )
        return (note,)

    def record(self) -> QuestionRecord:
        """Return the question in the form that a judgment's record stores."""
        return QuestionRecord(text=self.text, rewritten=self.rewritten, reason=self.reason or None)


def case_of(item: Instance) -> Case | None:
    """Return the request for a self-contained question.

    Return None if there is no question, or no conversation before it.
    """
    fields = {name: item.fields.get(name, "") for name in ("history", "user_input")}
    if not all(_text(value).strip() for value in fields.values()):
        return None
    return Case(Instance(fields), CRITERIA, TEMPLATE)


def next_model(models: Mapping[str, M], votes: Sequence[Vote]) -> str | None:
    """Return the next model to ask for a question: the first that was not asked yet.

    Return None if there is a usable question, or if no model is left.
    """
    if any(_readable(vote) for vote in votes):
        return None
    models_asked = {vote.model for vote in votes}
    return next((name for name in models if name not in models_asked), None)


def judged_question(item: Instance, votes: Sequence[Vote]) -> JudgedQuestion:
    """Return the rewritten question; the user's own if no vote has a usable one."""
    original = _text(item.fields.get("user_input", "")).strip()
    rewritten_text = next(
        (vote.verdict.option for vote in votes if vote.verdict and _readable(vote)), None
    )
    if rewritten_text is None:
        unusable = Message("the rewritten question is not usable")
        return JudgedQuestion(
            original, reason=next((vote.reason or unusable for vote in votes), "")
        )
    # a model may put the question into quotation marks
    question = " ".join(rewritten_text.split()).strip('"«»“”„')
    return JudgedQuestion(question, rewritten=question != " ".join(original.split()))


def with_question(case: Case, question: JudgedQuestion) -> Case:
    """Put the rewritten question into a case that does not show the conversation.

    Any other case is unchanged.
    """
    if (
        not question.rewritten
        or case.criteria.name not in READERS
        or "user_input" not in case.instance.fields
    ):
        return case
    fields = {**case.instance.fields, "user_input": question.text}
    return replace(case, instance=replace(case.instance, fields=fields))


def _readable(vote: Vote) -> bool:
    """Return True if the vote holds a question of sensible length."""
    return vote.verdict is not None and 0 < len(vote.verdict.option.strip()) <= _LONGEST


def _text(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else "\n".join(value)
