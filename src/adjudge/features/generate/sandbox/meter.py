"""What the files of a run take up: those in its folder, and those that have no name any more but
are still held.

The kernel limits one file, not all of them. Where the scratch folder is a file system of its own,
that is the limit; elsewhere this is looked at again and again while the code runs.
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
_LONGEST_PATH = 1024
"""Bytes of a path before the walk starts anew from where it is: the kernel takes 4096."""
_MOST_REGIONS = 100
_HIDDEN = -1
"""Instead of a descriptor: a folder that cannot be looked into."""
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
        """What is too much, in words; None when nothing is."""
        used = size_of(self.launch.folder) + self._held()
        if used == math.inf or self._files_inside() > MOST_FILES:
            return Message(
                "the scratch folder has more than {most} files, or folders that nobody can "
                "look into",
                most=MOST_FILES,
            )
        if used > 4 * self.file_mb * 1024 * 1024:
            return Message(
                "the files in the scratch folder have more than {most:g} MB together",
                most=4 * self.file_mb,
            )
        return None

    def _held(self) -> float:
        """Bytes of files that were deleted and are still open or mapped, each counted once."""
        held: dict[int, float] = {}
        threads = [thread for process in _family(self.process) for thread in _threads(process)]
        for thread in threads:  # each may have descriptors of its own
            held |= _open_without_a_name(thread)
        for thread in threads:
            for inode in _mapped_without_a_name(thread, self.launch.folder):
                held.setdefault(
                    inode, self.file_mb * 1024 * 1024
                )  # only root may ask how large it is: as large as it may be
        return sum(held.values())

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
    """Bytes on disk, a file with several names once; infinite where there are too many, or a folder
    hides what is in it.

    Links are not followed, what vanishes meanwhile does not count, and no depth or length of a path
    is too much.
    """
    total, known = 0, set[tuple[int, int]]()
    for seen, status in enumerate(_everything(folder)):
        if status is None or seen >= MOST_FILES:
            return math.inf
        if (status.st_dev, status.st_ino) not in known:
            known.add((status.st_dev, status.st_ino))
            total += status.st_blocks * 512
    return total


def _everything(folder: Path) -> Iterator[os.stat_result | None]:
    """The status of each file and folder below; None for what cannot be looked into."""
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
    """What lies below ``start``, which is closed at the end; folders whose path grows too long are
    opened for ``further``.
    """
    waiting = ["."]
    try:
        while waiting and len(further) <= _MOST_REGIONS:
            path = waiting.pop()
            handle = _opened(path, start)
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


def _opened(path: str, start: int) -> int | None:
    """The folder's descriptor; None when it is gone or holds nothing, ``_HIDDEN`` when it may hold
    what cannot be seen.
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
    """Whether its owner may put something into a folder that cannot be listed; modes cannot be
    changed inside.
    """
    try:
        mode = os.stat(path, dir_fd=start, follow_symlinks=False).st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IXUSR and mode & stat.S_IWUSR)


def _entries(handle: int) -> list[tuple[str, os.stat_result]]:
    found = []
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                with suppress(OSError):  # it is gone
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
                if len(found) > MOST_FILES:
                    break
    finally:
        os.close(handle)
    return found


def _family(process: int) -> list[int]:
    """The process and all that it started, as far as they live."""
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop()
        found.append(one)
        for thread in _threads(one):
            with suppress(OSError):
                waiting += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def _threads(process: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except OSError:  # it has ended
        return []


def _open_without_a_name(thread: Path) -> dict[int, float]:
    held: dict[int, float] = {}
    with suppress(OSError):
        for opened in (thread / "fd").iterdir():
            with suppress(OSError):
                status = opened.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    held[status.st_ino] = status.st_blocks * 512
    return held


def _mapped_without_a_name(thread: Path, folder: Path) -> Iterator[int]:
    with suppress(OSError):
        for line in (thread / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
            *_, inode, path = [*line.split(maxsplit=5), ""][:6]
            if path.endswith(" (deleted)") and _unescaped(path).startswith(f"{folder}/"):
                yield int(inode)


def _unescaped(path: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), path)


def _files_of(root: str, inside: str) -> int:
    """How many files that file system has; 0 where the process is not behind its wall yet."""
    try:
        if Path(root).samefile("/"):
            return 0
        system = os.statvfs(root + inside)
    except OSError:
        return 0
    return system.f_files - system.f_ffree
