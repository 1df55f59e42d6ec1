"""``python -m adjudge.features.generate.sandbox.probe [NAME…]``: measure which attacks each sandbox
of this system withstands.
"""

from __future__ import annotations

import asyncio
import sys

from adjudge.errors import AdjudgeError, SandboxError
from adjudge.features.generate.sandbox.attempts import ATTEMPTS, BEYOND, KEPT
from adjudge.features.generate.sandbox.base import Sandbox
from adjudge.features.generate.sandbox.finder import WALLS
from adjudge.features.generate.sandbox.no_sandbox import NoSandbox
from adjudge.features.generate.sandbox.trial import try_all
from adjudge.messages import Message

Column = dict[str, str]


def main(names: list[str]) -> int:
    """Print the table; return 0 if at least one sandbox withstands all attempts, else 1."""
    columns, missing = asyncio.run(_measure(names or [*WALLS, "none"]))
    sys.stdout.write(
        _table(columns) + "".join(f"\n{name}: {reason}\n" for name, reason in missing.items())
    )
    return 0 if any(_holds(column) for name, column in columns.items() if name != "none") else 1


async def _measure(names: list[str]) -> tuple[dict[str, Column], dict[str, str]]:
    columns, missing = {}, {}
    for name in names:
        try:
            columns[name] = await _column({**WALLS, "none": NoSandbox}[name]())
        except AdjudgeError as error:
            missing[name] = str(error)
    return columns, missing


async def _column(sandbox: Sandbox) -> Column:
    went = await try_all(sandbox)
    column = {
        name: "refused" if went.get(name, "") is None else Message("GOES THROUGH")
        for name in ATTEMPTS
    }
    column |= {
        name: "works" if went.get(name) == expected else "FAILS"
        for name, (_, expected) in KEPT.items()
    }
    return column | {f"limit: {name}": await _beyond(sandbox, name) for name in BEYOND}


async def _beyond(sandbox: Sandbox, name: str) -> str:
    code, limits, expected = BEYOND[name]
    try:
        await sandbox.run(code, tools={"double": lambda number: 2 * number}, limits=limits)
    except SandboxError as error:
        return (
            type(error).__name__
            if isinstance(error, expected)
            else f"UNEXPECTED: {type(error).__name__}"
        )
    return Message("NOT KEPT")


def _holds(column: Column) -> bool:
    return not any(cell.isupper() or ":" in cell for cell in column.values())


def _table(columns: dict[str, Column]) -> str:
    lines = [["attempt", *columns], ["---"] * (len(columns) + 1)]
    rows = [*ATTEMPTS, *KEPT, *(f"limit: {name}" for name in BEYOND)]
    lines += [[row, *(column[row] for column in columns.values())] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
