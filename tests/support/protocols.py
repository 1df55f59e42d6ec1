"""What each provider's HTTP API asks for and answers, as its documentation says it.

A protocol finds fault with a request as the real service would, and wraps an answer or an error as
the real service does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

CACHED_TOKENS = 64
_REPLIES = count(1)
Json = dict[str, Any]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True)
class Said:
    """What the model behind the API said, whatever the API calls it."""

    text: str | None
    finish: str = "stop"
    """"stop", "length", "refusal" or "filter"."""


@dataclass(frozen=True)
class Problem:
    """What the service does not like about a request."""

    status: int
    message: str


class Protocol:
    """One provider's API."""

    name: ClassVar[str]
    path: ClassVar[str]
    probe_path: ClassVar[str]
    prefix: ClassVar[str] = ""
    """Between the server's root and the base URL's own paths."""
    served: ClassVar[tuple[str, ...]] = ()
    """The models it has; none: any."""
    lists_models: ClassVar[bool] = True
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "stop",
        "length": "length",
        "refusal": "stop",
        "filter": "content_filter",
    }

    def key(self, headers: Mapping[str, str]) -> str:
        """The key a request carries."""
        return headers.get("Authorization", "").removeprefix("Bearer ")

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        return None if self.key(headers) in keys else Problem(401, "Incorrect API key provided")

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        """Everything wrong with a request, the most important first."""
        raise NotImplementedError

    def listing(self, models: tuple[str, ...]) -> Json:
        """The list of its models."""
        return {"object": "list", "data": [{"id": model, "object": "model"} for model in models]}

    def rejection(self, field: str) -> Problem:
        """How the service says that it does not take ``field``."""
        return Problem(400, f"Unsupported parameter: '{field}' is not supported with this model.")

    def has(self, field: str, body: Json) -> bool:
        return field in body

    def schema(self, body: Json) -> Json | None:
        """The JSON schema the answer is to follow."""
        return (body.get("response_format") or {}).get("json_schema", {}).get("schema")

    def samples(self, body: Json) -> int:
        return body.get("n", 1)

    def answer(self, body: Json, said: list[Said]) -> Json:
        raise NotImplementedError

    def error(self, status: int, message: str) -> Json:
        return {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
        }


# -- OpenAI and its likes --------------------------------------------------------


class OpenAI(Protocol):
    name = "openai"
    prefix = "/v1"
    path = "/chat/completions"
    probe_path = "/models"
    required: ClassVar[tuple[str, ...]] = ("model", "messages")
    known: ClassVar[frozenset[str]] = _words(
        """
        model messages temperature top_p n stream stop max_completion_tokens presence_penalty
        frequency_penalty logit_bias logprobs top_logprobs user seed response_format tools
        tool_choice parallel_tool_calls store metadata reasoning_effort
        """
    )

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        for field in self.required:
            if not body.get(field):
                yield Problem(400, f"you must provide a {field} parameter")
        for field in body.keys() - self.known:
            yield self.unknown(field)
        yield from _message_problems(body, {"system", "developer", "user", "assistant", "tool"})
        yield from _number_problems(
            body, temperature=(0, 2), seed=(-(2**63), 2**63 - 1), n=(1, 128), top_logprobs=(0, 20)
        )
        if "top_logprobs" in body and body.get("logprobs") is not True:
            yield Problem(400, "'logprobs' must be set to true when 'top_logprobs' is used")
        yield from _response_format_problems(body.get("response_format"))

    def unknown(self, field: str) -> Problem:
        return Problem(400, f"Unrecognized request argument supplied: {field}")

    def answer(self, body: Json, said: list[Said]) -> Json:
        return {
            "id": f"chatcmpl-{next(_REPLIES)}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": f"{body['model']}-2024-07-18" if "model" in body else body["model_id"],
            "system_fingerprint": "fp_44709d6fcb",
            "choices": [self._choice(index, one, body) for index, one in enumerate(said)],
            "usage": _openai_usage(body, said),
        }

    def _choice(self, index: int, said: Said, body: Json) -> Json:
        refused = said.finish == "refusal"
        message = {
            "role": "assistant",
            "content": None if refused else said.text,
            "refusal": said.text if refused else None,
        }
        choice = {
            "index": index,
            "message": message,
            "finish_reason": self.finishes[said.finish],
            "logprobs": None,
        }
        if body.get("logprobs") and said.text:
            choice["logprobs"] = {
                "content": token_logprobs(said.text, body.get("top_logprobs", 0)),
                "refusal": None,
            }
        return choice


class OpenAICompatible(OpenAI):
    """vLLM, OpenRouter, Together, Groq, llama.cpp's server: the same, with ``max_tokens`` and
    whatever else one adds.
    """

    name = "compatible"
    known = (OpenAI.known - {"max_completion_tokens"}) | {"max_tokens", "reasoning"}

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        return super().unauthorised(headers, keys) if "Authorization" in headers else None


class Mistral(OpenAI):
    name = "mistral"
    known = _words(
        """
        model messages temperature top_p max_tokens stream stop random_seed response_format tools
        tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode
        safe_prompt metadata
        """
    )
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "stop",
        "length": "length",
        "refusal": "stop",
        "filter": "stop",
    }

    def unknown(self, field: str) -> Problem:
        detail = {
            "type": "extra_forbidden",
            "loc": ["body", field],
            "msg": "Extra inputs are not permitted",
            "input": 1,
        }
        return Problem(422, json.dumps({"detail": [detail]}))

    def rejection(self, field: str) -> Problem:
        return self.unknown(field)

    def _choice(self, index: int, said: Said, body: Json) -> Json:
        message = {"role": "assistant", "tool_calls": None, "content": said.text}
        return {"index": index, "message": message, "finish_reason": self.finishes[said.finish]}

    def error(self, status: int, message: str) -> Json:
        detail = json.loads(message) if message.startswith("{") else message
        return {
            "object": "error",
            "message": detail,
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }


class Watsonx(OpenAI):
    name = "watsonx"
    prefix = ""
    path = "/ml/v1/text/chat"
    probe_path = "/ml/v1/foundation_model_specs"
    required = ("model_id", "messages")
    known = _words(
        """
        model_id messages project_id space_id tools tool_choice frequency_penalty logprobs
        top_logprobs max_tokens max_completion_tokens n presence_penalty response_format seed stop
        temperature time_limit top_p
        """
    )

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", query.get("version", "")):
            yield Problem(400, "The request is missing the required version query parameter")
        if ("project_id" in body) == ("space_id" in body):
            yield Problem(400, "exactly one of project_id and space_id must be specified")
        yield from super().problems(query, body)

    def listing(self, models: tuple[str, ...]) -> Json:
        return {"resources": [{"model_id": model} for model in models]}

    def error(self, status: int, message: str) -> Json:
        problem = {
            "code": "invalid_request_entity",
            "message": message,
            "more_info": "https://cloud.ibm.com/apidocs/watsonx-ai",
        }
        return {"errors": [problem], "trace": "8f2a", "status_code": status}


class Ollama(Protocol):
    name = "ollama"
    path = "/api/chat"
    probe_path = "/api/tags"
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "stop",
        "length": "length",
        "refusal": "stop",
        "filter": "stop",
    }

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        return None

    def listing(self, models: tuple[str, ...]) -> Json:
        return {"models": [{"name": model, "model": model} for model in models]}

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        if not body.get("model"):
            yield Problem(400, "model is required")
        if body.get("stream") is not False:
            yield Problem(400, "this server only answers whole: stream must be false")
        if not isinstance(body.get("format", {}), dict):
            yield Problem(400, 'invalid format: expected "json" or a JSON schema')
        yield from _message_problems(body, {"system", "user", "assistant", "tool"})
        yield from _number_problems(
            body.get("options", {}), temperature=(0, 10), seed=(0, 2**31), num_predict=(-2, 10**6)
        )
        if (
            self._prompt(body) > self._window(body)
            and body.get("truncate") is False
            and not self._is_old(body)
        ):
            size = (
                f"request ({self._prompt(body)} tokens) exceeds the available context size "
                f"({self._window(body)} tokens)"
            )
            yield Problem(400, f"{size}, try increasing it")

    def _prompt(self, body: Json) -> int:
        """Four characters a token, and what is around them."""
        return 100 + sum(len(message["content"]) for message in body["messages"]) // 4

    def _window(self, body: Json) -> int:
        """What is asked for, but no more than the model was trained with: ``old-2048``."""
        trained = re.search(r"-(\d+)$", body["model"])
        return min(
            int(body.get("options", {}).get("num_ctx", 4096)),
            int(trained[1]) if trained else 131_072,
        )

    def _is_old(self, body: Json) -> bool:
        """Servers that know no ``truncate`` cut the prompt: to the window, or to half of it."""
        return str(body["model"]).startswith(("old", "half"))

    def _counted(self, body: Json) -> int:
        """What is left of the prompt; ``cached:300`` counts only the 300 tokens that were not in
        its cache.
        """
        if str(body["model"]).startswith("cached:"):
            return int(body["model"].removeprefix("cached:"))
        window = self._window(body)
        left = 2 + window // 2 if str(body["model"]).startswith("half") else window
        return self._prompt(body) if self._prompt(body) <= window else left

    def schema(self, body: Json) -> Json | None:
        return body.get("format")

    def samples(self, body: Json) -> int:
        return 1

    def answer(self, body: Json, said: list[Said]) -> Json:
        text = said[0].text or ""
        answer: Json = {
            "model": body["model"],
            "created_at": "2025-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text},
            "done": True,
            "done_reason": self.finishes[said[0].finish],
            "prompt_eval_count": self._counted(body),
            "eval_count": len(text) // 4,
        }
        if body.get("logprobs"):
            answer["logprobs"] = token_logprobs(text, body.get("top_logprobs", 0))
        return answer

    def rejection(self, field: str) -> Problem:
        return Problem(400, f"invalid {field}: this model does not support it")

    def error(self, status: int, message: str) -> Json:
        return {"error": message}


# -- Anthropic ---------------------------------------------------------------------


class Anthropic(Protocol):
    name = "anthropic"
    prefix = "/v1"
    path = "/messages"
    probe_path = "/models"
    known: ClassVar[frozenset[str]] = _words(
        """
        model messages max_tokens system temperature top_k top_p stop_sequences stream metadata
        tools tool_choice thinking service_tier output_config
        """
    )
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "refusal": "refusal",
        "filter": "refusal",
    }

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key", "")

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        if headers.get("anthropic-version") != "2023-06-01":
            return Problem(400, "anthropic-version: header is required")
        return None if self.key(headers) in keys else Problem(401, "invalid x-api-key")

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        for field in ("model", "max_tokens", "messages"):
            if not body.get(field):
                yield Problem(400, f"{field}: Field required")
        for field in body.keys() - self.known:
            yield Problem(400, f"{field}: Extra inputs are not permitted")
        yield from self._system_problems(body.get("system", "…"))
        yield from _message_problems(body, {"user", "assistant"})
        yield from _number_problems(body, temperature=(0, 1))
        if "output_config" in body:
            wanted = body["output_config"].get("format", {})
            if (
                wanted.get("type") != "json_schema"
                or wanted.get("schema", {}).get("additionalProperties") is not False
            ):
                yield Problem(
                    400,
                    "output_config.format.schema: 'additionalProperties' must be explicitly "
                    "set to false",
                )

    def _system_problems(self, system: str | list[Json]) -> Iterator[Problem]:
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
        for number, block in enumerate(blocks):
            if block.keys() - {"type", "text", "cache_control"} or block["type"] != "text":
                yield Problem(400, f"system.{number}: Extra inputs are not permitted")
            if not block["text"].strip():
                yield Problem(400, "system: text content blocks must be non-empty")
            if block.get("cache_control", {"type": "ephemeral"}) != {"type": "ephemeral"}:
                yield Problem(400, f"system.{number}.cache_control: Input should be 'ephemeral'")

    def rejection(self, field: str) -> Problem:
        return Problem(400, f"{field}: Extra inputs are not permitted")

    def schema(self, body: Json) -> Json | None:
        return body.get("output_config", {}).get("format", {}).get("schema")

    def samples(self, body: Json) -> int:
        return 1

    def answer(self, body: Json, said: list[Said]) -> Json:
        text = said[0].text
        thinking = {"type": "thinking", "thinking": "FAIL? PASS?", "signature": "c2ln"}
        return {
            "id": f"msg_{next(_REPLIES)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [thinking] if text is None else [thinking, {"type": "text", "text": text}],
            "stop_reason": self.finishes[said[0].finish],
            "stop_sequence": None,
            "usage": {**self._prompt_usage(body), "output_tokens": len(text or "") // 4},
        }

    def _prompt_usage(self, body: Json) -> Json:
        system = body.get("system", "")
        if isinstance(system, str):
            written, read = 16, CACHED_TOKENS - 16
        else:
            prefix = "".join(block["text"] for block in system if "cache_control" in block)
            written, read = written_and_read(prefix, body["model"])
        return {
            "input_tokens": _tokens(body) - written - read,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
        }

    def error(self, status: int, message: str) -> Json:
        return {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": message},
            "request_id": "req_1",
        }


# -- Google ------------------------------------------------------------------------


class Gemini(Protocol):
    name = "google"
    prefix = "/v1beta"
    path = "/models/{model}:generateContent"
    probe_path = "/models"
    known: ClassVar[frozenset[str]] = _words(
        """
        contents systemInstruction generationConfig safetySettings tools toolConfig cachedContent
        """
    )
    configurable: ClassVar[frozenset[str]] = _words(
        """
        temperature topP topK seed maxOutputTokens candidateCount stopSequences responseMimeType
        responseSchema responseJsonSchema responseLogprobs logprobs presencePenalty frequencyPenalty
        thinkingConfig
        """
    )
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "refusal": "SAFETY",
        "filter": "SAFETY",
    }

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-goog-api-key", "")

    def listing(self, models: tuple[str, ...]) -> Json:
        return {"models": [{"name": f"models/{model}"} for model in models]}

    def unauthorised(self, headers: Mapping[str, str], keys: set[str]) -> Problem | None:
        return (
            None
            if self.key(headers) in keys
            else Problem(400, "API key not valid. Please pass a valid API key.")
        )

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        config = body.get("generationConfig", {})
        for field in [*(body.keys() - self.known), *(config.keys() - self.configurable)]:
            yield Problem(
                400, f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.'
            )
        if not body.get("contents"):
            yield Problem(400, "* GenerateContentRequest.contents: contents is not specified")
        for content in [
            *body.get("contents", ()),
            body.get("systemInstruction", {"parts": [{"text": "…"}]}),
        ]:
            if content.get("role", "user") not in ("user", "model") or not all(
                part.get("text") for part in content["parts"]
            ):
                yield Problem(400, "Please use a valid role: user, model.")
            if not content["parts"]:
                yield Problem(
                    400,
                    "* GenerateContentRequest.system_instruction.parts: contents.parts must "
                    "not be empty.",
                )
        yield from _number_problems(
            config,
            temperature=(0, 2),
            seed=(-(2**31), 2**31 - 1),
            candidateCount=(1, 8),
            logprobs=(0, 20),
        )
        if "responseJsonSchema" in config and config.get("responseMimeType") != "application/json":
            yield Problem(400, "responseJsonSchema needs the response mime type application/json")
        if "logprobs" in config and config.get("responseLogprobs") is not True:
            yield Problem(400, "logprobs needs responseLogprobs to be true")

    def has(self, field: str, body: Json) -> bool:
        return field in body.get("generationConfig", {})

    def rejection(self, field: str) -> Problem:
        return Problem(
            400,
            f'Invalid JSON payload received. Unknown name "{field}" at '
            "'generation_config': Cannot find field.",
        )

    def schema(self, body: Json) -> Json | None:
        return body.get("generationConfig", {}).get("responseJsonSchema")

    def samples(self, body: Json) -> int:
        return body.get("generationConfig", {}).get("candidateCount", 1)

    def answer(self, body: Json, said: list[Said]) -> Json:
        return {
            "candidates": [self._candidate(one, body.get("generationConfig", {})) for one in said],
            "usageMetadata": {
                "promptTokenCount": _tokens(body),
                "candidatesTokenCount": sum(len(one.text or "") for one in said) // 4,
                "thoughtsTokenCount": 5,
                "cachedContentTokenCount": CACHED_TOKENS,
            },
            "modelVersion": "gemini-2.5-flash-001",
        }

    def _candidate(self, said: Said, config: Json) -> Json:
        if said.finish in ("refusal", "filter"):
            return {"finishReason": "SAFETY", "index": 0}
        parts = [{"text": "FAIL? PASS?", "thought": True}, {"text": said.text or ""}]
        candidate: Json = {
            "content": {"role": "model", "parts": parts},
            "finishReason": self.finishes[said.finish],
            "index": 0,
        }
        if config.get("responseLogprobs") and said.text:
            tops = [
                {
                    "candidates": [
                        {"token": top["token"], "logProbability": top["logprob"]}
                        for top in token["top_logprobs"]
                    ]
                }
                for token in token_logprobs(said.text, config.get("logprobs", 0))
            ]
            candidate["logprobsResult"] = {"topCandidates": tops}
        return candidate

    def error(self, status: int, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}


class Bedrock(Protocol):
    """The Converse API with a key of Bedrock; signed requests are in ``test_bedrock.py``."""

    name = "bedrock"
    path = "/model/{model}/converse"
    probe_path = "/foundation-models"
    lists_models = False
    known: ClassVar[frozenset[str]] = _words(
        """
        messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields
        promptVariables additionalModelResponseFieldPaths requestMetadata performanceConfig
        """
    )
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "refusal": "guardrail_intervened",
        "filter": "content_filtered",
    }

    def problems(self, query: Mapping[str, str], body: Json) -> Iterator[Problem]:
        if not body.get("messages"):
            yield Problem(400, "A conversation must start with a user message.")
        for field in body.keys() - self.known:
            yield Problem(400, f"Malformed input request: {field} is not known")
        for number, message in enumerate(body["messages"]):
            if message["role"] not in ("user", "assistant") or not all(
                block["text"].strip() for block in message["content"]
            ):
                yield Problem(400, f"The text field in messages.{number} is blank.")
        for block in body.get("system", ()):
            if block.keys() not in ({"text"}, {"cachePoint"}) or block.get(
                "cachePoint", {"type": "default"}
            ) != {"type": "default"}:
                yield Problem(400, "Malformed input request: system")
        settings = body.get("inferenceConfig", {})
        for field in settings.keys() - {"maxTokens", "temperature", "topP", "stopSequences"}:
            yield Problem(400, f"Malformed input request: {field} is not known")
        yield from _number_problems(settings, temperature=(0, 1), maxTokens=(1, 10**6))

    def rejection(self, field: str) -> Problem:
        return Problem(400, f"The model returned the following errors: {field}: not supported")

    def has(self, field: str, body: Json) -> bool:
        return field in body or field in body.get("inferenceConfig", {})

    def schema(self, body: Json) -> Json | None:
        return None

    def samples(self, body: Json) -> int:
        return 1

    def answer(self, body: Json, said: list[Said]) -> Json:
        text = said[0].text
        thinking = {"reasoningContent": {"reasoningText": {"text": "FAIL? PASS?"}}}
        tokens, answer = _tokens(body), len(text or "") // 4
        written, read = 0, CACHED_TOKENS
        blocks = body.get("system", [])
        if {"cachePoint": {"type": "default"}} in blocks:
            prefix = "".join(block.get("text", "") for block in blocks)
            written, read = written_and_read(prefix, self.name)
        return {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [thinking] if text is None else [thinking, {"text": text}],
                }
            },
            "stopReason": self.finishes[said[0].finish],
            "usage": {
                "inputTokens": tokens - written - read,
                "outputTokens": answer,
                "totalTokens": tokens + answer,
                "cacheReadInputTokens": read,
                "cacheWriteInputTokens": written,
            },
            "metrics": {"latencyMs": 551},
        }

    def error(self, status: int, message: str) -> Json:
        return {"message": message}


PROTOCOLS = {
    one.name: one
    for one in (
        OpenAI(),
        OpenAICompatible(),
        Mistral(),
        Ollama(),
        Anthropic(),
        Gemini(),
        Watsonx(),
        Bedrock(),
    )
}


# -- what they share ---------------------------------------------------------------


_WRITTEN_PREFIXES: set[tuple[str, str]] = set()
LEAST_CACHED = 1024
"""Tokens of the shortest prefix that a service caches."""


def written_and_read(prefix: str, model: str) -> tuple[int, int]:
    """The tokens of a marked prefix that are written to the cache, and that are read from it."""
    tokens = len(prefix) // 4
    if tokens < LEAST_CACHED:
        return 0, 0
    if (prefix, model) in _WRITTEN_PREFIXES:
        return 0, tokens
    _WRITTEN_PREFIXES.add((prefix, model))
    return tokens, 0


def token_logprobs(text: str, alternatives: int) -> list[Json]:
    """Each token with ``alternatives`` others that were less likely."""

    def entry(token: str, logprob: float) -> Json:
        return {"token": token, "logprob": logprob, "bytes": list(token.encode())}

    def tops(token: str) -> list[Json]:
        return [
            entry(token, -0.125),
            *(entry(f"{token}~{number}", -2.5 - number) for number in range(1, alternatives)),
        ]

    return [
        {**entry(token, -0.125), "top_logprobs": tops(token)}
        for token in re.findall(r"\w+|\W", text)
    ]


def _message_problems(body: Json, roles: set[str]) -> Iterator[Problem]:
    for number, message in enumerate(body.get("messages") or ()):
        if (
            message.keys() != {"role", "content"}
            or message["role"] not in roles
            or not message["content"].strip()
        ):
            yield Problem(
                400,
                f"messages.{number}: text content blocks must be non-empty and have a known role",
            )


def _number_problems(body: Json, **bounds: tuple[float, float]) -> Iterator[Problem]:
    for field, (least, most) in bounds.items():
        value = body.get(field, least)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            yield Problem(
                400, f"Invalid '{field}': expected a number from {least} to {most}, got {value!r}"
            )


def _response_format_problems(wanted: Json | None) -> Iterator[Problem]:
    if wanted is None:
        return
    shape = wanted.get("json_schema", {})
    if wanted.get("type") != "json_schema" or not re.fullmatch(
        r"[\w-]{1,64}", shape.get("name", "")
    ):
        yield Problem(400, "Missing required parameter: 'response_format.json_schema.name'")
        return
    schema = shape["schema"]
    complete = (
        set(schema["required"]) == set(schema["properties"])
        and schema.get("additionalProperties") is False
    )
    if shape.get("strict") and not complete:
        yield Problem(
            400, "Invalid schema for response_format: 'required' must name every key of properties"
        )


def _openai_usage(body: Json, said: list[Said]) -> Json:
    prompt, completion = _tokens(body), sum(len(one.text or "") for one in said) // 4
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }


def _tokens(body: Json) -> int:
    return 100 + len(json.dumps(body)) // 4
