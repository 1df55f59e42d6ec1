"""What holds for every model behind an HTTP API."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from typing import Any

import pytest

from adjudge.core.aio import event_loop
from adjudge.core.domain.message import ChatMessage, Prompt, Request
from adjudge.errors import ModelError, Unavailable
from support.asking import MODELS, SCHEMA, ask, ask_all, open_at
from support.fake_provider import (
    EMPTY,
    FILTERED,
    JSON_LIST,
    KEY,
    NO_CHOICES,
    NULL,
    PROSE,
    REFUSES,
    TRUNCATED,
    FakeProvider,
    Raw,
    Rejects,
    Status,
    always,
    at_first,
)
from support.protocols import CACHED_TOKENS

every_provider = pytest.mark.parametrize("name", MODELS)


@every_provider
@pytest.mark.parametrize(("text", "option"), [("REC-00001-Y", "PASS"), ("REC-00002-N", "FAIL")])
def test_the_reply_is_what_the_model_said(
    provider: FakeProvider, name: str, text: str, option: str
) -> None:
    reply = ask(open_at(provider, name), text, schema=SCHEMA, temperature=0.0, max_tokens=100)
    assert json.loads(reply.text)["selected_option"] == option
    assert reply.finish == "stop"
    assert reply.ignored == ()
    assert reply.latency > 0


@every_provider
def test_a_bare_request_is_accepted_as_well(provider: FakeProvider, name: str) -> None:
    assert ask(open_at(provider, name), system=None).text


@every_provider
def test_a_conversation_of_several_turns_is_accepted(provider: FakeProvider, name: str) -> None:
    turns = [
        ("system", "You judge."),
        ("user", "REC-00001-Y"),
        ("assistant", "Perhaps."),
        ("user", "Say it in JSON."),
    ]
    request = Request(Prompt(tuple(ChatMessage(role, content) for role, content in turns)))  # type: ignore[arg-type]
    assert asyncio.run(open_at(provider, name).complete(request)).text
    said = json.dumps(provider.bodies[0])
    assert said.index("REC-00001-Y") < said.index("Perhaps.") < said.index("Say it in JSON.")


@every_provider
def test_the_key_travels_in_a_header_and_never_in_the_url_or_the_body(
    provider: FakeProvider, name: str
) -> None:
    ask(open_at(provider, name))
    (asked,) = provider.requests
    assert KEY not in asked.url
    assert KEY not in json.dumps(asked.body)
    assert asked.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("openai", "Authorization", f"Bearer {KEY}"),
        ("groq", "Authorization", f"Bearer {KEY}"),
        ("mistral", "Authorization", f"Bearer {KEY}"),
        ("ollama", "Authorization", f"Bearer {KEY}"),
        ("anthropic", "x-api-key", KEY),
        ("google", "x-goog-api-key", KEY),
        ("watsonx", "Authorization", "Bearer eyMARKED-token-0"),
    ],
)
def test_each_provider_has_its_own_key_header(
    provider: FakeProvider, name: str, header: str, value: str
) -> None:
    ask(open_at(provider, name))
    assert provider.requests[0].headers[header] == value


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        (
            "openai",
            {
                "temperature": 0.5,
                "seed": 7,
                "max_completion_tokens": 99,
                "logprobs": True,
                "top_logprobs": 3,
            },
        ),
        (
            "groq",
            {"temperature": 0.5, "seed": 7, "max_tokens": 99, "logprobs": True, "top_logprobs": 3},
        ),
        ("mistral", {"temperature": 0.5, "random_seed": 7, "max_tokens": 99}),
        (
            "watsonx",
            {"temperature": 0.5, "seed": 7, "max_tokens": 99, "logprobs": True, "top_logprobs": 3},
        ),
        (
            "ollama",
            {
                "options": {"temperature": 0.5, "seed": 7, "num_predict": 99, "num_ctx": 4096},
                "logprobs": True,
                "top_logprobs": 3,
            },
        ),
        ("anthropic", {"temperature": 0.5, "max_tokens": 99}),
    ],
)
def test_each_provider_has_its_own_names_for_what_is_asked(
    provider: FakeProvider, name: str, sent: dict[str, object]
) -> None:
    ask(open_at(provider, name), temperature=0.5, seed=7, max_tokens=99, logprobs=3)
    assert {field: provider.bodies[0].get(field) for field in sent} == sent


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("openai", ("response_format", "json_schema", "schema")),
        ("openrouter", ("response_format", "json_schema", "schema")),
        ("mistral", ("response_format", "json_schema", "schema")),
        ("watsonx", ("response_format", "json_schema", "schema")),
        ("ollama", ("format",)),
        ("anthropic", ("output_config", "format", "schema")),
        ("google", ("generationConfig", "responseJsonSchema")),
    ],
)
def test_the_schema_is_sent_where_the_provider_looks_for_it(
    provider: FakeProvider, name: str, where: tuple[str, ...]
) -> None:
    ask(open_at(provider, name), schema=SCHEMA)
    found = provider.bodies[0]
    for part in where:
        found = found[part]
    assert found == SCHEMA


@every_provider
def test_what_was_not_asked_for_is_not_sent(provider: FakeProvider, name: str) -> None:
    ask(open_at(provider, name))
    sent = json.dumps(provider.bodies[0])
    for field in ("temperature", "seed", "logprobs", "format", "output_config"):
        assert field not in sent


@every_provider
def test_tokens_are_counted(provider: FakeProvider, name: str) -> None:
    reply = ask(open_at(provider, name))
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens > 100
    assert reply.usage.completion_tokens == len(reply.text) // 4 + (5 if name == "google" else 0)
    assert reply.usage.cached_tokens == {"ollama": 0, "anthropic": CACHED_TOKENS - 16}.get(
        name, CACHED_TOKENS
    )


@every_provider
def test_the_reply_says_which_model_answered(provider: FakeProvider, name: str) -> None:
    assert ask(open_at(provider, name)).details["model"]


@every_provider
def test_a_reply_that_was_cut_off_says_so(provider: FakeProvider, name: str) -> None:
    provider.faults = always(TRUNCATED)
    reply = ask(open_at(provider, name), schema=SCHEMA)
    assert reply.finish == "length"
    assert reply.ignored == ()


@pytest.mark.parametrize("name", ["openai", "openrouter", "anthropic", "google", "watsonx"])
@pytest.mark.parametrize("fault", [REFUSES, FILTERED])
def test_a_refusal_is_a_reply_of_its_own_kind(
    provider: FakeProvider, name: str, fault: Raw
) -> None:
    provider.faults = always(fault)
    assert ask(open_at(provider, name), schema=SCHEMA).finish == "refusal"


@every_provider
@pytest.mark.parametrize("fault", [EMPTY, NULL], ids=["empty", "null"])
def test_a_reply_without_content_is_an_empty_text(
    provider: FakeProvider, name: str, fault: Raw
) -> None:
    provider.faults = always(fault)
    assert ask(open_at(provider, name)).text == ""


@every_provider
@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"choices": null, "candidates": 1, "content": 2, "message": "x"}',
        NO_CHOICES.body,
        JSON_LIST.body,
        b"null",
        b'"x"',
    ],
)
def test_an_answer_of_another_shape_is_worth_a_retry_and_breaks_nothing(
    provider: FakeProvider, name: str, body: bytes
) -> None:
    provider.faults = always(Raw(body))
    with pytest.raises(Unavailable):
        ask(open_at(provider, name))


@pytest.mark.parametrize("content", [{"a": 1}, 5, True, [1, 2], [{"text": None}]])
@pytest.mark.parametrize("name", ["openai", "mistral", "ollama", "watsonx"])
def test_content_that_is_no_text_is_worth_a_retry_and_breaks_nothing(
    provider: FakeProvider, name: str, content: object
) -> None:
    message = {"role": "assistant", "content": content}
    provider.faults = always(
        Raw(json.dumps({"message": message, "choices": [{"message": message}]}).encode())
    )
    with pytest.raises(Unavailable, match="contains no reply"):
        ask(open_at(provider, name))


# -- capabilities ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "able"),
    [
        ("openai", {"json_schema", "logprobs", "seed"}),
        ("groq", {"json_schema", "logprobs", "seed"}),
        ("watsonx", {"json_schema", "logprobs", "seed"}),
        ("google", {"json_schema", "logprobs", "seed"}),
        ("mistral", {"json_schema", "seed"}),
        ("ollama", {"json_schema", "logprobs", "seed"}),
        ("anthropic", {"json_schema"}),
    ],
)
def test_each_provider_states_what_it_can_do(
    provider: FakeProvider, name: str, able: set[str]
) -> None:
    stated = asdict(open_at(provider, name).capabilities)
    assert {capability for capability, there in stated.items() if there} == able | {"fresh_samples"}


@pytest.mark.parametrize("name", ["openai", "groq", "ollama", "google", "watsonx"])
def test_log_probabilities_are_read_for_each_token(provider: FakeProvider, name: str) -> None:
    reply = ask(open_at(provider, name), logprobs=3)
    assert reply.logprobs is not None
    assert "".join(max(token, key=token.__getitem__) for token in reply.logprobs) == reply.text
    assert all(len(token) == 3 for token in reply.logprobs)
    assert reply.ignored == ()


@pytest.mark.parametrize(
    ("name", "asked", "ignored"),
    [
        ("anthropic", {"seed": 7}, ("seed",)),
        ("anthropic", {"logprobs": 2}, ("logprobs",)),
        ("mistral", {"logprobs": 2}, ("logprobs",)),
    ],
)
def test_what_a_provider_cannot_do_is_noticed(
    provider: FakeProvider,
    name: str,
    asked: dict[str, Any],
    ignored: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = open_at(provider, name)
    assert not any(getattr(model.capabilities, part) for part in ignored)
    assert ask(model, **asked).ignored == ignored
    assert len(caplog.records) == len(ignored)


@every_provider
def test_a_schema_that_was_silently_ignored_is_noticed_and_said_once(
    provider: FakeProvider, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider.faults = always(PROSE)
    model = open_at(provider, name)
    assert [ask(model, schema=SCHEMA).ignored for _ in range(3)] == [("schema",)] * 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        f"{model.name} was asked for JSON with a schema but replied with something else: its "
        "replies are read as text, and requested again if they cannot be read"
    )


def test_log_probabilities_that_were_silently_ignored_are_noticed(provider: FakeProvider) -> None:
    right = {"choices": [{"message": {"content": "PASS"}, "finish_reason": "stop"}]}
    provider.faults = always(Raw(json.dumps(right).encode()))
    assert ask(open_at(provider), logprobs=2).ignored == ("logprobs",)


REJECTABLE = [
    ("openai", "response_format", "schema", SCHEMA),
    ("openai", "temperature", "temperature", 0.0),
    ("openai", "seed", "seed", 7),
    ("openai", "logprobs", "logprobs", 2),
    ("mistral", "response_format", "schema", SCHEMA),
    ("mistral", "random_seed", "seed", 7),
    ("watsonx", "seed", "seed", 7),
    ("ollama", "format", "schema", SCHEMA),
    ("anthropic", "output_config", "schema", SCHEMA),
    ("anthropic", "temperature", "temperature", 0.0),
    ("google", "responseJsonSchema", "schema", SCHEMA),
    ("google", "seed", "seed", 7),
    ("google", "responseLogprobs", "logprobs", 2),
]


@pytest.mark.parametrize(("name", "field", "part", "value"), REJECTABLE)
def test_a_rejected_optional_part_is_dropped_remembered_and_reported(
    provider: FakeProvider,
    name: str,
    field: str,
    part: str,
    value: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider.faults = always(Rejects(field))
    model = open_at(provider, name)
    replies = [ask(model, **{part: value}) for _ in range(2)]
    assert len(provider.requests) == 3, "the second question is asked without the part at once"
    assert [reply.ignored for reply in replies] == [(part,)] * 2
    assert all("selected_option" in reply.text for reply in replies)
    assert len(caplog.records) == 1


def test_several_rejected_parts_are_dropped_one_after_the_other(provider: FakeProvider) -> None:
    provider.faults = at_first(Rejects("response_format"), Rejects("temperature"), Rejects("seed"))
    reply = ask(open_at(provider), schema=SCHEMA, temperature=0.0, seed=1)
    assert reply.ignored == ("schema", "seed", "temperature")
    assert len(provider.requests) == 4


def test_a_part_that_many_find_rejected_at_once_is_dropped_for_all(provider: FakeProvider) -> None:
    provider.faults = always(Rejects("temperature"))
    provider.latency = 0.02
    replies: list[Any] = list(ask_all(open_at(provider), ["REC-00001-Y"] * 8, temperature=0.0))
    assert [reply.ignored for reply in replies] == [("temperature",)] * 8


def test_a_part_that_was_not_asked_for_cannot_be_rejected(provider: FakeProvider) -> None:
    provider.faults = always(Status(400, "temperature must be given"))
    with pytest.raises(ModelError, match="temperature must be given"):
        ask(open_at(provider))
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support response format `json_schema`.",
        (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with "
            "this model."
        ),
        "The response_format parameter is unsupported at the moment. Leave it unset.",
    ],
)
def test_a_rejected_schema_is_recognised_in_the_words_of_several_servers(
    provider: FakeProvider, message: str
) -> None:
    provider.faults = at_first(Status(400, message))
    assert ask(open_at(provider, "groq"), schema=SCHEMA).ignored == ("schema",)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("ollama", 400, "more information is needed"),
        ("openai", 400, "please see docs"),
        ("openai", 404, "no model with this temperature"),
        ("openai", 401, "no seed, no key"),
    ],
)
def test_other_errors_reject_no_part(
    provider: FakeProvider, name: str, status: int, message: str
) -> None:
    provider.faults = always(Status(status, message))
    with pytest.raises(ModelError, match=message):
        ask(open_at(provider, name), schema=SCHEMA, temperature=0.0, seed=7)
    assert len(provider.requests) == 1


# -- reaching ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("azure", "bedrock")])
def test_a_probe_reaches_the_server_and_asks_the_model_nothing(
    provider: FakeProvider, name: str
) -> None:
    event_loop.run(open_at(provider, name).probe())
    assert [request.method for request in provider.requests] == ["GET"]


def test_a_probe_with_a_wrong_key_fails(provider: FakeProvider) -> None:
    with pytest.raises(ModelError, match="check the API key"):
        event_loop.run(open_at(provider, api_key="sk-another-one").probe())
