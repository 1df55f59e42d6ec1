"""Run work in a separate process, one line in and one line out.

The process is killed if a line takes too long, so a stuck library blocks no caller.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector

from adjudge.messages import Message


class TookTooLong(Exception):
    """Raised if no line came in time."""


class ProcessEnded(Exception):
    """Raised if the process ended without an answer."""


class SideProcess:
    """A process that starts when it is needed, and reports that it is ready with an empty line."""

    def __init__(self, command: Callable[[], Sequence[str]], *, shows_errors: bool) -> None:
        self._command, self._shows_errors = command, shows_errors
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._one_at_a_time = threading.Lock()
        atexit.register(self.stop)

    def ask(self, asked: str, seconds: float) -> str:
        """Send a line and return the line that answers it; raise TookTooLong or ProcessEnded
        without one.
        """
        with self._one_at_a_time:
            process = self._running()
            if process.stdin is None or process.stdout is None:
                raise RuntimeError(Message("the process has no pipes"))
            feeder = threading.Thread(target=_feed, args=(process, asked), daemon=True)
            feeder.start()
            with DefaultSelector() as ready:
                ready.register(process.stdout, EVENT_READ)
                in_time = ready.select(seconds)
            line = process.stdout.readline() if in_time else ""
            if not line:
                self.stop()
                raise ProcessEnded if in_time else TookTooLong
            return line

    def _running(self) -> subprocess.Popen[str]:
        if self._owner != os.getpid():  # after a fork the process belongs to the parent
            self._process, self._owner = None, os.getpid()
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if self._shows_errors else subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            if self._process.stdout is not None:
                self._process.stdout.readline()  # so that the start takes no time of a line
        return self._process

    def restart(self) -> None:
        """Have the next line answered by a new process. Lines that are asked now are not lost."""
        with self._one_at_a_time:
            self.stop()

    def stop(self) -> None:
        if self._process is None or self._owner != os.getpid():
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process = None


def _feed(process: subprocess.Popen[str], asked: str) -> None:
    try:
        if process.stdin is not None:
            process.stdin.write(asked + "\n")
            process.stdin.flush()
    except (BrokenPipeError, ValueError):
        return  # the process was stopped; ``ask`` raises an error for it
