"""Azure OpenAI: OpenAI's protocol, with deployments as models."""

from __future__ import annotations

from adjudge.core.gateway.providers.base import Connection
from adjudge.core.gateway.providers.openai_compatible import OpenAICompatible
from adjudge.core.gateway.registry import AZURE
from adjudge.errors import SetupError


class Azure(OpenAICompatible):
    """``POST {endpoint}/openai/v1/chat/completions`` with the key in ``api-key``.

    The name of the model is that of a deployment.
    """

    def __init__(self, connection: Connection) -> None:
        if connection.base_url == AZURE.base_url:
            raise SetupError(
                "azure needs the endpoint of your resource: set AZURE_OPENAI_ENDPOINT, such as "
                "https://RESOURCE.openai.azure.com"
            )
        super().__init__(connection)

    def _headers(self) -> dict[str, str]:
        key = self.connection.key
        return {"api-key": key.reveal()} if key else {}
