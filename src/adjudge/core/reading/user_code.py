"""The user's code that an eval file names: a function or class in a file or a module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
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


class _AsItIs(SourceFileLoader):
    """Loads from source, never from compiled files.

    After an edit of the same length within the same second, Python would use the old compiled file.
    A compiled file may also have come with the folder and differ from the source that the user has
    read.
    """

    def path_stats(self, path: str) -> NoReturn:  # noqa: ARG002
        raise OSError


# Folders from which code was loaded.
_folders: set[Path] = set()


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
    folder = str(path.absolute().parent)
    _import_as_it_is(path.parent)
    # Only while it loads, so that its neighbours do not hide other modules later.
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module
