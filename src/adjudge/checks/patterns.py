"""Regular expressions on texts that anybody may have written: in a process of their own, which is
stopped where an expression takes too long.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from adjudge.domain.span import Span
from adjudge.messages import Message

SECONDS = 5.0
"""What an expression may take on one text."""
_MOST = 20
_PROGRAM = Path(__file__).with_name("matching.py")


class TooLong(Exception):
    """An expression took too long on a text: whether it matches cannot be told."""

    def __init__(self) -> None:
        self.message = Message(
            "the regular expression took longer than {seconds:g} s: write it without repeats "
            "inside of repeats",
            seconds=SECONDS,
        )
        super().__init__(self.message)


class _Matcher:
    """The process, started when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def find(self, pattern: str, flags: int, text: str, *, whole: bool) -> list[tuple[int, int]]:
        with self._one_at_a_time:
            process = self._running()
            if process.stdin is None or process.stdout is None:
                raise RuntimeError(Message("the process has no pipes"))
            asked = json.dumps([pattern, flags, text, whole, _MOST])
            feeder = threading.Thread(target=self._feed, args=(process, asked), daemon=True)
            feeder.start()
            with DefaultSelector() as ready:
                ready.register(process.stdout, EVENT_READ)
                line = process.stdout.readline() if ready.select(SECONDS) else ""
            if not line:
                self.stop()
                raise TooLong
            return [(start, end) for start, end in json.loads(line)]

    @staticmethod
    def _feed(process: subprocess.Popen[str], asked: str) -> None:
        try:
            if process.stdin is not None:
                process.stdin.write(asked + "\n")
                process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # it was stopped: who waits for it is told

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            if self._process.stdout is not None:
                self._process.stdout.readline()  # it is there: its start is not the expression's
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            self._process = None


_MATCHER = _Matcher()
atexit.register(_MATCHER.stop)


def find_all(pattern: str, flags: int, text: str, *, whole: bool) -> tuple[Span, ...]:
    """Where the expression matches: the first places, or all of the text. TooLong where that
    cannot be told in time.
    """
    return tuple(Span(*one) for one in _MATCHER.find(pattern, flags, text, whole=whole))
