"""Which language a command speaks: for what is said when it fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

_spoken: list[str] = []


def speak(language: str) -> None:
    """From now on."""
    _spoken[:] = [language]


def spoken() -> str:
    """What was chosen; until then, what was typed."""
    return _spoken[0] if _spoken else _typed(sys.argv[1:])


def _typed(words: Sequence[str]) -> str:
    russian = "--language=ru" in words or ("--language", "ru") in pairwise(words)
    return "ru" if russian else "en"
