from __future__ import annotations

import asyncio
import json

from adjudge.core.domain.message import ChatMessage, Prompt, Request
from support.asking import SCHEMA, ask, open_at
from support.fake_provider import FakeProvider, Raw, always


def test_system_turns_go_into_a_field_of_their_own(provider: FakeProvider) -> None:
    turns = (
        ChatMessage("system", "You judge."),
        ChatMessage("system", "Be strict."),
        ChatMessage("user", "REC-00001-Y"),
    )
    asyncio.run(open_at(provider, "anthropic").complete(Request(Prompt(turns))))
    assert provider.bodies[0]["system"] == "You judge.\n\nBe strict."
    assert provider.bodies[0]["messages"] == [{"role": "user", "content": "REC-00001-Y"}]


def test_without_a_system_turn_there_is_no_such_field(provider: FakeProvider) -> None:
    ask(open_at(provider, "anthropic"), system=None)
    assert "system" not in provider.bodies[0]


def test_the_limit_that_the_api_demands_is_always_sent(provider: FakeProvider) -> None:
    model = open_at(provider, "anthropic")
    ask(model)
    ask(model, max_tokens=50)
    assert [body["max_tokens"] for body in provider.bodies] == [2048, 50]


def test_thinking_is_not_part_of_the_text(provider: FakeProvider) -> None:
    assert (
        json.loads(ask(open_at(provider, "anthropic"), schema=SCHEMA).text)["selected_option"]
        == "PASS"
    )


def test_prompt_tokens_include_those_written_to_and_read_from_the_cache(
    provider: FakeProvider,
) -> None:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 5,
    }
    provider.faults = always(
        Raw(json.dumps({"content": [{"type": "text", "text": "PASS"}], "usage": usage}).encode())
    )
    reply = ask(open_at(provider, "anthropic"))
    assert reply.usage.prompt_tokens == 3210
    assert reply.usage.cached_tokens == 3000
