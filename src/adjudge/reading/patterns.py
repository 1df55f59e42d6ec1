"""Regular expressions on texts that anybody may have written: in a process of their own, which is
stopped where an expression takes too long.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from adjudge.aio.side_process import ProcessEnded, SideProcess, TookTooLong
from adjudge.domain.span import Span
from adjudge.messages import Message

SECONDS = 5.0
"""What an expression may take for what it is asked at once."""
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


_MATCHER = SideProcess(lambda: [sys.executable, "-I", "-S", str(_PROGRAM)], shows_errors=False)


def find_all(pattern: str, flags: int, text: str, *, whole: bool) -> tuple[Span, ...]:
    """Where the expression matches: the first places, or all of the text. TooLong where that
    cannot be told in time.
    """
    (found,) = _ask(pattern, flags, [text], whole, _MOST)
    return tuple(Span(*one) for one in found)


def which_match(pattern: str, flags: int, texts: Sequence[str]) -> list[bool]:
    """Of each text, whether the expression is found in it. TooLong where that cannot be told of all
    of them in time.
    """
    return [bool(found) for found in _ask(pattern, flags, texts, False, 1)]


def _ask(
    pattern: str, flags: int, texts: Sequence[str], whole: bool, most: int
) -> list[list[tuple[int, int]]]:
    try:
        line = _MATCHER.ask(json.dumps([pattern, flags, texts, whole, most]), SECONDS)
    except (TookTooLong, ProcessEnded):
        raise TooLong from None
    found: list[list[tuple[int, int]]] = json.loads(line)
    return found
