"""Which of the offered options a value names, if any. Never the nearest one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adjudge.domain.criteria import ANY_INTEGER

_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
YES = frozenset({"yes", "true", "pass", "passed", "да", "верно"})
NO = frozenset({"no", "false", "fail", "failed", "нет", "неверно"})
_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”„‘’—–-#|"
_SIGN = re.compile(r"[-–—<>.](?=\d)|(?<=\w)-")
"""Punctuation that carries meaning: "-1" is not "1", and "A-" is not "A"."""


def match_option(value: object, options: Sequence[str]) -> str | None:
    """The option that ``value`` names: exactly, then ignoring case and surrounding punctuation, then yes/no words."""
    if tuple(options) == (ANY_INTEGER,):
        return next((str(int(text)) for text in _spellings(value) if _INTEGER.fullmatch(text)), None)
    named = (_named(text, options) for text in _spellings(value))
    return next((option for option in named if option is not None), None)


def yes_and_no(options: Sequence[str]) -> tuple[str, str] | None:
    """The option that means yes and the one that means no, where there are just these two."""
    yes = [option for option in options if _bare(option) in YES]
    no = [option for option in options if _bare(option) in NO]
    return (yes[0], no[0]) if len(options) == 2 and len(yes) == len(no) == 1 else None


def _spellings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value.strip(),)
    if isinstance(value, float) and value.is_integer():
        return (str(value), f"{value:.0f}")
    return (str(value),) if isinstance(value, int | float) else ()


def _named(text: str, options: Sequence[str]) -> str | None:
    if text in options:
        return text
    said = _bare(text)
    same = [option for option in options if _bare(option) == said]
    if same and said:
        return same[0] if len(same) == 1 else None
    return _two_way(said, options)


def _bare(text: str) -> str:
    return _SIGN.sub("\0\\g<0>\0", text).strip(_AROUND).casefold()


def _two_way(said: str, options: Sequence[str]) -> str | None:
    both = yes_and_no(options)
    if both is None:
        return None
    return both[0] if said in YES else both[1] if said in NO else None
