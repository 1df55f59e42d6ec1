"""OpenAI's decisions: ``POST /v1/decisions``. Questions and answers are lists in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adjudge.core.domain.decision import (
    PREDICATE_OPTIONS,
    DecisionAnswer,
    DecisionOption,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
)
from adjudge.core.domain.json_types import (
    JsonDict,
    JsonObject,
    JsonValue,
    is_object,
    objects_at,
    text_in,
)
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.decisions.format import (
    MOST_LEVELS,
    MOST_OPTIONS,
    NO_ANSWER,
    REFUSED,
    InvalidRequest,
    check_count,
    choice_confidence,
    cut_short,
    distribution_answer,
    expectation,
    fail_all,
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
)
from adjudge.core.gateway.decisions.gemini import as_text
from adjudge.core.reading.foreign_values import usage_of
from adjudge.messages import Message

_MOST_QUESTIONS = 400


class OpenAIDecisions:
    """The format of ``/v1/decisions``."""

    name: ClassVar[str] = "decisions"

    def encode_request(self, model: str, request: DecisionRequest) -> JsonDict:
        """Write a request as the body that a client sends."""
        return {
            "model": model,
            "input": _input(request.state),
            "questions": list(map(_question, request.questions)),
        }

    def decode_request(self, body: JsonObject) -> tuple[str, DecisionRequest]:
        """Read the model and the request in a client's body, or raise ``InvalidRequest``.

        A question without a name is named after its position.
        """
        model = required_text(required_field(body, "model"), ("model",))
        state = _state(required_field(body, "input"))
        entries = required_list(required_field(body, "questions"), ("questions",))
        if not 1 <= len(entries) <= _MOST_QUESTIONS:
            raise InvalidRequest(("questions",), f"1 to {_MOST_QUESTIONS} questions are allowed")
        questions = tuple(_read_question(number, entry) for number, entry in enumerate(entries))
        return model, DecisionRequest(state, questions)

    def encode_reply(self, request: DecisionRequest, reply: DecisionReply) -> JsonDict:
        """Write answers as the body that a server sends.

        An answer without probabilities, or one that the server does not accept itself, is a
        refusal.
        """
        usage = reply.usage
        answers: list[JsonValue] = [
            _answer(question, answer)
            for question, answer in zip(request.questions, reply.answers, strict=True)
        ]
        return {
            "model": reply.model,
            "answers": answers,
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": {
                    "cached_tokens": usage.cached_tokens,
                    "cache_write_tokens": 0,
                },
                "output_tokens": usage.completion_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.tokens,
            },
        }

    def decode_reply(self, request: DecisionRequest, body: JsonObject) -> DecisionReply:
        """Read a server's body: one answer per question, in their order."""
        answers = cut_short(request, body) or _answers(request, objects_at(body, "answers"))
        usage = usage_of(body.get("usage")) or Usage(1)
        return DecisionReply(answers, text_in(body.get("model")) or "", usage)


def _input(state: JsonValue) -> JsonValue:
    """Encode the state: a text, or one message with one part of JSON."""
    if isinstance(state, str):
        return state
    is_json = is_object(state) or (isinstance(state, list) and all(map(is_object, state)))
    part: JsonDict = (
        {"type": "input_json", "data": state}
        if is_json
        else {"type": "input_text", "text": as_text(state)}
    )
    return [{"type": "message", "role": "user", "content": [part]}]


def _state(value: JsonValue) -> JsonValue:
    """Read the state from an input; an input in any other form is kept as a list of its items."""
    if isinstance(value, str):
        return value
    items = required_list(value, ("input",))
    if not items:
        raise InvalidRequest(("input",), "Input should not be empty", "too_short")
    for number, item in enumerate(items):
        body = required_object(item, ("input", number))
        for part in _parts(body.get("content")) + _parts(body.get("output")):
            if part.get("type") == "input_image":
                raise InvalidRequest(("input", number), "Only text is read", "unsupported")
    (first_item, *more_items) = items
    content = _parts(first_item.get("content")) if is_object(first_item) else []
    if (
        not more_items
        and len(content) == 1
        and is_object(first_item)
        and first_item.get("role") == "user"
    ):
        if content[0].get("type") == "input_json" and "data" in content[0]:
            return content[0]["data"]
        if content[0].get("type") == "input_text":
            return required_text(content[0].get("text"), ("input", 0, "content", 0, "text"))
    return list(items)


def _parts(value: JsonValue) -> list[JsonObject]:
    return [part for part in value if is_object(part)] if isinstance(value, list) else []


def _question(question: DecisionQuestion) -> JsonDict:
    body: JsonDict = {"type": question.kind, "name": question.name}
    if question.kind == "predicate":
        body["instructions"] = _instructions(_with_sides(question))
        return body
    body["instructions"] = _instructions(question.instructions)
    key, name = ("choices", "value") if question.kind == "choice" else ("levels", "label")
    body[key] = [_option(name, option) for option in question.options]
    return body


def _option(name: str, option: DecisionOption) -> JsonDict:
    if option.description is None:
        return {name: option.value}
    if not option.value:  # a level of another format, whose text is not a string
        return {name: as_text(option.description)}
    return {name: option.value, "description": as_text(option.description)}


def _labels(question: DecisionQuestion) -> list[str]:
    """Return the labels of levels as they are sent."""
    return [option.value or as_text(option.description) for option in question.options]


def _with_sides(question: DecisionQuestion) -> JsonValue:
    """Return a predicate's instructions with the descriptions of its two sides, which this format
    lacks.
    """
    sides = [
        f"{name}: {as_text(option.description)}"
        for name, option in zip(("True", "False"), question.options, strict=True)
        if option.description is not None
    ]
    if not sides:
        return question.instructions
    instructions = [] if question.instructions is None else [as_text(question.instructions)]
    return "\n".join([*instructions, *sides])


def _instructions(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value
    if is_object(value) or (isinstance(value, list) and value and all(map(is_object, value))):
        return [{"type": "input_json", "data": value}]
    return "" if value is None else as_text(value)


def _read_question(number: int, value: JsonValue) -> DecisionQuestion:
    place = ("questions", number)
    body = required_object(value, place)
    given_name = body.get("name")
    if not (given_name is None or isinstance(given_name, str)):
        raise InvalidRequest((*place, "name"), "Input should be a valid string", "string_type")
    name = str(number) if given_name is None else given_name
    kind = body.get("type")
    if kind not in ("predicate", "choice", "score"):
        raise InvalidRequest(
            (*place, "type"), "Input should be 'predicate', 'choice' or 'score'", "invalid_value"
        )
    if "instructions" not in body:
        raise InvalidRequest((*place, "instructions"), "Field required", "missing")
    instructions = _read_instructions(body["instructions"], (*place, "instructions"))
    if kind == "predicate":
        return DecisionQuestion(name, "predicate", instructions, PREDICATE_OPTIONS)
    key, label = ("choices", "value") if kind == "choice" else ("levels", "label")
    inside = (*place, key)
    entries = required_list(body.get(key), inside)
    check_count(len(entries), MOST_OPTIONS if kind == "choice" else MOST_LEVELS, inside)
    options = tuple(
        _read_option(entry, label, (*inside, index)) for index, entry in enumerate(entries)
    )
    if kind == "choice" and len({option.value for option in options}) != len(options):
        raise InvalidRequest(inside, "Each choice must be unique", "value_error")
    return DecisionQuestion(name, "choice" if kind == "choice" else "score", instructions, options)


def _read_option(value: JsonValue, label: str, place: Sequence[str | int]) -> DecisionOption:
    body = required_object(value, place)
    label_text = body.get(label)
    if isinstance(label_text, bool):
        raise InvalidRequest((*place, label), "Booleans are not read: send a string", "unsupported")
    description = body.get("description")
    if not (description is None or isinstance(description, str)):
        raise InvalidRequest((*place, "description"), "Input should be a string", "string_type")
    return DecisionOption(required_text(label_text, (*place, label)), description)


def _read_instructions(value: JsonValue, place: Sequence[str | int]) -> JsonValue:
    if isinstance(value, str):
        return value
    listed = required_list(value, place)
    parts = [required_object(part, (*place, at)) for at, part in enumerate(listed)]
    if len(parts) == 1 and parts[0].get("type") == "input_json":
        return parts[0].get("data")
    texts = []
    for at, part in enumerate(parts):
        if part.get("type") == "input_json":
            texts.append(as_text(part.get("data")))
        elif part.get("type") == "input_text":
            texts.append(required_text(part.get("text"), (*place, at, "text")))
        else:
            raise InvalidRequest((*place, at, "type"), "Only text is read", "unsupported")
    return "\n".join(texts)


def _answer(question: DecisionQuestion, answer: DecisionAnswer) -> JsonDict:
    shares, confidence = answer.probabilities, answer.confidence
    if shares is None or not answer.accepted:
        return {"type": "refusal", "name": question.name}
    body: JsonDict = {"type": question.kind, "name": question.name}
    if question.kind == "predicate":
        return {**body, "probability": shares[0]}
    if question.kind == "choice":
        defined = choice_confidence(shares)
        body["choice"] = question.values[likeliest(shares)]
        body["probabilities"] = [
            {"value": value, "probability": share}
            for value, share in zip(question.values, shares, strict=True)
        ]
    else:
        defined = score_confidence(shares)
        body["score"] = expectation(shares)
        body["probabilities"] = [
            {"value": level, "label": label, "probability": share}
            for level, (label, share) in enumerate(zip(_labels(question), shares, strict=True))
        ]
    return {**body, "confidence": defined if confidence is None else confidence}


def _answers(request: DecisionRequest, answers: Sequence[JsonObject]) -> tuple[DecisionAnswer, ...]:
    """Match answers to questions by name, or by position if no answer has a name.

    Named answers in another order than the questions fail as a whole.
    """
    questions = request.questions
    names = [answer.get("name") for answer in answers]
    if all(name is None for name in names) and len(answers) == len(questions):
        return tuple(map(_read, questions, answers))
    expected_names = [question.name for question in questions]
    unnamed = failed_answer(Message("the server's answers do not name their questions"))
    if any(not isinstance(name, str) for name in names):
        return fail_all(request, unnamed)
    if [name for name in expected_names if name in set(names)] != names:
        return fail_all(
            request, failed_answer(Message("the answers are not in the order of the questions"))
        )
    by_name = {str(answer["name"]): answer for answer in answers}
    return tuple(
        _read(question, by_name[question.name]) if question.name in by_name else NO_ANSWER
        for question in questions
    )


def _read(question: DecisionQuestion, answer: JsonObject) -> DecisionAnswer:
    kind = answer.get("type")
    if kind == "refusal":
        return REFUSED
    if kind != question.kind:
        return failed_answer(
            Message(
                "the question was of type {wanted}, the answer of type {kind}",
                wanted=question.kind,
                kind=str(kind)[:40],
            )
        )
    if kind == "predicate":
        return predicate_answer(answer.get("probability"))
    listed = answer.get("probabilities")
    entries = _parts(listed)
    if not isinstance(listed, list) or len(entries) != len(listed):
        return failed_answer(Message("the answer has no list of probabilities"))
    return (_read_choice if kind == "choice" else _read_score)(question, answer, entries)


def _read_choice(
    question: DecisionQuestion, answer: JsonObject, entries: Sequence[JsonObject]
) -> DecisionAnswer:
    if not all(isinstance(entry.get("value"), str) for entry in entries):
        return failed_answer(Message("the answer names an option that is not a string"))
    shares_by_option = [(str(entry["value"]), entry.get("probability")) for entry in entries]
    read = distribution_answer(question, shares_by_option, answer.get("confidence"))
    return with_choice_note(read, question, answer.get("choice"))


def _read_score(
    question: DecisionQuestion, answer: JsonObject, entries: Sequence[JsonObject]
) -> DecisionAnswer:
    labels = dict(enumerate(_labels(question)))
    shares_by_level: list[tuple[str, JsonValue]] = []
    for entry in entries:
        level = entry.get("value")
        if isinstance(level, bool) or not isinstance(level, int) or level not in labels:
            return failed_answer(Message("the answer does not number the levels from 0"))
        if entry.get("label", labels[level]) != labels[level]:
            return failed_answer(
                Message("level {level} has a different label in the answer", level=level)
            )
        shares_by_level.append((str(level), entry.get("probability")))
    keys = [str(level) for level in labels]
    read = distribution_answer(question, shares_by_level, answer.get("confidence"), keys)
    return with_score_note(read, answer.get("score"))
