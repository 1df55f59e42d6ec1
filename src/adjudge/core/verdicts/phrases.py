"""The phrases that replies are read by: the sections of `data/phrases.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

_SECTION = re.compile(r"^=== (\w+)\n", re.MULTILINE)
_REFERENCE = re.compile(r"<<(\w+)>>")


class Phrase:
    """One section as a pattern."""

    def __init__(self, name: str, flags: re.RegexFlag) -> None:
        self._name, self._flags = name, flags

    @property
    def pattern(self) -> str:
        return _text(self._name)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        # Not compiled before a reply is read by it: all of them take 0.07 s, a fifth of the start.
        return re.compile(self.pattern, re.VERBOSE | self._flags)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.compiled.search(text, start)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text)

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text, start)

    def split(self, text: str) -> list[str | Any]:
        return self.compiled.split(text)

    def sub(
        self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0
    ) -> str:
        return self.compiled.sub(replacement, text, count=count)


@cache
def phrase(name: str, flags: re.RegexFlag = re.IGNORECASE) -> Phrase:
    """Return the pattern in the section ``name``."""
    return Phrase(name, flags)


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
