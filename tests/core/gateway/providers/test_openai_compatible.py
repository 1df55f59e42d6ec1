from __future__ import annotations

import pytest

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.providers.openai_compatible import finish_of, openai_logprobs, text_of
from adjudge.errors import ModelError, Refused
from support.asking import MODELS, SCHEMA, ask, open_at
from support.fake_provider import KEY, REFUSES, FakeProvider, Raw, Status, always


def test_the_conversation_goes_as_it_is(provider: FakeProvider) -> None:
    ask(open_at(provider), "REC-00001-Y", system="You judge.")
    assert provider.bodies[0]["messages"] == [
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": "REC-00001-Y"},
    ]


def test_the_schema_is_strict_and_named(provider: FakeProvider) -> None:
    ask(open_at(provider), schema=SCHEMA)
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }
    assert provider.bodies[0]["response_format"] == wanted


@pytest.mark.parametrize(
    "name", ["openai", "openrouter", "together", "groq", "mistral", "ollama", "anthropic"]
)
def test_the_model_keeps_its_own_name(provider: FakeProvider, name: str) -> None:
    ask(open_at(provider, name))
    assert f"{name}/{provider.bodies[0]['model']}" == MODELS[name][0]


def test_any_server_can_be_named_by_its_url(provider: FakeProvider) -> None:
    model = open_model(f"{provider.base_url('compatible')}/#org/my:model", max_retries=0)
    assert ask(model).text
    assert provider.bodies[0]["model"] == "org/my:model"
    assert provider.requests[0].url == f"{provider.base_url('compatible')}/chat/completions"
    assert "Authorization" not in provider.requests[0].headers


def test_a_server_named_by_its_url_may_want_a_key(provider: FakeProvider) -> None:
    ask(open_model(f"{provider.base_url('compatible')}#m", api_key=KEY))
    assert provider.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_errors_of_a_server_named_by_its_url_call_it_so(provider: FakeProvider) -> None:
    provider.faults = always(Status(404, "No such model"))
    model = open_model(f"{provider.base_url('compatible')}#m")
    with pytest.raises(ModelError) as told:
        ask(model)
    assert str(told.value).startswith(f"{model.name}: 404: No such model")


def test_a_refusal_is_the_text_of_the_reply(provider: FakeProvider) -> None:
    provider.faults = always(REFUSES)
    assert ask(open_at(provider)).text == "I can't help with that."


@pytest.mark.parametrize(
    "message",
    [
        (
            "The response was filtered due to the prompt triggering Azure OpenAI's content "
            "management policy."
        ),
        "This request has been blocked by our content policy",
        "ResponsibleAIPolicyViolation",
    ],
)
def test_a_request_that_a_filter_stops_is_refused_and_not_retried(
    provider: FakeProvider, message: str
) -> None:
    provider.faults = always(Status(400, message))
    with pytest.raises(Refused):
        ask(open_at(provider, max_retries=3))
    assert len(provider.requests) == 1


def test_the_fingerprint_is_kept(provider: FakeProvider) -> None:
    details = dict(ask(open_at(provider)).details)
    assert str(details.pop("id")).startswith("chatcmpl-")
    assert details == {
        "model": "gpt-4o-mini-2024-07-18",
        "system_fingerprint": "fp_44709d6fcb",
    }


def test_a_minimal_answer_is_enough(provider: FakeProvider) -> None:
    provider.faults = always(Raw(b'{"choices": [{"message": {"content": "PASS"}}]}'))
    reply = ask(open_at(provider))
    assert (reply.text, reply.finish, reply.usage.calls, reply.usage.estimated) == (
        "PASS",
        "stop",
        1,
        1,
    )


def test_a_wrong_model_name_says_where_to_look(provider: FakeProvider) -> None:
    provider.faults = always(Status(404, "The model does not exist"))
    with pytest.raises(
        ModelError,
        match=r"^openai/gpt-4o-mini: 404: The model does not exist \(check the model's name",
    ):
        ask(open_at(provider))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("PASS", "PASS"),
        ("", ""),
        (None, ""),
        ([], ""),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "PASS"},
            ],
            "PASS",
        ),
        ([{"type": "text", "text": "PA"}, {"type": "text", "text": "SS"}], "PASS"),
    ],
)
def test_content_is_a_text_or_parts_of_one(content: JsonValue, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("", "stop"),
        (None, "stop"),
    ],
)
def test_every_word_for_the_end_is_one_of_three(reason: str | None, finish: str) -> None:
    assert finish_of(reason) == finish


@pytest.mark.parametrize(
    "nothing",
    [None, {}, {"content": None}, {"content": []}, {"tokens": ["a"], "token_logprobs": [-1]}],
)
def test_no_log_probabilities_are_none(nothing: JsonValue) -> None:
    assert openai_logprobs(nothing) is None


def test_a_token_without_alternatives_is_its_own() -> None:
    assert openai_logprobs({"content": [{"token": "a", "logprob": -1}]}) == ({"a": -1},)
