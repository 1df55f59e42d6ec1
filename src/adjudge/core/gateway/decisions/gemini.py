"""Gemini's decisions: like System One, but the input is text, and a predicate has a confidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

from adjudge.core.domain.decision import DecisionQuestion, DecisionReply, DecisionRequest
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, is_object, object_in
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.decisions.format import (
    MOST_OPTIONS,
    REFUSED,
    InvalidRequest,
    fail_all,
    required_field,
    required_list,
    required_object,
    required_text,
)
from adjudge.core.gateway.decisions.systemone import SystemOne


class GeminiDecisions(SystemOne):
    """The format of ``/{api_version}/decisions`` of Gemini."""

    name: ClassVar[str] = "gemini"
    most_levels: ClassVar[int] = MOST_OPTIONS
    predicate_descriptions: ClassVar[tuple[str, str]] = ("true_description", "false_description")

    def encode_request(self, model: str, request: DecisionRequest) -> JsonDict:
        """Write a request as the body that a client sends; the state as text."""
        questions: JsonDict = {
            question.name: self._plain(question) for question in request.questions
        }
        return {
            "model": f"models/{model.removeprefix('models/')}",
            "input": as_text(request.state),
            "questions": questions,
        }

    def decode_request(self, body: JsonObject) -> tuple[str, DecisionRequest]:
        """Read the model and the request in a client's body, or raise ``InvalidRequest``."""
        model = required_text(required_field(body, "model"), ("model",)).removeprefix("models/")
        state = _text_of(required_field(body, "input"), ("input",))
        return model, DecisionRequest(state, self._questions(required_field(body, "questions")))

    def encode_reply(self, request: DecisionRequest, reply: DecisionReply) -> JsonDict:
        """Write answers as the body that a server sends; only a block reason if all were
        refused.
        """
        if reply.answers and all(answer.refused for answer in reply.answers):
            return {"prompt_feedback": {"block_reason": "other"}}
        body = super().encode_reply(request, reply)
        usage = reply.usage
        return {
            "answers": body["answers"],
            "usage": {
                "total_input_tokens": usage.prompt_tokens,
                "total_output_tokens": usage.completion_tokens,
                "total_cached_tokens": usage.cached_tokens,
            },
        }

    def decode_reply(self, request: DecisionRequest, body: JsonObject) -> DecisionReply:
        """Read a server's body: one answer per question, in their order; all refused if it was
        blocked.
        """
        usage = _usage(object_in(body.get("usage")))
        if object_in(body.get("prompt_feedback")).get("block_reason"):
            return DecisionReply(fail_all(request, REFUSED), usage=usage)
        return DecisionReply(super().decode_reply(request, body).answers, usage=usage)

    def _plain(self, question: DecisionQuestion) -> JsonDict:
        """Encode a question with its instructions and descriptions as texts, as Gemini demands."""
        body = self._question(question)
        body["instructions"] = as_text(question.instructions or "")
        criteria = body.get("criteria")
        if is_object(criteria):
            body["criteria"] = {
                name: "" if text is None else as_text(text) for name, text in criteria.items()
            }
        elif isinstance(criteria, list):
            body["criteria"] = list(map(as_text, criteria))
        return body

    def _noul(self, shares: Sequence[float], confidence: float | None) -> JsonDict:
        return {
            "noul": shares[0],
            "confidence": max(shares) if confidence is None else confidence,
        }


def as_text(value: JsonValue) -> str:
    """Return a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_of(value: JsonValue, place: Sequence[str | int]) -> str:
    """Return a text, or the joined texts of a list of parts; raise InvalidRequest for anything
    else.
    """
    if isinstance(value, str):
        return value
    texts = []
    for number, part in enumerate(required_list(value, place)):
        body = required_object(part, (*place, number))
        if body.get("type", "text") != "text":
            raise InvalidRequest((*place, number, "type"), "Only text is read", "unsupported")
        texts.append(required_text(body.get("text"), (*place, number, "text")))
    return "\n".join(texts)


def _usage(value: JsonObject) -> Usage:
    counts = [
        number if isinstance(number := value.get(name), int) and number >= 0 else 0
        for name in ("total_input_tokens", "total_output_tokens", "total_cached_tokens")
    ]
    return Usage(1, *counts)
