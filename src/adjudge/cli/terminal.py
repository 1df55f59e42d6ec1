"""The console and the tables of every command."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text


def open_console(*, soft_wrap: bool = False, stderr: bool = False, quiet: bool = False) -> Console:
    """Shows texts as they are: no number is coloured, no ``:name:`` becomes a picture."""
    return Console(highlight=False, emoji=False, soft_wrap=soft_wrap, stderr=stderr, quiet=quiet)


def plain_table(*headings: str, gap: int = 2, title: Text | None = None) -> Table:
    """A table without lines, its columns ``gap`` apart."""
    return Table(*headings, box=None, padding=(0, gap, 0, 0), title=title, title_justify="left")
