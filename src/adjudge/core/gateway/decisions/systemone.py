"""System One: ``POST /v1/systemone`` of TypeSafe and of compatible servers.

A state, an object of questions by name, an object of answers by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from adjudge.core.domain.decision import (
    DecisionAnswer,
    DecisionOption,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
)
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, is_object, object_at
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.decisions.format import (
    MOST_LEVELS,
    MOST_OPTIONS,
    InvalidRequest,
    answers_by_name,
    check_count,
    choice_confidence,
    cut_short,
    distribution_answer,
    expectation,
    failed_answer,
    likeliest,
    predicate_answer,
    required_field,
    required_list,
    required_object,
    required_text,
    score_confidence,
    with_choice_note,
    with_score_note,
    written_text,
)
from adjudge.core.reading.foreign_values import usage_of
from adjudge.messages import Message

_KINDS = {"predicate": "noul", "choice": "choice", "score": "score"}


class SystemOne:
    """The format of ``/v1/systemone``."""

    name: ClassVar[str] = "systemone"
    most_levels: ClassVar[int] = MOST_LEVELS
    predicate_descriptions: ClassVar[tuple[str, str]] = ("true", "false")
    """The names under which a predicate's two descriptions are written."""

    def encode_request(self, model: str, request: DecisionRequest) -> JsonDict:
        """Write a request as the body that a client sends."""
        questions = {question.name: self._question(question) for question in request.questions}
        return {"model": model, "state": request.state, "questions": questions}

    def decode_request(self, body: JsonObject) -> tuple[str, DecisionRequest]:
        """Read the model and the request in a client's body, or raise ``InvalidRequest``."""
        model = required_text(required_field(body, "model"), ("model",))
        state = required_field(body, "state")
        if not (isinstance(state, str | list) or is_object(state)):
            raise InvalidRequest(("state",), "Input should be a string, object or array")
        for name in ("assets", "images", "audio", "videos"):
            if body.get(name):
                raise InvalidRequest((name,), "Only text is read", "unsupported")
        return model, DecisionRequest(state, self._questions(required_field(body, "questions")))

    def encode_reply(self, request: DecisionRequest, reply: DecisionReply) -> JsonDict:
        """Write answers as the body that a server sends. This format leaves out questions without
        probabilities.
        """
        answers = {
            question.name: self._answer(question, answer)
            for question, answer in zip(request.questions, reply.answers, strict=True)
            if answer.probabilities is not None
        }
        return {"model": reply.model, "answers": answers, "usage": usage_object(reply.usage)}

    def decode_reply(self, request: DecisionRequest, body: JsonObject) -> DecisionReply:
        """Read a server's body: one answer per question, in their order."""
        model, usage = body.get("model"), usage_of(body.get("usage"))
        answers = cut_short(request, body)
        if answers is None:
            answers_by_question = object_at(body, "answers")
            questions = {question.name: question for question in request.questions}
            read = {
                name: self._read(questions[name], answer)
                if name in questions
                else failed_answer(Message("not asked"))
                for name, answer in answers_by_question.items()
            }
            answers = answers_by_name(request, read)
        return DecisionReply(answers, model if isinstance(model, str) else "", usage or Usage(1))

    def _question(self, question: DecisionQuestion) -> JsonDict:
        body: JsonDict = {"type": _KINDS[question.kind]}
        if question.instructions is not None:
            body["instructions"] = question.instructions
        if question.kind == "choice":
            body["criteria"] = {option.value: option.description for option in question.options}
        elif question.kind == "score":
            body["criteria"] = list(map(level_text, question.options))
        elif any(option.description is not None for option in question.options):
            body["criteria"] = {
                name: option.description
                for name, option in zip(self.predicate_descriptions, question.options, strict=True)
                if option.description is not None
            }
        return body

    def _questions(self, value: JsonValue) -> tuple[DecisionQuestion, ...]:
        questions = required_object(value, ("questions",))
        if not questions:
            raise InvalidRequest(("questions",), "Dictionary should have at least 1 item")
        if "" in questions:
            raise InvalidRequest(("questions", ""), "A question needs a name")
        return tuple(self._read_question(name, body) for name, body in questions.items())

    def _read_question(self, name: str, value: JsonValue) -> DecisionQuestion:
        place = ("questions", name)
        body = required_object(value, place)
        instructions = written_text(body.get("instructions"), (*place, "instructions"))
        criteria, inside = body.get("criteria"), (*place, "criteria")
        kind = body.get("type")
        if kind == "noul":
            options = self._sides(criteria, inside)
            return DecisionQuestion(name, "predicate", instructions, options)
        if kind == "choice":
            descriptions = required_object(criteria, inside)
            check_count(len(descriptions), MOST_OPTIONS, inside)
            options = tuple(
                DecisionOption(
                    required_text(option, inside), written_text(description, (*inside, option))
                )
                for option, description in descriptions.items()
            )
            return DecisionQuestion(name, "choice", instructions, options)
        if kind == "score":
            listed = required_list(criteria, inside)
            check_count(len(listed), self.most_levels, inside)
            options = tuple(_level(level, (*inside, number)) for number, level in enumerate(listed))
            return DecisionQuestion(name, "score", instructions, options)
        raise InvalidRequest(
            (*place, "type"), "Input should be 'noul', 'choice' or 'score'", "union_tag_invalid"
        )

    def _sides(self, value: JsonValue, place: Sequence[str | int]) -> tuple[DecisionOption, ...]:
        criteria = {} if value is None else required_object(value, place)
        if unknown := criteria.keys() - set(self.predicate_descriptions):
            raise InvalidRequest((*place, min(unknown)), "Extra inputs are not permitted")
        return tuple(
            DecisionOption(side, written_text(criteria.get(name), (*place, name)))
            for side, name in zip(("true", "false"), self.predicate_descriptions, strict=True)
        )

    def _answer(self, question: DecisionQuestion, answer: DecisionAnswer) -> JsonDict:
        shares = answer.probabilities or ()
        body: JsonDict = {"type": _KINDS[question.kind]}
        if question.kind == "predicate":
            body |= self._noul(shares, answer.confidence)
        elif question.kind == "choice":
            body["choice"] = question.values[likeliest(shares)]
            body["confidence"] = self._confidence(answer, choice_confidence(shares))
            body["probabilities"] = dict(zip(question.values, shares, strict=True))
        else:
            body["score"] = expectation(shares)
            body["confidence"] = self._confidence(answer, score_confidence(shares))
            body["legend"] = {
                str(number): level_text(option) for number, option in enumerate(question.options)
            }
            body["probabilities"] = {str(number): share for number, share in enumerate(shares)}
        return body if answer.accepted else {**body, "x_accepted": False}

    def _noul(self, shares: Sequence[float], confidence: float | None) -> JsonDict:  # noqa: ARG002
        return {"noul": shares[0]}

    def _confidence(self, answer: DecisionAnswer, defined: float) -> float:
        return defined if answer.confidence is None else answer.confidence

    def _read(self, question: DecisionQuestion, value: JsonValue) -> DecisionAnswer:
        if not is_object(value):
            return failed_answer(Message("the answer is not an object"))
        if value.get("type") != _KINDS[question.kind]:
            return failed_answer(
                Message(
                    "the question was of type {wanted}, the answer of type {kind}",
                    wanted=_KINDS[question.kind],
                    kind=str(value.get("type"))[:40],
                )
            )
        answer = self._numbers(question, value)
        return DecisionAnswer(
            answer.probabilities,
            answer.confidence,
            accepted=value.get("x_accepted", True) is not False,
            refused=answer.refused,
            reason=answer.reason,
            received=answer.received,
            notes=answer.notes,
        )

    def _numbers(self, question: DecisionQuestion, value: JsonObject) -> DecisionAnswer:
        if question.kind == "predicate":
            return predicate_answer(value.get("noul"), value.get("confidence"))
        shares = value.get("probabilities")
        if not isinstance(shares, Mapping):
            return failed_answer(Message("the answer has no probabilities"))
        confidence = value.get("confidence")
        if question.kind == "choice":
            answer = distribution_answer(question, list(shares.items()), confidence)
            return with_choice_note(answer, question, value.get("choice"))
        keys = [str(number) for number in range(len(question.options))]
        legend = value.get("legend")
        if legend is not None and (not is_object(legend) or sorted(legend) != sorted(keys)):
            return failed_answer(Message("the legend does not number the levels from 0"))
        answer = distribution_answer(question, list(shares.items()), confidence, keys)
        return with_score_note(answer, value.get("score"))


def level_text(option: DecisionOption) -> JsonValue:
    """Join a level's label and description, if it has both, for formats with one text per level."""
    if not option.value:
        return option.description
    if option.description is None:
        return option.value
    return f"{option.value}: {option.description}"


def usage_object(usage: Usage) -> JsonDict:
    """Return token counts under the names that most servers use."""
    return {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}


def _level(value: JsonValue, place: Sequence[str | int]) -> DecisionOption:
    if isinstance(value, str):
        return DecisionOption(value)
    if value is None:
        raise InvalidRequest(place, "Input should be a string, object or array", "string_type")
    return DecisionOption("", written_text(value, place))
