"""Places of segments: a folder or an object store. A file there is complete or absent, and never
changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from adjudge.core.aio.files import PART, written_whole
from adjudge.core.reading.objects import SCHEMES as OBJECT_SCHEMES
from adjudge.core.reading.objects import open_objects, raise_os_errors
from adjudge.errors import SetupError

SCHEMES = (*OBJECT_SCHEMES, "file")


class FilePlace(Protocol):
    """Files by path, with slashes. Every problem is an OSError."""

    @property
    def name(self) -> str:
        """The name for messages, without credentials."""
        ...

    def make(self, path: str, content: bytes) -> None:
        """Create a file unless it exists. It is complete when this returns."""
        ...

    def put(self, path: str, content: bytes) -> None:
        """Like make, for a file name that no other process uses."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of a file; raise FileNotFoundError if it is missing."""
        ...

    def paths(self, under: str) -> Iterator[str]:
        """Yield all files under a folder."""
        ...

    def folders(self, under: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""
        ...


def place_of(location: str | Path) -> FilePlace:
    """Return a folder, or the object store at an address such as ``s3://bucket/prefix``."""
    if isinstance(location, str) and "://" in location:
        if urlsplit(location).scheme not in SCHEMES:
            raise SetupError(
                "a store is a folder, postgresql://HOST/DATABASE#NAME, or an address of an "
                "object store ({schemes} …), not {location!r}",
                schemes=", ".join(f"{scheme}://" for scheme in SCHEMES[:3]),
                location=location,
            )
        return ObjectStore(location)
    return Folder(Path(location))


class Folder:
    """A folder that all processes see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return str(self._folder)

    def make(self, path: str, content: bytes) -> None:
        """Create a file unless it exists."""
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f"{target.name}.{os.getpid()}-{time.time_ns()}{PART}")
        with written_whole(new) as file:
            file.write(content)
        # A hard link fails if another process was first, unlike a rename.
        with suppress(FileExistsError):
            os.link(new, target)
        new.unlink()
        _sync(target.parent)

    def put(self, path: str, content: bytes) -> None:
        """Write a file under another name, then rename it."""
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as file:
            file.write(content)
        _sync(target.parent)

    def read(self, path: str) -> bytes:
        return (self._folder / path).read_bytes()

    def paths(self, under: str) -> Iterator[str]:
        """Yield all files under a folder."""
        for path in (self._folder / under).rglob("*"):
            if path.is_file():
                yield path.relative_to(self._folder).as_posix()

    def folders(self, under: str) -> list[str]:
        """Return the names of the folders in a folder."""
        try:
            return [path.name for path in (self._folder / under).iterdir() if path.is_dir()]
        except FileNotFoundError:
            return []

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files, folders that become empty, and partial files of killed processes."""
        for path in paths:
            (self._folder / path).unlink(missing_ok=True)
        for partial_file in self._folder.rglob(f"*{PART}"):
            partial_file.unlink(missing_ok=True)
        folders = sorted(self._folder.rglob("*/"), key=lambda path: len(path.parts), reverse=True)
        for folder in (*folders, self._folder):
            with suppress(OSError):  # somebody else's file is in it
                folder.rmdir()


class ObjectStore:
    """A bucket or a part of one, through obstore.

    Credentials come from the environment, as for the provider's own tools.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._name = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        if parts.scheme == "file" and not Path(unquote(parts.path)).is_dir():
            raise SetupError(
                "the store {name} cannot be used: create the folder {unquote} first",
                name=self._name,
                unquote=unquote(parts.path),
            )
        try:
            self._store = open_objects(address)
        except OSError as error:
            raise SetupError(
                "the store {name} cannot be used: {error}", name=self._name, error=error
            ) from error

    @property
    def name(self) -> str:
        """The address without credentials."""
        return self._name

    def make(self, path: str, content: bytes) -> None:
        """Create a file unless it exists, in one conditional request."""
        import obstore

        with suppress(FileExistsError):
            raise_os_errors(
                lambda: obstore.put(self._store, path, content, mode="create", use_multipart=False)
            )

    put = make

    def read(self, path: str) -> bytes:
        import obstore

        return raise_os_errors(lambda: bytes(obstore.get(self._store, path).bytes()))

    def paths(self, under: str) -> Iterator[str]:
        """Yield all objects under a prefix."""
        import obstore

        pages: list[list[dict[str, str]]] = raise_os_errors(
            lambda: list(obstore.list(self._store, prefix=f"{under}/", chunk_size=1000))
        )
        return (entry["path"] for page in pages for entry in page)

    def folders(self, under: str) -> list[str]:
        """Return the next parts of the paths under a prefix."""
        import obstore

        prefixes: list[str] = raise_os_errors(
            lambda: list(obstore.list_with_delimiter(self._store, f"{under}/")["common_prefixes"])
        )
        return [path.rpartition("/")[2] for path in prefixes]

    def delete(self, paths: Sequence[str]) -> None:
        import obstore

        for path in paths:
            with suppress(FileNotFoundError):
                raise_os_errors(lambda path=path: obstore.delete(self._store, path))  # type: ignore[misc]


def _sync(folder: Path) -> None:
    """Flush a folder to disk."""
    # Without it a renamed file may be gone after a power cut. Windows cannot do it, and need not.
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
