"""Find the batch API of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from adjudge.core.gateway.model import Layer, Model
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.core.gateway.registry import AZURE_HOSTS
from adjudge.errors import SetupError
from adjudge.features.batches.providers.api import BatchApi
from adjudge.features.batches.providers.inline import (
    AnthropicBatches,
    GeminiBatches,
    OpenRouterBatches,
)
from adjudge.features.batches.providers.openai import (
    AzureBatches,
    GroqBatches,
    MistralBatches,
    OpenAIBatches,
    TogetherBatches,
)
from adjudge.features.batches.providers.shell import CommandBatches

APIS: Mapping[str, Callable[[HttpProvider], BatchApi]] = {
    "openai": OpenAIBatches,
    "azure": AzureBatches,
    "anthropic": AnthropicBatches,
    "openrouter": OpenRouterBatches,
    "mistral": MistralBatches,
    "google": GeminiBatches,
    "groq": GroqBatches,
    "together": TogetherBatches,
}


def batch_api(model: Model, api: str | None = None, command: str | None = None) -> BatchApi | None:
    """Return a model's batch API, or None if it has none.

    ``api``: the API that a custom server speaks. ``command``: a local command that answers the
    batches instead.
    """
    provider = model.provider if isinstance(model, Layer) else model
    if not isinstance(provider, HttpProvider):
        return None
    if command is not None:
        return CommandBatches(provider, command)
    if api is not None and api not in APIS:
        raise SetupError(
            "unknown batch API {api!r}: choose one of {apis}", api=api, apis=", ".join(APIS)
        )
    host = urlsplit(provider.connection.base_url).hostname or ""
    name = api or ("azure" if host.endswith(AZURE_HOSTS) else provider.connection.provider)
    return APIS[name](provider) if name in APIS else None
