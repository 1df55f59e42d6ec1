"""Our own texts in Russian where they were made before anybody knew the language: errors, reasons
of votes, notes.

They are looked up as whole sentences with places for what is the user's; what is not ours stays as
it is. A value that may read like a sentence of ours (a folder ``order``, a criterion "Quality of
the answer") is put in with ``verbatim``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.resources import files
from typing import NamedTuple, Self

from adjudge.messages import Message
from adjudge.results import counts

_PLACE = re.compile(r"\{\}")
_DECIMAL = re.compile(r"[\\$~+\-−±]*\d+\.\d+%?")
_COUNTED = re.compile(r"(?P<count>\d+) (?P<noun>[a-z]+(?: [a-z]+)?)")
_COUNTS = {
    form.format(count="").strip(): count
    for count in (
        counts.count_batches,
        counts.count_calls,
        counts.count_failed_calls,
        counts.count_judgments,
        counts.count_labels,
        counts.count_replies,
        counts.count_requests,
        counts.count_rows,
        counts.count_tokens,
        counts.count_votes,
    )
    for form in (count(1).template, count(1).plural)
}
_CLAUSES = (
    re.compile(r"^(?P<one>.+?)(?P<mark>: )(?P<two>.+)$", re.S),
    re.compile(r"^(?P<one>.+?)(?P<mark>; )(?P<two>.+)$", re.S),
    re.compile(r"^(?P<one>.+)(?P<mark> \()(?P<two>.+)\)$", re.S),
)
_LISTED = re.compile(r"^(?P<one>.+?)(?P<mark>, )(?P<two>.+)$", re.S)

_PLACED = re.compile(
    r"(?P<file>(?:(?!: |; ).)+), line (?P<number>\d+(?: \(\d+\))?)(?P<key>, [\w.\[\]]+)?"
)
"""Where in a file something is wrong: it stands before a clause of its own."""


class _Known(NamedTuple):
    hint: str
    """The longest part of it that never changes: whatever lacks that is something else."""
    english: str
    russian: str


_OPEN, _CLOSE = (
    "\ufdd0",
    "\ufdd1",
)  # characters that no text may hold: Unicode keeps them for use inside a program
_MARKED = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.S)


def verbatim(value: object) -> str:
    """A value of the user's, marked so that no language changes it; ``in_russian`` and ``unmarked``
    take the marks away.
    """
    return f"{_OPEN}{unmarked(str(value))}{_CLOSE}"


def mark(text: str, values: Iterable[str]) -> str:
    """``text``, which was made elsewhere, with those of the ``values`` that stand in it as words of
    their own marked.
    """
    longest_first = sorted(filter(None, values), key=len, reverse=True)
    if not longest_first:
        return text
    words = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", lambda found: verbatim(found[0]), text)


def unmarked(text: str) -> str:
    """``text`` without the marks of ``verbatim``."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def localised(text: str, language: str) -> str:
    """``text`` in ``language``, where it is one of ours."""
    if isinstance(text, Message):
        return text.render(language)
    return in_russian(text) if language == "ru" else unmarked(text)


def translate_line(text: str, language: str) -> str:
    """A line that commands print, in ``language``: all of it is ours, but for
    what is ``verbatim``.
    """
    if isinstance(text, Message):
        return text.render(language)
    return in_russian(text, terminal=True) if language == "ru" else unmarked(text)


class Localized(Message):
    """A text that is not made of messages yet: ``say`` gives it in each language."""

    __slots__ = ("_say",)

    _say: Callable[[str], str]

    def __new__(cls, say: Callable[[str], str], /) -> Self:
        message = cls.make(say("en"), "", "", {})
        message._say = say
        return message

    def render(self, language: str) -> str:
        return self._say(language)

    def __reduce__(self) -> tuple[object, ...]:
        return (Localized, (self._say,))


def translate_stored(text: str) -> Message:
    """A sentence that was kept in English, such as a reason in a ledger, as a message."""
    return text if isinstance(text, Message) else Localized(partial(localised, text))


def translate_report(text: str) -> Message:
    """A line of a report, which knows its words in English alone, as a message."""
    return text if isinstance(text, Message) else Localized(partial(translate_line, text))


def in_russian(text: str, *, terminal: bool = False) -> str:
    """``text``, or each of its clauses, in Russian. Figures get their decimal comma; what is
    ``verbatim`` stays as it is.

    ``terminal``: all else is ours, so that single words and the parts of lists are known as well.
    """
    theirs: list[str] = []

    def keep(found: re.Match[str]) -> str:
        theirs.append(found[1])
        return f"{_OPEN}{len(theirs) - 1}{_CLOSE}"

    said = _translate(_MARKED.sub(keep, text), terminal=terminal)
    return _MARKED.sub(lambda found: theirs[int(found[1])], said)


def _translate(text: str, *, terminal: bool) -> str:
    if text.startswith(" "):
        return " " + _translate(text[1:], terminal=terminal)
    if (figure := _figure(text)) is not None:
        return figure
    inner = partial(_translate, terminal=terminal)
    for known in _known(terminal=terminal):
        if known.hint in text and (
            found := _pattern(known.english, terminal=terminal).fullmatch(text)
        ):
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
    if (number := _COUNTED.fullmatch(text)) and number["noun"] in _COUNTS:
        return _COUNTS[number["noun"]](int(number["count"])).render("ru")
    if placed := _PLACED.fullmatch(text):
        return f"{placed['file']}, строка файла {placed['number']}{placed['key'] or ''}"
    return None


@cache
def _known(*, terminal: bool) -> tuple[_Known, ...]:
    """The most particular first."""
    import yaml

    names = ("russian.yaml", "russian_terminal.yaml") if terminal else ("russian.yaml",)
    texts = ((files(__package__) / name).read_text(encoding="utf-8") for name in names)
    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # in C where that is there: fifteen times as fast
    entries = {
        english: russian
        for text in texts
        for english, russian in yaml.load(text, loader).items()  # noqa: S506 - both are safe
    }
    order = sorted(entries, key=lambda english: -len(_PLACE.sub("", english)))
    return tuple(
        _Known(max(_PLACE.split(english), key=len), english, entries[english]) for english in order
    )


@cache
def _pattern(english: str, *, terminal: bool) -> re.Pattern[str]:
    """Made when a text may be one of these: of a thousand sentences a command says a few."""
    first = (
        r"((?:(?!: |; |, ).)+?)" if terminal else "(.+?)"
    )  # what stands before a clause is another clause
    pattern = "(.+?)".join(map(re.escape, _PLACE.split(english)))
    return re.compile(
        first + pattern.removeprefix("(.+?)") if english.startswith("{}") else pattern, re.S
    )
