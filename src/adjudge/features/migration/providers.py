"""Names of models in other tools → names here."""

from __future__ import annotations

from collections.abc import Mapping

_KINDS = ("chat", "completion", "converse", "responses", "messages", "text")
"""Words between a provider and its model in promptfoo that name an interface."""
_PROVIDERS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "mistral": "mistral",
    "google": "google",
    "ollama": "ollama",
    "openrouter": "openrouter",
    "togetherai": "together",
    "together": "together",
    "groq": "groq",
    "vertex": "vertex",
    "bedrock": "bedrock",
    "azure": "azure",
    "azureopenai": "azure",
}
_NO_CHAT = (
    *("embedding", "embeddings", "image", "video", "realtime", "live", "transcription", "speech"),
    *("tts", "moderation", "assistant", "agent", "agents", "foundry-agent", "chatkit", "kb"),
    *("codex-sdk", "codex-app-server", "claude-agent-sdk", "claude-code", "mantle"),
)
"""Interfaces that do not answer a prompt like a model."""
_NO_COMPLETION = ("openai", "azure", "azureopenai")
"""Providers whose older interface for completions is not asked here."""
_BARE: Mapping[str, str] = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude-": "anthropic",
    "gemini-": "google",
}
"""Beginnings of bare model names → their provider."""


def model_of_promptfoo(name: str) -> str | None:
    """Return the model that a promptfoo provider names; None if there is no counterpart.

    >>> model_of_promptfoo("openai:chat:gpt-4o-mini")
    'openai/gpt-4o-mini'
    """
    provider, _, rest = name.strip().partition(":")
    kind, _, model = rest.partition(":")
    if kind in _NO_CHAT or (kind == "completion" and provider in _NO_COMPLETION):
        return None
    if kind in _KINDS:
        rest = model
    place = _PROVIDERS.get(provider)
    return f"{place}/{rest}" if place and rest else None


def model_of_bare_name(name: str) -> str | None:
    """Return the model of a bare name, such as gpt-4o; None if its provider is not known."""
    if "/" in name:
        provider, _, model = name.partition("/")
        return name if provider in _PROVIDERS.values() and model else None
    provider = next((place for begin, place in _BARE.items() if name.startswith(begin)), "")
    return f"{provider}/{name}" if provider else None
