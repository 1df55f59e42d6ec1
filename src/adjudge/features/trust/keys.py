"""Keys of a terminal one by one, and lines where there is no terminal."""

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
    """Where answers come from."""

    def key(self) -> str | None:
        """The next key, or a whole line where there is no terminal; None at the end."""
        ...

    def line(self, prompt: str) -> str | None:
        """A line of text; None at the end."""
        ...


class Lines:
    """Standard input that is a file or a pipe: an answer a line."""

    def key(self) -> str | None:
        line = sys.stdin.readline()
        return line.strip() if line else None

    def line(self, prompt: str) -> str | None:
        click.echo(prompt, nl=False)
        return self.key()


class Terminal:
    """A terminal that gives each key as it is pressed. What was typed ahead is not lost."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def key(self) -> str | None:
        """The next key that means something; arrows and the like do not."""
        while (text := self._character()) is not None:
            if text == _ESCAPE:
                self._swallow()
            elif text == _END:
                return None
            else:
                return text
        return None

    def line(self, prompt: str) -> str | None:
        """What is typed until Enter, shown as it is typed; backspace works."""
        click.echo(prompt, nl=False)
        typed = ""
        while (text := self.key()) is not None:
            if text in "\r\n":
                click.echo()
                return typed
            if text in "\b\x7f":
                click.echo("\b \b" if typed else "", nl=False)
                typed = typed[:-1]
            else:
                click.echo(clean(text), nl=False)
                typed += text
        return None

    def _character(self) -> str | None:
        while data := os.read(self._descriptor, 1):
            if text := self._decoder.decode(data):
                return text
        return None

    def _swallow(self) -> None:
        """The rest of an escape sequence: up to its letter."""
        first = True
        while select.select([self._descriptor], [], [], _PAUSE)[0]:
            data = os.read(self._descriptor, 1)
            if (
                not data
                or (first and data not in (b"[", b"O"))
                or (not first and (data.isalpha() or data == b"~"))
            ):
                return
            first = False


class WholeLines:
    """A terminal where one key is not enough for an answer: numbers, and more than nine options."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def key(self) -> str | None:
        line = self._terminal.line("> ")
        return None if line is None else line.strip()

    def line(self, prompt: str) -> str | None:
        return self._terminal.line(prompt)


def latin(key: str) -> str:
    """The Latin letter of a key that was pressed on a Russian keyboard."""
    return _CYRILLIC.get(key.casefold(), key.casefold())


if sys.platform == "win32":

    @contextmanager
    def keyboard() -> Iterator[Terminal | None]:
        """No keys one by one here: answers are lines."""
        yield None

else:
    import termios
    import tty

    @contextmanager
    def keyboard() -> Iterator[Terminal | None]:
        """The terminal, set to give each key by itself, and set back at the end; None where
        standard input is none.
        """
        try:
            descriptor = sys.stdin.fileno()
            before = termios.tcgetattr(descriptor)
        except (OSError, ValueError, termios.error):
            yield None
            return
        try:
            tty.setcbreak(descriptor, termios.TCSANOW)
            yield Terminal(descriptor)
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
