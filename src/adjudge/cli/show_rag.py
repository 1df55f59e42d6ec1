"""A RAG evaluation in a terminal."""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.show import clean
from adjudge.reports.rag_report import RagReport
from adjudge.reports.rag_summary import DimensionSummary
from adjudge.reports.words import counted, is_word, word


def say_columns(columns: Mapping[str, str], language: str) -> None:
    """Which column was taken for which field."""
    taken = ", ".join(f"{field} = {clean(column)}" for field, column in columns.items())
    click.echo(f"{word('columns', language)}: {taken}", err=True)


def show_rag(report: RagReport, language: str) -> None:
    """Each dimension, the composite with its interval, and what a reader must know."""
    console = Console(highlight=False, soft_wrap=False)
    console.print(_table(report, language))
    console.print(Text(_footer(report, language), style="dim"))
    for note in report.notes:
        console.print(Text(note, style="yellow"))


def _table(report: RagReport, language: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(word("dimension", language))
    for heading in (word("average", language), word("normalised", language), word("scored", language)):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in report.summary.dimensions:
        table.add_row(*_row(one, language))
    overall, interval = report.summary.overall, report.summary.interval
    mean = "–" if overall.mean is None else f"{overall.mean:.2f}"
    limits = (
        f"{word('interval', language)}: {interval.lower:.2f}–{interval.upper:.2f}" if interval else word("no interval", language)
    )
    name = Text(word("composite", language), style="bold")
    table.add_row(name, "", Text(mean, style="bold"), f"{overall.scored}/{overall.attempted}", limits)
    return table


def _row(one: DimensionSummary, language: str) -> tuple[Text, str, str, str, str]:
    raw = f"{one.raw.mean:.2f} / {one.dimension.maximum}" if one.raw else "–"
    mean = f"{one.normalized.mean:.2f}" if one.normalized else "–"
    flag = word("never varies", language) if one.never_varies else ""
    return Text(clean(one.dimension.title)), raw, mean, f"{one.scored}/{one.scored + one.missing}", flag


def _footer(report: RagReport, language: str) -> str:
    rules = ", ".join(
        f"{word(name, language) if is_word(name) else clean(name)} {count}"
        for name, count in report.summary.rules.items()
        if count and name != "mean"
    )
    usage = report.summary.overall.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    used = f"{counted(usage.calls, 'call', language)}, {counted(tokens, 'token', language)}"
    return f"{rules}; {used}" if rules else used
