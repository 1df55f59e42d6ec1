"""Read single keys from a terminal, or lines if standard input is not one."""

from __future__ import annotations

import codecs
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from adjudge.runs.view.clean_text import clean

_ESCAPE, _END = "\x1b", "\x04"
_PAUSE = 0.05
"""Seconds within which the rest of an arrow key comes."""
_CYRILLIC = dict(zip("йцукенгшщзфывапролдячсмить,", "qwertyuiopasdfghjklzxcvbnm?", strict=True))
"""The Latin letters on the keys of a Russian keyboard."""


class Keys(Protocol):
    """A source of answers."""

    def key(self) -> str | None:
        """Return the next key, or a whole line if there is no terminal; None at the end."""
        ...

    def line(self, prompt: str) -> str | None:
        """Return a line of text; None at the end."""
        ...


class Lines:
    """Standard input from a file or a pipe: one answer per line."""

    def key(self) -> str | None:
        line = sys.stdin.readline()
        return line.strip() if line else None

    def line(self, prompt: str) -> str | None:
        click.echo(prompt, nl=False)
        return self.key()


class Terminal:
    """A terminal that returns each key as it is pressed. Keys typed ahead are not lost."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def key(self) -> str | None:
        """Return the next meaningful key, skipping arrows and the like; None at the end."""
        while (text := self._character()) is not None:
            if text == _ESCAPE:
                self._swallow()
            elif text == _END:
                return None
            else:
                return text
        return None

    def line(self, prompt: str) -> str | None:
        """Return the text up to Enter, echoed while it is typed; backspace works."""
        click.echo(prompt, nl=False)
        entered = ""
        while (text := self.key()) is not None:
            if text in "\r\n":
                click.echo()
                return entered
            if text in "\b\x7f":
                click.echo("\b \b" if entered else "", nl=False)
                entered = entered[:-1]
            else:
                click.echo(clean(text), nl=False)
                entered += text
        return None

    def _character(self) -> str | None:
        while data := os.read(self._descriptor, 1):
            # a character of several bytes is complete only with the last one
            if text := self._decoder.decode(data):
                return text
        return None

    def _swallow(self) -> None:
        """Read the rest of an escape sequence, up to its letter."""
        is_first = True
        while select.select([self._descriptor], [], [], _PAUSE)[0]:
            data = os.read(self._descriptor, 1)
            if (
                not data
                or (is_first and data not in (b"[", b"O"))
                or (not is_first and (data.isalpha() or data == b"~"))
            ):
                return
            is_first = False


class WholeLines:
    """A terminal for answers of more than one key: numbers, or one of more than nine options."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def key(self) -> str | None:
        line = self._terminal.line("> ")
        return None if line is None else line.strip()

    def line(self, prompt: str) -> str | None:
        return self._terminal.line(prompt)


def latin(key: str) -> str:
    """Return the Latin letter of a key, also on a Russian keyboard."""
    return _CYRILLIC.get(key.casefold(), key.casefold())


if sys.platform == "win32":

    @contextmanager
    def keyboard() -> Iterator[Terminal | None]:
        """Yield None: single keys cannot be read here, so answers are lines."""
        yield None

else:
    import termios
    import tty

    @contextmanager
    def keyboard() -> Iterator[Terminal | None]:
        """Yield the terminal, set to return single keys until the end; None if standard input is
        not a terminal.
        """
        try:
            descriptor = sys.stdin.fileno()
            settings = termios.tcgetattr(descriptor)
        except (OSError, ValueError, termios.error):
            yield None
            return
        try:
            # TCSANOW keeps keys that were typed ahead
            tty.setcbreak(descriptor, termios.TCSANOW)
            yield Terminal(descriptor)
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)
