"""Files below the folder where the page was started, found by looking: no address says a path, and
links are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from adjudge.core.data.sources.opener import ROW_FILES, open_source
from adjudge.core.data.sources.row import BadRow, Row
from adjudge.core.ledger.file import FILE
from adjudge.errors import AdjudgeError, RunError, SetupError
from adjudge.messages import reason_of

_DEEPEST = 6
_MOST_SEEN = 20_000
_MOST_FILES = 500
_NOT_ENTERED = ("node_modules", "__pycache__", "site-packages")
_PREVIEW = 5
_LONGEST_CELL = 300
_ENDINGS = (".yaml", ".yml")


class FoundFile(NamedTuple):
    """A file, and what the page calls it: its path below the folder."""

    name: str
    path: Path
    size: int
    changed: int

    @property
    def version(self) -> str:
        """Another when something else is in it."""
        return f"{self.size}-{self.changed}"


class Preview(NamedTuple):
    columns: list[str]
    rows: list[dict[str, str]]
    error: str = ""


def data_files(home: Path) -> dict[str, FoundFile]:
    """Files that hold rows, by name."""
    return _found(home, ROW_FILES)


def yaml_files(home: Path) -> dict[str, FoundFile]:
    """Files that may hold criteria, by name."""
    return _found(home, _ENDINGS)


def chosen(files: Mapping[str, FoundFile], name: str, what: str) -> FoundFile:
    """The file of that name, as it is now."""
    found = files.get(name)
    if found is None or found.path.is_symlink() or not found.path.is_file():
        raise SetupError(
            "no {what} {name!r} below the folder where the page was started",
            what=what,
            name=name,
        )
    return found


def preview(file: FoundFile) -> Preview:
    """The columns of a file, and its first rows."""
    try:
        _, rows = open_source(file.path)
        first = [row for row in islice(rows, _PREVIEW) if not isinstance(row, BadRow)]
    except (AdjudgeError, OSError, ValueError) as error:
        return Preview([], [], str(error))
    cells = [_cells(row) for row in first]
    return Preview(list(dict.fromkeys(name for one in cells for name in one)), cells)


def _cells(row: Row) -> dict[str, str]:
    held = row.cells if isinstance(row.cells, Mapping) else row.cells.fields
    return {
        str(name): str("" if value is None else value)[:_LONGEST_CELL]
        for name, value in held.items()
    }


def _found(home: Path, endings: Sequence[str]) -> dict[str, FoundFile]:
    wanted = (
        one
        for one in islice(_entries(home, 0), _MOST_SEEN)
        if one.name.lower().endswith(tuple(endings))
    )
    found = []
    for one in wanted:
        with suppress(FileNotFoundError):  # it was deleted just now
            path, stat = Path(one.path), one.stat()
            name = path.relative_to(home).as_posix()
            found.append(FoundFile(name, path, stat.st_size, stat.st_mtime_ns))
    return {one.name: one for one in sorted(found)[:_MOST_FILES]}


def _entries(folder: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    """Every plain file, those of a folder before those further down.

    Run folders, hidden ones and links are not entered.
    """
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(
                (one for one in scanned if not one.name.startswith(".")), key=lambda one: one.name
            )
    except OSError:
        return
    if any(one.name == FILE for one in entries):
        return
    yield from (one for one in entries if one.is_file(follow_symlinks=False))
    for one in entries:
        is_entered = (
            one.is_dir(follow_symlinks=False) and one.name not in _NOT_ENTERED and depth < _DEEPEST
        )
        if is_entered and not (Path(one.path) / "pyvenv.cfg").exists():
            yield from _entries(Path(one.path), depth + 1)


def made_folder(home: Path, *parts: str) -> Path:
    """A folder below ``home``, through no link that leads elsewhere."""
    folder = home
    for part in parts:
        inner = folder / part
        if not is_own(inner, folder):
            raise SetupError(
                "{part} is a link to elsewhere: the page writes only below the folder it "
                "was started in",
                part=part,
            )
        try:
            inner.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError(
                "the folder {part} cannot be made: {reason}", part=part, reason=reason_of(error)
            ) from error
        folder = inner
    return folder


def is_own(path: Path, parent: Path) -> bool:
    """Whether a path is really there, and not elsewhere by a link."""
    return path.resolve() == parent.resolve() / path.name
