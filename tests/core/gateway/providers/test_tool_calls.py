"""Verdicts that a model gives by calling a tool, in the shape of each provider's API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adjudge import AspectCritic
from support.asking import ask, open_at
from support.fake_provider import FakeProvider, Raw, always

VERDICT = {"explanation": "Он назвал 1889.", "selected_option": "FAIL"}
PREAMBLE = "I will note the verdict."


def openai_message(*calls: Any, content: str | None = None) -> dict[str, Any]:
    tools = [
        {"id": "call_1", "type": "function", "function": {"name": "verdict", "arguments": call}}
        for call in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": tools}


def openai_answer(*calls: Any, content: str | None = None) -> dict[str, Any]:
    message = openai_message(*calls, content=content)
    return {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {},
    }


def ollama_answer(call: Any, content: str = "") -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"function": {"name": "verdict", "arguments": call}}],
    }
    return {"model": "m", "message": message, "done": True, "done_reason": "stop"}


def anthropic_answer(call: Any, content: str = "") -> dict[str, Any]:
    texts = [{"type": "text", "text": content}] if content else []
    blocks = [*texts, {"type": "tool_use", "id": "toolu_1", "name": "verdict", "input": call}]
    return {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": "tool_use",
        "usage": {},
    }


def google_answer(call: Any, content: str = "") -> dict[str, Any]:
    texts = [{"text": content}] if content else []
    parts = [*texts, {"functionCall": {"name": "verdict", "args": call}}]
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ]
    }


ANSWERS = [
    ("openai", openai_answer(json.dumps(VERDICT))),
    ("openai", openai_answer(json.dumps(VERDICT), content=PREAMBLE)),
    ("openai", openai_answer(json.dumps({"selected_option": "FAIL"}), json.dumps(VERDICT))),
    ("groq", openai_answer(VERDICT)),
    ("mistral", openai_answer(json.dumps(VERDICT), content="")),
    ("watsonx", openai_answer(json.dumps(VERDICT))),
    ("ollama", ollama_answer(VERDICT)),
    ("ollama", ollama_answer(VERDICT, PREAMBLE)),
    ("anthropic", anthropic_answer(VERDICT)),
    ("anthropic", anthropic_answer(VERDICT, PREAMBLE)),
    ("google", google_answer(VERDICT)),
    ("google", google_answer(VERDICT, PREAMBLE)),
]


@pytest.mark.parametrize(("name", "answer"), ANSWERS)
def test_a_verdict_in_a_tool_call_is_read_like_text(
    provider: FakeProvider, name: str, answer: dict[str, Any]
) -> None:
    provider.faults = always(Raw(json.dumps(answer).encode()))
    result = AspectCritic(definition="Is there a year?", models=open_at(provider, name)).evaluate(
        "REC-00001-Y"
    )
    assert (result.verdict, result.explanation) == ("FAIL", VERDICT["explanation"])
    assert len(provider.bodies) == 1


def test_two_tool_calls_that_differ_are_no_verdict(provider: FakeProvider) -> None:
    answer = openai_answer(json.dumps({"selected_option": "PASS"}), json.dumps(VERDICT))
    provider.faults = always(Raw(json.dumps(answer).encode()))
    critic = AspectCritic(definition="Is there a year?", models=open_at(provider), max_repairs=0)
    result = critic.evaluate("REC-00001-Y")
    assert result.verdict is None
    assert "contradicts itself" in str(result.reason)


def test_a_refusal_stands_before_a_tool_call(provider: FakeProvider) -> None:
    answer = openai_answer(json.dumps(VERDICT))
    answer["choices"][0]["message"]["refusal"] = "I can't help with that."
    provider.faults = always(Raw(json.dumps(answer).encode()))
    reply = ask(open_at(provider))
    assert (reply.text, reply.finish) == ("I can't help with that.", "refusal")


@pytest.mark.parametrize(
    "calls", [None, [], [{}], [{"function": None}], [{"function": {"arguments": None}}]]
)
def test_a_call_without_arguments_says_nothing(provider: FakeProvider, calls: Any) -> None:
    answer = openai_answer(content="PASS")
    answer["choices"][0]["message"]["tool_calls"] = calls
    provider.faults = always(Raw(json.dumps(answer).encode()))
    assert ask(open_at(provider)).text == "PASS"
