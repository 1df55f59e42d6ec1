"""Files below the folder where the page was started. They are found by a scan: addresses contain no
paths, and links are skipped.
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
    """A file, named in pages by its path below the folder."""

    name: str
    path: Path
    size: int
    changed: int

    @property
    def version(self) -> str:
        """A string that changes with the file's size or modification time."""
        return f"{self.size}-{self.changed}"


class Preview(NamedTuple):
    columns: list[str]
    rows: list[dict[str, str]]
    error: str = ""


def data_files(home: Path) -> dict[str, FoundFile]:
    """Return the files with rows, by name."""
    return _find_files(home, ROW_FILES)


def yaml_files(home: Path) -> dict[str, FoundFile]:
    """Return the files that may hold criteria, by name."""
    return _find_files(home, _ENDINGS)


def find_file(files: Mapping[str, FoundFile], name: str, what: str) -> FoundFile:
    """Return the file with this name. Raises a SetupError if it is gone or has become a link."""
    file = files.get(name)
    if file is None or file.path.is_symlink() or not file.path.is_file():
        raise SetupError(
            "no {what} {name!r} below the folder where the page was started",
            what=what,
            name=name,
        )
    return file


def preview(file: FoundFile) -> Preview:
    """Return a file's columns and first rows, or the error if it cannot be read."""
    try:
        _, rows = open_source(file.path)
        first_rows = [row for row in islice(rows, _PREVIEW) if not isinstance(row, BadRow)]
    except (AdjudgeError, OSError, ValueError) as error:
        return Preview([], [], str(error))
    cells = [_cells(row) for row in first_rows]
    return Preview(list(dict.fromkeys(name for row_cells in cells for name in row_cells)), cells)


def _cells(row: Row) -> dict[str, str]:
    values = row.cells if isinstance(row.cells, Mapping) else row.cells.fields
    return {
        str(name): str("" if value is None else value)[:_LONGEST_CELL]
        for name, value in values.items()
    }


def _find_files(home: Path, endings: Sequence[str]) -> dict[str, FoundFile]:
    matching = (
        entry
        for entry in islice(_entries(home, 0), _MOST_SEEN)
        if entry.name.lower().endswith(tuple(endings))
    )
    files = []
    for entry in matching:
        with suppress(FileNotFoundError):  # it was deleted just now
            path, stat = Path(entry.path), entry.stat()
            name = path.relative_to(home).as_posix()
            files.append(FoundFile(name, path, stat.st_size, stat.st_mtime_ns))
    return {entry.name: entry for entry in sorted(files)[:_MOST_FILES]}


def _entries(folder: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    """Yield plain files, those in a folder before those in its subfolders.

    Run folders, hidden folders, virtual environments and links are skipped.
    """
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(
                (entry for entry in scanned if not entry.name.startswith(".")),
                key=lambda entry: entry.name,
            )
    except OSError:
        return
    # a run folder: its files are not the user's data
    if any(entry.name == FILE for entry in entries):
        return
    yield from (entry for entry in entries if entry.is_file(follow_symlinks=False))
    for entry in entries:
        is_entered = (
            entry.is_dir(follow_symlinks=False)
            and entry.name not in _NOT_ENTERED
            and depth < _DEEPEST
        )
        # a virtual environment: its files are not the user's data
        if is_entered and not (Path(entry.path) / "pyvenv.cfg").exists():
            yield from _entries(Path(entry.path), depth + 1)


def make_folder(home: Path, *parts: str) -> Path:
    """Create a folder below ``home``. Raises a SetupError if a link leads elsewhere."""
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
                "the folder {part} cannot be created: {reason}", part=part, reason=reason_of(error)
            ) from error
        folder = inner
    return folder


def is_own(path: Path, parent: Path) -> bool:
    """Return True if a path is really inside its parent, not linked from elsewhere."""
    return path.resolve() == parent.resolve() / path.name
