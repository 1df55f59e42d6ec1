"""``adjudge models``: which models can be named, and what each provider can do."""

from __future__ import annotations

from importlib import import_module

from rich.console import Console
from rich.table import Table

from adjudge.domain.message import Capabilities
from adjudge.gateway.registry import PROVIDERS, URL, ProviderSpec, key_for


def models() -> int:
    """List the providers, how to name their models, which key they need and whether it is set."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("provider", "for example", "key", "can do"):
        table.add_column(heading)
    for spec in (*PROVIDERS.values(), URL):
        example = spec.example if spec is URL else f"{spec.name}/{spec.example}"
        table.add_row(spec.name, example, key_state(spec), can_do(_capabilities(spec)))
    table.add_row("replay", "replay/PATH.jsonl", "", "recorded replies")
    table.add_row("scripted", "scripted/PASS,FAIL", "", "fixed replies, for trying things out")
    Console(highlight=False).print(table)
    return 0


def key_state(spec: ProviderSpec) -> str:
    """Which variable holds the key, and whether it does; never the key."""
    if spec.key_variable is None:
        return "none needed"
    return f"{spec.key_variable} ({'set' if key_for(spec) else 'not set'})"


def can_do(capabilities: Capabilities) -> str:
    """Capabilities in words."""
    names = {
        "JSON schema": capabilities.json_schema,
        "log-probabilities": capabilities.logprobs,
        "several samples": capabilities.samples,
        "seed": capabilities.seed,
    }
    return ", ".join(name for name, able in names.items() if able)


def _capabilities(spec: ProviderSpec) -> Capabilities:
    module, _, name = spec.adapter.partition(":")
    capabilities: Capabilities = getattr(import_module(f"adjudge.gateway.providers.{module}"), name).capabilities
    return capabilities
