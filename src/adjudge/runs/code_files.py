"""The code that an eval file runs on this machine, and the files that hold it."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.aio.files import sha256
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.gateway.registry import is_known
from adjudge.core.ledger.file import FILE as LEDGER
from adjudge.core.reading.user_code import code_exists, is_reference, locate_code
from adjudge.runs.project import ModelEntry

if TYPE_CHECKING:
    from adjudge.runs.eval_file import EvalFile, JudgeEntry
    from adjudge.runs.target_entry import TargetEntry

_LONGEST_NAME = 500
_DYNAMIC = frozenset(
    (
        *("importlib", "runpy", "pkgutil", "zipimport", "__import__", "exec", "eval", "compile"),
        *("sys.path", "subprocess", "pty", "os.system", "os.popen", "os.startfile", "ctypes"),
        *(f"os.{name}" for name in dir(os) if name.startswith(("exec", "spawn", "posix_spawn"))),
        *(f"asyncio.create_subprocess_{name}" for name in ("exec", "shell")),
        *("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"),
    )
)
"""Names by which code may load what its imports do not show, or start programs."""
_PROGRAMS = frozenset(
    f".{name}"
    for name in (
        *("py", "pyc", "pyd", "pth", "so", "dll", "dylib", "sh", "bash", "zsh", "js", "mjs", "cjs"),
        *("ts", "rb", "pl", "php", "lua", "jar", "ps1", "bat", "cmd", "exe"),
    )
)
"""Endings of programs. Files that may be executed count, too."""
_NOT_ENTERED = frozenset(("node_modules", "__pycache__"))
_KEPT = frozenset(
    f".{name}" for name in ("csv", "tsv", "jsonl", "parquet", "xlsx", "html", "log", "lock", "part")
)
"""Endings of tables, pages and logs, which every run writes."""
_OURS = frozenset(("runs", "reports", ".adjudge"))
"""Folders that commands write to, next to an eval file."""
_MOST_PROGRAMS = 5000
_MOST_BYTES = 256 << 20
TOO_MANY = "too many programs"
"""Used in place of a file. It makes changes undetectable, so nothing is remembered."""


@dataclass(frozen=True)
class CodeFiles:
    """The code that an eval file runs, and the files next to it that hold the code.

    A file is hashed once, however many judges, models and targets name it.
    """

    file: EvalFile
    _hashes: dict[Path, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _functions: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_model(self, entry: ModelEntry) -> bool:
        """Return True if a model is a function of the user's."""
        return not self.file.typed and self._is_function(entry.model)

    def of_model(self, entry: ModelEntry) -> str:
        """Return a hash of the files behind a model that is a function; empty for other models."""
        return self._version([entry.model] if self._is_function(entry.model) else [])

    def of_judge(self, entry: JudgeEntry) -> str:
        """Like ``of_model``, but for the code and the models that a judge names."""
        entries = (*entry.own_models, *entry.replacements)
        models = (model.model for model in entries if self._is_function(model.model))
        return self._version([*(code for _, code in entry.named_code()), *models])

    def of_target(self, entry: TargetEntry) -> str:
        """Like ``of_model``, but for the code of a target."""
        return self._version(self._code_of_target(entry))

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Path → hash of each file."""
        return self._hash_files(self._code)

    @cached_property
    def programs(self) -> dict[str, str]:
        """Path → hash of each file that the code may load.

        These are the modules that a Python file imports, recursively, and those next to it, which
        take precedence over installed modules of the same name. For a command, or code that loads
        more than its imports show, it is every file below the eval file's folder.
        """
        return _program_files(self.file, self._code) if self._code else {}

    @cached_property
    def _code(self) -> tuple[str, ...]:
        """Each command, reference and expression as written in the file."""
        file = self.file
        return (
            *(code for target in file.target for code in self._code_of_target(target)),
            *(code for judge in file.judges for _, code in judge.named_code()),
            *(entry.model for entry in file.all_models if self._is_function(entry.model)),
        )

    def _code_of_target(self, target: TargetEntry) -> Iterator[str]:
        if target.command:
            yield " ".join(target.command)
        elif target.mcp:
            yield " ".join(target.mcp)
        elif target.function:
            yield target.function
        elif target.model and self._is_function(target.model):
            yield target.model

    def _is_function(self, model: str) -> bool:
        """Return True if the name is code next to the eval file or installed, not a known model."""
        if model not in self._functions:
            self._functions[model] = code_exists(model, self.file.path.parent) and not is_known(
                model
            )
        return self._functions[model]

    def _version(self, code: Iterable[str]) -> str:
        hashes = sorted(self._hash_files(code).values())
        return text_hash(" ".join(hashes)) if hashes else ""

    def _hash_files(self, code: Iterable[str]) -> dict[str, str]:
        paths = (path for path in _paths_in(code, self.file) if path.is_file())
        return {str(path): self._hash_of(path) for path in paths}

    def _hash_of(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = sha256(path)
        return self._hashes[path]


def _program_files(file: EvalFile, code: Sequence[str]) -> dict[str, str]:
    folder = file.path.absolute().parent.resolve()
    named_files = [path.resolve() for path in _paths_in(code, file) if path.is_file()]
    programs = {*named_files, *_installed_elsewhere(filter(is_reference, code), folder)}
    # None: the imports do not show everything that the code may load
    imported = _imported_files([path for path in named_files if path.suffix == ".py"], folder)
    has_commands = any(target.command or target.mcp for target in file.target)
    expressions = [text for text in code if not is_reference(text)]
    if imported is None or has_commands or any(map(_is_dynamic, expressions)):
        programs |= set(_files_below(folder, _data_files(file)))
    else:
        programs |= imported
        for place in {folder, *(path.parent for path in named_files)}:
            programs |= set(_importable(place))
    if (
        len(programs) > _MOST_PROGRAMS
        or sum(path.stat().st_size for path in programs) > _MOST_BYTES
    ):
        # a random hash never matches a remembered one
        return {TOO_MANY: text_hash(os.urandom(16).hex())}
    return {str(path): sha256(path) for path in sorted(programs)}


def _paths_in(code: Iterable[str], file: EvalFile) -> Iterator[Path]:
    """Yield the paths named in the code, even if they do not exist."""
    for text in code:
        if is_reference(text):
            yield Path(locate_code(text, file.path.parent).rpartition(":")[0])
        else:
            yield from (file.beside(word) for word in text.split() if len(word) < _LONGEST_NAME)


def _installed_elsewhere(references: Iterable[str], folder: Path) -> Iterator[Path]:
    """Yield the programs of modules that are imported by name but not from site-packages or the
    standard library.

    With ``python -m adjudge`` these may be in the working folder.
    """
    for reference in references:
        place = locate_code(reference, folder).rpartition(":")[0]
        if place.endswith(".py"):
            continue
        try:
            spec = importlib.util.find_spec(place.partition(".")[0])
        except (ImportError, ValueError):
            spec = None  # running the file says what is wrong with it
        if spec is None or not spec.origin or not Path(spec.origin).is_file():
            continue
        origin = Path(spec.origin).resolve()
        if "site-packages" in origin.parts or origin.is_relative_to(Path(os.__file__).parent):
            continue
        yield from _programs_below(origin.parent) if spec.submodule_search_locations else [origin]


def _imported_files(files: Iterable[Path], folder: Path) -> set[Path] | None:
    """Return the local modules that Python files import, recursively; None if the source does not
    show all imports.
    """
    modules: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path in modules or not path.is_file():
            continue
        modules.add(path)
        if path.suffix != ".py":
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None
        names = _names_in(tree)
        if names & _DYNAMIC:
            return None
        for place in {path.parent, folder}:
            waiting += _local_modules(names, place)
    return modules


def _is_dynamic(expression: str) -> bool:
    """Return True if an expression may load other code."""
    try:
        return bool(_names_in(ast.parse(expression)) & _DYNAMIC)
    except (SyntaxError, ValueError, RecursionError):
        return True


def _names_in(tree: ast.AST) -> set[str]:
    """Return the top-level names of imported modules, and all names in ``_DYNAMIC``."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {
                (node.module or "").partition(".")[0],
                *(imported.name for imported in node.names),
            }
            names |= {f"{node.module}.{imported.name}" for imported in node.names} & _DYNAMIC
        elif isinstance(node, ast.Name) and node.id in _DYNAMIC:
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names |= {f"{node.value.id}.{node.attr}"} & _DYNAMIC
    return names


def _local_modules(names: set[str], folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that Python would load for one of these names."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.name.partition(".")[0] not in names:
            continue
        if path.is_dir():
            yield from _programs_below(path.resolve())
        elif path.suffix in _PROGRAMS:
            yield path.resolve()


def _importable(folder: Path) -> Iterator[Path]:
    """Yield the modules and packages in a folder, which libraries may import by accident.

    Folders without ``__init__`` are skipped: they cannot hide an installed module.
    """
    for path in folder.iterdir():
        if path.is_dir():
            if any(path.glob("__init__.*")):
                yield from _programs_below(path.resolve())
        elif path.suffix in _PROGRAMS:
            yield path.resolve()


def _programs_below(folder: Path) -> Iterator[Path]:
    """Yield the programs below a folder. Hidden folders, caches and the user's environment are
    skipped.
    """
    for parent, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and name not in _NOT_ENTERED and not _is_environment(parent, name)
        ]
        yield from (path for name in files if _is_program(path := Path(parent, name)))


def _files_below(folder: Path, but: Collection[Path]) -> Iterator[Path]:
    """Yield files that a program could use as code, including hidden ones. From run folders, yield
    programs only.

    Stops once there are more than ``_MOST_PROGRAMS``.
    """
    run_folders = {folder / name for name in _OURS}
    count = 0
    for parent, folders, files in os.walk(folder):
        place = Path(parent)
        folders[:] = [
            name
            for name in folders
            if name not in (".git", "__pycache__") and not _is_environment(parent, name)
        ]
        if place != folder and (LEDGER in files or place.parent in run_folders):
            run_folders.add(place)
        for path in (place / name for name in files):
            is_code = (
                place not in run_folders and path.suffix.lower() not in _KEPT and path not in but
            )
            if (is_code and path.is_file()) or _is_program(path):
                count += 1
                yield path
        if count > _MOST_PROGRAMS:
            return


def _is_program(path: Path) -> bool:
    return path.is_file() and (path.suffix.lower() in _PROGRAMS or os.access(path, os.X_OK))


def _is_environment(parent: str, name: str) -> bool:
    """Return True for the user's active environment, or the one that runs adjudge. Others may have
    come with the folder.
    """
    environments = (sys.prefix, os.environ.get("VIRTUAL_ENV"))
    return any(folder and Path(folder).resolve() == Path(parent, name) for folder in environments)


def _data_files(file: EvalFile) -> set[Path]:
    """Return the files that hold the rows or results of an eval file."""
    paths = [file.source, *file.output_paths] if file.data.path else file.output_paths
    return {path.resolve() for path in paths if isinstance(path, Path)}
