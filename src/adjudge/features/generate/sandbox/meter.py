"""Measure the files of a run: those in its folder, and deleted ones that are still open.

The kernel limits one file, not all of them. If the scratch folder is a separate file system, that
is the limit; otherwise this is checked again and again while the code runs.
"""

from __future__ import annotations

import errno
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.messages import Message

MOST_FILES = 10_000
"""Files and folders that a run may have."""
# Bytes of a path before the walk continues from a new start: the kernel takes 4096.
_LONGEST_PATH = 1024
_MOST_REGIONS = 100
# Instead of a descriptor: a folder that cannot be looked into.
_HIDDEN = -1
_OPEN_FOLDER = (
    os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Meter:
    launch: Launch
    process: int
    """The process that was started; those that it started are found."""
    file_mb: float

    def trouble(self) -> str | None:
        """Return a message about the limit that is exceeded, or None."""
        used = size_of(self.launch.folder) + self._deleted_size()
        if used == math.inf or self._files_inside() > MOST_FILES:
            return Message(
                "the scratch folder has more than {most} files, or folders that cannot be read",
                most=MOST_FILES,
            )
        if used > 4 * self.file_mb * 1024 * 1024:
            return Message(
                "the files in the scratch folder take up more than {most:g} MB",
                most=4 * self.file_mb,
            )
        return None

    def _deleted_size(self) -> float:
        """Return the bytes of deleted files that are still open or mapped, each counted once."""
        size_by_inode: dict[int, float] = {}
        threads = [thread for process in _family(self.process) for thread in _threads(process)]
        for thread in threads:  # each may have descriptors of its own
            size_by_inode |= _open_without_a_name(thread)
        for thread in threads:
            for inode in _mapped_without_a_name(thread, self.launch.folder):
                size_by_inode.setdefault(
                    inode, self.file_mb * 1024 * 1024
                )  # only root may ask how large it is: as large as it may be
        return sum(size_by_inode.values())

    def _files_inside(self) -> int:
        if not self.launch.inside:
            return 0
        return max(
            _files_of(f"/proc/{process}/root", self.launch.inside)
            for process in (*_family(self.process), *self._written_down())
        )

    def _written_down(self) -> list[int]:
        try:
            return (
                [int(self.launch.process_file.read_text(encoding="ascii"))]
                if self.launch.process_file
                else []
            )
        except (OSError, ValueError):  # not yet
            return []


def size_of(folder: Path) -> float:
    """Return a folder's size on disk in bytes, counting hard-linked files once.

    Return infinity if there are too many files, or a folder cannot be read. Links are not followed,
    files that vanish do not count, and paths may have any depth and length.
    """
    total, inodes = 0, set[tuple[int, int]]()
    for count, status in enumerate(_everything(folder)):
        if status is None or count >= MOST_FILES:
            return math.inf
        if (status.st_dev, status.st_ino) not in inodes:
            inodes.add((status.st_dev, status.st_ino))
            total += status.st_blocks * 512
    return total


def _everything(folder: Path) -> Iterator[os.stat_result | None]:
    """Yield the status of each file and folder inside; None for a folder that cannot be read."""
    regions: list[int] = []
    try:
        regions.append(os.open(folder, _OPEN_FOLDER))
        while regions:
            yield from _region(regions.pop(), regions)
            if len(regions) > _MOST_REGIONS:
                yield None
                return
    except FileNotFoundError:
        return
    finally:
        for handle in regions:
            os.close(handle)


def _region(start: int, further: list[int]) -> Iterator[os.stat_result | None]:
    """Yield the status of everything below ``start``, which is closed at the end.

    Folders whose path is too long are opened and added to ``further``.
    """
    waiting = ["."]
    try:
        while waiting and len(further) <= _MOST_REGIONS:
            path = waiting.pop()
            handle = _open_folder(path, start)
            if handle is None:
                continue
            if handle == _HIDDEN:
                yield None
            elif len(os.fsencode(path)) > _LONGEST_PATH:
                further.append(handle)
            else:
                for name, status in _entries(handle):
                    yield status
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(f"{path}/{name}")
    finally:
        os.close(start)


def _open_folder(path: str, start: int) -> int | None:
    """Open a folder and return its descriptor.

    Return None if it is gone, a link, or cannot be filled, and ``_HIDDEN`` if it may hold files
    that cannot be listed.
    """
    try:
        return os.open(path, _OPEN_FOLDER, dir_fd=start)
    except PermissionError:
        return _HIDDEN if _can_be_filled(path, start) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return None if error.errno == errno.ELOOP else _HIDDEN  # a link lies where the folder was


def _can_be_filled(path: str, start: int) -> bool:
    """Return True if the owner may put files into a folder that cannot be listed."""
    try:
        # Modes cannot be changed inside, so the present ones count.
        mode = os.stat(path, dir_fd=start, follow_symlinks=False).st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IXUSR and mode & stat.S_IWUSR)


def _entries(handle: int) -> list[tuple[str, os.stat_result]]:
    listed = []
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                with suppress(OSError):  # it is gone
                    listed.append((entry.name, entry.stat(follow_symlinks=False)))
                if len(listed) > MOST_FILES:
                    break
    finally:
        os.close(handle)
    return listed


def _family(process: int) -> list[int]:
    """Return the ids of the process and all its living descendants."""
    processes, waiting = [], [process]
    while waiting:
        number = waiting.pop()
        processes.append(number)
        for thread in _threads(number):
            with suppress(OSError):
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
    return processes


def _threads(process: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except OSError:  # it has ended
        return []


def _open_without_a_name(thread: Path) -> dict[int, float]:
    size_by_inode: dict[int, float] = {}
    with suppress(OSError):
        for opened in (thread / "fd").iterdir():
            with suppress(OSError):
                status = opened.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    size_by_inode[status.st_ino] = status.st_blocks * 512
    return size_by_inode


def _mapped_without_a_name(thread: Path, folder: Path) -> Iterator[int]:
    with suppress(OSError):
        for line in (thread / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
            *_, inode, path = [*line.split(maxsplit=5), ""][:6]
            if path.endswith(" (deleted)") and _ESCAPED.sub(
                lambda match: chr(int(match[1], 8)), path
            ).startswith(f"{folder}/"):
                yield int(inode)


def _files_of(root: str, inside: str) -> int:
    """Return the number of files in the sandbox's file system; 0 if the process has not entered
    it yet.
    """
    try:
        if Path(root).samefile("/"):
            return 0
        system = os.statvfs(root + inside)
    except OSError:
        return 0
    return system.f_files - system.f_ffree
