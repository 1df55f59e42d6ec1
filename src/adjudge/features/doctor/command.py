"""``adjudge doctor``: what is installed, whether the embedded model is here, which keys are set,
which models can be reached.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import click
from rich.table import Table
from rich.text import Text

from adjudge.core.aio import event_loop
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.model import Presence
from adjudge.core.gateway.redaction import harmless_address
from adjudge.core.gateway.registry import EMBEDDED, key_for, load_providers
from adjudge.core.reading.project_files import FILE, PYPROJECT
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.local.command import key_state
from adjudge.features.local.onnx.weights import made_path, precision
from adjudge.features.local.weights.adapters import adapter_for
from adjudge.features.local.weights.store import find
from adjudge.messages import Message
from adjudge.plugins import PluginPart, entry_points, installed_parts
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import model_entries
from adjudge.runs.cli.options import as_json, command, server
from adjudge.runs.cli.output import language
from adjudge.runs.cli.plugins import OK, state_of
from adjudge.runs.project import ModelEntry, Project, ServerEntry, find_project
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.terminal import Screen
from adjudge.version import __version__

EXTRAS = {
    "excel": "openpyxl",
    "gguf": "xllamacpp",
    "litellm": "litellm",
    "local": "onnxruntime",
    "mcp": "mcp",
    "otel": "opentelemetry.sdk",
    "parquet": "pyarrow",
    "objects": "obstore",
    "postgres": "psycopg",
    "ray": "ray",
    "sandbox": "sandlock",
    "schema": "jsonschema",
    "ui": "starlette",
    "unitxt": "unitxt",
}
"""Extra → the module whose presence shows it."""
_PYTEST_PLUGIN = "adjudge.features.integrations.pytest_plugin"
_PATIENCE = 10.0
_REACHED = {
    Presence.THERE: Message("yes"),
    Presence.NOT_SAID: Message("yes, but the server does not list its models"),
    Presence.ANY_NAME: Message(
        "yes, but this gateway accepts any name: only a request shows whether it has this model"
    ),
}


@command()
@click.option(
    "-m",
    "--model",
    multiple=True,
    help=(
        "Model to reach; repeatable. Default: the project's models, else one per provider whose "
        "key is set."
    ),
)
@server
@as_json
def doctor(
    model: tuple[str, ...],
    at: ServerEntry,
    as_json: bool,
) -> int:
    """Check the installation. This costs nothing, and no key is printed.

    Exit codes: 0 every model was reached, 1 at least one was not.
    """
    project = find_project()
    screen = Screen(language(), quiet=as_json)
    screen.say(
        f"adjudge {__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    screen.say(_configuration(project), soft_wrap=True)
    screen.show(_extras_table(screen))
    weights = embedded_weights()
    screen.say(Message("embedded model: {state}", state=weights.message), soft_wrap=True)
    screen.show(
        screen.table(
            (Message("provider"), Message("key")),
            ((spec.name, key_state(spec)) for spec in load_providers()),
        )
    )
    for part, state in broken_plugins().items():
        screen.say(part.error(state).message, "red", soft_wrap=True)
    is_model_named = model or project.model or at.says_anything or project.base_url
    ids = (
        [*model]
        if is_model_named
        else [
            f"{spec.name}/{spec.example}"
            for spec in load_providers()
            if key_for(spec) and not spec.names_are_users
        ]
    )
    untried = [
        spec
        for spec in load_providers()
        if spec.names_are_users and key_for(spec) and not is_model_named
    ]
    if not as_json:
        for spec in untried:
            screen.say(
                Message(
                    "{name} was not tried, because it has no default model: try one with -m "
                    "{name}/NAME",
                    name=spec.name,
                )
            )
    is_nothing_to_reach = not is_model_named and not ids
    entries = () if is_nothing_to_reach else model_entries(ids, at, project=project)
    states = event_loop.run(_reach_all(entries))
    if as_json:
        _print_json(project, entries, states)
    elif is_nothing_to_reach and not untried:
        screen.say(
            Message(
                "no key is set and no model was named, so there is nothing to reach (-m "
                "provider/model tries a model)"
            )
        )
    elif entries:
        screen.show(_models_table(entries, states, screen))
    return ExitCode.OK if all(state.reached for state in states) else ExitCode.COULD_NOT_RUN


class EmbeddedWeights(NamedTuple):
    """The embedded model's weights. If they are not available, only ``message`` is set."""

    message: str
    precision: str | None = None
    path: str | None = None
    bytes: int | None = None


def embedded_weights() -> EmbeddedWeights:
    """Find the embedded model's weights: their precision, path and size."""
    name = EMBEDDED.partition("/")[2]
    try:
        chosen_precision, base = precision(), find(name)
    except SetupError as error:
        return EmbeddedWeights(error.message)
    converted_path = made_path(name, base, adapter_for(name), chosen_precision)
    path = converted_path if converted_path.is_file() else base
    size = path.stat().st_size
    values = {"name": name, "precision": chosen_precision, "path": path, "size": size / 1e6}
    ready = Message("{name} is ready: {precision} weights, {size:.0f} MB, in {path}", **values)
    pulled = Message(
        "{name} is pulled ({size:.0f} MB, in {path}); its {precision} weights are created on "
        "first use, or by 'adjudge models pull {name}'",
        **values,
    )
    return EmbeddedWeights(
        ready if path is converted_path else pulled, chosen_precision, str(path), size
    )


def _configuration(project: Project) -> Message:
    if project.path is None:
        return Message(
            "configuration: none ({file}, or [tool.adjudge] in {pyproject}, here or in a folder "
            "above)",
            file=FILE,
            pyproject=PYPROJECT,
        )
    return Message(
        "configuration: {file} ({keys})",
        file=project.path,
        keys=", ".join(project.given) or Message("no message"),
    )


def _print_json(project: Project, entries: Sequence[ModelEntry], states: Sequence[State]) -> None:
    reached = sum(state.reached for state in states)
    keys = {
        spec.key_variable: bool(key_for(spec)) for spec in load_providers() if spec.key_variable
    }
    more = {
        "version": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "configuration": str(project.path) if project.path else None,
        "extras": extras(),
        "keys": keys,
        "embedded": {"model": EMBEDDED, **embedded_weights()._asdict()},
        "broken_plugins": [part.error(state).message for part, state in broken_plugins().items()],
    }
    summary = {"reached": reached, "not_reached": len(states) - reached}
    print_results("doctor", summary, map(_as_json, entries, states), more)


def _as_json(entry: ModelEntry, state: State) -> JsonDict:
    place = harmless_address(entry.base_url) if entry.base_url else None
    return {
        "model": harmless_address(entry.model),
        "base_url": place,
        "reached": state.reached,
        "message": state.words,
    }


def _extras_table(screen: Screen) -> Table:
    return screen.table(
        (Message("extra"), Message("state")),
        (
            (
                extra,
                Message("installed")
                if there
                else Text(f"pip install 'adjudge[{extra}]'", style="dim"),
            )
            for extra, there in extras().items()
        ),
    )


def extras() -> dict[str, bool]:
    """Map each extra to whether it is installed.

    For pytest the plugin's entry point must exist too, because pytest alone does not prove that the
    plugin is installed.
    """
    plugin = _there("pytest") and any(
        entry_point.group == "pytest11" and entry_point.value == _PYTEST_PLUGIN
        for _, entry_point in entry_points()
    )
    return dict(
        sorted(
            {
                **{extra: _there(module) for extra, module in EXTRAS.items()},
                "pytest": plugin,
            }.items()
        )
    )


def broken_plugins() -> dict[PluginPart, str]:
    """Return the parts of installed plugins that cannot be used, each with the reason."""
    states = {part: state_of(part) for part in installed_parts()}
    return {part: state for part, state in states.items() if state != OK}


def _there(module: str) -> bool:
    """Return True if a module is installed; False if its parent package is missing."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class State(NamedTuple):
    reached: bool
    words: str


def _models_table(entries: Sequence[ModelEntry], states: Sequence[State], screen: Screen) -> Table:
    return screen.table(
        (Message("model"), Message("reached")),
        (
            (_place(entry), screen.line(state.words, "green" if state.reached else "red"))
            for entry, state in zip(entries, states, strict=True)
        ),
    )


def _place(entry: ModelEntry) -> str:
    model = harmless_address(entry.model)
    if not entry.base_url:
        return model
    return Message("{model} at {url}", model=model, url=harmless_address(entry.base_url))


async def _reach_all(entries: Sequence[ModelEntry]) -> list[State]:
    return await asyncio.gather(*map(_reach, entries))


async def _reach(entry: ModelEntry) -> State:
    try:
        model = open_entry(entry)
        async with asyncio.timeout(_PATIENCE):
            presence = await model.probe()
    except AdjudgeError as error:
        return State(False, str(error))
    except TimeoutError:
        return State(False, Message("no answer within {seconds:g} s", seconds=_PATIENCE))
    return State(True, _REACHED[presence])
