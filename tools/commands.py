"""docs/commands.md, from what ``--help`` says of every command.

    python tools/commands.py

tests/test_docs.py says when it is out of step.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from adjudge.runs.cli.help import Argument
from adjudge.runs.cli.main import HELP, app

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """# Commands

What `--help` says, command by command. Exit codes are the same everywhere: 0 all scored and the
gates hold, 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed (or, with
`adjudge check`, a check), 5 gate inconclusive or no row judged.

| command | what it does |
|---|---|
{table}

{commands}
"""


def page() -> str:
    """The whole of it."""
    context = click.Context(app, info_name="adjudge", show_default=True)
    table = "\n".join(f"| [`{name}`](#adjudge-{name}) | {help} |" for name, help in HELP.items())
    parts = (part for name in HELP for part in described(_named(app, context, name), context, name))
    return HEAD.format(table=table, commands="\n\n".join(parts))


def described(command: click.Command, above: click.Context, name: str) -> Iterator[str]:
    """A command, and those below it."""
    context = click.Context(command, info_name=name, parent=above)
    yield f"{'##' if above.parent is None else '###'} {context.command_path}"
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    yield _code(f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "text")
    parameters = command.get_params(context)
    yield from _table(
        "argument", [(str(one.name), one.about) for one in parameters if isinstance(one, Argument)]
    )
    options = [one.get_help_record(context) for one in parameters if isinstance(one, click.Option)]
    yield from _table("option", [option for option in options if option and option[0] != "--help"])
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from described(_named(command, context, below), context, below)


def _named(group: click.Group, context: click.Context, name: str) -> click.Command:
    found = group.get_command(context, name)
    assert found, name
    return found


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs are filled by whoever shows them, but for those that keep their lines."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield _code(paragraph.strip("\b\n"), "text")
        else:
            yield safe(" ".join(paragraph.split()))


def _table(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield "\n".join([f"| {title} | |", "|---|---|", *(_row(*row) for row in rows)])


def _row(name: str, text: str) -> str:
    return f"| `{in_a_cell(name)}` | {in_a_cell(safe(text))} |"


def in_a_cell(text: str) -> str:
    """Return the text as one cell of a table."""
    return " ".join(text.split()).replace("|", r"\|")


def safe(text: str) -> str:
    """Help is plain text: nothing in it is a mark of Markdown but backticks."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text)


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
