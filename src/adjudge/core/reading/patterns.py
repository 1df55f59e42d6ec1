"""Regular expressions of users on any text. They run in a separate process, which is killed if an
expression takes too long.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import LifoQueue
from typing import Any

from adjudge.core.aio.side_process import ProcessEnded, SideProcess, TookTooLong
from adjudge.core.domain.span import Span
from adjudge.messages import Message

SECONDS = 5.0
"""Time limit per request."""
_MOST = 20
_Found = list[list[tuple[int, int]]]
_PROGRAM = Path(__file__).with_name("matching.py")


class CannotMatch(Exception):
    """Raised if an expression gives no result."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(message)


class WrongPattern(CannotMatch):
    """Raised for a text that is not a regular expression; ``at``: where it breaks the syntax."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(Message("this regular expression is invalid: {why}", why=why))
        self.at = at


def _matcher() -> SideProcess:
    command = [sys.executable, "-I", "-S", str(_PROGRAM), str(SECONDS)]
    return SideProcess(lambda: command, shows_errors=False)


# Last in, first out, so that a started process is used before another one starts.
# Idle processes: several, so that a slow expression does not hold up the others.
_IDLE: LifoQueue[SideProcess] = LifoQueue()
for _ in range(4):
    _IDLE.put(_matcher())


def find_all(pattern: str, flags: int, text: str, *, whole: bool) -> tuple[Span, ...]:
    """Return the first matches, or the match of the whole text. Raises CannotMatch after
    SECONDS.
    """
    (places,) = _ask(pattern, flags, [text], whole, _MOST)
    return tuple(Span(*place) for place in places)


def which_match(pattern: str, flags: int, texts: Sequence[str]) -> list[bool]:
    """Return for each text if the expression is found in it. Raises CannotMatch after SECONDS for
    all.
    """
    return [bool(places) for places in _ask(pattern, flags, texts, False, 1)]


def check_pattern(pattern: str, flags: int) -> None:
    """Raise WrongPattern if the text is not a regular expression. Compiling runs in the process,
    too: it may take long.
    """
    _ask(pattern, flags, (), False, 1)


def _ask(pattern: str, flags: int, texts: Sequence[str], whole: bool, most: int) -> _Found:
    matcher = _IDLE.get()
    try:
        line = matcher.ask(json.dumps([pattern, flags, texts, whole, most]), SECONDS)
    except TookTooLong:
        raise CannotMatch(
            Message(
                "the regular expression took longer than {seconds:g} s: avoid nested repetition",
                seconds=SECONDS,
            )
        ) from None
    except ProcessEnded:
        raise CannotMatch(
            Message("the process that matches regular expressions was stopped: try again")
        ) from None
    finally:
        _IDLE.put(matcher)
    answer: _Found | dict[str, Any] = json.loads(line)
    if isinstance(answer, dict):
        raise WrongPattern(**answer)
    return answer
