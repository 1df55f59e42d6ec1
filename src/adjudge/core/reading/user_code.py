"""Code of the user's that an eval file names: a function or a class of a file, or of a module."""

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
"""A function, or a class that is made by being called."""
_one_at_a_time = threading.RLock()
"""Between threads that need a file for the first time: it is run once."""


def is_reference(code: str) -> bool:
    """Whether it names something: ``file.py:name`` or ``module:name``."""
    module, colon, name = code.rpartition(":")
    names_module = module.endswith(".py") or all(part.isidentifier() for part in module.split("."))
    return bool(colon and module and name.isidentifier() and names_module)


def beside(reference: str, folder: Path) -> str:
    """The same, of a file in ``folder`` where there is one, else of a module that can be
    imported.
    """
    place, _, name = reference.rpartition(":")
    if place.endswith(".py"):
        return f"{folder / place}:{name}"
    file = folder.joinpath(*place.split(".")).with_suffix(".py")
    return f"{file}:{name}" if file.is_file() else reference


def is_there(reference: str, folder: Path) -> bool:
    """Whether there is such a file in ``folder``, or such a module; nothing is run."""
    if not is_reference(reference):
        return False
    place, _, _ = beside(reference, folder).rpartition(":")
    if place.endswith(".py"):
        return Path(place).is_file()
    try:
        return importlib.util.find_spec(place.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def load_code(reference: str) -> UserCode:
    """What ``file.py:name`` or ``module:name`` means; a SetupError says what is not there. Loading
    runs it: whoever reads a file of somebody else's asks before.
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
    found = getattr(module, name, None)
    if not callable(found):
        raise SetupError("{place} has no function {name!r}", name=name, place=place)
    code: UserCode = found
    return code


class _AsItIs(SourceFileLoader):
    """Reads the source itself: an edit of the same length within the same second would leave
    Python's compiled file in its place, and old code would pass for new. A compiled file may also
    have come with the folder, and hold other code than the source that the user has seen.
    """

    def path_stats(self, path: str) -> NoReturn:  # noqa: ARG002
        raise OSError


_folders: set[Path] = set()
"""Those that code was loaded from."""


def _import_as_it_is(folder: Path) -> None:
    """Have modules below ``folder`` imported from their source, also later ones."""
    if not _folders:
        sys.path_hooks.insert(0, _find_below)
    _folders.add(folder.resolve())
    for place in list(sys.path_importer_cache):
        if _is_below(place):
            del sys.path_importer_cache[place]


def _find_below(place: str) -> FileFinder:
    """Like Python's finder, but for the user's folders, and without their compiled files."""
    if not _is_below(place) or not Path(place).is_dir():
        raise ImportError(place)
    return FileFinder(
        place,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_AsItIs, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


def _is_below(place: str) -> bool:
    """Return True of the user's folders, but not of an environment in them: it is large."""
    real, environment = Path(place).resolve(), Path(sys.prefix).resolve()
    return any(
        real.is_relative_to(folder)
        and not (environment.is_relative_to(folder) and real.is_relative_to(environment))
        for folder in _folders
    )


@cache
def _load_file(path: Path) -> ModuleType:
    """A file as a module: once for all that name it; what lies beside it can be imported."""
    if not path.is_file():
        raise SetupError("{path} is not a file", path=path)
    name = f"adjudge_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsItIs(name, str(path)))
    if spec is None or spec.loader is None:
        raise SetupError("{path} cannot be loaded as Python", path=path)
    module = importlib.util.module_from_spec(spec)
    beside = str(path.absolute().parent)
    _import_as_it_is(path.parent)
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module
