"""IBM watsonx.ai: OpenAI's shape behind a token that the API key buys for an hour."""

from __future__ import annotations

import os
from dataclasses import replace
from urllib.parse import urlencode

from adjudge.core.domain.json_types import JsonDict, JsonObject, objects_at
from adjudge.core.domain.message import Request
from adjudge.core.gateway.http import Endpoint
from adjudge.core.gateway.providers.base import Connection
from adjudge.core.gateway.providers.openai_compatible import OpenAICompatible
from adjudge.core.gateway.providers.tokens import AccessToken
from adjudge.errors import SetupError

_API_VERSION = "2025-02-06"


class Watsonx(OpenAICompatible):
    """``POST {base_url}/ml/v1/text/chat``.

    ``WATSONX_PROJECT_ID`` or ``WATSONX_SPACE_ID`` names the account.
    """

    probe_path = f"/ml/v1/foundation_model_specs?version={_API_VERSION}&limit=200"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._account = _account()
        self._iam_url = os.environ.get(
            "WATSONX_IAM_URL", "https://iam.cloud.ibm.com/identity/token"
        )
        self._token = AccessToken(self._token_service, self._grant)

    def _path(self) -> str:
        return f"/ml/v1/text/chat?version={_API_VERSION}"

    def _body(self, request: Request) -> JsonDict:
        body = super()._body(request)
        body["model_id"] = body.pop("model")
        return body | self._account

    def _read_model_names(self, data: JsonObject) -> list[str]:
        return [str(model["model_id"]) for model in objects_at(data, "resources")]

    async def _authorised_endpoint(self, path: str) -> Endpoint:
        token, endpoint = await self._token.get(), self._endpoint(path)
        headers = {**endpoint.headers, "Authorization": f"Bearer {token.reveal()}"}
        return replace(endpoint, headers=headers, secret=token)

    def _token_service(self) -> Endpoint:
        connection = self.connection
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        return Endpoint(
            connection.provider, connection.model, self._iam_url, headers, connection.key
        )

    def _grant(self) -> str:
        key = self.connection.key.reveal()
        return urlencode({"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": key})


def _account() -> dict[str, str]:
    for variable, name in (("WATSONX_PROJECT_ID", "project_id"), ("WATSONX_SPACE_ID", "space_id")):
        if os.environ.get(variable):
            return {name: os.environ[variable]}
    raise SetupError("watsonx needs a project: set WATSONX_PROJECT_ID or WATSONX_SPACE_ID")
