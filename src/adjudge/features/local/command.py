"""``adjudge models``: list providers and what they can do, and pull weights of local models."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import NamedTuple

import click
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Capabilities
from adjudge.core.gateway.registry import PROVIDERS, URL, ProviderSpec, key_for, load_providers
from adjudge.errors import SetupError
from adjudge.features.local.provider import LocalModel
from adjudge.features.local.weights import puller as weights
from adjudge.features.local.weights.store import KNOWN, check_weights
from adjudge.messages import Message, join
from adjudge.plugins import resolve
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import CommandGroup, argument, as_json
from adjudge.runs.cli.output import output
from adjudge.runs.view.terminal import Screen

_LOG = logging.getLogger("adjudge.plugins")


@click.group(cls=CommandGroup, invoke_without_command=True)
@as_json
@click.pass_context
def models(context: click.Context, as_json: bool) -> int:
    """List the providers, how to name their models, which key they need and whether it is set."""
    if context.invoked_subcommand is not None:
        return 0
    entries = list(_entries())
    if as_json:
        print_results("models", {"models": len(entries)}, map(_as_json, entries))
    else:
        screen = Screen(output().language)
        screen.show(_table(entries, screen))
    return 0


@models.command()
@argument("name", f"Weights to download: {', '.join(KNOWN)}.")
def pull(name: str) -> int:
    """Download the weights of a model that runs in this process, check them, and prepare them.

    A second call does nothing, or repairs damaged weights.
    """
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy's threads spin while they wait, and stop each other
    with PullWatch() as watch:
        weights.pull(name, watch.say, watch.on_result)
    return 0


def fetch_weights(name: str) -> None:
    """Fetch weights that a command turned out to need, with progress on standard error."""
    with PullWatch(stderr=True) as watch:
        weights.pull(name, watch.say, watch.on_result)


class PullWatch:
    """Prints what happens, with a progress bar in a terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._screen = Screen(output().language, stderr=stderr, soft_wrap=True)
        console = self._screen.console
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )
        self._tasks: dict[str, TaskID] = {}

    def say(self, line: str) -> None:
        self._screen.say(line)

    def on_result(self, what: str, done: int, total: int) -> None:
        """Move the bar of ``what``; without a total it only shows activity."""
        if what not in self._tasks:
            for earlier in self._tasks.values():
                self._progress.update(earlier, visible=False)
            self._tasks[what] = self._progress.add_task(what, total=total or None)
        self._progress.update(self._tasks[what], completed=done)

    def __enter__(self) -> PullWatch:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


class _Entry(NamedTuple):
    provider: str
    example: str
    can_do: Sequence[str]
    spec: ProviderSpec | None = None
    state: str = ""


def _entries() -> Iterator[_Entry]:
    for spec in (*load_providers(), URL):
        example = spec.example if spec is URL else f"{spec.name}/{spec.example}"
        yield _Entry(spec.name, example, can_do(_capabilities(spec)), spec)
    local = can_do(LocalModel.capabilities)
    free = Message("none needed")
    for name in KNOWN:
        trouble = check_weights(name).trouble
        yield _Entry(
            "local",
            f"local/{name}",
            local,
            state=join(
                ", ",
                (free, (_CONDITIONS.get(trouble.partition(" (")[0], trouble) or Message("pulled"))),
            ),
        )
    yield _Entry("local", "local/PATH.gguf", local, state=free)
    yield _Entry("replay", "replay/PATH.jsonl", [Message("recorded replies")])
    yield _Entry("scripted", "scripted/PASS,FAIL", [Message("fixed replies, for experiments")])


def _table(entries: Sequence[_Entry], screen: Screen) -> Table:
    headings = (Message("provider"), Message("for example"), Message("key"), Message("can do"))
    return screen.table(
        headings,
        (
            (
                entry.provider,
                entry.example,
                key_state(entry.spec) if entry.spec else entry.state,
                join(", ", entry.can_do),
            )
            for entry in entries
        ),
    )


def _as_json(entry: _Entry) -> JsonDict:
    variable = entry.spec.key_variable if entry.spec else None
    key = {
        "key_variable": variable,
        "key_set": bool(variable and entry.spec and key_for(entry.spec)),
    }
    return {
        "provider": entry.provider,
        "example": entry.example,
        **key,
        "can_do": list(entry.can_do),
        "state": entry.state,
    }


def key_state(spec: ProviderSpec) -> Message:
    """Return the key's variable and whether it is set, never the key itself."""
    if spec.key_variable is None:
        return Message("none needed")
    if key_for(spec):
        return Message("{variable} (set)", variable=spec.key_variable)
    return Message("{variable} (not set)", variable=spec.key_variable)


def can_do(capabilities: Capabilities) -> list[str]:
    names = {
        Message("JSON schema"): capabilities.json_schema,
        Message("log-probabilities"): capabilities.logprobs,
        Message("seed"): capabilities.seed,
    }
    return [name for name, able in names.items() if able]


_CONDITIONS = {
    str(condition): condition for condition in (Message("damaged"), Message("unreadable"))
}


def _capabilities(spec: ProviderSpec) -> Capabilities:
    part = None if spec is URL else PROVIDERS.find(spec.name)
    try:
        with part.blame_package() if part else nullcontext():
            adapter = resolve(spec.adapter)
    except SetupError as error:
        _LOG.warning("%s", error)
        adapter = None
    capabilities: Capabilities = getattr(adapter, "capabilities", Capabilities())
    return capabilities
