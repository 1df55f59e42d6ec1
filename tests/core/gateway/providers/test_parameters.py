"""``reasoning_effort`` and parameters of a provider's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge import open_model
from adjudge.core.gateway.providers.parameters import merged
from adjudge.errors import AdjudgeError, SetupError
from support.asking import SCHEMA, a_request, ask, critic, open_at
from support.fake_provider import KEY, FakeProvider

SENT: dict[str, dict[str, Any]] = {
    "openai": {"reasoning_effort": "low"},
    "openrouter": {"reasoning": {"effort": "low"}},
    "groq": {"reasoning_effort": "low"},
    "watsonx": {"reasoning_effort": "low"},
    "ollama": {"think": True},
    "anthropic": {
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "max_tokens": 2048 + 2048,
    },
    "google": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}}},
    "bedrock": {
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        "inferenceConfig": {"maxTokens": 4096},
    },
}


def body_of(model: Any, **parts: Any) -> dict[str, Any]:
    """The body that a model would send."""
    body: dict[str, Any] = model.provider._complete_body(a_request(**parts))
    return body


@pytest.mark.parametrize("name", SENT)
def test_each_provider_is_told_the_effort_in_its_own_words(
    provider: FakeProvider, name: str
) -> None:
    body = body_of(open_at(provider, name, reasoning_effort="low"))
    assert {field: body.get(field) for field in SENT[name]} == SENT[name]
    plain = body_of(open_at(provider, name))
    assert "think" not in str(plain)
    assert "reasoning" not in str(plain)


@pytest.mark.parametrize("name", ["openai", "google", "anthropic", "bedrock", "ollama"])
@pytest.mark.parametrize("effort", ["none", "minimal", "high"])
def test_every_effort_has_a_request(provider: FakeProvider, name: str, effort: str) -> None:
    assert body_of(open_at(provider, name, reasoning_effort=effort))


def test_an_answer_longer_than_ours_stays_possible_beside_thinking(
    provider: FakeProvider,
) -> None:
    model = open_at(provider, "anthropic", reasoning_effort="low", parameters={"max_tokens": 9000})
    assert body_of(model, max_tokens=100)["max_tokens"] == 9000


def test_parameters_are_sent_and_merged_into_objects(provider: FakeProvider) -> None:
    parameters = {"generationConfig": {"topK": 3}, "safetySettings": [{"threshold": "BLOCK_NONE"}]}
    model = open_at(provider, "google", parameters=parameters)
    body = body_of(model, schema=SCHEMA)
    assert body["generationConfig"]["topK"] == 3
    assert body["generationConfig"]["responseJsonSchema"] == SCHEMA
    assert body["safetySettings"] == parameters["safetySettings"]


def test_the_server_receives_them(provider: FakeProvider) -> None:
    model = open_at(provider, "openai", reasoning_effort="high", parameters={"store": False})
    assert ask(model).text
    assert provider.bodies[0]["reasoning_effort"] == "high"
    assert provider.bodies[0]["store"] is False


def test_objects_are_merged_and_a_second_value_is_refused() -> None:
    body: dict[str, Any] = {"a": 1, "b": {"c": 2}}
    assert merged(body, {"a": 1, "b": {"d": 7}}, "m") == {"a": 1, "b": {"c": 2, "d": 7}}
    with pytest.raises(SetupError, match="parameters of m: 'c' is set by adjudge"):
        merged(body, {"b": {"c": 6}}, "m")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ollama", {"format": "json"}),
        ("ollama", {"options": {"num_ctx": 512}}),
        ("google", {"generationConfig": {"responseMimeType": "text/plain"}}),
    ],
)
def test_a_parameter_that_a_request_has_already_ends_the_run_before_it_is_sent(
    provider: FakeProvider, name: str, parameters: dict[str, object]
) -> None:
    judge = critic(open_at(provider, name, parameters=parameters))
    with pytest.raises(SetupError, match="is set by adjudge"):
        judge.evaluate(["REC-00001-Y", "REC-00002-N"])
    assert not provider.requests


def test_a_parameter_that_contradicts_the_effort_is_refused(provider: FakeProvider) -> None:
    with pytest.raises(SetupError, match="'type' is set by adjudge"):
        open_at(
            provider,
            "anthropic",
            reasoning_effort="low",
            parameters={"thinking": {"type": "adaptive"}},
        )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"temperature": 1}, "'temperature' is set by adjudge; use the setting temperature"),
        ({"n": 3}, "'n' is set by adjudge; use the setting votes"),
        ({"messages": []}, "'messages' is set by adjudge$"),
        ({"generationConfig": {"seed": 1}}, "'seed' is set by adjudge; use the setting seed"),
        ({"a": float("nan")}, "a value is not JSON"),
        ({"a": {1, 2}}, "a value is not JSON"),
    ],
)
def test_what_adjudge_sets_itself_is_refused(
    provider: FakeProvider, parameters: dict[str, object], words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        open_at(provider, "openai", parameters=parameters)


def test_an_unknown_effort_is_refused(provider: FakeProvider) -> None:
    with pytest.raises(SetupError, match="one of none, minimal, low, medium, high, not 'huge'"):
        open_at(provider, "openai", reasoning_effort="huge")


@pytest.mark.parametrize(
    "model", ["scripted/PASS", lambda prompt: "PASS"], ids=["scripted", "function"]
)
def test_models_without_a_protocol_take_none(model: Any) -> None:
    with pytest.raises(SetupError, match="supports neither"):
        open_model(model, parameters={"a": 1})


def test_they_are_part_of_the_identity(provider: FakeProvider) -> None:
    plain = open_at(provider, "openai").identity
    low = open_at(provider, "openai", reasoning_effort="low").identity
    high = open_at(provider, "openai", reasoning_effort="high").identity
    extra = open_at(provider, "openai", parameters={"b": 1, "a": [2]}).identity
    assert len({plain, low, high, extra}) == 4
    assert extra == plain + ' {"a": [2], "b": 1}'
    assert extra == open_at(provider, "openai", parameters={"a": [2], "b": 1}).identity


def test_a_cache_keeps_replies_apart(provider: FakeProvider, tmp_path: Path) -> None:
    cache = tmp_path / "replies.jsonl"
    for effort in (None, "low", "low", "high"):
        ask(open_at(provider, "openai", cache=cache, reasoning_effort=effort))
    assert [body.get("reasoning_effort") for body in provider.bodies] == [None, "low", "high"]


def test_an_eval_sets_them_and_old_replies_do_not_answer_a_changed_one(
    provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    (tmp_path / "a.csv").write_text("response\nREC-00001-Y\n")

    def run(effort: str, folder: str) -> None:
        model = {
            "model": "openrouter/openai/gpt-oss-20b",
            "base_url": provider.base_url("compatible"),
            "reasoning_effort": effort,
            "parameters": {"metadata": {"team": ["a", 1]}},
        }
        judges = [{"kind": "aspect", "criteria": "The mark must end in Y."}]
        entry = {"data": str(tmp_path / "a.csv"), "models": [model], "judges": judges}
        report = adjudge.run({**entry, "run": str(tmp_path / folder)})
        assert report.total == 1

    run("low", "a")
    assert provider.bodies[0]["reasoning"] == {"effort": "low"}
    assert provider.bodies[0]["metadata"] == {"team": ["a", 1]}
    count = len(provider.bodies)
    run("low", "a")
    assert len(provider.bodies) == count
    with pytest.raises(AdjudgeError, match=r'effort": "low"} → .*effort": "high"}'):
        run("high", "a")
    run("high", "b")
    assert provider.bodies[-1]["reasoning"] == {"effort": "high"}
