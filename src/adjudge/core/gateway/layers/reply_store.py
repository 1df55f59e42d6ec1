"""Replies of all runs in one SQLite file in the user's cache folder, so that no request is paid for
twice.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.layers.cache import reply_data, reply_from
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.gateway")
_FILE = "replies.sqlite"
# Seconds to wait for another process that is writing.
_PATIENCE = 2.0
_CHECK_EVERY = 500
# Share of the allowed size that remains after the oldest replies are removed.
_KEPT_SHARE = 0.8
DEFAULT_MB = 1024


class ReplyStore:
    """A cache that several processes may use at once.

    It never fails a run: without a working file it stores nothing.
    """

    def __init__(self, folder: Path, max_mb: float = DEFAULT_MB) -> None:
        self.path = folder / _FILE
        self.max_bytes = int(max_mb * 1_000_000)
        self._lock = threading.Lock()
        self._opened: tuple[int, sqlite3.Connection] | None = None
        self._kept = 0
        self._broken = False

    def get(self, model: str, request: Request) -> Reply | None:
        """Return the reply stored for this request, or None."""
        rows = self._execute(
            "SELECT reply FROM replies WHERE model = ? AND request = ?",
            (model, bytes.fromhex(request.key)),
        )
        return reply_from(json.loads(rows[0][0])) if rows else None

    def put(self, model: str, request: Request, reply: Reply) -> None:
        """Store a reply, unless there already is one for the same request."""
        data = json.dumps(reply_data(reply))
        self._execute(
            "INSERT OR IGNORE INTO replies VALUES (NULL, ?, ?, ?)",
            (model, bytes.fromhex(request.key), data),
        )
        self._kept += 1
        # Also after the first reply, so that short runs keep the limit, too.
        if self._kept % _CHECK_EVERY == 1:
            self._shrink()

    def forget(self, model: str, request: Request) -> None:
        self._execute(
            "DELETE FROM replies WHERE model = ? AND request = ?",
            (model, bytes.fromhex(request.key)),
        )

    def size(self) -> tuple[int, int]:
        """Return the number of replies and the bytes they take."""
        taken = "page_count * page_size FROM pragma_page_count, pragma_page_size"
        # Only constants are formatted into the statement.
        rows = self._execute(f"SELECT (SELECT count(*) FROM replies), {taken}")  # noqa: S608
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def clear(self) -> None:
        self._execute("DELETE FROM replies")
        self._give_room_back()

    def _shrink(self) -> None:
        """Remove the oldest replies if the file is too large."""
        count, taken = self.size()
        if taken > self.max_bytes:
            surplus = count - int(count * _KEPT_SHARE * self.max_bytes / taken)
            self._execute(
                "DELETE FROM replies WHERE number IN (SELECT number FROM replies ORDER BY "
                "number LIMIT ?)",
                (surplus,),
            )
            self._give_room_back()

    def _give_room_back(self) -> None:
        """Return free pages to the file system."""
        with self._lock, suppress(sqlite3.Error):
            # A plain statement would free a single page; a script runs to its end.
            self._connection().executescript("PRAGMA incremental_vacuum")

    def _execute(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        if self._broken:
            return []
        with self._lock:
            try:
                return self._connection().execute(sql, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
                return []

    def _connection(self) -> sqlite3.Connection:
        # An SQLite connection must not cross a fork.
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), _connect(self.path)
        return self._opened[1]

    def _give_up(self, error: Exception) -> None:
        """Stop using a broken store in this process. A store that is merely locked is tried again
        next time.
        """
        busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        self._broken = not busy
        if not busy:
            _LOG.warning(
                Message(
                    "the reply cache cannot be used ({path}: {error}); continuing without it",
                    path=self.path,
                    error=error,
                )
            )
            with suppress(OSError):
                if isinstance(error, sqlite3.DatabaseError) and not isinstance(
                    error, sqlite3.OperationalError
                ):
                    self.path.replace(self.path.with_suffix(".damaged"))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # Write-ahead log: readers and one writer do not block each other.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS replies "
        "(number INTEGER PRIMARY KEY, model TEXT NOT NULL, request BLOB NOT NULL, reply "
        "TEXT NOT NULL, UNIQUE (model, request))"
    )
    return connection
