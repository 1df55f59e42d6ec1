"""Models of litellm, through the real package and to a real server: retries, budgets and failures
stay ours.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from adjudge import AspectCritic, open_model
from adjudge.core.gateway.layers.budget import Budget, OpenBudget, calling
from adjudge.errors import BudgetSpent
from support.decision_server import DecisionServer, serving
from support.fake_provider import KEY, EchoesKey, FakeProvider, Status, always

pytest.importorskip("litellm", reason="litellm is not installed: make test-neighbours tries it")


def critic(provider: FakeProvider, max_retries: int = 0) -> AspectCritic:
    model = open_model(
        "litellm/openai/gpt-4o-mini",
        api_key=KEY,
        base_url=provider.base_url("openai"),
        max_retries=max_retries,
    )
    return AspectCritic("Does it end in Y?", model)


def test_a_model_of_litellm_judges(provider: FakeProvider) -> None:
    passed, failed = critic(provider).evaluate(["REC-00001-Y", "REC-00002-N"])
    assert (passed.verdict, failed.verdict) == ("PASS", "FAIL")
    assert passed.votes[0].model == "litellm/openai/gpt-4o-mini"
    assert passed.usage.prompt_tokens > 0
    assert "response_format" in provider.bodies[0]


def test_it_is_asked_once_for_each_try_of_ours(provider: FakeProvider) -> None:
    provider.faults = always(Status(500))
    result = critic(provider).evaluate("REC-00001-Y")
    assert (result.status, result.score, len(provider.requests)) == ("failed", None, 1)


def test_what_a_retry_mends_is_tried_again(provider: FakeProvider) -> None:
    provider.faults = lambda record, attempt: (
        Status(429, headers={"Retry-After": "0"}) if attempt == 0 else None
    )
    assert critic(provider, max_retries=2).evaluate("REC-00001-Y").verdict == "PASS"
    assert len(provider.requests) == 2


def test_no_key_is_shown(provider: FakeProvider) -> None:
    provider.faults = always(EchoesKey(400))
    result = critic(provider).evaluate("REC-00001-Y")
    assert result.status == "failed"
    assert KEY not in str(result.to_dict())


def test_budgets_hold(provider: FakeProvider) -> None:
    with calling(OpenBudget(Budget(max_calls=2))), pytest.raises(BudgetSpent):
        critic(provider).evaluate([f"REC-0000{number}-Y" for number in range(4)])
    assert len(provider.requests) == 2


def test_it_is_loaded_only_when_it_is_named() -> None:
    code = "import sys, adjudge\nadjudge.open_model('scripted')\nprint('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def decisions(server: DecisionServer) -> AspectCritic:
    model = open_model("litellm-decisions/typesafe/fake-1", api_key=KEY, base_url=server.url)
    return AspectCritic("It is kind.", model)


def test_its_decision_models_give_the_same_probabilities_as_the_server() -> None:
    with serving() as server:
        direct = AspectCritic("It is kind.", open_model(f"systemone:{server.url}#fake-1"))
        expected = direct.evaluate(["one", "two"])
        results = decisions(server).evaluate(["one", "two"])
    for result, other in zip(results, expected, strict=True):
        assert result.verdict == other.verdict
        assert result.votes[0].distribution == pytest.approx(other.votes[0].distribution)
    assert results[0].votes[0].answered_by == "fake-1"
    assert results[0].usage.calls == 1
    assert results[0].usage.prompt_tokens > 0


def test_a_broken_answer_of_its_decision_models_is_no_number() -> None:
    def without(body: Any) -> Any:
        return {**body, "answers": {}}

    def text(body: Any) -> Any:
        answers = {name: {"type": "noul", "noul": "high"} for name in body["answers"]}
        return {**body, "answers": answers}

    def large(body: Any) -> Any:
        answers = {name: {"type": "noul", "noul": 1.5} for name in body["answers"]}
        return {**body, "answers": answers}

    for change in (without, text, large):
        with serving() as server:
            server.change = change
            result = decisions(server).evaluate("one")
        assert (result.verdict, result.score) == (None, None)
        assert result.votes[0].distribution is None
        assert result.votes[0].reason


def test_its_decision_models_are_asked_once_and_show_no_key() -> None:
    with serving() as server:
        server.fault = lambda number, request: (401, {"detail": {"message": KEY}}, {})
        result = decisions(server).evaluate("one")
    assert result.status == "failed" and KEY not in str(result.to_dict())
    assert len(server.requests) == 1
