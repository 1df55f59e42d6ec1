"""The output of ``adjudge criteria`` in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from adjudge.core.catalog.criteria import languages_of
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.lint import Finding
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import GivenFields
from adjudge.messages import Message, join, plural
from adjudge.runs.numbers import short_figure
from adjudge.runs.view.terminal import Screen

_PIPED_WIDTH = 180
_LONGEST_QUESTION = 80
_KINDS = {"direct": Message("direct"), "pairwise": Message("pairwise")}
_STYLES = {"error": "bold red", "warning": "yellow"}
_SEVERITIES = {"error": Message("error"), "warning": Message("warning")}


def show_catalogue(entries: Sequence[CatalogEntry], screen: Screen) -> None:
    """Print one line per entry. If it is too long, options and question are shortened, but never
    the name.
    """
    table, console = screen.table(()), screen.console
    for heading in (Message("name"), Message("kind"), Message("languages")):
        table.add_column(screen.render(heading), no_wrap=True)
    for heading in (Message("options"), Message("question")):
        table.add_column(screen.render(heading))
    for entry in entries:
        screen.add_row(table, *_row(entry))
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    screen.show(table)


def show_entry(entry: CatalogEntry, screen: Screen) -> None:
    criteria, console = entry.criteria, screen.console
    languages = " ".join(languages_of(criteria.name))
    kind = screen.line(join(", ", filter(None, (_KINDS[entry.kind], languages))), "dim")
    screen.show(Text.assemble((criteria.name, "bold"), "  ", kind))
    console.print(Text(criteria.description), end="\n\n")
    screen.show(_facts(entry, screen))
    if entry.kind == "direct":
        screen.show("")
        screen.say(Message("options"), "bold")
        screen.show(_options(criteria, screen))
    if criteria.examples:
        screen.show("")
        screen.say(Message("examples"), "bold")
    for example in criteria.examples:
        screen.show(Padding(Text(f"{example.option}: {example.explanation}"), (0, 0, 0, 2)))
        screen.show(Padding(_fields(example.fields), (0, 0, 0, 4)))


def show_findings(findings: Sequence[Finding], count: int, screen: Screen) -> None:
    """Print the findings with their severities, then a line with their counts."""
    headings = ("", Message("criterion"), Message("field"), Message("finding"))
    rows = (
        (
            screen.line(_SEVERITIES[found.severity], _STYLES[found.severity]),
            found.criteria,
            found.field,
            found.message,
        )
        for found in findings
    )
    if findings:
        screen.show(screen.table(headings, rows))
    checked = plural("{count} criterion checked", "{count} criteria checked", count)
    screen.say(Message("{checked}, {findings}.", checked=checked, findings=_tally(findings)))


def _row(entry: CatalogEntry) -> tuple[str | Text, ...]:
    criteria = entry.criteria
    options = "" if entry.kind == "pairwise" else " / ".join(criteria.option_names)
    languages = " ".join(languages_of(criteria.name))
    cut = (
        Text(text, no_wrap=True, overflow="ellipsis")
        for text in (options, _first_words(criteria.description))
    )
    return (criteria.name, _KINDS[entry.kind], languages, *cut)


def _first_words(text: str) -> str:
    question, mark, _ = text.partition("?")
    return shorten(question + mark, _LONGEST_QUESTION, placeholder=" …")


def _tally(findings: Sequence[Finding]) -> Message:
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    counts = (
        *((plural("{count} error", "{count} errors", errors),) if errors else ()),
        *((plural("{count} warning", "{count} warnings", warnings),) if warnings else ()),
    )
    return join(", ", counts) if counts else Message("no problems")


def _facts(entry: CatalogEntry, screen: Screen) -> Table:
    criteria, grid = entry.criteria, Table.grid(padding=(0, 2, 0, 0))
    verb = Message("judges") if entry.kind == "direct" else Message("compares")
    screen.add_row(grid, verb, criteria.to_evaluate_field)
    context: str = Message("everything else")
    if criteria.context_fields is not None:
        context = ", ".join(criteria.context_fields) or Message("nothing else")
    screen.add_row(grid, Message("reads"), context)
    if entry.kind == "direct":
        better = Message("more of it") if criteria.higher_is_better else Message("less of it")
        screen.add_row(grid, Message("better"), better)
    return grid


def _options(criteria: Criteria, screen: Screen) -> Padding:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for option in criteria.options:
        score = "" if option.score is None else short_figure(option.score)
        screen.add_row(grid, Text(option.name, style="bold"), score, Text(option.description))
    return Padding(grid, (0, 0, 0, 2))


def _fields(fields: GivenFields) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in fields.items():
        for number, text in enumerate((value,) if isinstance(value, str) else value):
            label = name if isinstance(value, str) else f"{name} {chr(ord('A') + number)}"
            grid.add_row(Text(label, style="dim"), Text(text))
    return grid
