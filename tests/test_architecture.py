"""The house rules: who may import whom, what is public, what stays light, what stands in every
file.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import adjudge
from adjudge.plugins import OURS

SOURCE = Path(adjudge.__file__).parent
FOLDERS = ("stats", "core", "trust", "runs", "web", "features")
LAYERS = {"stats": 0, "core": 1, "trust": 2, "runs": 2, "web": 3, "features": 4}
"""A folder imports only folders of its own layer and of those below.

``trust`` shares the layer of ``runs``: it reads run folders, and reports show what it says. Which
of their rooms may import which, ``FLOORS`` says.
"""
FLOORS = {
    "core": [
        {"judges"},
        {"engine"},
        {"ledger", "checks"},
        {"prompts", "gateway", "verdicts", "pooling", "catalog", "data"},
        {"reading"},
        {"aio"},
        {"domain"},
    ],
    "runs": [{"cli"}, {"service"}, {"exporters"}, {"view"}, {"results"}, {"trust"}],
}
"""The rooms of a folder from the top down; rooms on one floor do not import each other. Modules in
no room are free.
"""
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = {
    "aiohttp",
    "asyncio",
    "jinja2",
    "msgspec",
    "pydantic",
    "rich",
    "click",
    "yaml",
    "numpy",
    "onnxruntime",
    "xllamacpp",
}


Loading = ast.Import | ast.ImportFrom


class Parts(NamedTuple):
    """What the rules look at in a module."""

    loads: tuple[Loading, ...]
    typed: tuple[Loading, ...]
    """What only a type checker reads."""
    asks: tuple[int, ...]
    """The lines that call something's ``complete``."""

    @property
    def imports(self) -> tuple[Loading, ...]:
        return (*self.loads, *self.typed)


def statements_in(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in block:
        yield node
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements_in(getattr(node, name, None) or ())


@cache
def parts_of(path: Path) -> Parts:
    text = path.read_text(encoding="utf-8")
    module = ast.parse(text)
    # Most of a tree are expressions: they are looked through only where one may be such a call.
    nodes = list(ast.walk(module) if ".complete(" in text else statements_in(module.body))
    loads = [node for node in nodes if isinstance(node, Loading)]
    typed = {
        inner
        for node in nodes
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        for inner in node.body
        if isinstance(inner, Loading)
    }
    asks = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "complete"
    ]
    return Parts(tuple(one for one in loads if one not in typed), tuple(typed), tuple(asks))


def place_of(path: Path) -> tuple[str, ...]:
    """Return folder, room and module of a file, as in an import."""
    return path.relative_to(SOURCE).with_suffix("").parts


def room_of(place: tuple[str, ...]) -> tuple[str, str]:
    """Return the folder and the room of a module; all of ``trust`` is a room of ``runs``."""
    folder, room, *_ = (*place, "")
    return ("runs", "trust") if folder == "trust" else (folder, room)


def imported_places(path: Path) -> set[tuple[str, ...]]:
    """Return where the modules of ours that a file imports are."""
    names = set()
    for node in parts_of(path).imports:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        else:
            names |= {alias.name for alias in node.names}
    return {tuple(name.split(".")[1:]) for name in names if name.startswith("adjudge.")}


def uses(feature: str) -> set[str]:
    """Return the features that a feature says it uses."""
    return set(getattr(import_module(f"adjudge.features.{feature}"), "USES", ()))


def upward_imports() -> Iterator[str]:
    """Yield a line per file that imports a folder above its own, or a feature without leave."""
    for path in MODULES:
        folder, room, *_ = (*place_of(path), "")
        if folder not in FOLDERS:
            continue
        for place in imported_places(path):
            if place[0] not in FOLDERS:
                continue
            if LAYERS[place[0]] > LAYERS[folder]:
                yield path.relative_to(SOURCE).as_posix()
            elif folder == place[0] == "features" and place[1] not in {room, *uses(room)}:
                yield f"{room} -> {place[1]}"


def test_imports_run_downwards_only() -> None:
    assert not sorted(set(upward_imports()))


def test_lower_layers_do_not_ask_for_the_kind_of_a_feature() -> None:
    """A property of ``Detail`` says what is different about it."""
    names = {
        name
        for kind in ("details", "judges")
        for name, target in OURS[kind].items()
        if target.startswith("adjudge.features.")
    } | {
        name
        for name in adjudge.__all__
        if getattr(getattr(adjudge, name), "__module__", "").startswith("adjudge.features.")
    }
    asked = re.compile(
        rf"kind\b (?:[!=]=|(?:not )?in)[^\n]*[\"'](?:{'|'.join(sorted(names))})[\"']"
    )
    askers = [
        f"{path.relative_to(SOURCE)}: {line}"
        for path in MODULES
        if place_of(path)[0] in ("core", "trust", "runs", "web")
        for line in asked.findall(path.read_text(encoding="utf-8"))
    ]
    assert "agent" in names and asked.search('if detail.kind in ("check", "agent"):')
    assert not askers


def test_stats_imports_only_messages_and_errors() -> None:
    """Arithmetic takes plain values."""
    others = {
        f"{path.relative_to(SOURCE)} imports {'.'.join(place)}"
        for path in MODULES
        if place_of(path)[0] == "stats"
        for place in imported_places(path)
        if place[0] not in ("stats", "messages", "errors")
    }
    assert not others


@pytest.mark.parametrize("folder", FLOORS)
def test_rooms_import_only_lower_rooms(folder: str) -> None:
    floor_of = {room: floor for floor, rooms in enumerate(FLOORS[folder]) for room in rooms}
    upwards = [
        f"{path.relative_to(SOURCE)} may not import {other}"
        for path in MODULES
        for own, room in [room_of(place_of(path))]
        if own == folder and room in floor_of
        for its, other in set(map(room_of, imported_places(path)))
        if its == folder and other in floor_of
        if other != room and floor_of[other] <= floor_of[room]
    ]
    assert not upwards


def test_only_the_engine_asks_models() -> None:
    """So that budget, ledger and cache hold for whatever is asked."""
    askers = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in MODULES
        if not {"engine", "gateway", "batches", "scale", "local"} & set(place_of(path))
        for line in parts_of(path).asks
    ]
    assert not askers


def loaded_by(path: Path) -> Iterator[str]:
    """The modules of ours that a module loads, sooner or later."""
    for node in parts_of(path).loads:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_loads_itself_by_way_of_others() -> None:
    names = {
        ".".join(("adjudge", *path.relative_to(SOURCE).with_suffix("").parts)): path
        for path in MODULES
    }
    loads = {name: set(loaded_by(path)) & names.keys() for name, path in names.items()}
    TopologicalSorter(loads).prepare()  # raises a CycleError that lists them


def test_no_module_imports_the_package_it_is_in() -> None:
    """It names them all: the version is in a module of its own."""
    assert not [
        path
        for path in MODULES
        for node in parts_of(path).imports
        if isinstance(node, ast.Import) and "adjudge" in [alias.name for alias in node.names]
    ]


def test_there_are_no_other_folders() -> None:
    folders = {path.name for path in SOURCE.iterdir() if any(path.glob("*.py"))}
    assert folders == set(FOLDERS)
    rooms = {path.name for path in (SOURCE / "core").iterdir() if any(path.glob("*.py"))}
    assert rooms == set().union(*FLOORS["core"])


def test_public_names_are_sorted_and_load() -> None:
    assert list(adjudge.__all__) == sorted(adjudge.__all__)
    assert len(adjudge.__all__) <= 72
    for name in adjudge.__all__:
        assert getattr(adjudge, name) is not None
    assert set(adjudge.__all__) <= set(dir(adjudge))


def test_public_names_are_known_to_type_checkers() -> None:
    imports = parts_of(SOURCE / "__init__.py").imports
    shown = {alias.asname for node in imports for alias in node.names} - {None}
    assert shown == set(adjudge.__all__)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchJudge"):
        _ = adjudge.NoSuchJudge


def test_importing_adjudge_loads_nothing_heavy() -> None:
    code = "import sys, adjudge; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


def test_judging_by_a_function_loads_no_http_client() -> None:
    code = (
        "import sys, adjudge\nadjudge.AspectCritic('x', "
        "adjudge.ScriptedModel()).evaluate('y')\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "rich", "click"} & set(done.stdout.split())


def test_opening_a_model_in_this_process_loads_no_numpy() -> None:
    code = (
        "import sys, adjudge.features.local.provider, adjudge.features.local.command\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "onnxruntime", "xllamacpp"} & set(done.stdout.split())


def test_checking_a_text_loads_neither_rag_nor_evidence() -> None:
    code = "import sys, adjudge.runs.cli.check\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"adjudge.features.rag.judge", "adjudge.features.evidence.judge"} & set(
        done.stdout.split()
    )
