"""Typed questions over a real socket: the answers of TypeSafe's and OpenAI's formats, what moves no
answer, and what is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, ScriptedModel, open_model
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.errors import PromptTooLong, SetupError
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.deciding import DecisionService, fields_of
from adjudge.runs.service.judging import JudgingService
from adjudge.runs.service.known_questions import KnownQuestion, KnownQuestions
from support.api import Served, serving

TEXT = "Thank you for the lamp. It came on Tuesday and it is broken."
QUESTIONS = {
    "refund": {"type": "noul", "instructions": "The customer wants money back."},
    "sides": {"type": "noul", "criteria": {"true": "It is polite.", "false": None}},
    "team": {
        "type": "choice",
        "instructions": "Who handles it?",
        "criteria": {"billing": None, "tech": "Bugs"},
    },
    "anger": {"type": "score", "criteria": ["calm", {"level": "annoyed"}, "angry"]},
    "любой вопрос 🙂": {"type": "choice", "criteria": {"да": None, "нет": "совсем нет"}},
}


class Deterministic(ScriptedModel):
    """Log-probabilities that depend on the whole prompt and on nothing else."""

    capabilities = Capabilities(logprobs=True, exact_logprobs=True)

    def __init__(self) -> None:
        super().__init__(self.answer)

    def answer(self, request: Request) -> Reply:
        if "too long" in request.prompt.text:
            raise PromptTooLong("the prompt has {length} tokens", length=9999)
        drawn = {
            label: -1 - hashlib.sha256(f"{label} {request.prompt.text}".encode()).digest()[0] / 64
            for label in request.labels
        }
        return Reply("", Usage(1, 10, 1), logprobs=(FrozenDict(drawn),))


class Written(ScriptedModel):
    """It writes, and tells no probabilities."""

    capabilities = Capabilities()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    service = JudgingService([ModelEntry(model="scripted/Yes")])
    deciding = DecisionService([open_model(Deterministic())], OpenBudget(None, None))
    yield from serving(service, tmp_path_factory.mktemp("runs"), deciding=deciding)


def asked(questions: Mapping[str, object], state: object = TEXT) -> dict[str, Any]:
    return {"model": "jev-latest", "state": state, "questions": questions}


def test_a_question_of_each_kind_is_answered(api: Served) -> None:
    found = api.checked("/v1/systemone", asked(QUESTIONS))
    answers = found["answers"]
    assert list(answers) == list(QUESTIONS)
    assert 0 < answers["refund"]["noul"] < 1
    assert set(answers["team"]["probabilities"]) == {"billing", "tech"}
    assert answers["anger"]["legend"] == {"0": "calm", "1": {"level": "annoyed"}, "2": "angry"}
    for answer in answers.values():
        assert math.isclose(math.fsum(answer.get("probabilities", {"": 1}).values()), 1)
    assert found["usage"]["output_tokens"] > 0


def test_neither_names_nor_order_nor_company_move_an_answer(api: Served) -> None:
    whole = api.checked("/v1/systemone", asked(QUESTIONS))["answers"]
    turned = dict(reversed(QUESTIONS.items()))
    assert api.checked("/v1/systemone", asked(turned))["answers"] == whole
    renamed = {f"other {number}": one for number, one in enumerate(QUESTIONS.values())}
    again = api.checked("/v1/systemone", asked(renamed))["answers"]
    assert list(again.values()) == [whole[name] for name in QUESTIONS]
    for name, question in QUESTIONS.items():
        alone = api.checked("/v1/systemone", asked({name: question}))["answers"]
        assert alone == {name: whole[name]}


@pytest.mark.parametrize("count", [2, 26, 27, 64, 255])
def test_long_lists_of_options_have_a_distribution(api: Served, count: int) -> None:
    names = [f"город {number}" for number in range(count)]
    question = {"type": "choice", "criteria": dict.fromkeys(names)}
    answer = api.checked("/v1/systemone", asked({"q": question}))["answers"]["q"]
    assert list(answer["probabilities"]) == names
    assert math.isclose(math.fsum(answer["probabilities"].values()), 1)
    assert answer["probabilities"][answer["choice"]] == max(answer["probabilities"].values())


def test_both_formats_answer_alike(api: Served) -> None:
    one = api.checked("/v1/systemone", asked({"refund": QUESTIONS["refund"]}))
    question = {"type": "predicate", "instructions": "The customer wants money back."}
    body = {"model": "adjudge", "input": TEXT, "questions": [question, {**question, "name": "n"}]}
    two = api.checked("/v1/decisions", body)
    assert [answer["name"] for answer in two["answers"]] == [None, "n"]
    for answer in two["answers"]:
        assert answer["probability"] == one["answers"]["refund"]["noul"]


def test_models_are_listed_for_both_clients(api: Served) -> None:
    found = api.checked("/v1/models")
    assert "jev-latest" in [one["name"] for one in found["models"]]
    assert [one["id"] for one in found["data"]] == [one["name"] for one in found["models"]]


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        (asked({}), 422, ["body", "questions"]),
        (asked({"q": {"type": "guess"}}), 422, ["body", "questions", "q", "type"]),
        (asked({"q": {"type": "noul"}}), 422, ["body", "questions", "q"]),
        (
            asked({"q": {"type": "score", "criteria": {"a": 1}}}),
            422,
            ["body", "questions", "q", "criteria"],
        ),
        (asked(QUESTIONS, state=7), 422, ["body", "state"]),
        (asked(QUESTIONS, state=None), 422, ["body", "state"]),
        ({**asked(QUESTIONS), "model": "gpt-6-luna"}, 404, None),
        (asked(QUESTIONS, state="It is too long."), 400, None),
        (asked({str(number): QUESTIONS["team"] for number in range(301)}), 413, None),
        ([], 422, ["body"]),
    ],
)
def test_a_wrong_request_is_explained_to_both_clients(
    api: Served, body: object, status: int, place: list[object] | None
) -> None:
    answer = api.ask("/v1/systemone", body)
    found = answer.json()
    assert answer.status == status, found
    assert found["error"]["message"]
    if place is None:
        assert found["detail"]["error_type"] and found["detail"]["message"]
    else:
        assert [one["loc"] for one in found["detail"]] == [place]


def test_a_name_that_stands_twice_is_refused(api: Served) -> None:
    question = json.dumps(QUESTIONS["refund"])
    text = (
        f'{{"model": "adjudge", "state": "x", "questions": {{"a": {question}, "a": {question}}}}}'
    )
    answer = api.ask("/v1/systemone", raw=text.encode())
    assert (answer.status, "twice" in answer.json()["error"]["message"]) == (422, True)


def test_packed_bodies_are_unpacked_up_to_a_limit_or_refused(api: Served) -> None:
    body = json.dumps(asked(QUESTIONS)).encode()
    assert api.ask("/v1/systemone", raw=body, headers={"Content-Encoding": "br"}).status == 415
    zstd = pytest.importorskip("backports.zstd")
    packed = {"Content-Encoding": "zstd"}
    whole = api.ask("/v1/systemone", raw=zstd.compress(body), headers=packed)
    assert whole.json() == api.ask("/v1/systemone", raw=body).json()
    bomb = zstd.compress(b" " * (64 << 20))
    assert len(bomb) < 1 << 20
    assert api.ask("/v1/systemone", raw=bomb, headers=packed).status == 413
    assert api.ask("/v1/systemone", raw=b"not packed", headers=packed).status == 400


def test_a_wrong_key_is_an_authentication_error(api: Served) -> None:
    answer = api.ask("/v1/systemone", asked(QUESTIONS), headers={"Authorization": "Bearer x"})
    assert (answer.status, answer.json()["detail"]["error_type"]) == (401, "authentication_error")


def test_judges_of_an_eval_file_answer_their_questions_and_accept_no_others(
    tmp_path: Path,
) -> None:
    sure = AspectCritic("It is polite.", ScriptedModel(["PASS"]), name="polite")
    unsure = AspectCritic("It is long.", ScriptedModel(["I cannot say."]), name="long")
    judges = [KnownQuestion(one.criteria, one) for one in (sure, unsure)]
    known = KnownQuestions(tuple(judges), ("polite", "long"))
    deciding = DecisionService([open_model(Deterministic())], OpenBudget(None, None), known=known)
    texts = {"a": "It is polite.", "b": "It is long.", "c": "It is about lamps."}
    service = JudgingService([ModelEntry(model="scripted/Yes")])
    for served in serving(service, tmp_path, deciding=deciding):
        questions = {name: {"type": "noul", "instructions": text} for name, text in texts.items()}
        one = served.checked("/v1/systemone", {**asked(questions), "model": "adjudge"})["answers"]
        assert one["a"] == {"type": "noul", "noul": 1.0}
        assert "b" not in one  # no vote could be read: no number
        assert one["c"]["x_accepted"] is False
        listed = [{"type": "predicate", "instructions": text} for text in texts.values()]
        two = served.checked(
            "/v1/decisions", {"model": "adjudge", "input": TEXT, "questions": listed}
        )["answers"]
        assert [answer["type"] for answer in two] == ["predicate", "refusal", "refusal"]


def test_a_model_without_probabilities_is_named(tmp_path: Path) -> None:
    deciding = DecisionService([open_model(Written("Yes"))], OpenBudget(None, None))
    service = JudgingService([ModelEntry(model="scripted/Yes")])
    for served in serving(service, tmp_path, deciding=deciding):
        answer = served.ask("/v1/systemone", asked(QUESTIONS))
        assert (answer.status, "log-prob" in answer.json()["error"]["message"]) == (400, True)


class TextFirst(Deterministic):
    """It was trained to read prompts that show the text first, and no others."""

    capabilities = Capabilities(logprobs=True, exact_logprobs=True, text_first=True)


@pytest.mark.parametrize(("text_first", "status"), [(False, 400), (True, 200)])
def test_a_model_for_texts_first_is_asked_nothing_else(
    tmp_path: Path, text_first: bool, status: int
) -> None:
    model = open_model(TextFirst())
    deciding = DecisionService([model], OpenBudget(None, None), text_first=text_first)
    service = JudgingService([ModelEntry(model="scripted/Yes")])
    for served in serving(service, tmp_path, deciding=deciding):
        answer = served.ask("/v1/systemone", asked(QUESTIONS))
        said = answer.json().get("error", {}).get("message", "")
        assert (answer.status, "only accepts prompts with the text first" in said) == (
            status,
            status == 400,
        )


def test_a_judge_does_not_ask_a_model_for_texts_first() -> None:
    with pytest.raises(SetupError, match="only accepts prompts with the text first"):
        AspectCritic("It is polite.", TextFirst(), mode="likelihood").evaluate(["Thank you."])


def test_a_state_becomes_fields() -> None:
    assert fields_of("x") == {"response": "x"}
    assert fields_of({"question": "a", "response": ["b"]}) == {"question": "a", "response": '["b"]'}
    assert fields_of({}) == {"response": "{}"}
    assert fields_of([1, None]) == {"response": "[1, null]"}
    assert fields_of({" ": "x"}) == {"response": '{" ": "x"}'}
