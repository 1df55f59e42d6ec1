"""What shells may complete beside commands, options and files: names of criteria, and how models
are named.
"""

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
    """Ready-made criteria, and files."""
    from click.shell_completion import CompletionItem

    from adjudge.core.catalog.criteria import all_names

    found = [CompletionItem(name) for name in all_names() if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def model_names(
    _context: click.Context,
    _parameter: click.Parameter,
    incomplete: str,
) -> list[CompletionItem[str]]:
    """An example of each provider, and the embedded model."""
    from click.shell_completion import CompletionItem

    from adjudge.core.gateway.registry import EMBEDDED, our_providers

    known = [EMBEDDED, *(f"{spec.name}/{spec.example}" for spec in our_providers())]
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
