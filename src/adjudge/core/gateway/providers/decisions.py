"""Decision models: OpenAI's decisions, System One of TypeSafe and compatible servers, Gemini's
decisions. They answer typed questions with probabilities and write no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import ClassVar
from urllib.parse import urlsplit

from adjudge.core.domain.decision import MAPPING_VERSION, DecisionReply, DecisionRequest
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonObject, objects_at, objects_in
from adjudge.core.domain.message import Capabilities, DecisionLimits, Reply, Request
from adjudge.core.gateway.decisions.format import (
    DecisionFormat,
    fail_all,
    failed_answer,
    read_decision,
)
from adjudge.core.gateway.decisions.gemini import GeminiDecisions
from adjudge.core.gateway.decisions.openai import OpenAIDecisions
from adjudge.core.gateway.decisions.systemone import SystemOne
from adjudge.core.gateway.http import repeats_keys
from adjudge.core.gateway.model import Presence
from adjudge.core.gateway.providers.base import Connection, HttpProvider, shown_address
from adjudge.errors import ModelError, SetupError, Unavailable
from adjudge.messages import Message

_CAPABLE = Capabilities(decisions=DecisionLimits())


class DecisionProvider(HttpProvider):
    """A decision model behind one of the wire formats."""

    capabilities = _CAPABLE
    format: ClassVar[DecisionFormat]
    notes_repeated_keys = True
    endpoint_path: ClassVar[str]
    """Path of decisions below the base URL."""

    @property
    def identity(self) -> str:
        """Name, server, and version of the mapping from criteria to questions."""
        return f"{super().identity} {self.format.name}/{MAPPING_VERSION}"

    async def complete(self, request: Request) -> Reply:
        """Answer typed questions, checking the server's answers against them.

        Raise a ModelError for a request without typed questions.
        """
        if request.decision is None:
            raise self.endpoint.error(
                ModelError, Message("it is a decision model, which generates no text")
            )
        started = perf_counter()
        data = await self._post(request)
        reply = self._read_decision(request.decision, data)
        return Reply(
            reply.text,
            reply.usage,
            perf_counter() - started,
            details=FrozenDict({"model": reply.model} if reply.model else {}),
        )

    def _read_decision(self, request: DecisionRequest, data: JsonObject) -> DecisionReply:
        try:
            reply = read_decision(self.format, request, data)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            message = Message(
                "the server's answer contains no reply ({kind}: {error})",
                kind=type(error).__name__,
                error=error,
            )
            raise self.endpoint.lost_reply(Unavailable, message) from None
        if repeats_keys(data):
            answer = failed_answer(Message("the server's answer contains a duplicate key"))
            return replace(reply, answers=fail_all(request, answer))
        return reply

    def _path(self) -> str:
        return self.endpoint_path

    def _body(self, request: Request) -> JsonDict:
        decision = request.decision or DecisionRequest("", ())
        return self.format.encode_request(self.connection.model, decision)

    def _read(self, data: JsonObject) -> Reply:  # noqa: ARG002
        raise TypeError("a decision is read with its questions")

    def _read_model_names(self, data: JsonObject) -> list[str]:
        """Read the list as System One writes it, or as OpenAI does."""
        if "models" in data:
            return [str(model["name"]) for model in objects_at(data, "models")]
        return super()._read_model_names(data)

    async def probe(self) -> Presence:
        """Like other providers, but an alias need not be listed."""
        try:
            return await super().probe()
        except ModelError as error:
            if error.status is None and self._is_alias:
                return Presence.NOT_SAID
            raise

    @property
    def _is_alias(self) -> bool:
        return self.connection.model.endswith(("-latest", "-preview"))


class OpenAIDecisionModel(DecisionProvider):
    """``POST {base_url}/decisions``."""

    capabilities = Capabilities(decisions=DecisionLimits(questions=128, tokens=250_000))
    format = OpenAIDecisions()
    endpoint_path = "/decisions"


class SystemOneModel(DecisionProvider):
    """``POST {base_url}/systemone``, of TypeSafe's own server."""

    format = SystemOne()
    endpoint_path = "/systemone"


class GeminiDecisionModel(DecisionProvider):
    """``POST {base_url}/decisions`` of Gemini."""

    capabilities = Capabilities(decisions=DecisionLimits(questions=1000, tokens=250_000))
    format = GeminiDecisions()
    endpoint_path = "/decisions"
    probe_path = "/models?pageSize=1000"

    def _headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self.connection.key.reveal()}

    def _read_model_names(self, data: JsonObject) -> list[str]:
        listed = objects_in(data.get("models", ()))
        return [str(model["name"]).removeprefix("models/") for model in listed]


class NamedServer(SystemOneModel):
    """A compatible server, given by its root, its ``/v1`` address or its decisions endpoint."""

    capabilities = Capabilities(decisions=DecisionLimits(questions=64))

    def _path(self) -> str:
        return _path_below(self.connection.base_url, super()._path())


class NamedDecisionsServer(OpenAIDecisionModel):
    """A compatible server of OpenAI's decisions format, given by its address."""

    def _path(self) -> str:
        return _path_below(self.connection.base_url, super()._path())


_SERVERS: Mapping[str, type[DecisionProvider]] = {
    "systemone": NamedServer,
    "decisions": NamedDecisionsServer,
}


def open_server(connection: Connection) -> DecisionProvider:
    """Open the model of ``systemone:URL#MODEL`` or ``decisions:URL#MODEL``; raise SetupError if
    either part is missing.
    """
    address, _, model = connection.model.partition("#")
    if connection.base_url:
        address, model = connection.base_url, connection.model
    example = f"{connection.provider}:http://localhost:8080#model"
    if "://" not in address:
        raise SetupError(
            "{provider} needs the server's address: write {example}",
            provider=connection.provider,
            example=example,
        )
    if not model:
        raise SetupError(
            "{provider} needs the model after the server's address: write {example}",
            provider=connection.provider,
            example=example,
        )
    safe_address = shown_address(address)
    server = replace(
        connection,
        name=f"{connection.provider}:{safe_address}#{model}",
        model=model,
        base_url=_with_version(address),
    )
    return _SERVERS[connection.provider](server)


def _with_version(address: str) -> str:
    """Append ``/v1`` to an address without a path; keep any other path."""
    base, mark, query = address.partition("?")
    base = base.rstrip("/")
    if not urlsplit(base).path.strip("/"):
        base += "/v1"
    return f"{base}{mark}{query}"


def _path_below(base_url: str, path: str) -> str:
    """Return ``path``, or an empty text if the address already is the decisions endpoint."""
    last = urlsplit(base_url).path.rstrip("/").rpartition("/")[2]
    return "" if last in ("systemone", "decisions") else path
