"""The phrases by which replies are read: the sections of `data/phrases.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

_SECTION = re.compile(r"^=== (\w+)\n", re.MULTILINE)
_REFERENCE = re.compile(r"<<(\w+)>>")


class Phrase:
    """A section of the phrase file as a pattern, compiled on first use."""

    # Not compiled before a reply is read by it: all of them take 0.07 s, a fifth of the start.
    # The methods are those of the compiled pattern itself, so that using one costs no more.

    def __init__(self, name: str, flags: re.RegexFlag) -> None:
        self._name, self._flags = name, flags

    @property
    def pattern(self) -> str:
        return _text(self._name)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.VERBOSE | self._flags)

    @cached_property
    def search(self) -> Callable[..., re.Match[str] | None]:
        return self.regex.search

    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        return self.regex.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        return self.regex.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        return self.regex.finditer

    @cached_property
    def split(self) -> Callable[..., list[str | Any]]:
        return self.regex.split

    @cached_property
    def sub(self) -> Callable[..., str]:
        return self.regex.sub


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
