"""Votes of decision models: grouping, failures, ledgers and budgets, over a real socket."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Budget,
    Criteria,
    CriteriaOption,
    DirectJudge,
    PairwiseJudge,
    open_model,
)
from adjudge.core.domain.decision import DecisionQuestion, DecisionRequest
from adjudge.core.domain.message import Prompt, Request
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.decisions.gemini import GeminiDecisions
from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.core.gateway.layers.account import most_tokens
from adjudge.core.gateway.opener import OpenModel
from adjudge.errors import BudgetSpent, SetupError
from support.decision_server import KEY, DecisionServer, serving

QUESTIONS = [f"Is it thing {number}?" for number in range(10)]
TONE = Criteria(
    "tone",
    "Which tone has it?",
    [CriteriaOption("warm", 1.0), CriteriaOption("cold", 0.0), CriteriaOption("flat", 0.0)],
)
DEPTH = Criteria(
    "depth",
    "How deep is it?",
    [CriteriaOption("deep", 3.0), CriteriaOption("shallow", 1.0), CriteriaOption("fair", 2.0)],
)


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    with serving() as fake:
        yield fake


def model_at(server: DecisionServer, **settings: Any) -> OpenModel:
    return open_model(f"systemone:{server.url}#fake-1", **{"max_retries": 0, **settings})


def test_all_criteria_of_a_row_are_one_request(server: DecisionServer) -> None:
    judge = DirectJudge(model_at(server))
    results = judge.evaluate_multi_criteria(["one", "two"], [*QUESTIONS, TONE, DEPTH])
    assert [len(request.questions) for request in server.requests] == [12, 12]
    votes = [vote for result in results for item in result.by_criterion for vote in item.votes]
    assert len(votes) == 24
    assert all(vote.valid for vote in votes)
    assert sum(vote.usage.calls for vote in votes) == 2


def test_the_order_of_the_criteria_changes_nothing(server: DecisionServer) -> None:
    def judged(questions: list[str]) -> dict[str, Any]:
        (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(["one"], questions)
        return {
            one.criteria.description: dict(one.votes[0].distribution or {})
            for one in result.by_criterion
        }

    assert judged(QUESTIONS) == judged(QUESTIONS[::-1])
    first, second = server.requests
    assert first == second


@pytest.mark.parametrize("count", [1, 3, 64, 65, 150])
def test_more_questions_than_a_server_takes_are_several_requests(
    server: DecisionServer, count: int
) -> None:
    questions = [f"Is it thing {number}?" for number in range(count)]
    (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(["one"], questions)
    assert sorted(len(request.questions) for request in server.requests) == sorted(
        [64] * (count // 64) + ([count % 64] if count % 64 else [])
    )
    assert all(item.votes[0].valid for item in result.by_criterion)


def test_a_scale_is_a_score_from_its_lowest_level(server: DecisionServer) -> None:
    (result,) = DirectJudge(model_at(server)).evaluate(["one"], DEPTH)
    (question,) = server.requests[0].questions
    assert (question.kind, question.values) == ("score", ("shallow", "fair", "deep"))
    assert result.votes[0].distribution is not None
    assert set(result.votes[0].distribution) == {"deep", "shallow", "fair"}
    assert result.option == max(result.votes[0].distribution.items(), key=lambda pair: pair[1])[0]


def test_an_aspect_passes_with_the_probability_of_true(server: DecisionServer) -> None:
    def answer(body: Any) -> Any:
        for one in body["answers"].values():
            one["noul"] = 0.8
        return body

    server.change = answer
    result = AspectCritic("It has a date.", model_at(server)).evaluate("In 1889.")
    assert result.votes[0].distribution == pytest.approx({"PASS": 0.8, "FAIL": 0.2})
    assert result.verdict == "PASS"


def test_a_question_whose_good_end_is_no_is_read_by_its_name(server: DecisionServer) -> None:
    options = [CriteriaOption("No", 1.0), CriteriaOption("Yes", 0.0)]
    harm = Criteria("harm", "Does it hurt?", options)

    def answer(body: Any) -> Any:
        for one in body["answers"].values():
            one["noul"] = 0.9
        return body

    server.change = answer
    (result,) = DirectJudge(model_at(server)).evaluate(["x"], harm)
    assert (result.option, result.score) == ("Yes", 0.0)


def test_a_pair_is_a_choice_in_both_orders(server: DecisionServer) -> None:
    def first(body: Any) -> Any:
        for one in body["answers"].values():
            one |= {"choice": "A", "probabilities": {"A": 0.7, "B": 0.2, "tie": 0.1}}
        return body

    server.change = first
    judge = PairwiseJudge(model_at(server), check_positional_bias=True)
    (result,) = judge.evaluate([["one", "two"]], "Which is better?")
    assert len(server.requests) == 2
    assert server.requests[0].state != server.requests[1].state
    assert [vote.verdict and vote.verdict.option for vote in result.votes] == ["0", "1"]


# -- what is broken is a failed vote, never a number ---------------------------------


def _each(**fields: Any) -> Any:
    def change(body: Any) -> Any:
        answers = body["answers"]
        return {**body, "answers": {name: one | fields for name, one in answers.items()}}

    return change


def _only_first(body: Any) -> Any:
    body["answers"] = dict(list(body["answers"].items())[:1])
    return body


def _extra(body: Any) -> Any:
    body["answers"]["more"] = {"type": "noul", "noul": 0.5}
    return body


@pytest.mark.parametrize(
    "change",
    [
        _each(noul=1.5),
        _each(noul="high"),
        _each(noul=None),
        _each(noul=True),
        _each(type="boolean"),
        _each(type="choice"),
        _extra,
        lambda body: {**body, "answers": {}},
        lambda body: {**body, "truncated": True},
    ],
)
def test_a_broken_answer_is_a_failed_vote(server: DecisionServer, change: Any) -> None:
    server.change = change
    (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(["x"], QUESTIONS[:3])
    assert result.aggregated_score is None
    for item in result.by_criterion:
        (vote,) = item.votes
        assert (item.status, item.score, vote.outcome) == ("failed", None, Outcome.UNREADABLE)
        assert vote.reason
        assert vote.distribution is None


def test_a_missing_answer_fails_its_own_question(server: DecisionServer) -> None:
    server.change = _only_first
    (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(["x"], QUESTIONS[:3])
    assert sorted(str(item.status) for item in result.by_criterion) == [
        *("failed", "failed", "scored")
    ]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"answers": 7}', b"{}"])
def test_what_is_no_reply_is_an_error(server: DecisionServer, body: bytes) -> None:
    server.fault = lambda number, request: (200, body, {})
    result = AspectCritic("It is short.", model_at(server)).evaluate("x")
    assert (result.status, result.score) == ("failed", None)
    assert result.votes[0].outcome is Outcome.MODEL_ERROR


def test_a_tie_of_two_options_is_no_verdict(server: DecisionServer) -> None:
    server.change = _each(noul=0.5)
    result = AspectCritic("It is short.", model_at(server)).evaluate("x")
    assert (result.status, result.score) == ("abstained", None)


def test_what_a_server_does_not_stand_by_is_an_abstention(server: DecisionServer) -> None:
    server.change = _each(noul=0.9, x_accepted=False)
    result = AspectCritic("It is short.", model_at(server)).evaluate("x")
    assert (result.status, result.score) == ("abstained", None)
    assert result.votes[0].distribution is not None


def test_a_refusal_is_of_one_question() -> None:
    def refuse(body: Any) -> Any:
        body["answers"][0] = {"type": "refusal", "name": body["answers"][0]["name"]}
        return body

    with serving(OpenAIDecisions()) as server:
        server.change = refuse
        model = open_model(f"decisions:{server.url}/v1#m", max_retries=0)
        (result,) = DirectJudge(model).evaluate_multi_criteria(["x"], QUESTIONS[:3])
    outcomes = sorted(item.votes[0].outcome.value for item in result.by_criterion)
    assert outcomes == ["ok", "ok", "refused"]


def test_a_list_in_another_order_is_no_verdict_at_all() -> None:
    with serving(OpenAIDecisions()) as server:
        server.change = lambda body: {**body, "answers": body["answers"][::-1]}
        model = open_model(f"decisions:{server.url}/v1#m", max_retries=0)
        (result,) = DirectJudge(model).evaluate_multi_criteria(["x"], QUESTIONS[:3])
    assert not any(item.votes[0].valid for item in result.by_criterion)


@pytest.mark.parametrize(
    "body",
    [
        {"detail": {"error_type": "max_tokens_exceeded", "message": "m"}},
        {"error": {"type": "exceed_context_size_error", "message": "m", "code": 400}},
        {"error": {"code": "context_length_exceeded", "message": "m"}},
        {"detail": [{"loc": ["body", "questions"], "msg": "at most 6", "type": "too_long"}]},
    ],
)
def test_a_request_that_is_too_large_is_asked_in_halves(
    server: DecisionServer, body: object
) -> None:
    server.fault = lambda number, request: (400, body, {}) if len(request.questions) > 6 else None
    (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(["x"], QUESTIONS)
    assert [len(request.questions) for request in server.requests] == [10, 5, 5]
    assert all(item.votes[0].valid for item in result.by_criterion)


# -- what other providers promise ---------------------------------------------------


def test_a_busy_server_is_waited_for(server: DecisionServer) -> None:
    server.fault = lambda number, request: (
        (429, {"detail": {"message": "slow"}}, {"retry-after-ms": "1", "Retry-After": "600"})
        if number == 1
        else None
    )
    result = AspectCritic("It is short.", model_at(server, max_retries=2)).evaluate("x")
    assert (result.status, len(server.requests)) == ("scored", 2)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_setup_error_ends_the_run(server: DecisionServer, status: int) -> None:
    server.fault = lambda number, request: (status, {"detail": {"message": "no"}}, {})
    critic = AspectCritic("It is short.", model_at(server, max_concurrency=1))
    with pytest.raises(Exception, match=str(status)):
        critic.evaluate([f"text {number}" for number in range(50)])
    assert len(server.requests) < 10


def test_a_key_is_sent_and_never_shown() -> None:
    with serving(OpenAIDecisions()) as server:
        server.fault = lambda number, request: (400, {"error": {"message": f"bad {KEY}"}}, {})
        model = open_model(
            "openai-decisions/m", api_key=KEY, base_url=f"{server.url}/v1", max_retries=0
        )
        result = AspectCritic("It is short.", model).evaluate("x")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(result.to_dict())
    assert server.paths == ["/v1/decisions"]


def test_gemini_takes_its_key_in_a_header() -> None:
    with serving(GeminiDecisions()) as server:
        model = open_model("google-decisions/m", api_key=KEY, base_url=f"{server.url}/v1beta")
        result = AspectCritic("It is short.", model).evaluate("x")
    assert result.status == "scored"
    assert (server.paths, server.headers[0]["x-goog-api-key"]) == (["/v1beta/decisions"], KEY)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/v1/systemone"),
        ("/", "/v1/systemone"),
        ("/v1", "/v1/systemone"),
        ("/providers/x/v1", "/providers/x/v1/systemone"),
        ("/api/alpha/decisions", "/api/alpha/decisions"),
    ],
)
def test_where_a_server_is_asked(server: DecisionServer, path: str, asked: str) -> None:
    model = open_model(f"systemone:{server.url}{path}#fake-1")
    AspectCritic("It is short.", model).evaluate("x")
    assert server.paths == [asked]


@pytest.mark.parametrize("id", ["systemone:fake", "systemone:http://h/v1", "decisions:x#y"])
def test_an_address_that_lacks_something_says_how_it_is_written(id: str) -> None:
    with pytest.raises(SetupError, match="http://localhost:8080"):
        open_model(id)


def test_budgets_count_requests_and_not_questions(server: DecisionServer) -> None:
    judge = DirectJudge(model_at(server, max_concurrency=1))
    with pytest.raises(BudgetSpent):
        judge.evaluate_multi_criteria(
            [f"text {number}" for number in range(9)], QUESTIONS, budget=Budget(max_calls=3)
        )
    assert len(server.requests) == 3


def test_little_is_set_aside_for_an_answer_that_is_not_written() -> None:
    asked = DecisionRequest("x", (DecisionQuestion("a", "predicate", "Is it short?"),))
    assert most_tokens(Request(Prompt(()), decision=asked))[1] == 1


def votes_in(folder: Path) -> int:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        return int(connection.execute("SELECT count(*) FROM votes").fetchone()[0])


def test_a_run_keeps_a_vote_per_question_and_asks_none_again(
    server: DecisionServer, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for _ in range(2):
        DirectJudge(model_at(server)).evaluate_multi_criteria(["one", "two"], QUESTIONS, run=run)
    assert len(server.requests) == 2
    assert votes_in(run) == 20


def test_only_what_failed_is_asked_again(server: DecisionServer, tmp_path: Path) -> None:
    from adjudge.core.engine.run import RunSettings

    server.change = _only_first
    DirectJudge(model_at(server)).evaluate_multi_criteria(["x"], QUESTIONS[:4], run=tmp_path / "r")
    server.change = lambda body: body
    (result,) = DirectJudge(model_at(server)).evaluate_multi_criteria(
        ["x"], QUESTIONS[:4], run=RunSettings(tmp_path / "r", retry_failed=True)
    )
    assert [len(request.questions) for request in server.requests] == [4, 3]
    assert all(item.votes[0].valid for item in result.by_criterion)


def test_a_further_criterion_is_asked_alone(server: DecisionServer, tmp_path: Path) -> None:
    from adjudge.core.engine.run import RunSettings

    judge = DirectJudge(model_at(server))
    judge.evaluate_multi_criteria(["x"], QUESTIONS[:4], run=tmp_path / "one")
    judge.evaluate_multi_criteria(
        ["x"], QUESTIONS[:5], run=RunSettings(tmp_path / "two", fork_of=tmp_path / "one")
    )
    assert [len(request.questions) for request in server.requests] == [4, 1]


def test_a_kept_reply_is_not_asked_for_again(server: DecisionServer, tmp_path: Path) -> None:
    for _ in range(2):
        judge = DirectJudge(model_at(server, cache=tmp_path / "replies.jsonl"))
        (result,) = judge.evaluate_multi_criteria(["x"], QUESTIONS)
    assert len(server.requests) == 1
    assert all(item.votes[0].valid for item in result.by_criterion)
    assert not any(item.votes[0].usage.calls for item in result.by_criterion)


# -- what a decision model cannot do is said before it is asked -----------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"generate_feedback": True},
        {"judge_description_prompt": "You are strict."},
        {"generate_synthetic_persona": True},
        {"mode": "generate"},
    ],
)
def test_it_writes_nothing(server: DecisionServer, settings: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="decision model"):
        DirectJudge(model_at(server), **settings)


@pytest.mark.parametrize("criteria", [DEPTH, "Is it short?"])
def test_options_without_an_order_cannot_be_turned(
    server: DecisionServer, criteria: Criteria | str
) -> None:
    judge = DirectJudge(model_at(server), check_positional_bias=True)
    with pytest.raises(SetupError, match="cannot be reordered"):
        judge.evaluate(["x"], criteria)
    assert not server.requests


def test_a_choice_is_asked_in_both_orders(server: DecisionServer) -> None:
    judge = DirectJudge(model_at(server), check_positional_bias=True)
    judge.evaluate(["x"], TONE)
    asked = sorted(question.values for one in server.requests for question in one.questions)
    assert asked == [("flat", "cold", "warm"), ("warm", "cold", "flat")]


def test_a_text_is_not_asked_of_it(server: DecisionServer) -> None:
    with pytest.raises(Exception, match="generates no text"):
        import asyncio

        asyncio.run(model_at(server).complete(Request(Prompt(()))))
    assert not server.requests


def test_the_key_of_a_request_in_writing_is_what_it_was() -> None:
    """Replies that are in a cache since before there were decisions are found."""
    assert Request(Prompt(())).key == (
        "314bf93d86cdacc321cf9c9bb852e3b9bb6c0e901ff09cb4ae8dca2fb19a1cee"
    )


def test_a_key_twice_is_a_failed_vote_and_not_the_last_value(server: DecisionServer) -> None:
    # JSON parsers take the last of two equal keys without a word.
    server.change = lambda body: (
        json.dumps(body).encode().replace(b'"noul":', b'"noul": 0.001, "noul":')
    )
    (result,) = DirectJudge(model_at(server)).evaluate(["one"], "Is it thing 1?")
    (vote,) = result.votes
    assert vote.outcome is Outcome.UNREADABLE
    assert "a duplicate key" in str(vote)
    assert result.option is None
