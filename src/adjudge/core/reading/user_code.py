"""The user's code that an eval file names: a function or class in a file or a module."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from adjudge.errors import SetupError

UserCode = Callable[..., object]
"""A function or a class."""
# Held while a file is loaded, so that several threads run it only once.
_one_at_a_time = threading.RLock()


def is_reference(code: str) -> bool:
    """Return True for ``file.py:name`` or ``module:name``."""
    module, colon, name = code.rpartition(":")
    names_module = module.endswith(".py") or all(part.isidentifier() for part in module.split("."))
    return bool(colon and module and name.isidentifier() and names_module)


def locate_code(reference: str, folder: Path) -> str:
    """Return the reference with a path in ``folder`` if it names a ``.py`` file, or a module that
    is a file there.

    Any other reference is returned unchanged: it is to an importable module.
    """
    place, _, name = reference.rpartition(":")
    if place.endswith(".py"):
        return f"{folder / place}:{name}"
    file = folder.joinpath(*place.split(".")).with_suffix(".py")
    return f"{file}:{name}" if file.is_file() else reference


def code_exists(reference: str, folder: Path) -> bool:
    """Return True if the file in ``folder`` or the module exists. Nothing is run."""
    if not is_reference(reference):
        return False
    place, _, _ = locate_code(reference, folder).rpartition(":")
    if place.endswith(".py"):
        return Path(place).is_file()
    try:
        return importlib.util.find_spec(place.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def load_code(reference: str) -> UserCode:
    """Return the object that ``file.py:name`` or ``module:name`` names, or raise SetupError.

    Loading runs the code: callers must ask first if the file comes from someone else.
    """
    place, _, name = reference.rpartition(":")
    try:
        if place.endswith(".py"):
            with _one_at_a_time:
                module = _load_file(Path(place))
        else:
            module = importlib.import_module(place)
    except SetupError:
        raise
    except (Exception, SystemExit) as error:
        raise SetupError(
            "{reference} cannot be loaded: {name}: {error}",
            reference=reference,
            name=type(error).__name__,
            error=str(error),
        ) from error
    candidate = getattr(module, name, None)
    if not callable(candidate):
        raise SetupError("{place} has no function {name!r}", name=name, place=place)
    code: UserCode = candidate
    return code


def forget_changed(hashes: Mapping[str, str]) -> None:
    """Make all user code load again if a file has another hash than when it was loaded.

    ``hashes``: path → hash of each file of the code that is loaded next. Without this, a program
    that runs for long would store the answers of the old code as those of the new.
    """
    with _one_at_a_time:
        if any(_hashes.get(path, hash) != hash for path, hash in hashes.items()):
            _hashes.clear()
            _load_file.cache_clear()
            for name, module in list(sys.modules.items()):
                if _is_user_module(module):
                    del sys.modules[name]
            for forget in on_forgetting:
                forget()
        _hashes.update(hashes)


on_forgetting: list[Callable[[], None]] = []
"""Called when user code was forgotten, for what else has loaded it."""
# Path → hash of the files of user code, as they were loaded.
_hashes: dict[str, str] = {}


class _AsItIs(SourceFileLoader):
    """Loads from source, never from compiled files.

    After an edit of the same length within the same second, Python would use the old compiled file.
    A compiled file may also have come with the folder and differ from the source that the user has
    read.
    """

    def exec_module(self, module: ModuleType) -> None:
        # Also imports inside functions, which run later, must find the neighbours of the file.
        importing = _Importing(_folder_of(Path(self.path)))
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": importing}
        super().exec_module(module)

    def path_stats(self, path: str) -> NoReturn:  # noqa: ARG002
        raise OSError


# Folders from which code was loaded.
_folders: set[Path] = set()


class _Importing:
    """The ``import`` statement of user code in a folder: it finds the modules in that folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level or top in sys.modules:
            module = builtins.__import__(name, globals, locals, fromlist, level)
        else:
            with _importable(self._folder):
                module = builtins.__import__(name, globals, locals, fromlist, level)
        if not level:
            self._refuse_stranger(top)
        return module

    def _refuse_stranger(self, name: str) -> None:
        """Raise if a neighbour has this name, but the module came from another user folder."""
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if not loaded or not _is_user_module(sys.modules[name]):
            return
        neighbours = (self._folder / f"{name}.py", self._folder / name / "__init__.py")
        neighbour = next((path for path in neighbours if path.is_file()), None)
        if neighbour is not None and neighbour.resolve() != Path(loaded).resolve():
            raise SetupError(
                "{path} cannot be imported, because {other} has the same name and is loaded "
                "already: rename one of them, or use them in different programs",
                path=neighbour,
                other=loaded,
            )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Find modules in a folder first, only inside this block: its files must not hide the modules
    of others.
    """
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _folder_of(path: Path) -> Path:
    """Return the innermost user folder that a file is in."""
    real = path.resolve()
    folders = [folder for folder in _folders if real.is_relative_to(folder)]
    return max(folders, key=lambda folder: len(folder.parts), default=real.parent)


def _is_user_module(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and _is_below(str(Path(str(file)).parent))


def _import_as_it_is(folder: Path) -> None:
    """Make modules below ``folder`` load from their source, also those imported later."""
    if not _folders:
        sys.path_hooks.insert(0, _find_below)
    _folders.add(folder.resolve())
    for place in list(sys.path_importer_cache):
        if _is_below(place):
            del sys.path_importer_cache[place]


def _find_below(place: str) -> FileFinder:
    """Like Python's finder, but only for the user's folders, and sources are never replaced by
    their compiled files.
    """
    if not _is_below(place) or not Path(place).is_dir():
        raise ImportError(place)
    return FileFinder(
        place,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_AsItIs, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


def _is_below(place: str) -> bool:
    """Return True for the user's folders, but not for an environment inside: it is large."""
    real, environment = Path(place).resolve(), Path(sys.prefix).resolve()
    return any(
        real.is_relative_to(folder)
        and not (environment.is_relative_to(folder) and real.is_relative_to(environment))
        for folder in _folders
    )


@cache
def _load_file(path: Path) -> ModuleType:
    """Load a file as a module, once per path. It can import its neighbours."""
    if not path.is_file():
        raise SetupError("{path} is not a file", path=path)
    name = f"adjudge_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsItIs(name, str(path)))
    if spec is None or spec.loader is None:
        raise SetupError("{path} cannot be loaded as Python", path=path)
    module = importlib.util.module_from_spec(spec)
    _import_as_it_is(path.parent)
    with _importable(path.absolute().parent):
        spec.loader.exec_module(module)
    return module
