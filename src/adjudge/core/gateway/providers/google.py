"""Google's Gemini API: requests, replies and their usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in, objects_at
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.layers.account import token_count, token_sum
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.core.gateway.providers.openai_compatible import with_calls
from adjudge.core.gateway.providers.parameters import BUDGETS

_CUT_OFF = "MAX_TOKENS"
_DECLINED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})


class Gemini(HttpProvider):
    """``POST {base_url}/models/{model}:generateContent``. The key goes into a header, never into
    the URL.
    """

    capabilities = Capabilities(json_schema=True, logprobs=True, seed=True)
    wire_names: ClassVar[Mapping[str, str]] = {
        "schema": "response_?json_?schema",
        "seed": r"\bseed\b",
        "logprobs": "logprobs",
    }
    probe_path = "/models?pageSize=1000"

    def _path(self) -> str:
        return f"/models/{self.connection.model}:generateContent"

    def _headers(self) -> dict[str, str]:
        key = self.connection.key
        return {"x-goog-api-key": key.reveal()} if key else {}

    def _body(self, request: Request) -> JsonDict:
        turns = request.prompt.messages
        roles = {"user": "user", "assistant": "model"}
        body: JsonDict = {
            "contents": [
                {"role": roles[turn.role], "parts": [{"text": turn.content}]}
                for turn in turns
                if turn.role != "system"
            ],
            "generationConfig": _generation_config(request),
        }
        if system := [{"text": turn.content} for turn in turns if turn.role == "system"]:
            body["systemInstruction"] = {"parts": system}
        return body

    def _thinking(self, effort: str) -> JsonDict:
        # Gemini 2 takes a number of tokens, later models a level.
        thinking: JsonDict = (
            {"thinkingBudget": BUDGETS[effort]}
            if self.connection.model.startswith("gemini-2")
            else {"thinkingLevel": "minimal" if effort == "none" else effort}
        )
        return {"generationConfig": {"thinkingConfig": thinking}}

    def _read_model_names(self, data: JsonObject) -> list[str]:
        return [str(model["name"]).removeprefix("models/") for model in objects_at(data, "models")]

    def _read(self, data: JsonObject) -> Reply:
        usage = _usage(object_in(data.get("usageMetadata")))
        blocked = object_in(data.get("promptFeedback")).get("blockReason")
        if blocked:
            return Reply(text=f"blocked: {blocked}", usage=usage, finish="refusal")
        candidate = objects_at(data, "candidates")[0]
        return Reply(
            text=_text(candidate),
            usage=usage,
            finish=_finish(candidate.get("finishReason")),
            logprobs=_logprobs(candidate.get("logprobsResult")),
            details=FrozenDict(
                {"model": str(data.get("modelVersion", "")), "id": str(data.get("responseId", ""))}
            ),
        )


def _generation_config(request: Request) -> JsonDict:
    config: JsonDict = {
        "temperature": request.temperature,
        "seed": request.seed,
        "maxOutputTokens": request.max_tokens,
    }
    if request.schema is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": request.schema}
    if request.logprobs:
        config |= {"responseLogprobs": True, "logprobs": request.logprobs}
    return {name: value for name, value in config.items() if value is not None}


def _text(candidate: JsonObject) -> str:
    content = object_in(candidate.get("content"))
    parts = objects_at(content, "parts") if content.get("parts") else ()
    text = "".join(cast(str, part.get("text", "")) for part in parts if not part.get("thought"))
    return with_calls(text, [object_in(part.get("functionCall")).get("args") for part in parts])


def _finish(reason: JsonValue) -> str:
    if reason in _DECLINED:
        return "refusal"
    return "length" if reason == _CUT_OFF else "stop"


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=token_count(usage.get("promptTokenCount")),
        # Thinking tokens are counted apart, but paid like the answer's.
        completion_tokens=token_sum(
            usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
        ),
        cached_tokens=token_count(usage.get("cachedContentTokenCount")),
    )


def _logprobs(result: JsonValue) -> tuple[Mapping[str, float], ...] | None:
    candidates_result = object_in(result)
    if not candidates_result.get("topCandidates"):
        return None
    return tuple(
        FrozenDict(
            {
                str(top["token"]): cast(float, top["logProbability"])
                for top in objects_at(step, "candidates")
            }
        )
        for step in objects_at(candidates_result, "topCandidates")
    )
