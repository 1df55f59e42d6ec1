"""``adjudge plugins``: what installed packages bring, and what is broken."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.json_text import print_results
from adjudge.cli.options import as_json, command
from adjudge.cli.show import told
from adjudge.errors import SetupError
from adjudge.plugins import Part, installed
from adjudge.results.exit_code import ExitCode

OK = "works"
_WIDE = 1000
"""A state is one line, however narrow the terminal."""


@command()
@as_json
def plugins(as_json: bool) -> int:
    """List the parts that installed packages bring. Each is loaded once, to see whether it works.

    Exit codes: 0 all can be used, 1 one cannot.
    """
    states = {part: state_of(part) for part in installed()}
    broken = sum(state != OK for state in states.values())
    if as_json:
        summary = {"plugins": len(states), "broken": broken}
        print_results("plugins", summary, (_as_json(*one) for one in states.items()))
    elif not states:
        click.echo(told("No plugins are installed."))
    else:
        Console(highlight=False, width=_WIDE).print(_table(states), soft_wrap=True)
    return ExitCode.COULD_NOT_RUN if broken else ExitCode.OK


def state_of(part: Part) -> str:
    """``works``, or what is wrong with it."""
    try:
        part.load()
    except SetupError as error:
        return str(error).removeprefix(f"{part}: ")
    return OK


def _as_json(part: Part, state: str) -> dict[str, object]:
    return {
        "name": part.name,
        "kind": part.kind,
        "package": part.package,
        "version": part.version,
        "state": state,
    }


def _table(states: dict[Part, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for heading in ("name", "kind", "package", "version", "state"):
        table.add_column(told(heading))
    for part, state in states.items():
        style = "green" if state == OK else "red"
        shown = (part.name, part.kind, part.package, part.version)
        table.add_row(*map(Text, shown), Text(told(state), style=style))
    return table
