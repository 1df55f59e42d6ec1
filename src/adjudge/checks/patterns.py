"""Regular expressions on texts that anybody may have written: in a process of their own, which is
stopped where an expression takes too long.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from adjudge.checks.side_process import ProcessEnded, SideProcess, TookTooLong
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


_MATCHER = SideProcess(lambda: [sys.executable, "-I", "-S", str(_PROGRAM)], shows_errors=False)


def find_all(pattern: str, flags: int, text: str, *, whole: bool) -> tuple[Span, ...]:
    """Where the expression matches: the first places, or all of the text. TooLong where that
    cannot be told in time.
    """
    try:
        line = _MATCHER.ask(json.dumps([pattern, flags, text, whole, _MOST]), SECONDS)
    except (TookTooLong, ProcessEnded):
        raise TooLong from None
    return tuple(Span(*one) for one in json.loads(line))
