"""``adjudge models``: which models can be named, what each provider can do, and weights for those that run here."""

from __future__ import annotations

import os
from importlib import import_module
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from adjudge.cli.options import Group, argument
from adjudge.domain.message import Capabilities
from adjudge.gateway.providers.local import LocalModel
from adjudge.gateway.registry import PROVIDERS, URL, ProviderSpec, key_for
from adjudge.local.weights import pull as weights
from adjudge.local.weights.store import KNOWN, condition


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> int:
    """List the providers, how to name their models, which key they need and whether it is set."""
    if context.invoked_subcommand is None:
        Console(highlight=False).print(_listed())
    return 0


@models.command()
@argument("name", f"Which weights: {', '.join(KNOWN)}.")
def pull(name: str) -> int:
    """Fetch the weights of a model that runs in this process, check them, and make them ready.

    A second call does nothing; one after damage repairs it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads spin while they wait, and stop each other
    with PullWatch() as watch:
        weights.pull(name, watch.say, watch.saw)
    return 0


class PullWatch:
    """Lines on what happens, and a bar below them where somebody looks."""

    def __init__(self) -> None:
        console = Console(highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def say(self, line: str) -> None:
        """Print a line."""
        self._progress.console.print(line, soft_wrap=True, markup=False)

    def saw(self, what: str, done: int, total: int) -> None:
        """Move the bar of ``what``; without a total it only shows that something is done."""
        if what not in self._tasks:
            for earlier in self._tasks.values():
                self._progress.update(earlier, visible=False)
            self._tasks[what] = self._progress.add_task(what, total=total or None)
        self._progress.update(self._tasks[what], completed=done)

    def __enter__(self) -> PullWatch:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()


def _listed() -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("provider", "for example", "key", "can do"):
        table.add_column(heading)
    for spec in (*PROVIDERS.values(), URL):
        example = spec.example if spec is URL else f"{spec.name}/{spec.example}"
        table.add_row(spec.name, example, key_state(spec), can_do(_capabilities(spec)))
    for name in KNOWN:
        table.add_row("local", f"local/{name}", f"none needed, {_weights_state(name)}", can_do(LocalModel.capabilities))
    table.add_row("local", "local/PATH.gguf", "none needed", can_do(LocalModel.capabilities))
    table.add_row("replay", "replay/PATH.jsonl", "", "recorded replies")
    table.add_row("scripted", "scripted/PASS,FAIL", "", "fixed replies, for trying things out")
    return table


def key_state(spec: ProviderSpec) -> str:
    """Which variable holds the key, and whether it does; never the key."""
    if spec.key_variable is None:
        return "none needed"
    return f"{spec.key_variable} ({'set' if key_for(spec) else 'not set'})"


def can_do(capabilities: Capabilities) -> str:
    """Capabilities in words."""
    names = {
        "JSON schema": capabilities.json_schema,
        "log-probabilities": capabilities.logprobs,
        "several samples": capabilities.samples,
        "seed": capabilities.seed,
    }
    return ", ".join(name for name, able in names.items() if able)


def _weights_state(name: str) -> str:
    return (condition(name).trouble or "pulled").partition(" (")[0]


def _capabilities(spec: ProviderSpec) -> Capabilities:
    module, _, name = spec.adapter.partition(":")
    capabilities: Capabilities = getattr(import_module(f"adjudge.gateway.providers.{module}"), name).capabilities
    return capabilities
