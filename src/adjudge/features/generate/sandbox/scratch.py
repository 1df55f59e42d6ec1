"""The one folder generated code may write to: fresh, and gone afterwards."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

_REMOVERS = ThreadPoolExecutor(2, "adjudge clean-up")
"""Threads of their own: those of the event loop are needed to talk to other runs."""


@asynccontextmanager
async def scratch_folder() -> AsyncIterator[Path]:
    """A folder nobody else can enter. Leave only when nothing writes to it any more.

    It is deleted in a thread: code may have left so much that it takes a while, and others live on
    this event loop.
    """
    folder = _fresh()
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(_REMOVERS, remove, folder))


def _fresh() -> Path:
    return Path(tempfile.mkdtemp(prefix="adjudge-")).resolve()


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
    return next(
        path for number in numbers if not os.path.lexists(path := folder / f"{number}.lifted")
    )
