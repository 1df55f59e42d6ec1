"""The only folder that generated code may write to: new, and deleted afterwards."""

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

# Threads of their own: those of the event loop are needed to talk to other runs.
_REMOVERS = ThreadPoolExecutor(2, "adjudge clean-up")


@asynccontextmanager
async def scratch_folder() -> AsyncIterator[Path]:
    """Create a private folder, and delete it at the end of the block.

    Nothing may write to it any more by then.
    """
    folder = _create_folder()
    try:
        yield folder
    finally:
        # In a thread: the code may have left very many files, and others need this event loop.
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(_REMOVERS, remove, folder))


def _create_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="adjudge-")).resolve()


def remove(folder: Path) -> None:
    """Delete the folder at any depth and with any permissions, without following links."""
    numbers = count()
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _lift(Path(entry.path), folder, numbers)
            else:
                Path(entry.path).unlink()
    folder.rmdir()


def _lift(inner: Path, folder: Path, numbers: Iterator[int]) -> None:
    """Move a folder's content up into ``folder``, so that no path grows too long."""
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
