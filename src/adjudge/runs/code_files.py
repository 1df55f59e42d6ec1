"""The code that an eval file runs on this machine, and the files that hold it.

Two questions need these files: whether the user trusts them, and whether stored answers still
apply. Both begin with the files that the code names and the local modules that these import. Trust
goes further: it also counts files that could take the place of a module.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.aio.files import sha256
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.gateway.registry import is_known
from adjudge.core.ledger.file import FILE as LEDGER
from adjudge.core.reading.local_imports import (
    LOADERS,
    ModuleFinder,
    follow_imports,
    is_installed,
    loading_names,
)
from adjudge.core.reading.user_code import code_exists, is_reference, locate_code
from adjudge.runs.project import ModelEntry

if TYPE_CHECKING:
    from adjudge.runs.eval_file import EvalFile, JudgeEntry
    from adjudge.runs.target_entry import TargetEntry

_LONGEST_NAME = 500
_PROGRAMS = frozenset(
    f".{name}"
    for name in (
        *("py", "pyc", "pyd", "pth", "so", "dll", "dylib", "sh", "bash", "zsh", "js", "mjs", "cjs"),
        *("ts", "rb", "pl", "php", "lua", "jar", "ps1", "bat", "cmd", "exe"),
    )
)
"""Endings of programs. Files that may be executed count, too."""
_SCRIPTS = _PROGRAMS - {f".{name}" for name in ("py", "pyc", "pyd", "so", "dll", "dylib", "exe")}
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
    _followed: dict[str, frozenset[Path]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _functions: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_model(self, entry: ModelEntry) -> bool:
        """Return True if a model is a function of the user's."""
        return not self.file.typed and self._is_function(entry.model)

    def of_model(self, entry: ModelEntry) -> str:
        """Return a hash of the files behind a model that is a function; empty for other models.

        It changes with every file that ``_files_of`` returns.
        """
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
        """Path → hash of each file that decides what the code does, see ``_files_of``."""
        paths = {path for code in self._code for path in self._files_of(code)}
        return {str(path): self._hash_of(path) for path in sorted(paths)}

    @cached_property
    def programs(self) -> dict[str, str]:
        """Path → hash of each file that the code may load, for the question of trust.

        These are the modules that a Python file imports, recursively, and those next to it, which
        take precedence over installed modules of the same name. For a command, or code that loads
        more than its imports show, it is every file below the eval file's folder.
        """
        return _program_files(self.file, self._code) if self._code else {}

    def _files_of(self, code: str) -> frozenset[Path]:
        """Return the files that decide what code does: those it names, and the local modules that
        these import, recursively.

        If such a file can load what its imports do not show, or is a script in another language,
        it is every program below the eval file's folder, except those of the other code that the
        eval file names.
        """
        if code not in self._followed:
            own, shows_all = self._follow(code)
            if not shows_all:
                others = (self._follow(other)[0] for other in {*self._code} - {code})
                programs = _programs_below(self._folder, self._is_source)
                own |= {path.resolve() for path in programs} - frozenset().union(*others)
            self._followed[code] = own
        return self._followed[code]

    def _follow(self, code: str) -> tuple[frozenset[Path], bool]:
        """Return the files that code names with their imports, and True if nothing else can be
        loaded.
        """
        named_files = list(_named_files(code, self.file))
        local = follow_imports(named_files, (self._folder,))
        shows_all = not local.names & LOADERS and not any(map(_is_script, named_files))
        return local.files, shows_all

    def _is_source(self, path: Path) -> bool:
        """Return True for a program, by its name alone: some disks make every file executable."""
        if path.relative_to(self._folder).parts[0] in _OURS or is_installed(path):
            return False
        return path.suffix.lower() in _PROGRAMS and path.is_file()

    @cached_property
    def _folder(self) -> Path:
        return self.file.path.absolute().parent.resolve()

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
        command = target.command or target.mcp
        if command:
            # a command that is one text has the quotes of its author
            yield command[0] if len(command) == 1 else shlex.join(command)
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
        named, imported = set[Path](), set[Path]()
        for text in code:
            named |= {path.resolve() for path in _named_files(text, self.file)}
            imported |= self._files_of(text)
        hashes = sorted(map(self._hash_of, named))
        # the place of a module decides which name it has
        modules = ((os.path.relpath(path, self._folder), path) for path in imported - named)
        hashes += sorted(f"{place} {self._hash_of(path)}" for place, path in modules)
        return text_hash(" ".join(hashes)) if hashes else ""

    def _hash_of(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = sha256(path)
        return self._hashes[path]


def _program_files(file: EvalFile, code: Sequence[str]) -> dict[str, str]:
    folder = file.path.absolute().parent.resolve()
    named_files = {path.resolve() for text in code for path in _named_files(text, file)}
    local = follow_imports([path for path in named_files if path.suffix == ".py"], (folder,))
    packages = _installed_elsewhere(filter(is_reference, code), folder)
    programs = {*named_files, *local.files, *packages}
    has_commands = any(target.command or target.mcp for target in file.target)
    expressions = [text for text in code if not is_reference(text)]
    if local.names or has_commands or any(map(_is_dynamic, expressions)):
        programs |= set(_files_below(folder, _data_files(file)))
    else:
        for place in {folder, *(path.parent for path in named_files)}:
            programs |= set(_importable(place))
    if (
        len(programs) > _MOST_PROGRAMS
        or sum(path.stat().st_size for path in programs) > _MOST_BYTES
    ):
        # a random hash never matches a remembered one
        return {TOO_MANY: text_hash(os.urandom(16).hex())}
    return {str(path): sha256(path) for path in sorted(programs)}


def _named_files(code: str, file: EvalFile) -> Iterator[Path]:
    """Yield the files that a reference, an expression or a command names, if they exist."""
    if is_reference(code):
        place = locate_code(code, file.path.parent).rpartition(":")[0]
        folders = (file.path.absolute().parent,)
        paths = [Path(place)] if place.endswith(".py") else ModuleFinder(folders).find(place)
    else:
        paths = list(_files_in_command(code, file))
    yield from (path for path in paths if path.is_file())


def _files_in_command(command: str, file: EvalFile) -> Iterator[Path]:
    """Yield the files that a command names: each word that is one, and the module after ``-m``.

    A word with spaces is a command itself, such as that of ``sh -c``, or code in Python.
    """
    folder = file.path.absolute().parent
    finder = ModuleFinder((folder,))
    try:
        words = shlex.split(command)
    except ValueError:  # an expression in Python
        words = command.split()
    for before, word in zip(["", *words], words, strict=False):
        if len(word) > _LONGEST_NAME:
            continue
        path = file.beside(word)
        if before == "-m":
            yield from (*finder.find(word), *finder.find(f"{word}.__main__"))
        elif len(words) > 1 and " " in word.strip():
            yield from _files_in_command(word, file)
            with suppress(SyntaxError, ValueError, RecursionError):
                yield from finder.imported_by(ast.parse(word), folder)
        elif path.is_dir():
            yield path / "__main__.py"
        else:
            yield path


def _is_script(path: Path) -> bool:
    """Return True for a program in a language whose imports are not read."""
    if path.suffix.lower() in _SCRIPTS:
        return True
    try:
        with path.open("rb") as file:
            return path.suffix != ".py" and file.read(2) == b"#!"
    except OSError:
        return False


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
        if not is_installed(origin):
            yield from (
                _programs_below(origin.parent) if spec.submodule_search_locations else [origin]
            )


def _is_dynamic(expression: str) -> bool:
    """Return True if an expression may load other code."""
    try:
        return bool(loading_names(ast.parse(expression)))
    except (SyntaxError, ValueError, RecursionError):
        return True


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


def _programs_below(folder: Path, counts: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Yield the programs below a folder. Hidden folders, caches and the user's environment are
    skipped.

    ``counts``: tells if a file is a program; by default ``_is_program``.
    """
    is_counted = counts or _is_program
    for parent, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and name not in _NOT_ENTERED and not _is_environment(parent, name)
        ]
        yield from (path for name in files if is_counted(path := Path(parent, name)))


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
