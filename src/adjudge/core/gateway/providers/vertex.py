"""Vertex AI: Gemini and Claude in a project of Google Cloud."""

from __future__ import annotations

import os
from dataclasses import replace

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Request
from adjudge.core.gateway.http import Endpoint, Secret
from adjudge.core.gateway.model import Presence
from adjudge.core.gateway.providers.anthropic import Anthropic
from adjudge.core.gateway.providers.base import Connection, HttpProvider
from adjudge.core.gateway.providers.google import Gemini
from adjudge.core.gateway.providers.google_token import read_credentials, token_for
from adjudge.core.gateway.registry import VERTEX
from adjudge.errors import SetupError

_ANTHROPIC_VERSION = "vertex-2023-10-16"
_ANYWHERE = "global"


class VertexModel(HttpProvider):
    """A model of a project. Its requests carry an access token, which is renewed every hour."""

    def __init__(self, connection: Connection) -> None:
        credentials = read_credentials(connection.key.reveal())
        project = next(
            (
                str(name)
                for name in (
                    os.environ.get("GOOGLE_CLOUD_PROJECT"),
                    credentials.get("project_id"),
                    credentials.get("quota_project_id"),
                )
                if name
            ),
            "",
        )
        if not project:
            raise SetupError("vertex needs a project: set GOOGLE_CLOUD_PROJECT")
        location = os.environ.get("GOOGLE_CLOUD_LOCATION") or _ANYWHERE
        address = connection.base_url
        if address == VERTEX.base_url and location != _ANYWHERE:
            address = address.replace("https://", f"https://{location}-")
        self._place = f"/projects/{project}/locations/{location}/publishers"
        self._token = token_for(credentials, connection.provider, connection.model)
        # The path of the credentials file came in the place of a key.
        super().__init__(replace(connection, base_url=address, key=Secret("")))

    async def probe(self) -> Presence:
        """Check the credentials and the model with a request without a message, which is free."""
        await self._ask_nothing()
        return Presence.NOT_SAID

    async def _authorised_endpoint(self, path: str) -> Endpoint:
        token, endpoint = await self._token.get(), self._endpoint(path)
        headers = {**endpoint.headers, "Authorization": f"Bearer {token.reveal()}"}
        return replace(endpoint, headers=headers, secret=token)


class VertexGemini(VertexModel, Gemini):
    """``POST …/publishers/google/models/{model}:generateContent``."""

    def _path(self) -> str:
        return f"{self._place}/google/models/{self.connection.model}:generateContent"


class VertexClaude(VertexModel, Anthropic):
    """``POST …/publishers/anthropic/models/{model}:rawPredict``."""

    def _path(self) -> str:
        return f"{self._place}/anthropic/models/{self.connection.model}:rawPredict"

    def _body(self, request: Request) -> JsonDict:
        body = super()._body(request)
        del body["model"]  # the path names it
        return {"anthropic_version": _ANTHROPIC_VERSION, **body}

    def _headers(self) -> dict[str, str]:
        return {}


def open_vertex(connection: Connection) -> VertexModel:
    """Return the model by its maker: Claude speaks Anthropic's protocol, all others Google's."""
    is_claude = connection.model.startswith("claude")
    return VertexClaude(connection) if is_claude else VertexGemini(connection)
