"""OpenAI's chat completions, and every server that speaks them: OpenRouter, Together, Groq, vLLM,
llama.cpp's server, …
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import ClassVar, cast
from urllib.parse import urlsplit

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import (
    JsonDict,
    JsonObject,
    JsonValue,
    object_at,
    object_in,
    objects_at,
)
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.http import Encoded
from adjudge.core.gateway.layers.account import token_count
from adjudge.core.gateway.model import Presence
from adjudge.core.gateway.providers.base import Connection, HttpProvider
from adjudge.core.gateway.registry import AZURE, AZURE_HOSTS, OPENAI
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

    @property
    def _has_deployments(self) -> bool:
        """True for Azure, which lists models that can be deployed, not those that are."""
        host = urlsplit(self.connection.base_url).hostname or ""
        return self.connection.provider == AZURE.name or host.endswith(AZURE_HOSTS)

    async def probe(self) -> Presence:
        """Like the base class; where deployments are asked, with an empty request, which is
        free.
        """
        if not self._has_deployments:
            return await super().probe()
        await self._ask_nothing()
        return Presence.NOT_SAID

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
                # OpenAI's reasoning models refuse max_tokens; most other servers only know that.
                "max_completion_tokens"
                if self.connection.provider in (OPENAI.name, AZURE.name)
                else "max_tokens"
            ] = request.max_tokens
        if request.schema is not None:
            body["response_format"] = self._format_of(request.schema)
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _thinking(self, effort: str) -> JsonDict:
        if self.connection.provider == "openrouter":
            return {"reasoning": {"effort": effort}}
        return {"reasoning_effort": effort}

    def _format_of(self, schema: JsonObject) -> Encoded:
        """Encode the schema, unless the request before had the same one."""
        if schema is not self._last_format[0]:
            self._last_format = schema, Encoded(json.dumps(response_format(schema)))
        return self._last_format[1]

    def _read(self, data: JsonObject) -> Reply:
        return openai_reply(data)


def openai_reply(data: JsonObject) -> Reply:
    """Return the reply in a chat completion, or raise KeyError and the like."""
    choice = objects_at(data, "choices")[0]
    message = object_at(choice, "message")
    refusal = message.get("refusal")
    details = {
        name: str(data[name]) for name in ("model", "system_fingerprint", "id") if data.get(name)
    }
    return Reply(
        text=str(refusal) if refusal else text_with_calls(message),
        usage=openai_usage(object_in(data.get("usage"))),
        finish="refusal" if refusal else finish_of(choice.get("finish_reason")),
        logprobs=openai_logprobs(choice["logprobs"]) if choice.get("logprobs") else None,
        details=FrozenDict(details),
    )


def openai_messages(request: Request) -> Encoded:
    """Encode the conversation in the common form."""
    messages = request.prompt.messages
    turns = [_shared_turn(message.role, message.content) for message in messages[:-1]]
    turns += [_turn(message.role, message.content) for message in messages[-1:]]
    return Encoded(f"[{', '.join(turns)}]")


def _turn(role: str, content: str) -> str:
    return f'{{"role": {_quoted(role)}, "content": {_quoted(content)}}}'


# Cached: the turns before the last are the same in many requests.
_shared_turn = lru_cache(maxsize=256)(_turn)


def text_with_calls(message: JsonObject) -> str:
    """Return a message's text, followed by the arguments of its tool calls: a verdict there is read
    like text.
    """
    text = text_of(message.get("content"))
    if not message.get("tool_calls"):
        return text
    calls = [object_in(call.get("function")) for call in objects_at(message, "tool_calls")]
    return with_calls(text, [call.get("arguments") for call in calls])


def with_calls(text: str, arguments: Sequence[object]) -> str:
    """Append the arguments of tool calls to ``text``, each on its own line."""
    lines = [
        argument if isinstance(argument, str) else json.dumps(argument, ensure_ascii=False)
        for argument in arguments
        if argument
    ]
    return "\n".join(filter(None, (text, *lines)))


def text_of(content: JsonValue) -> str:
    """Return the text of a message's content: a text, null (empty) or parts; raise a TypeError for
    others.

    Thinking parts have no text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            cast(str, part.get("text", "")) for part in objects_at({"content": content}, "content")
        )
    if content is not None:
        raise TypeError(Message("its content is of type {name}", name=type(content).__name__))
    return ""


def response_format(schema: JsonObject) -> JsonDict:
    """Return OpenAI's ``response_format`` parameter for a JSON schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


def finish_of(reason: JsonValue) -> str:
    """Translate a provider's reason for stopping into "stop", "length" or "refusal"."""
    return _FINISH.get(str(reason or ""), "stop")


def openai_usage(usage: JsonObject) -> Usage:
    """Return the token counts of one call."""
    details = usage.get("prompt_tokens_details")
    return Usage(
        calls=1,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        cached_tokens=token_count(object_in(details).get("cached_tokens")) if details else 0,
    )


def openai_logprobs(logprobs: JsonValue) -> tuple[Mapping[str, float], ...] | None:
    """Return the alternatives of each token, including itself; None if there are no log-
    probabilities.
    """
    result = object_in(logprobs)
    if not result.get("content"):
        return None
    return tuple(
        FrozenDict({str(top["token"]): cast(float, top["logprob"]) for top in _candidates(token)})
        for token in objects_at(result, "content")
    )


def _candidates(token: JsonObject) -> Sequence[JsonObject]:
    """Return a token with its alternatives."""
    return (token, *(objects_at(token, "top_logprobs") if "top_logprobs" in token else ()))
