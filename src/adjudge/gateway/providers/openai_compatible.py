"""OpenAI's chat completions, and everything that speaks them: OpenRouter, Together, Groq, vLLM,
llama.cpp's server, …
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, ClassVar

from adjudge.domain.frozen import FrozenDict
from adjudge.domain.json_types import JsonDict, JsonObject
from adjudge.domain.message import Capabilities, Reply, Request, Usage
from adjudge.gateway.http import Encoded
from adjudge.gateway.layers.account import token_count
from adjudge.gateway.providers.base import Connection, HttpProvider, mapping
from adjudge.messages import Message

_CUT_OFF = ("length", "max_tokens", "model_length", "model_context_window_exceeded")
_FINISH = {**dict.fromkeys(_CUT_OFF, "length"), "content_filter": "refusal", "refusal": "refusal"}


class OpenAICompatible(HttpProvider):
    """``POST {base_url}/chat/completions``."""

    capabilities = Capabilities(json_schema=True, logprobs=True, seed=True)
    wire_names: ClassVar[Mapping[str, str]] = {
        "schema": "response[_ ]format",
        "temperature": "temperature",
        "seed": r"\bseed\b",
        "logprobs": "logprobs",
        "max_tokens": "max_(?:completion_)?tokens",
    }

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._last_format: tuple[JsonObject | None, Encoded] = None, Encoded("")

    def _path(self) -> str:
        return "/chat/completions"

    def _body(self, request: Request) -> JsonDict:
        body: JsonDict = {
            "model": self.connection.model,
            "messages": openai_messages(request),
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if request.max_tokens is not None:
            body[
                "max_completion_tokens" if self.connection.provider == "openai" else "max_tokens"
            ] = request.max_tokens
        if request.schema is not None:
            body["response_format"] = self._format_of(request.schema)
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _format_of(self, schema: JsonObject) -> Encoded:
        """Most requests have the schema of the one before."""
        if schema is not self._last_format[0]:
            self._last_format = schema, Encoded(json.dumps(response_format(schema)))
        return self._last_format[1]

    def _read(self, data: dict[str, Any]) -> Reply:
        return openai_reply(data)


def openai_reply(data: Mapping[str, Any]) -> Reply:
    """The reply in a chat completion; KeyError and the like when there is none."""
    first = data["choices"][0]
    message = first["message"]
    refusal = message.get("refusal")
    said = {
        name: str(data[name]) for name in ("model", "system_fingerprint", "id") if data.get(name)
    }
    return Reply(
        text=refusal or said_in(message),
        usage=openai_usage(mapping(data.get("usage"))),
        finish="refusal" if refusal else finish_of(first.get("finish_reason")),
        logprobs=openai_logprobs(first.get("logprobs")),
        details=FrozenDict(said),
    )


def openai_messages(request: Request) -> Encoded:
    """The conversation as most providers take it."""
    messages = request.prompt.messages
    turns = [_shared_turn(message.role, message.content) for message in messages[:-1]]
    turns.extend(_turn(message.role, message.content) for message in messages[-1:])
    return Encoded(f"[{', '.join(turns)}]")


def _turn(role: str, content: str) -> str:
    return f'{{"role": {_quoted(role)}, "content": {_quoted(content)}}}'


_shared_turn = lru_cache(maxsize=256)(_turn)
"""What stands before the last turn is the same in many requests."""


def said_in(message: Mapping[str, Any]) -> str:
    """What a message says, and behind it what it calls tools with: a verdict there is read like
    text.
    """
    text = text_of(message.get("content"))
    if not message.get("tool_calls"):
        return text
    calls = [call.get("function") or {} for call in message["tool_calls"]]
    return with_calls(text, [call.get("arguments") for call in calls])


def with_calls(text: str, arguments: Sequence[object]) -> str:
    """``text`` and the arguments of tool calls, each on lines of its own."""
    written = [
        one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        for one in arguments
        if one
    ]
    return "\n".join(filter(None, (text, *written)))


def text_of(content: object) -> str:
    """What a message says: a text, nothing, or parts, of which those that think
    aloud have no text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    if content is not None:
        raise TypeError(Message("its content is {name}", name=type(content).__name__))
    return ""


def response_format(schema: JsonObject) -> JsonDict:
    """OpenAI's way to ask for JSON of one shape."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


def finish_of(reason: str | None) -> str:
    """Every provider's word for why it stopped, in ours."""
    return _FINISH.get(reason or "", "stop")


def openai_usage(usage: Mapping[str, Any]) -> Usage:
    """Token counts of one call."""
    details = usage.get("prompt_tokens_details")
    return Usage(
        calls=1,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        cached_tokens=token_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def openai_logprobs(logprobs: Mapping[str, Any] | None) -> tuple[Mapping[str, float], ...] | None:
    """For each token its alternatives."""
    content = (logprobs or {}).get("content")
    if not content:
        return None
    return tuple(_alternatives(token) for token in content)


def _alternatives(token: Mapping[str, Any]) -> Mapping[str, float]:
    return FrozenDict(
        {top["token"]: top["logprob"] for top in (token, *token.get("top_logprobs", ()))}
    )
