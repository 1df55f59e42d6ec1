"""The phrases that replies are read by: the sections of `data/phrases.txt`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from adjudge.lazy import lazy_pattern

_SECTION = lazy_pattern(r"^=== (\w+)\n", re.MULTILINE)
_REFERENCE = lazy_pattern(r"<<(\w+)>>")


@cache
def phrase(name: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Return the pattern in the section ``name``; it is compiled when it is first used."""
    return lazy_pattern(_text(name), re.VERBOSE | flags)


def words(name: str) -> tuple[str, ...]:
    """Return the words in the section ``name``."""
    return tuple(_sections()[name].split())


def _text(name: str) -> str:
    return _REFERENCE.sub(lambda found: _text(found[1]), _sections()[name])


@cache
def _sections() -> dict[str, str]:
    text = (Path(__file__).parent / "data" / "phrases.txt").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}
