"""Our own texts in Russian where they were made before anybody knew the language: errors, reasons of votes, notes.

They are looked up as whole sentences with places for what is the user's; what is not ours stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PLACE = re.compile(r"\{\}")
_CLAUSES = (
    re.compile(r"^(?P<one>.+?)(?P<mark>: )(?P<two>.+)$", re.S),
    re.compile(r"^(?P<one>.+)(?P<mark> \()(?P<two>.+)\)$", re.S),
)


class _Known(NamedTuple):
    english: re.Pattern[str]
    russian: str


def localised(text: str, language: str) -> str:
    """``text`` in ``language``, where it is one of ours."""
    return in_russian(text) if language == "ru" else text


def in_russian(text: str) -> str:
    """``text``, or each of its clauses, in Russian."""
    for known in _known():
        if found := known.english.fullmatch(text):
            return known.russian.format(*(in_russian(part) if " " in part else part for part in found.groups()))
    for clauses in _CLAUSES:
        if found := clauses.match(text):
            one, two = in_russian(found["one"]), in_russian(found["two"])
            if (one, two) != (found["one"], found["two"]):
                return f"{one}{found['mark']}{two}{')' if found['mark'] == ' (' else ''}"
    return text


@cache
def _known() -> tuple[_Known, ...]:
    """The most particular first."""
    import yaml

    entries = yaml.safe_load((files(__package__) / "russian.yaml").read_text(encoding="utf-8"))
    order = sorted(entries, key=lambda english: -len(_PLACE.sub("", english)))
    return tuple(_Known(_pattern(english), entries[english]) for english in order)


def _pattern(english: str) -> re.Pattern[str]:
    return re.compile("(.+?)".join(map(re.escape, _PLACE.split(english))), re.S)
