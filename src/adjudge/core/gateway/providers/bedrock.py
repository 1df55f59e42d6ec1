"""Amazon Bedrock's Converse API, which has one form for the models of all makers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, cast
from urllib.parse import quote

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
from adjudge.core.gateway.http import Secret, encoded_body, post_json
from adjudge.core.gateway.layers.account import token_count, token_sum
from adjudge.core.gateway.model import Presence
from adjudge.core.gateway.providers.anthropic import claude_thinking
from adjudge.core.gateway.providers.aws_signature import find_credentials, find_region, sign
from adjudge.core.gateway.providers.base import Connection, HttpProvider
from adjudge.core.gateway.providers.openai_compatible import with_calls
from adjudge.core.gateway.registry import BEDROCK
from adjudge.errors import SetupError

_FINISH = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "refusal",
    "guardrail_intervened": "refusal",
}
_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


class Bedrock(HttpProvider):
    """``POST {base_url}/model/{model}/converse``, with an API key of Bedrock or a signature.

    Without a key, requests are signed with the AWS credentials of the environment or the profile.
    """

    capabilities = Capabilities()
    marks_prompts = True
    wire_names: ClassVar[Mapping[str, str]] = {"temperature": "temperature"}

    def __init__(self, connection: Connection) -> None:
        address, region = connection.base_url, find_region()
        if address == BEDROCK.base_url and region:
            address = address.replace("us-east-1", region)
        host = _HOST.search(address)
        self._region = host[1] if host else region
        key = connection.key or Secret(os.environ.get("AWS_BEARER_TOKEN_BEDROCK", ""))
        if not key:
            find_credentials()  # raises now if there are none, not at the first call
            if not self._region:
                raise SetupError("bedrock needs a region: set AWS_REGION")
        super().__init__(replace(connection, base_url=address, key=key))

    def _path(self) -> str:
        return f"/model/{quote(self.connection.model, safe='')}/converse"

    async def probe(self) -> Presence:
        """Check the credentials and the model with a request without a message, which is free."""
        await self._ask_nothing()
        return Presence.NOT_SAID

    async def _send(self, body: JsonObject) -> JsonDict:
        endpoint = await self._authorised_endpoint(self._path())
        if self.connection.key:
            return await post_json(endpoint, body, reuses=True)
        from yarl import URL  # loaded with the HTTP client, at the first call

        # Read for each request: temporary credentials in the file are replaced while a run goes on.
        credentials = find_credentials()
        url = str(URL(endpoint.url))  # the client may write the path in another way than we do
        signed = sign(
            url,
            {"Content-Type": "application/json"},
            encoded_body(body).encode(),
            credentials,
            self._region,
            "bedrock",
        )
        endpoint = replace(
            endpoint,
            url=url,
            headers={**signed, **endpoint.headers},
            private=endpoint.private | {credentials.secret_key, credentials.session_token} - {""},
        )
        return await post_json(endpoint, body, reuses=True)

    def _body(self, request: Request) -> JsonDict:
        turns = request.prompt.messages
        body: JsonDict = {
            "messages": [
                {"role": turn.role, "content": [{"text": turn.content}]}
                for turn in turns
                if turn.role != "system"
            ]
        }
        system: list[JsonValue] = [
            {"text": turn.content} for turn in turns if turn.role == "system"
        ]
        if system and self.connection.prompt_caching:
            system.append({"cachePoint": {"type": "default"}})
        if system:
            body["system"] = system
        settings = {"maxTokens": request.max_tokens, "temperature": request.temperature}
        settings = {name: value for name, value in settings.items() if value is not None}
        return body | ({"inferenceConfig": settings} if settings else {})

    def _thinking(self, effort: str) -> JsonDict:
        if "anthropic." not in self.connection.model:
            return {"additionalModelRequestFields": {"reasoning_effort": effort}}
        thinking = claude_thinking(effort, "maxTokens")
        limit = thinking.pop("maxTokens", None)
        limits: JsonDict = {"inferenceConfig": {"maxTokens": limit}} if limit else {}
        return {"additionalModelRequestFields": thinking, **limits}

    def _read(self, data: JsonObject) -> Reply:
        usage = object_in(data.get("usage"))
        cached, cache_writes = (
            usage.get(f"cache{action}InputTokens") for action in ("Read", "Write")
        )
        blocks = objects_at(object_at(object_at(data, "output"), "message"), "content")
        # Models that think send their reasoning in blocks without "text".
        text = "".join(cast(str, block["text"]) for block in blocks if "text" in block)
        calls = [object_in(block["toolUse"]).get("input") for block in blocks if "toolUse" in block]
        return Reply(
            text=with_calls(text, calls),
            usage=Usage(
                1,
                token_sum(usage.get("inputTokens"), cache_writes, cached),
                token_count(usage.get("outputTokens")),
                token_count(cached),
                cache_write_tokens=token_count(cache_writes),
            ),
            finish=_FINISH.get(str(data.get("stopReason")), "stop"),
            details=FrozenDict({"model": self.connection.model}),
        )
