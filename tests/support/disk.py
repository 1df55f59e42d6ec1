"""Writing that does not wait for the disk.

What a killed process wrote is there all the same: only a power cut loses it, and no test cuts the
power.
"""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from typing import Any


class _Connection(sqlite3.Connection):
    def execute(self, sql: str, /, *values: Any) -> sqlite3.Cursor:
        own = sql.startswith("PRAGMA synchronous")
        return super().execute("PRAGMA synchronous = OFF" if own else sql, *values)


def wait_for_no_disk() -> None:
    """In this process, from now on; commands that start their own wait as a user's do."""
    os.fsync = lambda fd: None
    sqlite3.connect = partial(sqlite3.connect, factory=_Connection)  # type: ignore[assignment]
