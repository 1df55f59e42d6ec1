"""The house rules: who may import whom, what is public, what stays light, what stands in every
file.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import adjudge

SOURCE = Path(adjudge.__file__).parent
FLOORS = [
    {"cli"},
    {"web", "integrations", "testing"},
    {"service", "traffic"},
    {"exporters"},
    {"view"},
    {"bench", "results"},
    {"trust", "attacks", "drift"},
    {"importers"},
    {"labels"},
    {"runs"},
    {"strategy", "rag", "agents"},
    {"judges", "sandbox"},
    {"engine"},
    {"ledger", "checks", "traces"},
    {"prompts", "gateway", "verdicts", "pooling", "stats", "catalog", "data"},
    {"local", "reading"},
    {"aio"},
    {"domain"},
    {"plugins"},
    {"errors", "lazy"},
    {"messages", "version"},
]
"""From the top down; rooms on one floor do not know each other."""
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = {
    "aiohttp",
    "asyncio",
    "jinja2",
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


@cache
def parts_of(path: Path) -> Parts:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
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


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in parts_of(path).imports:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        else:
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("adjudge.")}


def test_imports_run_downwards_only() -> None:
    upwards = [
        f"{path.relative_to(SOURCE)} may not import {other}"
        for path in MODULES
        if (room := room_of(path)) not in ("__init__", "__main__")
        for other in sorted((imported_rooms(path) & FLOOR_OF.keys()) - {room})
        if FLOOR_OF[other] <= FLOOR_OF[room]
    ]
    assert not upwards


def test_only_the_engine_asks_models() -> None:
    """So that budget, ledger and cache hold for whatever is asked."""
    askers = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in MODULES
        if room_of(path) not in ("engine", "gateway")
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


def test_every_room_has_a_floor() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if any(path.glob("*.py"))}
    assert rooms <= FLOOR_OF.keys()


def test_public_names_are_sorted_and_load() -> None:
    assert list(adjudge.__all__) == sorted(adjudge.__all__)
    assert len(adjudge.__all__) <= 52
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
    code = "import sys, adjudge.gateway.providers.local, adjudge.cli.models\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "onnxruntime", "xllamacpp"} & set(done.stdout.split())


def test_checking_a_text_loads_neither_rag_nor_evidence() -> None:
    code = "import sys, adjudge.cli.check\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"adjudge.rag", "adjudge.judges.evidence"} & set(done.stdout.split())
