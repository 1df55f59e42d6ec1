"""Names for shell completion, besides commands, options and files: criteria and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETE_VARIABLE = "_ADJUDGE_COMPLETE"


def criteria_names(
    _context: click.Context,
    _parameter: click.Parameter,
    incomplete: str,
) -> list[CompletionItem[str]]:
    """Complete the name of ready-made criteria, or else a file name."""
    from click.shell_completion import CompletionItem

    from adjudge.core.catalog.criteria import all_names

    items = [CompletionItem(name) for name in all_names() if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def model_names(
    _context: click.Context,
    _parameter: click.Parameter,
    incomplete: str,
) -> list[CompletionItem[str]]:
    """Complete a model name: the embedded model, and one example per provider."""
    from click.shell_completion import CompletionItem

    from adjudge.core.gateway.registry import EMBEDDED, our_providers

    names = [EMBEDDED, *(f"{spec.name}/{spec.example}" for spec in our_providers())]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
