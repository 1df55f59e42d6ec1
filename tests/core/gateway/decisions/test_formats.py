"""Each wire format, in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.core.domain.decision import (
    PREDICATE_OPTIONS,
    DecisionAnswer,
    DecisionKind,
    DecisionOption,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
    answers_in,
)
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.decisions.format import DecisionFormat, InvalidRequest
from adjudge.core.gateway.decisions.gemini import GeminiDecisions
from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.core.gateway.decisions.systemone import SystemOne

KINDS: tuple[DecisionKind, ...] = ("predicate", "choice", "score")
FORMATS: list[DecisionFormat] = [OpenAIDecisions(), SystemOne(), GeminiDecisions()]
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
names = st.lists(texts, min_size=1, max_size=4, unique=True)
states = st.one_of(texts, st.dictionaries(texts, texts, min_size=1, max_size=3))


@st.composite
def questions(draw: st.DrawFn, name: str, *, describes_levels: bool, sides: bool) -> Any:
    kind: DecisionKind = draw(st.sampled_from(KINDS))
    instructions = draw(texts)
    if kind == "predicate":
        options = PREDICATE_OPTIONS
        if sides:
            about = draw(st.tuples(st.none() | texts, st.none() | texts))
            options = (DecisionOption("true", about[0]), DecisionOption("false", about[1]))
        return DecisionQuestion(name, "predicate", instructions, options)
    values = draw(st.lists(texts, min_size=2, max_size=5, unique=True))
    describes = kind == "choice" or describes_levels
    described = [draw(texts) if describes else None for _ in values]
    return DecisionQuestion(name, kind, instructions, tuple(map(DecisionOption, values, described)))


@st.composite
def requests(draw: st.DrawFn, form: DecisionFormat) -> DecisionRequest:
    listed = isinstance(form, OpenAIDecisions)
    asked = [
        draw(questions(name, describes_levels=listed, sides=not listed)) for name in draw(names)
    ]
    state = draw(texts if isinstance(form, GeminiDecisions) else states)
    return DecisionRequest(state, tuple(asked))


@st.composite
def replies(draw: st.DrawFn, form: DecisionFormat, request: DecisionRequest) -> DecisionReply:
    answers = []
    for question in request.questions:
        weights = draw(
            st.lists(
                st.integers(1, 1000),
                min_size=len(question.options),
                max_size=len(question.options),
            )
        )
        first = weights[0] / sum(weights)
        shares = tuple(weight / sum(weights) for weight in weights)
        has_confidence = question.kind != "predicate" or isinstance(form, GeminiDecisions)
        answers.append(
            DecisionAnswer(
                (first, 1.0 - first) if question.kind == "predicate" else shares,
                draw(st.floats(0, 1)) if has_confidence else None,
            )
        )
    model = "" if isinstance(form, GeminiDecisions) else draw(texts)
    return DecisionReply(tuple(answers), model, Usage(1, draw(st.integers(0, 999)), 3))


@pytest.mark.hypothesis
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@settings(deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_back(form: DecisionFormat, data: st.DataObject) -> None:
    request = data.draw(requests(form))
    body = json.loads(json.dumps(form.encode_request("model-1", request)))
    assert form.decode_request(body) == ("model-1", request)
    reply = data.draw(replies(form, request))
    answer = json.loads(json.dumps(form.encode_reply(request, reply)))
    assert form.decode_reply(request, answer) == reply
    assert answers_in(reply.text) == reply.answers


TONE = DecisionQuestion(
    "tone", "choice", "Which tone?", (DecisionOption("polite"), DecisionOption("rude"))
)
DEPTH = DecisionQuestion("depth", "score", "How deep?", tuple(map(DecisionOption, "abc")))
CLEAR = DecisionQuestion("clear", "predicate", "It is clear.")
ASKED = DecisionRequest({"text": "x"}, (CLEAR, TONE, DEPTH))
RIGHT = DecisionReply(
    (
        DecisionAnswer((0.75, 0.25)),
        DecisionAnswer((0.9, 0.1), 0.8),
        DecisionAnswer((0.5, 0.25, 0.25), 0.1),
    ),
    "m",
    Usage(1, 20, 0),
)


def changed(form: DecisionFormat, name: str, **fields: Any) -> list[DecisionAnswer]:
    """The answers when the server sends other fields in one of them."""
    body: Any = json.loads(json.dumps(form.encode_reply(ASKED, RIGHT)))
    answers = body["answers"]
    answer = (
        next(one for one in answers if one["name"] == name)
        if isinstance(answers, list)
        else answers[name]
    )
    answer |= fields
    return list(form.decode_reply(ASKED, body).answers)


@pytest.mark.parametrize(
    "value", [1.5, -0.1, 10**400, float("nan"), "high", "0.9", True, None, [1]]
)
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_what_is_no_probability_is_a_failure_of_this_question_alone(
    form: DecisionFormat, value: object
) -> None:
    key = "probability" if isinstance(form, OpenAIDecisions) else "noul"
    clear, tone, _ = changed(form, "clear", **{key: value})
    assert clear.probabilities is None
    assert "is not a probability" in clear.reason
    assert tone.probabilities == (0.9, 0.1)


@pytest.mark.parametrize(
    "given",
    [
        {"polite": 0.9},
        {"polite": 0.9, "rude": 0.1, "none": 0.0},
        {"Polite": 0.9, "rude": 0.1},
        {"polite": 0.9, "rude": 0.3},
        {"polite": 0.9, "rude": "0.1"},
        {"polite": 0.0, "rude": 0.0},
        {"polite": 1, "rude": 1},
        {},
    ],
)
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_distribution_over_other_options_is_no_number(
    form: DecisionFormat, given: dict[str, object]
) -> None:
    listed = isinstance(form, OpenAIDecisions)
    sent: Any = [{"value": name, "probability": share} for name, share in given.items()]
    _, tone, _ = changed(form, "tone", probabilities=sent if listed else given)
    assert tone.probabilities is None
    assert tone.reason


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_an_answer_of_another_kind_is_no_answer(form: DecisionFormat) -> None:
    clear, _, depth = changed(form, "clear", type="boolean")
    assert "boolean" in clear.reason
    assert depth.probabilities is not None


def test_rounded_probabilities_are_divided_by_their_sum_and_kept() -> None:
    options = tuple(map(DecisionOption, "abc"))
    request = DecisionRequest("x", (DecisionQuestion("q", "choice", None, options),))
    body: Any = {
        "answers": {"q": {"type": "choice", "probabilities": dict.fromkeys("abc", 0.33)}},
        "model": "m",
    }
    (answer,) = SystemOne().decode_reply(request, body).answers
    assert answer.probabilities == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert answer.received == (0.33, 0.33, 0.33)


def test_the_probabilities_decide_where_the_servers_choice_or_score_differs() -> None:
    _, tone, _ = changed(SystemOne(), "tone", choice="rude")
    _, _, depth = changed(SystemOne(), "depth", score=2)
    assert (tone.probabilities, depth.probabilities) == ((0.9, 0.1), (0.5, 0.25, 0.25))
    assert tone.notes and depth.notes


@pytest.mark.parametrize(
    "fields",
    [
        {"legend": {"1": "a", "2": "b", "3": "c"}},
        {"probabilities": {"1": 0.5, "2": 0.25, "3": 0.25}},
        {"probabilities": [0.5, 0.25, 0.25]},
    ],
)
def test_levels_that_are_not_numbered_from_0_fail(fields: dict[str, object]) -> None:
    assert changed(SystemOne(), "depth", **fields)[2].probabilities is None


def test_a_list_in_another_order_fails_as_a_whole() -> None:
    form = OpenAIDecisions()
    body: Any = form.encode_reply(ASKED, RIGHT)
    body["answers"].reverse()
    answers = form.decode_reply(ASKED, body).answers
    assert all(answer.probabilities is None and answer.reason for answer in answers)


def test_a_short_list_lacks_one_answer() -> None:
    form = OpenAIDecisions()
    body: Any = form.encode_reply(ASKED, RIGHT)
    del body["answers"][1]
    clear, tone, depth = form.decode_reply(ASKED, body).answers
    assert clear.probabilities and depth.probabilities
    assert tone.reason == "no answer to this question"


def test_a_short_list_without_names_fails_as_a_whole() -> None:
    form = OpenAIDecisions()
    body: Any = form.encode_reply(ASKED, RIGHT)
    body["answers"] = [{**answer, "name": None} for answer in body["answers"][1:]]
    assert not any(one.probabilities for one in form.decode_reply(ASKED, body).answers)


@pytest.mark.parametrize("form", FORMATS[1:], ids=lambda form: form.name)
def test_an_answer_that_was_not_asked_for_fails_all(form: DecisionFormat) -> None:
    body: Any = form.encode_reply(ASKED, RIGHT)
    body["answers"]["other"] = {"type": "noul", "noul": 0.5}
    assert not any(one.probabilities for one in form.decode_reply(ASKED, body).answers)


def test_a_refusal_is_of_one_question() -> None:
    form = OpenAIDecisions()
    body: Any = form.encode_reply(ASKED, RIGHT)
    body["answers"][2] = {"type": "refusal", "name": "depth"}
    clear, _, depth = form.decode_reply(ASKED, body).answers
    assert clear.probabilities
    assert depth.refused and depth.probabilities is None


def test_a_blocked_input_is_a_refusal_of_all() -> None:
    body: Any = {"prompt_feedback": {"block_reason": "safety"}}
    reply = GeminiDecisions().decode_reply(ASKED, body)
    assert [answer.refused for answer in reply.answers] == [True, True, True]


@pytest.mark.parametrize("field", ["truncated", "state_tokens_dropped", "truncated_questions"])
@pytest.mark.parametrize("form", FORMATS[:2], ids=lambda form: form.name)
def test_a_request_that_was_cut_short_is_not_answered(form: DecisionFormat, field: str) -> None:
    body: Any = {**form.encode_reply(ASKED, RIGHT), field: 7}
    assert not any(one.probabilities for one in form.decode_reply(ASKED, body).answers)


def test_answers_that_a_server_does_not_stand_by_say_so() -> None:
    reply = DecisionReply((DecisionAnswer((0.6, 0.4), accepted=False),), "m")
    request = DecisionRequest("x", (CLEAR,))
    systemone, openai = SystemOne(), OpenAIDecisions()
    (kept,) = systemone.decode_reply(request, systemone.encode_reply(request, reply)).answers
    assert (kept.accepted, kept.probabilities) == (False, (0.6, 0.4))
    (refused,) = openai.decode_reply(request, openai.encode_reply(request, reply)).answers
    assert refused.refused


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (SystemOne(), {"model": "m", "state": None, "questions": {"q": {"type": "noul"}}}),
        (SystemOne(), {"model": "m", "state": 3, "questions": {"q": {"type": "noul"}}}),
        (SystemOne(), {"model": "m", "state": "x", "questions": {}}),
        (SystemOne(), {"model": "m", "state": "x", "questions": {"q": {"type": "boolean"}}}),
        (
            SystemOne(),
            {"model": "m", "state": "x", "questions": {"q": {"type": "score", "criteria": {}}}},
        ),
        (OpenAIDecisions(), {"model": "m", "input": "x", "questions": []}),
        (OpenAIDecisions(), {"model": "m", "input": [], "questions": [{}]}),
        (GeminiDecisions(), {"model": "m", "input": {"a": 1}, "questions": {}}),
    ],
)
def test_a_bad_request_says_where(form: DecisionFormat, body: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        form.decode_request(body)
    assert caught.value.place
    assert caught.value.message
