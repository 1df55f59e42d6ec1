"""The databases on which queries are run: a file, one of a folder, or a script in the row."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError

_HEADER = b"SQLite format 3\0"
_MOST_MB = 32
_NAME = re.compile(r"[\w-][\w. -]*")
# In a folder, under a database's name or in a subfolder of that name.
_ENDINGS = (".sqlite", ".db", ".sqlite3", ".sql")


@light_dataclass(frozen=True)
class Database:
    """A database, ready to be sent into the sandbox."""

    part: JsonObject
    """``file`` or ``script`` with its content."""
    digest: str

    @classmethod
    def of_script(cls, text: str) -> Database:
        return cls({"script": text}, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def read_database(path: Path) -> Database:
    """Return the database in a file: SQLite's own format, or a script of SQL.

    Raise a SetupError if it cannot be read or is too large.
    """
    try:
        found = path.stat()
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise SetupError(
                "{path} has changes in {log} that are not in the file yet: close the program "
                "that writes to it",
                path=path,
                log=log.name,
            )
        if found.st_size > _MOST_MB * 2**20:
            raise SetupError(
                "{path} is larger than {most} MB: make a smaller database with the same tables",
                path=path,
                most=_MOST_MB,
            )
        return _read(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise SetupError(
            "the database {path} cannot be read: {reason}", path=path, reason=error.strerror
        ) from None


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> Database:  # noqa: ARG001 - parts of the key
    content = path.read_bytes()
    if content.startswith(_HEADER):
        return Database({"file": b64encode(content).decode()}, sha256(content).hexdigest())
    try:
        return Database.of_script(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SetupError(
            "{path} is neither an SQLite database nor a script of SQL in UTF-8", path=path
        ) from None


def find_database(folder: Path, name: str) -> Path:
    """Return the file of the database ``name`` in a folder, as Spider and BIRD lay them out.

    Raise a SetupError if there is none. A name cannot lead out of the folder.
    """
    if not _NAME.fullmatch(name):
        raise SetupError("{name!r} is not the name of a database", name=name)
    places = [folder / name] if name.endswith(_ENDINGS) else []
    for ending in _ENDINGS:
        places += [folder / f"{name}{ending}", folder / name / f"{name}{ending}"]
    root = folder.resolve()
    for place in places:
        if place.is_file() and place.resolve().is_relative_to(root):
            return place
    raise SetupError(
        "no database {name!r} in {folder}: looked for {tried}",
        name=name,
        folder=folder,
        tried=", ".join(f"{name}{ending}" for ending in _ENDINGS),
    )
