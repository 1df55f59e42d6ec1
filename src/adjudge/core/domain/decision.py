"""Typed questions about one state, and their answers as probabilities: the interface of decision
models, whatever their wire format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from adjudge.core.domain.frozen_mapping import canonical_text, joined_text
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, objects_at
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage

MAPPING_VERSION = 1
"""Raised if criteria map to other questions: part of the identity of every decision model."""
DecisionKind = Literal["predicate", "choice", "score"]


@light_dataclass(frozen=True)
class DecisionOption:
    """One possible answer.

    The value of a predicate's option is "true" or "false", that of a score's option the label of a
    level.
    """

    value: str
    description: JsonValue = None
    """A text; clients of a server may also send an object or a list."""


PREDICATE_OPTIONS = (DecisionOption("true"), DecisionOption("false"))


@light_dataclass(frozen=True)
class DecisionQuestion:
    """One question: whether a statement is true, which of several options applies, or which level
    of a scale.
    """

    name: str
    """The key of the answer. Equal names in one request are an error."""
    kind: DecisionKind
    instructions: JsonValue = None
    options: tuple[DecisionOption, ...] = PREDICATE_OPTIONS
    """A predicate has "true" and "false" in this order; a score its levels, lowest first."""

    @property
    def values(self) -> tuple[str, ...]:
        """The options without their descriptions."""
        return tuple(option.value for option in self.options)

    @cached_property
    def text(self) -> str:
        """This question as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @cached_property
    def canonical_text(self) -> str:
        """The text that identifies this question; computed once for all rows."""
        return canonical_text(self)

    @cached_property
    def tokens(self) -> int:
        """A high estimate of the tokens that this question takes."""
        return most_tokens([self.instructions, [vars(option) for option in self.options]])

    def to_dict(self) -> JsonDict:
        """Return this question as JSON-ready data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "instructions": self.instructions,
            "options": [
                {"value": option.value, "description": option.description}
                for option in self.options
            ],
        }


@light_dataclass(frozen=True)
class DecisionRequest:
    """A state that all questions are about, and the questions."""

    state: JsonValue
    """A text, an object or a list; never a bare number or null."""
    questions: tuple[DecisionQuestion, ...]

    @property
    def canonical_text(self) -> str:
        """The text that identifies this request."""
        questions = ",".join([question.canonical_text for question in self.questions])
        return joined_text({"questions": f"[{questions}]", "state": canonical_text(self.state)})

    def to_dict(self) -> JsonDict:
        """Return this request as JSON-ready data."""
        return {
            "state": self.state,
            "questions": [question.to_dict() for question in self.questions],
        }


@light_dataclass(frozen=True)
class DecisionAnswer:
    """A probability per option, or the reason why there is none."""

    probabilities: tuple[float, ...] | None = None
    """In the order of the question's options; they sum to 1."""
    confidence: float | None = None
    """The server's own confidence. Servers define it differently, so no verdict uses it."""
    accepted: bool = True
    """False if the server gives probabilities but does not accept its own answer."""
    refused: bool = False
    """True if the server declined to answer this question."""
    reason: str = ""
    """Why there are no probabilities."""
    received: tuple[float, ...] | None = None
    """The probabilities as the server sent them, if they had to be divided by their sum."""
    notes: tuple[str, ...] = ()
    """Contradictions in the answer that the probabilities decide."""

    def to_dict(self) -> JsonDict:
        """Return this answer as JSON-ready data, without empty fields."""
        answer: JsonDict = {}
        if self.probabilities is not None:
            answer["probabilities"] = list(self.probabilities)
        if self.confidence is not None:
            answer["confidence"] = self.confidence
        if not self.accepted:
            answer["accepted"] = False
        if self.refused:
            answer["refused"] = True
        if self.reason:
            answer["reason"] = self.reason
        if self.received is not None:
            answer["received"] = list(self.received)
        if self.notes:
            answer["notes"] = list(self.notes)
        return answer

    @classmethod
    def from_dict(cls, data: JsonObject) -> DecisionAnswer:
        """Read the output of ``to_dict``; raise a KeyError, TypeError or ValueError for anything
        else.
        """
        confidence, notes = data.get("confidence"), data.get("notes")
        return cls(
            probabilities=_numbers(data.get("probabilities")),
            confidence=None if confidence is None else _number(confidence),
            accepted=data.get("accepted", True) is True,
            refused=data.get("refused", False) is True,
            reason=str(data.get("reason", "")),
            received=_numbers(data.get("received")),
            notes=tuple(map(str, notes)) if isinstance(notes, list) else (),
        )


@light_dataclass(frozen=True)
class DecisionReply:
    """The answers in the order of the questions, with their usage."""

    answers: tuple[DecisionAnswer, ...]
    model: str = ""
    """The model that answered, as the server names it."""
    usage: Usage = Usage(calls=1)

    @property
    def text(self) -> str:
        """The answers as JSON: the text of the model's reply, in caches and recordings."""
        answers = [answer.to_dict() for answer in self.answers]
        return json.dumps({"answers": answers}, ensure_ascii=False, separators=(",", ":"))


def answers_in(text: str) -> tuple[DecisionAnswer, ...]:
    """Read the answers from ``DecisionReply.text``; raise a KeyError, TypeError or ValueError for
    anything else.
    """
    data = json.loads(text)
    if not isinstance(data, Mapping):
        raise TypeError("answers are not an object")
    return tuple(map(DecisionAnswer.from_dict, objects_at(data, "answers")))


def most_tokens(value: object) -> int:
    """Return a high estimate of a value's tokens."""
    text = str(value)
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    return plain // 3 + len(text) - plain


def _numbers(value: JsonValue) -> tuple[float, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError("probabilities are not a list")
    return tuple(map(_number, value))


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)
