"""Which row each annotator has before them, so that two who divide rows never get the same one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

KEPT_FOR = 600.0
"""Seconds after which a row that was left lying goes to somebody else."""


class HeldRows:
    """Of one criterion of a run, in memory: of those who label on one server."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def take(self, annotator: str, rows: Iterable[str]) -> str | None:
        """The row that the annotator has already, if it is among ``rows``; else the first that
        nobody else has. None where others have all of them.
        """
        wanted, now = list(rows), time.monotonic()
        with self._lock:
            mine, _ = self._held.get(annotator, ("", now))
            others = {
                row
                for who, (row, since) in self._held.items()
                if who != annotator and now - since < KEPT_FOR
            }
            free = [row for row in wanted if row not in others]
            found = mine if mine in free else next(iter(free), None)
            if found is None:
                self._held.pop(annotator, None)
            else:
                self._held[annotator] = found, now
            return found
