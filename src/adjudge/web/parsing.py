"""Make ``ast.parse`` safe in several threads, for versions of Python in which it is not."""

from __future__ import annotations

import ast
import functools
import sys
import threading

_MIXES_THREADS = sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2)
"""CPython before these counts how deep all threads are in one place (its issue 106905)."""


def parse_one_at_a_time() -> None:
    """Make ``ast.parse``, which Jinja uses, too, run in one thread at a time.

    Otherwise affected Python versions may raise a SystemError about the recursion depth.
    """
    if not _MIXES_THREADS or hasattr(ast.parse, "__wrapped__"):
        return
    parse, turn = ast.parse, threading.RLock()

    @functools.wraps(parse)
    def parse_in_turn(*given, **named):  # type: ignore[no-untyped-def]
        with turn:
            return parse(*given, **named)

    ast.parse = parse_in_turn
