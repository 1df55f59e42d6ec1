"""Ollama's own API, so that ``format`` and ``options.seed`` work whatever its OpenAI layer does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from adjudge.domain.frozen import FrozenDict
from adjudge.domain.message import Capabilities, Reply, Request, Usage
from adjudge.gateway.expected import token_count
from adjudge.gateway.providers.base import HttpProvider
from adjudge.gateway.providers.openai_compatible import finish_of, openai_logprobs, openai_messages, text_of


class Ollama(HttpProvider):
    """``POST {base_url}/api/chat``."""

    capabilities = Capabilities(json_schema=True, logprobs=True, seed=True)
    wire_names: ClassVar[Mapping[str, str]] = {"schema": r"\bformat\b", "logprobs": "logprobs"}
    probe_path = "/api/tags"

    def _path(self) -> str:
        return "/api/chat"

    def _body(self, request: Request) -> dict[str, object]:
        wanted = {"temperature": request.temperature, "seed": request.seed, "num_predict": request.max_tokens}
        body: dict[str, object] = {
            "model": self.connection.model,
            "messages": openai_messages(request),
            "stream": False,
            "options": {name: value for name, value in wanted.items() if value is not None},
        }
        if request.schema is not None:
            body["format"] = request.schema
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _read(self, data: dict[str, Any]) -> Reply:
        return Reply(
            text=text_of(data["message"].get("content")),
            usage=Usage(1, token_count(data.get("prompt_eval_count")), token_count(data.get("eval_count"))),
            finish=finish_of(data.get("done_reason")),
            logprobs=openai_logprobs({"content": data.get("logprobs")}),
            details=FrozenDict({"model": str(data.get("model", ""))}),
        )
