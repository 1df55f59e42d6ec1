"""The local modules that Python files import, read from their source: nothing is run.

A module is local unless it belongs to Python, to an installed package or to adjudge.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

UNREADABLE = "unreadable"
"""Stands among the names of a file that cannot be parsed."""
LOADERS = frozenset(
    (
        *("importlib", "runpy", "pkgutil", "zipimport", "__import__", "exec", "eval", "compile"),
        *("sys.path", "subprocess", "pty", "os.system", "os.popen", "os.startfile", "ctypes"),
        *(f"os.{name}" for name in dir(os) if name.startswith(("exec", "spawn", "posix_spawn"))),
        *(f"asyncio.create_subprocess_{name}" for name in ("exec", "shell")),
        UNREADABLE,
    )
)
"""Names by which code may load what its imports do not show, or start programs."""
UNPICKLERS = frozenset(("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"))
"""Modules that read data which may contain code."""
_HARMLESS = ("importlib.metadata", "importlib.resources")
_INSTALLED = frozenset(("site-packages", "dist-packages"))
_MODULES = frozenset((".py", ".pyc", ".pyd", ".so", ".dll", ".dylib"))


class LocalCode(NamedTuple):
    """Files of Python code, with the local modules that they import, recursively."""

    files: frozenset[Path]
    names: frozenset[str]
    """Those of ``LOADERS`` and ``UNPICKLERS`` that occur in the files."""


def follow_imports(files: Iterable[Path], folders: Sequence[Path]) -> LocalCode:
    """Return Python files with all local modules that they import.

    ``folders``: where modules are looked for, besides the folder of the importing file and the
    places of this interpreter.
    """
    finder = ModuleFinder(folders)
    followed: set[Path] = set()
    names: set[str] = set()
    waiting = [path.resolve() for path in files]
    while waiting:
        path = waiting.pop()
        if path in followed or not path.is_file():
            continue
        followed.add(path)
        if path.suffix != ".py":
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            names.add(UNREADABLE)
            continue
        names |= loading_names(tree)
        waiting += finder.imported_by(tree, path.parent)
    return LocalCode(frozenset(followed), frozenset(names))


def loading_names(tree: ast.AST) -> set[str]:
    """Return the names of ``LOADERS`` and ``UNPICKLERS`` that the code uses."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = (alias.name for alias in node.names)
            names |= {name.partition(".")[0] for name in modules if name not in _HARMLESS}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            whole = {f"{module}.{imported.name}" for imported in node.names}
            if module not in _HARMLESS and not whole <= {*_HARMLESS}:
                names |= {module.partition(".")[0], *whole}
                names |= {imported.name for imported in node.names}
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    return names & (LOADERS | UNPICKLERS)


class ModuleFinder:
    """Finds the files of local modules. Each folder is listed once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._listed: dict[Path, dict[str, list[Path]]] = {}

    def imported_by(self, tree: ast.AST, folder: Path) -> Iterator[Path]:
        """Yield the files of the local modules that code in a folder imports."""
        places = (folder, *self._folders)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self.find(alias.name, places)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                for alias in node.names:
                    yield from self.find(f"{node.module}.{alias.name}", places)
            elif isinstance(node, ast.ImportFrom):
                package = (folder, *folder.parents)[min(node.level - 1, len(folder.parents))]
                yield from self._files_of(package, "__init__")
                module = node.module.split(".") if node.module else []
                for alias in node.names:
                    yield from self._walk(package, [*module, alias.name])

    def find(self, dotted: str, folders: Iterable[Path] = ()) -> list[Path]:
        """Return the file of a local module, after those of the packages that it is in."""
        parts = dotted.split(".")
        places = dict.fromkeys((*folders, *self._folders))
        files = [path for folder in places for path in self._walk(folder, parts)]
        if not files:
            elsewhere = _folders_of_module(parts[0])
            files = [path for folder in elsewhere for path in self._walk(folder, parts)]
        return files

    def _walk(self, folder: Path, parts: Sequence[str]) -> Iterator[Path]:
        """Yield the files of a module below a folder. The last parts may be names inside it."""
        for part in parts:
            yield from self._files_of(folder, part)
            folder = folder / part
            if not folder.is_dir():
                return
            yield from self._files_of(folder, "__init__")

    def _files_of(self, folder: Path, name: str) -> Sequence[Path]:
        """Return the files that Python could load as this module, such as ``name.py``."""
        if folder not in self._listed:
            files: dict[str, list[Path]] = {}
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.suffix in _MODULES and path.is_file():
                    files.setdefault(path.name.partition(".")[0], []).append(path.resolve())
            self._listed[folder] = files
        return self._listed[folder].get(name, ())


def _folders_of_module(name: str) -> Iterator[Path]:
    """Yield the folders from which this interpreter imports a local top-level module."""
    if name in sys.stdlib_module_names or name == "adjudge" or not name.isidentifier():
        return
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return
    if spec is None:
        return
    for place in (*(spec.submodule_search_locations or ()), *filter(None, (spec.origin,))):
        path = Path(place)
        if path.exists() and not is_installed(path):
            yield path.parent.parent if path.name.startswith("__init__.") else path.parent


@cache
def _python_folder() -> Path:
    return Path(os.__file__).resolve().parent


def is_installed(path: Path) -> bool:
    """Return True for a file of an installed package or of Python."""
    real = path.resolve()
    return bool(_INSTALLED & {*real.parts}) or real.is_relative_to(_python_folder())
