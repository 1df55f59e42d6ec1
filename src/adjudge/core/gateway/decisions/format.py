"""The boundary between typed questions and a wire format, and the checks that all formats share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from adjudge.core.domain.decision import (
    DecisionAnswer,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
)
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, is_object
from adjudge.core.domain.numbers import number_of
from adjudge.messages import Message

MOST_OPTIONS = 255
MOST_LEVELS = 10
# Half of the last decimal of a server that rounds to two; none rounds more coarsely.
_COARSEST_HALF_STEP = 0.005
_SUM_TOLERANCE = 0.05
_EXACT = 1e-9
# Minimum length of a state, in characters, at which a low token count proves that it was cut.
_LONG = 2000
# Fields that say that the server has not read all of the request.
_CUT = ("truncated", "state_tokens_dropped", "truncated_questions")


class InvalidRequest(ValueError):
    """A client's request that is not in the format.

    ``place`` leads to the wrong part, ``kind`` is a short name of the problem.
    """

    def __init__(self, place: Sequence[str | int], message: str, kind: str = "value_error") -> None:
        super().__init__(message)
        self.place = tuple(place)
        self.message = message
        self.kind = kind


class DecisionFormat(Protocol):
    """One wire format: how requests and answers are written and read.

    ``decode_request(encode_request(model, request))`` gives both back, and so do the answers.
    """

    @property
    def name(self) -> str:
        """Name of the format in the key of a ballot."""
        ...

    def encode_request(self, model: str, request: DecisionRequest) -> JsonDict:
        """Write a request as the body that a client sends."""
        ...

    def decode_request(self, body: JsonObject) -> tuple[str, DecisionRequest]:
        """Read the model and the request in a client's body, or raise ``InvalidRequest``."""
        ...

    def encode_reply(self, request: DecisionRequest, reply: DecisionReply) -> JsonDict:
        """Write answers as the body that a server sends."""
        ...

    def decode_reply(self, request: DecisionRequest, body: JsonObject) -> DecisionReply:
        """Read a server's body: one answer per question, in their order.

        Raises KeyError, TypeError or ValueError if the body is not a reply at all. An answer that
        breaks the format has a reason and no probabilities.
        """
        ...


def read_decision(
    form: DecisionFormat, request: DecisionRequest, body: JsonObject
) -> DecisionReply:
    """Read a server's answers; all of them fail if it has not read the whole request.

    Raises KeyError, TypeError or ValueError if the body is not a reply at all.
    """
    reply = form.decode_reply(request, body)
    if not _is_cut(request, reply.usage.prompt_tokens):
        return reply
    reason = Message(
        "the server counted {tokens} tokens, fewer than the texts contain, so it did not read "
        "all of them",
        tokens=reply.usage.prompt_tokens,
    )
    return replace(reply, answers=fail_all(request, failed_answer(reason)))


def _is_cut(request: DecisionRequest, counted: int) -> bool:
    """Return True if the server counted far fewer tokens than the state must have."""
    state = request.state
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    return len(text) > _LONG and 0 < counted < len(text) // 20


NO_ANSWER = DecisionAnswer(reason=Message("no answer to this question"))
REFUSED = DecisionAnswer(refused=True, reason=Message("the model declined this question"))


def failed_answer(reason: Message) -> DecisionAnswer:
    """Return an answer that cannot be used."""
    return DecisionAnswer(reason=reason)


def fail_all(request: DecisionRequest, answer: DecisionAnswer) -> tuple[DecisionAnswer, ...]:
    """Return the same failed answer for each question."""
    return (answer,) * len(request.questions)


def cut_short(request: DecisionRequest, body: JsonObject) -> tuple[DecisionAnswer, ...] | None:
    """Return a failed answer for each question if the server did not read the whole request, else
    None.
    """
    for name in _CUT:
        if body.get(name):
            reason = Message("the server did not read the whole request ({field})", field=name)
            return fail_all(request, failed_answer(reason))
    return None


def answers_by_name(
    request: DecisionRequest, answers: Mapping[str, DecisionAnswer]
) -> tuple[DecisionAnswer, ...]:
    """Return one answer per question, in their order; a missing one fails.

    If the server answered questions that were not asked, all answers fail: it has mixed something
    up.
    """
    if answers.keys() - {question.name for question in request.questions}:
        return fail_all(
            request,
            failed_answer(Message("the server answered questions that were not in the request")),
        )
    return tuple(answers.get(question.name, NO_ANSWER) for question in request.questions)


def as_probability(value: JsonValue) -> float | None:
    """Return a number from 0 to 1, or None for anything else."""
    number = number_of(value)
    if number is None or not -_EXACT <= number <= 1 + _EXACT:  # also false for NaN
        return None
    return min(max(number, 0.0), 1.0)


def as_confidence(value: JsonValue) -> float | None:
    """Return the server's confidence, or None if it is not a number."""
    number = number_of(value)
    return number if number is not None and math.isfinite(number) else None


def predicate_answer(value: JsonValue, confidence: JsonValue = None) -> DecisionAnswer:
    """Return the answer to a predicate, given the probability of true."""
    probability = as_probability(value)
    if probability is None:
        return failed_answer(Message("{value} is not a probability", value=_short_repr(value)))
    return DecisionAnswer((probability, 1.0 - probability), as_confidence(confidence))


def distribution_answer(
    question: DecisionQuestion,
    given: Sequence[tuple[str, JsonValue]],
    confidence: JsonValue,
    keys: Sequence[str] | None = None,
) -> DecisionAnswer:
    """Return the answer with one probability per option, or a failed answer with the reason.

    ``keys`` are the names of the options in the answer, if these are not their values.
    """
    expected = question.values if keys is None else tuple(keys)
    names = [name for name, _ in given]
    if len(set(names)) != len(names):
        return failed_answer(Message("the answer names an option twice"))
    if missing := [name for name in expected if name not in set(names)]:
        return failed_answer(
            Message("the answer has no probability for {option!r}", option=missing[0])
        )
    if added := [name for name in names if name not in set(expected)]:
        return failed_answer(
            Message("the answer names {option!r}, which is not an option", option=added[0])
        )
    values = dict(given)
    shares = []
    for name in expected:
        share = as_probability(values[name])
        if share is None:
            return failed_answer(
                Message(
                    "the probability of {option!r} is {value}",
                    option=name,
                    value=_short_repr(values[name]),
                )
            )
        shares.append(share)
    total = math.fsum(shares)
    if not _sums_to_one(shares, total):
        return failed_answer(Message("the probabilities sum to {total:.3g}, not to 1", total=total))
    exact = abs(total - 1) <= _EXACT
    return DecisionAnswer(
        tuple(shares) if exact else tuple(share / total for share in shares),
        as_confidence(confidence),
        received=None if exact else tuple(shares),
    )


def with_choice_note(
    answer: DecisionAnswer, question: DecisionQuestion, choice: JsonValue
) -> DecisionAnswer:
    """Add a note if the server's choice is not its likeliest option: the probabilities decide."""
    if answer.probabilities is None or choice is None:
        return answer
    best = max(answer.probabilities)
    chosen_shares = [
        share
        for option, share in zip(question.options, answer.probabilities, strict=True)
        if option.value == choice and isinstance(choice, str)
    ]
    if chosen_shares and best - chosen_shares[0] <= _EXACT:
        return answer
    note = Message(
        "the server chose {choice}, which is not the most likely option", choice=_short_repr(choice)
    )
    return replace(answer, notes=(*answer.notes, note))


def with_score_note(answer: DecisionAnswer, score: JsonValue) -> DecisionAnswer:
    """Add a note if the server's score is not the expectation of its levels."""
    if answer.probabilities is None or score is None:
        return answer
    number = as_confidence(score)
    mean_level = expectation(answer.probabilities)
    slack = 0.02 + _COARSEST_HALF_STEP * len(answer.probabilities)
    if number is not None and abs(number - mean_level) <= slack:
        return answer
    note = Message(
        "the server's score {score} is not the mean of its levels ({wanted:.2f})",
        score=_short_repr(score),
        wanted=mean_level,
    )
    return replace(answer, notes=(*answer.notes, note))


def expectation(probabilities: Sequence[float]) -> float:
    """Return the mean of the levels, counted from 0."""
    return math.fsum(level * share for level, share in enumerate(probabilities))


def likeliest(probabilities: Sequence[float]) -> int:
    """Return the index of the likeliest option; on a tie, the first."""
    return probabilities.index(max(probabilities))


def choice_confidence(probabilities: Sequence[float]) -> float:
    """Return TypeSafe's confidence in a choice: 0 if all options are equally likely, 1 if
    certain.
    """
    even = 1 / len(probabilities)
    return min(max((max(probabilities) - even) / (1 - even), 0.0), 1.0)


def score_confidence(probabilities: Sequence[float]) -> float:
    """Return TypeSafe's confidence in a score: how close the levels are to the likeliest, compared
    with levels that are all equally likely.
    """
    count, mode = len(probabilities), likeliest(probabilities)
    spread = math.fsum(share * abs(level - mode) for level, share in enumerate(probabilities))
    middle = (count - 1) / 2
    even = math.fsum(abs(level - middle) for level in range(count)) / count
    return min(max(1 - spread / even, 0.0), 1.0)


# -- reading what clients send -------------------------------------------------


def required_object(value: JsonValue, place: Sequence[str | int]) -> JsonObject:
    """Return ``value`` as an object, or raise InvalidRequest."""
    if not is_object(value):
        raise InvalidRequest(place, "Input should be a valid dictionary", "dict_type")
    return value


def required_list(value: JsonValue, place: Sequence[str | int]) -> Sequence[JsonValue]:
    """Return ``value`` as a list, or raise InvalidRequest."""
    if not isinstance(value, list):
        raise InvalidRequest(place, "Input should be a valid list", "list_type")
    return value


def required_text(value: JsonValue, place: Sequence[str | int]) -> str:
    """Return ``value`` as a non-empty text, or raise InvalidRequest."""
    if not isinstance(value, str) or not value:
        raise InvalidRequest(place, "Input should be a non-empty string", "string_type")
    return value


def required_field(body: JsonObject, name: str) -> JsonValue:
    """Return the field of a body, or raise InvalidRequest."""
    if name not in body:
        raise InvalidRequest((name,), "Field required", "missing")
    return body[name]


def written_text(value: JsonValue, place: Sequence[str | int]) -> JsonValue:
    """Return instructions or a description: a text, object, list or None. Else raise
    InvalidRequest.
    """
    if value is None or isinstance(value, str | list) or is_object(value):
        return value
    raise InvalidRequest(place, "Input should be a string, object or array", "string_type")


def check_count(count: int, most: int, place: Sequence[str | int]) -> None:
    """Raise InvalidRequest unless there are 2 to ``most`` options or levels."""
    if not 2 <= count <= most:
        kind = "too_short" if count < 2 else "too_long"
        raise InvalidRequest(place, f"Input should have 2 to {most} items, not {count}", kind)


def _sums_to_one(shares: Sequence[float], total: float) -> bool:
    """Return True if the sum is close to 1, or no further from it than rounding explains."""
    if total <= 0:
        return False
    if abs(total - 1) <= _SUM_TOLERANCE:
        return True
    # Each share may be off by half of its last decimal.
    half = min(_COARSEST_HALF_STEP, 0.5 * 10.0 ** -max(map(_decimals, shares)))
    least = math.fsum(max(share - half, 0.0) for share in shares)
    most = math.fsum(min(share + half, 1.0) for share in shares)
    return least - _EXACT <= 1 <= most + _EXACT


def _decimals(share: float) -> int:
    digits = f"{share:.12f}".rstrip("0")
    return len(digits.partition(".")[2])


def _short_repr(value: JsonValue) -> str:
    return repr(value)[:80]
