"""Databases of labelling next to a run's ledger: opening, creating, writing, and errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from adjudge.core.aio.files import locked
from adjudge.core.ledger.file import (
    LABEL_FILES,
    LABELS_LOCK,
    PATIENCE,
    connect,
    refuse_links,
    refuse_strange_schema,
)
from adjudge.errors import RunError
from adjudge.messages import Message, reason_of


class LabelDatabase:
    """A database file in a run folder, created on the first write."""

    FILE: ClassVar[str]
    TABLES: ClassVar[tuple[str, ...]]
    VERSION: ClassVar[int]
    DAMAGED: ClassVar[Message]
    """Advice for a file that cannot be read."""
    LASTING: ClassVar[bool] = True
    """True if a commit waits until it is on the disk."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / self.FILE

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction that is committed at the end.

        The lock stops several processes from creating the file at the same time.
        """
        if not self.folder.is_dir():
            raise RunError("{folder} is not a folder", folder=self.folder)
        refuse_links(self.folder, LABEL_FILES)
        with (
            _translate_errors(self.path, self.DAMAGED),
            locked(self.folder / LABELS_LOCK),
            self._connection() as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self, *, writable: bool = True) -> Iterator[sqlite3.Connection]:
        refuse_links(self.folder, LABEL_FILES)
        with (
            _translate_errors(self.path, self.DAMAGED),
            connect(self.path, writable=writable, lasting=self.LASTING) as connection,
        ):
            refuse_strange_schema(connection, self.path, self.TABLES)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > self.VERSION:
                raise RunError(
                    "{path} was written by a newer version of adjudge: upgrade adjudge",
                    path=self.path,
                )
            if version < self.VERSION and writable:
                connection.execute("BEGIN IMMEDIATE")
                self._make(connection, version)
                connection.execute(f"PRAGMA user_version = {self.VERSION}")
                connection.execute("COMMIT")
            yield connection

    def _make(self, connection: sqlite3.Connection, version: int) -> None:
        """Migrate from ``version`` (0: an empty file) to the current one."""
        raise NotImplementedError


@contextmanager
def _translate_errors(path: Path, damaged: Message) -> Iterator[None]:
    """Raise errors of a label file as a RunError with advice. ``damaged``: the advice for an
    unreadable file.
    """
    try:
        yield
    except sqlite3.Error as error:
        # the low byte is the primary code; SQLite adds details above it
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            advice = Message("the disk is full: free some space; all labels so far are saved")
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            advice = Message(
                "locked by another program for {seconds:.0f} s: close it, then continue",
                seconds=PATIENCE,
            )
        elif code in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_IOERR,
        ):
            advice = Message("make sure that the file and its folder can be read and written")
        else:
            advice = damaged
        raise RunError(
            "the labels in {path}: {error}; {advice}", path=path, error=error, advice=advice
        ) from error
    except OSError as error:
        raise RunError(
            "the labels in {path} cannot be used: {reason}", path=path, reason=reason_of(error)
        ) from error
