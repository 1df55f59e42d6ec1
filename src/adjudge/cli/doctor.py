"""``adjudge doctor``: what is installed, which keys are set, which models can be reached."""

from __future__ import annotations

import asyncio
import platform
from importlib.util import find_spec

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

import adjudge
from adjudge.aio import event_loop
from adjudge.cli.models import key_state
from adjudge.cli.options import command
from adjudge.cli.show import clean
from adjudge.errors import AdjudgeError
from adjudge.gateway.open import OpenModel, open_model
from adjudge.gateway.redact import shown
from adjudge.gateway.registry import PROVIDERS, key_for
from adjudge.reports.exit_code import ExitCode

EXTRAS = {
    "gguf": "xllamacpp",
    "local": "onnxruntime",
    "parquet": "pyarrow",
    "sandbox": "sandlock",
    "unitxt": "unitxt",
}
"""Extra → the module whose presence shows it."""
_PATIENCE = 10.0


@command()
@click.option("-m", "--model", multiple=True, help="Model to reach; repeatable. Default: one of each provider whose key is set.")
def doctor(model: tuple[str, ...]) -> int:
    """Look at the installation. Nothing is paid for, and no key is printed.

    Exit codes: 0 every model was reached, 1 one was not.
    """
    console = Console(highlight=False)
    console.print(f"adjudge {adjudge.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    console.print(_installed())
    console.print(_keys())
    ids = list(model) or [f"{spec.name}/{spec.example}" for spec in PROVIDERS.values() if key_for(spec)]
    if not ids:
        console.print("no key is set and no model was named: nothing to reach (-m provider/model tries one)")
        return ExitCode.OK
    states = event_loop.run(_reach_all(ids))
    console.print(_reached(states))
    return ExitCode.OK if all(state is None for state in states.values()) else ExitCode.COULD_NOT_RUN


def _installed() -> Table:
    table = _table("extra", "state")
    for extra, module in EXTRAS.items():
        there = find_spec(module) is not None
        table.add_row(extra, "installed" if there else Text(f"pip install 'adjudge[{extra}]'", style="dim"))
    return table


def _keys() -> Table:
    table = _table("provider", "key")
    for spec in PROVIDERS.values():
        table.add_row(spec.name, key_state(spec))
    return table


def _reached(states: dict[str, str | None]) -> Table:
    table = _table("model", "reached")
    for id, trouble in states.items():
        table.add_row(
            Text(clean(shown(id))), Text("yes", style="green") if trouble is None else Text(clean(trouble), style="red")
        )
    return table


async def _reach_all(ids: list[str]) -> dict[str, str | None]:
    return dict(zip(ids, await asyncio.gather(*map(_reach, ids)), strict=True))


async def _reach(id: str) -> str | None:
    """What is wrong with this model, or None."""
    try:
        model: OpenModel = open_model(id)
        async with asyncio.timeout(_PATIENCE):
            await model.probe()
    except AdjudgeError as error:
        return str(error)
    except TimeoutError:
        return f"no answer within {_PATIENCE:g} s"
    return None


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for heading in headings:
        table.add_column(heading)
    return table
