"""Atomic file writes, a lock between processes, and the folders of caches and state."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from adjudge.errors import RunError, SetupError
from adjudge.messages import reason_of

PART = ".part"
"""Suffix of files that are still being written."""
_PAUSE = 0.02


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """Open a file to write; it appears at ``target`` when all of it is on the disk, and never in
    part.
    """
    part = target.with_name(f"{target.name}.{os.getpid()}-{threading.get_ident()}{PART}")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # "x" does not follow a link that someone put there
            yield file
            file.flush()
            os.fsync(file.fileno())
        # A rename is atomic: readers see the old file or the whole new one.
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Turn errors of writing inside the block, such as a full disk, into a RunError that names the
    file.
    """
    try:
        yield
    except OSError as error:
        raise RunError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error


@contextmanager
def locked(
    path: Path,
    *,
    wait: bool = True,
    when_waiting: Callable[[], None] = lambda: None,
    stays: bool = True,
) -> Iterator[bool]:
    """Hold the lock file ``path``; yield True if it is held. A process that dies releases its
    locks.

    ``stays``: True if the file is kept. Only the holder of the lock may remove it.
    """
    is_ours = False
    while not is_ours:
        with path.open("ab") as file:
            has_lock = _try_lock(file)
            if wait and not has_lock:
                when_waiting()
                while not (has_lock := _try_lock(file)):
                    time.sleep(_PAUSE)
            # The last holder may have removed the file: then others would lock a new one.
            is_ours = not has_lock or _is_at(path, file)
            try:
                if is_ours:
                    yield has_lock
            finally:
                if has_lock and is_ours and not stays:
                    with suppress(OSError):  # Windows cannot delete an open file
                        path.unlink()


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Return True if the open file is the one at ``path``."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: BinaryIO) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def write_new(path: Path, text: str, otherwise: str) -> None:
    """Write a file that must not exist yet; no reader sees a part of it.

    ``otherwise``: advice for the error if the file exists.
    """
    try:
        path.open("x").close()  # reserves the name
        try:
            with written_whole(path) as file:
                file.write(text.encode())
        except BaseException:
            path.unlink()
            raise
    except FileExistsError as error:
        raise SetupError(
            "{name} already exists and is not overwritten: {otherwise}",
            name=path.name,
            otherwise=otherwise,
        ) from error
    except OSError as error:
        raise RunError(
            "{name} cannot be written: {reason}", name=path.name, reason=reason_of(error)
        ) from error


def from_here(path: Path) -> Path:
    """Return a path below the working folder as relative, any other unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """Return ``$ADJUDGE_CACHE``, else ``$XDG_CACHE_HOME/adjudge``, else the system's place for
    caches.
    """
    usual = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return _user_folder("ADJUDGE_CACHE", "XDG_CACHE_HOME", usual)


def state_folder() -> Path:
    """Return ``$ADJUDGE_STATE``, else ``$XDG_STATE_HOME/adjudge``, else the system's place for user
    decisions, such as trusted folders.
    """
    places = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
    usual = places.get(sys.platform, ".local/state")
    return _user_folder("ADJUDGE_STATE", "XDG_STATE_HOME", usual)


def _user_folder(variable: str, shared: str, usual: str) -> Path:
    if folder := os.environ.get(variable):
        return Path(folder).expanduser().absolute()
    if parent := os.environ.get(shared):
        return Path(parent).absolute() / "adjudge"
    try:
        return Path.home() / usual / "adjudge"
    except RuntimeError as error:
        raise SetupError(
            "this user has no home folder: set {variable} to a folder", variable=variable
        ) from error
