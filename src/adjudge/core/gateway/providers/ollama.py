"""Ollama's own API, so that ``format``, ``options.seed`` and ``options.num_ctx`` work regardless of
its OpenAI layer.

The server silently cuts a prompt that is longer than the context window. So each request asks for a
window (``num_ctx``) large enough for the prompt and its answer, newer servers are told to fail
instead (``truncate``, ``shift``), and a prompt count that is exactly a full window counts as cut.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_at, objects_at
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers.account import token_count
from adjudge.core.gateway.providers.base import Connection, HttpProvider
from adjudge.core.gateway.providers.openai_compatible import (
    finish_of,
    openai_logprobs,
    openai_messages,
    text_with_calls,
)
from adjudge.errors import ModelError, SetupError
from adjudge.messages import Message

WINDOW_VARIABLE = "OLLAMA_CONTEXT_LENGTH"
"""Ollama's own variable. If it is set here too, every request asks for a context window of this
many tokens.
"""
_SMALLEST_WINDOW = 4096
_ROOM_FOR_ANSWER = 2048
_TOKENS_A_MESSAGE = 16
# Context windows are multiples of this.
_WINDOW_STEP = 256


class Ollama(HttpProvider):
    """``POST {base_url}/api/chat``."""

    capabilities = Capabilities(json_schema=True, logprobs=True, seed=True)
    wire_names: ClassVar[Mapping[str, str]] = {"schema": r"\bformat\b", "logprobs": "logprobs"}
    probe_path = "/api/tags"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._own_window = _window_set_by_user()
        self._window = _SMALLEST_WINDOW

    async def complete(self, request: Request) -> Reply:
        """Ask once. Raises a ModelError if the server cut the prompt."""
        window = self._window_for(request)
        reply = await super().complete(request)
        if _is_cut(request, reply.usage.prompt_tokens, window):
            message = Message(
                "the server truncated the prompt to {tokens} tokens, so its answer is not used",
                tokens=reply.usage.prompt_tokens,
            )
            hint = Message(
                "shorten the texts, use a model with a longer context, or set {variable}",
                variable=WINDOW_VARIABLE,
            )
            raise self._endpoint("").error(ModelError, message, hint)
        return reply

    def _path(self) -> str:
        return "/api/chat"

    def _thinking(self, effort: str) -> JsonDict:
        # Only gpt-oss has levels; other models think or do not.
        if "gpt-oss" in self.connection.model:
            return {"think": "low" if effort in ("none", "minimal") else effort}
        return {"think": effort != "none"}

    def _body(self, request: Request) -> JsonDict:
        options = {
            "temperature": request.temperature,
            "seed": request.seed,
            "num_predict": request.max_tokens,
        }
        window = {"num_ctx": self._window_for(request)}
        body: JsonDict = {
            "model": self.connection.model,
            "messages": openai_messages(request),
            "stream": False,
            "truncate": False,
            "shift": False,
            "options": {
                **{name: value for name, value in options.items() if value is not None},
                **window,
            },
        }
        if request.schema is not None:
            body["format"] = request.schema
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _window_for(self, request: Request) -> int:
        """Return the tokens that the prompt and its answer need, rounded up.

        The window never shrinks, because the server reloads the model for another one.
        """
        if self._own_window is not None:
            return self._own_window
        plain, wide = _characters(request)
        needed = (
            # A cautious estimate: three ASCII characters, or one other character, per token.
            plain // 3
            + wide
            + _TOKENS_A_MESSAGE * len(request.prompt.messages)
            + (request.max_tokens or _ROOM_FOR_ANSWER)
        )
        while self._window < needed:
            # Doubled, so that the model is reloaded only a few times.
            self._window *= 2
        return self._window

    def _read_model_names(self, data: JsonObject) -> list[str]:
        names = [str(model["name"]) for model in objects_at(data, "models")]
        return names + [name.removesuffix(":latest") for name in names]

    def _read(self, data: JsonObject) -> Reply:
        return Reply(
            text=text_with_calls(object_at(data, "message")),
            usage=Usage(
                1, token_count(data.get("prompt_eval_count")), token_count(data.get("eval_count"))
            ),
            finish=finish_of(data.get("done_reason")),
            logprobs=openai_logprobs({"content": data.get("logprobs")}),
            details=FrozenDict({"model": str(data.get("model", ""))}),
        )


def _window_set_by_user() -> int | None:
    setting = os.environ.get(WINDOW_VARIABLE, "").strip()
    if setting and not setting.isdecimal():
        raise SetupError(
            "{window_variable} must be a number of tokens, such as 8192, not {given!r}",
            window_variable=WINDOW_VARIABLE,
            given=setting,
        )
    return int(setting or 0) or None


def _characters(request: Request) -> tuple[int, int]:
    """Count the ASCII characters of the prompt, and all others."""
    text = request.prompt.text
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    return plain, len(text) - plain


def _is_cut(request: Request, counted: int, window: int) -> bool:
    """Return True if the server read only ``counted`` tokens of a longer prompt.

    A full window is a cut. So is a count below the prompt's minimum that is a whole window, or half
    of one, which is what servers cut to if the model has no window as large as requested. Other
    small counts are not: old servers leave out the tokens in their cache.
    """
    plain, wide = _characters(request)
    is_window = counted % _WINDOW_STEP == 0 or (counted - 2) % (_WINDOW_STEP // 2) == 0
    return counted >= window or (0 < counted < plain // 8 + wide // 4 and is_window)
