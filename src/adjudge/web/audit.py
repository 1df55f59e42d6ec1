"""The audit log of a shared page: who changed what, and when. Lines of JSON are only ever added."""

from __future__ import annotations

import errno
import glob
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request

from adjudge.core.domain.json_types import JsonValue
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.web.roles import Person

LARGEST = 10_000_000
"""Bytes of a file, after which another is begun."""
MOST_FILES = 20
"""Files that are kept beside the newest. Together they hold about a million lines."""
_LONGEST_VALUE = 1_000
_LONGEST_LIST = 50
_LOG = logging.getLogger("adjudge.web")


class AuditLog:
    """Writes one line for each change. While it cannot be written, nothing may be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._problem = ""
        self.write("the page was started", {})
        if self._problem:
            raise RunError(
                "the audit log {path} cannot be written: {reason}", path=path, reason=self._problem
            )

    def write(
        self, what: str, details: Mapping[str, JsonValue], person: Person | None = None
    ) -> None:
        """Add a line. If that fails, the line goes to the terminal."""
        entry: dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + "Z",
            **({"who": person.user, "role": person.role} if person else {}),
            "what": what,
            **{name: _shortened(value) for name, value in details.items()},
        }
        line = json.dumps(entry, ensure_ascii=True, default=str) + "\n"
        with self._lock:
            try:
                self._append(line.encode())
                self._problem = ""
            except OSError as error:
                self._problem = reason_of(error)
                _LOG.error(
                    "the audit log %s cannot be written (%s): %s", self.path, error, line.strip()
                )

    def check(self) -> None:
        """Raise a RunError if the last line could not be written, and still cannot."""
        if self._problem:
            self.write("the log is written again", {})
        if self._problem:
            raise RunError(
                "the audit log of this page cannot be written, so nothing can be changed: tell "
                "the operator of the page"
            )

    def _append(self, line: bytes) -> None:
        if self.path.is_file() and self.path.stat().st_size > LARGEST:
            self._rotate()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            # the last line may be cut, if the machine was switched off
            size = os.fstat(descriptor).st_size
            is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = b"\n" * is_cut + line
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def _rotate(self) -> None:
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name = f"{self.path.name}.{moment}.{time.time_ns() % 1_000_000_000:09}"
        self.path.rename(self.path.with_name(name))
        older = sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}.*"))
        for file in older[:-MOST_FILES]:
            file.unlink()


def note(request: Request, what: str, **details: JsonValue) -> None:
    """Record what a request did. The log line is written with the response."""
    request.state.deed = what, details


def deed_of(request: Request) -> tuple[str, dict[str, JsonValue]] | None:
    """Return what ``note`` recorded for a request, or None."""
    return getattr(request.state, "deed", None)


def _shortened(value: JsonValue) -> JsonValue:
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        return [*map(_shortened, value[:_LONGEST_LIST]), f"… {len(value)}"]
    return (
        f"{value[:_LONGEST_VALUE]}…"
        if isinstance(value, str) and len(value) > _LONGEST_VALUE
        else value
    )
