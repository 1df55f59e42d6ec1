"""A terminal: console, language, lines, and tables without borders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.text import Text

from adjudge.messages import render
from adjudge.runs.view.clean_text import clean

if TYPE_CHECKING:
    from rich.table import Table


class Screen:
    """Prints text unchanged: numbers are not coloured, and ``:name:`` does not become an emoji."""

    def __init__(
        self,
        language: str = "en",
        *,
        soft_wrap: bool = False,
        stderr: bool = False,
        quiet: bool = False,
        width: int | None = None,
    ) -> None:
        self.language = language
        self.console = Console(
            highlight=False,
            emoji=False,
            soft_wrap=soft_wrap,
            stderr=stderr,
            quiet=quiet,
            width=width,
        )

    def render(self, text: object) -> str:
        """Return ``text`` in the language of the screen, without control characters."""
        return clean(render(text, self.language))

    def line(self, text: object, style: str = "") -> Text:
        return Text(self.render(text), style=style)

    def say(self, text: object, style: str = "", *, soft_wrap: bool | None = None) -> None:
        self.console.print(self.line(text, style), soft_wrap=soft_wrap)

    def show(self, *parts: RenderableType) -> None:
        """Print tables and other renderables, one below the other."""
        for part in parts:
            self.console.print(part)

    def table(
        self,
        headings: Iterable[object],
        rows: Iterable[Iterable[object]] = (),
        *,
        gap: int = 2,
        title: Text | None = None,
    ) -> Table:
        """Return a borderless table whose columns are ``gap`` apart."""
        from rich.table import Column, Table  # not loaded to show one judgment

        table = Table(
            *(Column(escape(self.render(heading)), overflow="fold") for heading in headings),
            box=None,
            padding=(0, gap, 0, 0),
            title=title,
            title_justify="left",
        )
        for row in rows:
            self.add_row(table, *row)
        return table

    def add_row(self, table: Table, *cells: object) -> None:
        """Add a row. Messages are translated, other texts stay as they are."""
        table.add_row(*(value if isinstance(value, Text) else self.line(value) for value in cells))
