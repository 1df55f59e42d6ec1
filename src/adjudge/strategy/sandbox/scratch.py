"""The one folder generated code may write to: fresh, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_LOOKED_AT = 10_000
"""Entries counted before the folder is taken to be too large."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder nobody else can enter. Leave only when nothing writes to it any more."""
    folder = Path(tempfile.mkdtemp(prefix="adjudge-")).resolve()
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Delete the folder without following a link, however deep it is and whatever its modes are."""
    numbers = count()
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _lift(Path(entry.path), folder, numbers)
            else:
                Path(entry.path).unlink()
    folder.rmdir()


def _lift(inner: Path, folder: Path, numbers: Iterator[int]) -> None:
    """Move what is in it one floor up, so that no path grows long."""
    inner.chmod(stat.S_IRWXU)
    for entry in list(os.scandir(inner)):
        if entry.is_dir(follow_symlinks=False):
            Path(entry.path).chmod(stat.S_IRWXU)  # a folder without rights cannot be moved
        Path(entry.path).rename(_free_name(folder, numbers))
    inner.rmdir()


def _free_name(folder: Path, numbers: Iterator[int]) -> Path:
    return next(path for number in numbers if not os.path.lexists(path := folder / f"{number}.lifted"))


def size_of(folder: Path) -> int:
    """Bytes on disk; links are not followed, and what vanishes meanwhile does not count."""
    total = 0
    for seen, path in enumerate(_files(folder)):
        total += _size(path)
        if seen >= _LOOKED_AT:
            return shutil.disk_usage(folder).total
    return total


def _files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        yield from (os.path.join(parent, name) for name in (*folders, *files))  # noqa: PTH118 - a path a file is too slow here


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0
