from __future__ import annotations

import asyncio
import json

import pytest

from adjudge.core.domain.message import ChatMessage, Prompt, Request
from support.asking import SCHEMA, ask, open_at
from support.fake_provider import FakeProvider, Raw, Status, always, at_first


def test_roles_and_the_system_turn_have_their_own_names(provider: FakeProvider) -> None:
    turns = (
        ChatMessage("system", "You judge."),
        ChatMessage("user", "REC-00001-Y"),
        ChatMessage("assistant", "Hm."),
        ChatMessage("user", "Well?"),
    )
    asyncio.run(open_at(provider, "google").complete(Request(Prompt(turns))))
    body = provider.bodies[0]
    assert body["systemInstruction"] == {"parts": [{"text": "You judge."}]}
    assert [(turn["role"], turn["parts"][0]["text"]) for turn in body["contents"]] == [
        ("user", "REC-00001-Y"),
        ("model", "Hm."),
        ("user", "Well?"),
    ]


def test_without_a_system_turn_there_is_no_such_field(provider: FakeProvider) -> None:
    ask(open_at(provider, "google"), system=None)
    assert "systemInstruction" not in provider.bodies[0]


def test_everything_asked_for_is_in_the_generation_config(provider: FakeProvider) -> None:
    ask(
        open_at(provider, "google"),
        schema=SCHEMA,
        temperature=0.0,
        seed=0,
        max_tokens=9,
        logprobs=2,
    )
    assert provider.bodies[0]["generationConfig"] == {
        "temperature": 0.0,
        "seed": 0,
        "maxOutputTokens": 9,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "responseLogprobs": True,
        "logprobs": 2,
    }


def test_thoughts_are_counted_but_not_part_of_the_text(provider: FakeProvider) -> None:
    reply = ask(open_at(provider, "google"), schema=SCHEMA)
    assert json.loads(reply.text)["selected_option"] == "PASS"
    assert reply.usage.completion_tokens == len(reply.text) // 4 + 5


def test_a_blocked_prompt_is_a_refusal(provider: FakeProvider) -> None:
    provider.faults = always(Raw(b'{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}'))
    reply = ask(open_at(provider, "google"))
    assert (reply.text, reply.finish) == ("blocked: PROHIBITED_CONTENT", "refusal")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("RECITATION", "refusal"),
        ("SPII", "refusal"),
        ("OTHER", "stop"),
        (None, "stop"),
    ],
)
def test_every_word_for_the_end_is_one_of_three(
    provider: FakeProvider, reason: str | None, finish: str
) -> None:
    provider.faults = always(Raw(json.dumps({"candidates": [{"finishReason": reason}]}).encode()))
    assert ask(open_at(provider, "google")).finish == finish


@pytest.mark.parametrize(
    "message",
    ["Logprobs is not enabled for models/gemini-2.5-pro", "Unknown name response_logprobs"],
)
def test_log_probabilities_that_are_not_enabled_are_done_without(
    provider: FakeProvider, message: str
) -> None:
    provider.faults = at_first(Status(400, message))
    assert ask(open_at(provider, "google"), logprobs=2).ignored == ("logprobs",)
