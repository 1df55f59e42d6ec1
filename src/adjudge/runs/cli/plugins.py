"""``adjudge plugins``: the parts of installed packages, and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypedDict

from rich.table import Table

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import PluginPart, installed_parts
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import as_json, command
from adjudge.runs.cli.output import echo, language
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen

OK = Message("works")
_WIDE = 1000
"""A state is one line, however narrow the terminal."""


class PluginShape(TypedDict):
    """A part that an installed package brings."""

    name: str
    kind: str
    package: str
    version: str
    state: Annotated[str, "works, or what is wrong"]


@command()
@as_json
def plugins(as_json: bool) -> int:
    """List the parts that installed packages provide. Each is loaded once, to check that it works.

    Exit codes: 0 all plugins work, 1 at least one does not.
    """
    states = {part: state_of(part) for part in installed_parts()}
    broken = sum(state != OK for state in states.values())
    if as_json:
        summary = {"plugins": len(states), "broken": broken}
        rows: Iterator[JsonDict] = (
            fill(PluginShape, part, state=state) for part, state in states.items()
        )
        print_results("plugins", summary, rows)
    elif not states:
        echo(Message("No plugins are installed."))
    else:
        screen = Screen(language(), soft_wrap=True, width=_WIDE)
        screen.show(_table(states, screen))
    return ExitCode.COULD_NOT_RUN if broken else ExitCode.OK


def state_of(part: PluginPart) -> str:
    """Return "works", or the reason why a part cannot be loaded."""
    try:
        part.load()
    except SetupError as error:
        problem = error.message.values.get("problem", error.message)
        return problem if isinstance(problem, str) else str(problem)
    return OK


def _table(states: dict[PluginPart, str], screen: Screen) -> Table:
    headings = (
        Message("name"),
        Message("kind"),
        Message("package"),
        Message("version"),
        Message("state"),
    )
    return screen.table(
        headings,
        (
            (
                part.name,
                part.kind,
                part.package,
                part.version,
                screen.line(state, "green" if state == OK else "red"),
            )
            for part, state in states.items()
        ),
    )
