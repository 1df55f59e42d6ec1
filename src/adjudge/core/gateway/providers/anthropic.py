"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in, objects_at
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers.account import token_count, token_sum
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.core.gateway.providers.openai_compatible import finish_of, with_calls
from adjudge.core.gateway.providers.parameters import BUDGETS

# This API requires a limit; a verdict with its explanation stays far below this one.
_ANSWER_TOKENS = 2048


def claude_thinking(effort: str, limit_name: str) -> JsonDict:
    """Return the parameters of Claude's extended thinking, with room for the answer after it."""
    budget = BUDGETS[effort]
    if not budget:
        return {"thinking": {"type": "disabled"}}
    return {
        "thinking": {"type": "enabled", "budget_tokens": budget},
        limit_name: budget + _ANSWER_TOKENS,
    }


class Anthropic(HttpProvider):
    """``POST {base_url}/messages``. No seeds and no log-probabilities."""

    capabilities = Capabilities(json_schema=True)
    marks_prompts = True
    probe_path = "/models?limit=1000"
    wire_names: ClassVar[Mapping[str, str]] = {
        "schema": "output[_ ](?:config|format)",
        "temperature": "temperature",
    }

    def _path(self) -> str:
        return "/messages"

    def _headers(self) -> dict[str, str]:
        key = self.connection.key
        return {**({"x-api-key": key.reveal()} if key else {}), "anthropic-version": "2023-06-01"}

    def _body(self, request: Request) -> JsonDict:
        turns = request.prompt.messages
        body: JsonDict = {
            "model": self.connection.model,
            "max_tokens": request.max_tokens or _ANSWER_TOKENS,
            "messages": [
                {"role": turn.role, "content": turn.content}
                for turn in turns
                if turn.role != "system"
            ],
        }
        if system := [turn.content for turn in turns if turn.role == "system"]:
            text = "\n\n".join(system)
            # The rows of a criterion share the system turn, and no more than that.
            mark: JsonDict = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
            body["system"] = [mark] if self.connection.prompt_caching else text
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
        return body

    def _thinking(self, effort: str) -> JsonDict:
        return claude_thinking(effort, "max_tokens")

    def _read(self, data: JsonObject) -> Reply:
        usage = object_in(data.get("usage"))
        names = (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        )
        fresh, cache_writes, cached, answer = (usage.get(name) for name in names)
        blocks = objects_at(data, "content")
        text = "".join(cast(str, block["text"]) for block in blocks if block["type"] == "text")
        return Reply(
            text=with_calls(
                text, [block["input"] for block in blocks if block["type"] == "tool_use"]
            ),
            usage=Usage(
                # input_tokens leaves out tokens that were written to or read from the cache.
                1,
                token_sum(fresh, cache_writes, cached),
                token_count(answer),
                token_count(cached),
                cache_write_tokens=token_count(cache_writes),
            ),
            finish=finish_of(data.get("stop_reason")),
            details=FrozenDict({name: str(data.get(name, "")) for name in ("model", "id")}),
        )
