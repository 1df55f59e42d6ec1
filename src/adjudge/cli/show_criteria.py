"""What ``adjudge criteria`` prints in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from adjudge.catalog.criteria import languages_of
from adjudge.catalog.entry import CatalogEntry
from adjudge.catalog.lint import Finding
from adjudge.cli.show import clean
from adjudge.cli.terminal import open_console, plain_table
from adjudge.domain.criteria import Criteria
from adjudge.messages import Message, render

_PIPED_WIDTH = 180
_LONGEST_QUESTION = 80
_KINDS = {"direct": Message("direct"), "pairwise": Message("pairwise")}
_STYLES = {"error": "bold red", "warning": "yellow"}


def show_catalogue(entries: Sequence[CatalogEntry], language: str) -> None:
    """One line each; where there is no room for a line, options and questions are cut, never a
    name.
    """
    table, console = plain_table(), open_console()
    for heading in (Message("name"), Message("kind"), Message("languages")):
        table.add_column(render(heading, language), no_wrap=True)
    for heading in (Message("options"), Message("question")):
        table.add_column(render(heading, language))
    for entry in entries:
        table.add_row(*_row(entry, language))
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    console.print(table)


def show_entry(entry: CatalogEntry, language: str) -> None:
    criteria, console = entry.criteria, open_console()
    known = " ".join(languages_of(criteria.name))
    console.print(
        Text.assemble(
            (criteria.name, "bold"), (f"  {render(_KINDS[entry.kind], language)}, {known}", "dim")
        )
    )
    console.print(Text(criteria.description), end="\n\n")
    console.print(_facts(entry, language))
    if entry.kind == "direct":
        console.print(Text(f"\n{render(Message('options'), language)}", style="bold"))
        console.print(_options(criteria))
    console.print(Text(f"\n{render(Message('examples'), language)}", style="bold"))
    for example in criteria.examples:
        console.print(Padding(Text(f"{example.option}: {example.explanation}"), (0, 0, 0, 2)))
        console.print(Padding(_fields(example.fields), (0, 0, 0, 4)))


def show_findings(findings: Sequence[Finding], count: int) -> None:
    """Each with its severity, and a line that counts them."""
    console, table = open_console(), plain_table()
    for heading in ("", "criteria", "field", "finding"):
        table.add_column(heading)
    for finding in findings:
        severity = Text(finding.severity, style=_STYLES[finding.severity])
        table.add_row(
            severity,
            *(Text(clean(part)) for part in (finding.criteria, finding.field, finding.message)),
        )
    if findings:
        console.print(table)
    console.print(f"{count} criteria: {_tally(findings)}")


def _row(entry: CatalogEntry, language: str) -> tuple[str | Text, ...]:
    criteria = entry.criteria
    options = "" if entry.kind == "pairwise" else " / ".join(criteria.option_names)
    known = " ".join(languages_of(criteria.name))
    cut = (
        Text(text, no_wrap=True, overflow="ellipsis")
        for text in (options, _first_words(criteria.description))
    )
    return (criteria.name, render(_KINDS[entry.kind], language), known, *cut)


def _first_words(text: str) -> str:
    question, mark, _ = text.partition("?")
    return shorten(question + mark, _LONGEST_QUESTION, placeholder=" …")


def _tally(findings: Sequence[Finding]) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    counts = {"error": errors, "warning": len(findings) - errors}
    return (
        ", ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)
        or "nothing found"
    )


def _facts(entry: CatalogEntry, language: str) -> Table:
    criteria, grid = entry.criteria, Table.grid(padding=(0, 2, 0, 0))
    verb = render(Message("judges") if entry.kind == "direct" else Message("compares"), language)
    grid.add_row(verb, criteria.to_evaluate_field)
    grid.add_row(render(Message("reads"), language), _context(criteria, language))
    if entry.kind == "direct":
        grid.add_row(
            render(Message("better"), language),
            render(
                Message("more of it") if criteria.higher_is_better else Message("less of it"),
                language,
            ),
        )
    return grid


def _context(criteria: Criteria, language: str) -> str:
    if criteria.context_fields is None:
        return render(Message("everything else"), language)
    return ", ".join(criteria.context_fields) or render(Message("nothing else"), language)


def _options(criteria: Criteria) -> Padding:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for option in criteria.options:
        score = "" if option.score is None else f"{option.score:g}"
        grid.add_row(Text(option.name, style="bold"), score, Text(option.description))
    return Padding(grid, (0, 0, 0, 2))


def _fields(fields: Mapping[str, str | Sequence[str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in fields.items():
        for number, text in enumerate((value,) if isinstance(value, str) else value):
            label = name if isinstance(value, str) else f"{name} {chr(ord('A') + number)}"
            grid.add_row(Text(label, style="dim"), Text(text))
    return grid
