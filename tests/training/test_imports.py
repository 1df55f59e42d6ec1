"""The modules of the training import each other one way, also where only types are read."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported_by(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_no_module_of_the_training_imports_itself_by_way_of_others() -> None:
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in (ROOT / "training").rglob("*.py")
    }
    imports = {name: imported_by(path) & paths.keys() for name, path in paths.items()}
    assert "training.layers" in imports["training.model"]
    TopologicalSorter(imports).prepare()  # raises a CycleError that lists them
