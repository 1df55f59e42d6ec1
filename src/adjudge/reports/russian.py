"""Our own texts in Russian where they were made before anybody knew the language: errors, reasons of votes, notes.

They are looked up as whole sentences with places for what is the user's; what is not ours stays as it is.
"""

from __future__ import annotations

import re
from functools import cache, partial
from importlib.resources import files
from typing import NamedTuple

from adjudge.reports.nouns import NOUNS, Noun
from adjudge.reports.words import counted

_PLACE = re.compile(r"\{\}")
_DECIMAL = re.compile(r"[\\$~+\-±]*\d+\.\d+%?")
_COUNTED = re.compile(r"(?P<count>\d+) (?P<noun>[a-z]+(?: [a-z]+)?)")
_OF_NOUNS: dict[str, Noun] = {form: noun for noun, forms in NOUNS.items() if " of " not in noun for form in forms}
_CLAUSES = (
    re.compile(r"^(?P<one>.+?)(?P<mark>: )(?P<two>.+)$", re.S),
    re.compile(r"^(?P<one>.+?)(?P<mark>; )(?P<two>.+)$", re.S),
    re.compile(r"^(?P<one>.+)(?P<mark> \()(?P<two>.+)\)$", re.S),
)
_LISTED = re.compile(r"^(?P<one>.+?)(?P<mark>, )(?P<two>.+)$", re.S)

_PLACED = re.compile(r"(?P<file>(?:(?!: |; ).)+), line (?P<number>\d+(?: \(\d+\))?)(?P<key>, [\w.\[\]]+)?")
"""Where in a file something is wrong: it stands before a clause of its own."""


class _Known(NamedTuple):
    hint: str
    """The longest part of it that never changes: whatever lacks that is something else."""
    english: str
    russian: str


def localised(text: str, language: str) -> str:
    """``text`` in ``language``, where it is one of ours."""
    return in_russian(text) if language == "ru" else text


def in_russian(text: str, *, terminal: bool = False) -> str:
    """``text``, or each of its clauses, in Russian. Figures get their decimal comma.

    ``terminal``: all of it is ours, so that single words and the parts of lists are known as well.
    """
    if text.startswith(" "):
        return " " + in_russian(text[1:], terminal=terminal)
    if (figure := _figure(text)) is not None:
        return figure
    inner = partial(in_russian, terminal=terminal)
    for known in _known(terminal=terminal):
        if known.hint in text and (found := _pattern(known.english, terminal=terminal).fullmatch(text)):
            return known.russian.format(*map(inner, found.groups()))
    for clauses in (*_CLAUSES, _LISTED) if terminal else _CLAUSES:
        if found := clauses.match(text):
            one, two = inner(found["one"]), inner(found["two"])
            if (one, two) != (found["one"], found["two"]):
                return f"{one}{found['mark']}{two}{')' if found['mark'] == ' (' else ''}"
    return text


def _figure(text: str) -> str | None:
    """A number, a number with its noun, or a place in a file; None for anything else."""
    if _DECIMAL.fullmatch(text):
        return text.replace(".", ",")
    if (number := _COUNTED.fullmatch(text)) and number["noun"] in _OF_NOUNS:
        return counted(int(number["count"]), _OF_NOUNS[number["noun"]], "ru")
    if placed := _PLACED.fullmatch(text):
        return f"{placed['file']}, строка файла {placed['number']}{placed['key'] or ''}"
    return None


@cache
def _known(*, terminal: bool) -> tuple[_Known, ...]:
    """The most particular first."""
    import yaml

    names = ("russian.yaml", "russian_terminal.yaml") if terminal else ("russian.yaml",)
    texts = ((files(__package__) / name).read_text(encoding="utf-8") for name in names)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where that is there: fifteen times as fast
    entries = {english: russian for text in texts for english, russian in yaml.load(text, loader).items()}  # noqa: S506 - both are safe
    order = sorted(entries, key=lambda english: -len(_PLACE.sub("", english)))
    return tuple(_Known(max(_PLACE.split(english), key=len), english, entries[english]) for english in order)


@cache
def _pattern(english: str, *, terminal: bool) -> re.Pattern[str]:
    """Made when a text may be one of these: of a thousand sentences a command says a few."""
    first = r"((?:(?!: |; |, ).)+?)" if terminal else "(.+?)"  # what stands before a clause is another clause
    pattern = "(.+?)".join(map(re.escape, _PLACE.split(english)))
    return re.compile(first + pattern.removeprefix("(.+?)") if english.startswith("{}") else pattern, re.S)
