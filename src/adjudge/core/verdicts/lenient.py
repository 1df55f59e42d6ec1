"""JSON as models write it: any quotes, quotes inside texts, raw newlines, bare words, missing and
stray commas.

Nothing is guessed. A value ends at the first place where its object can go on; what does not fit is
not read, and neither is an object that says two different things under one name.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict, JsonValue

_KEY = r"""["'“”„«‘]?([^\W\d][\w -]{0,40})["'“”»’]?\s*+:"""
_PAIR = re.compile(rf"\s*+{_KEY}\s*+")
_START = re.compile(
    rf"""\{{\s*+(?:(?://|\#)[^\n]{{0,200}}+\n\s*+){{0,20}}+(?:{_KEY}|"[^"\n]{{0,200}}"\s*+:)"""
)
_GOES_ON = re.compile(rf"[,\s]*+(?:(\}})(?=\s*+(?:[`,}}\]]|\Z)|[^\S\n]*+\n)|(?<=[,\s])(?={_KEY}))")
_WORD = re.compile(r"""[^\s"'“”„«»‘’{}\[\],:][^"“”{}\[\],:\n]*""")
_CLOSING = {'"': '"', "'": "'", "“": "“”", "”": "”", "„": "“”", "«": "»", "‘": "’"}
_MARKS = {
    opening: re.compile(rf"\\.|[{closing}]", re.DOTALL) for opening, closing in _CLOSING.items()
}
_MEANING = {"true": True, "false": False, "null": None, "none": None}
_QUOTED_KEY = re.compile(r"""["'“”„«‘]\w+["'“”»’]\s*+:""")


def _distinct(pairs: list[tuple[str, JsonValue]]) -> JsonDict:
    """Return an object, unless it says two different things under one name."""
    made = dict(pairs)
    if len(made) < len(pairs) and any(made[name] != value for name, value in pairs):
        raise ValueError("one name twice")
    return made


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct)
_ENDS_WITH_QUOTE = re.compile(r'"\s*\Z')
_DEEPEST = 3
MOST_OBJECTS = 500
"""No answer has as many objects; reading on would only take time."""

Read = tuple[JsonValue, int]
"""A value and where it ends."""


class Found(NamedTuple):
    """An object in a reply."""

    data: JsonDict | None
    """None if it cannot be read."""
    mended: bool
    start: int
    end: int
    """An object that cannot be read takes the rest of the text with it."""


def find_objects(text: str, *, cut: bool = False) -> list[Found]:
    """Return every outermost object in ``text``, in order.

    One that cannot be read is the last: what follows it may be inside it, such as a verdict that it
    only quotes.
    """
    found: list[Found] = []
    end, start = 0, next_object(text, 0)
    while start >= 0 and len(found) < MOST_OBJECTS:
        found.append(object_at(text, start, cut))
        end = found[-1].end
        start = next_object(text, end)
    if found and end < len(text) and (start >= 0 or was_inside(text[end:], cut)):
        found.append(Found(None, False, end, len(text)))
    return found


def object_at(text: str, start: int, cut: bool) -> Found:
    """Return the object whose brace opens at ``start``."""
    clean = decoded(text, start)
    if clean and isinstance(clean[0], dict):
        return Found(clean[0], False, start, clean[1])
    if mended := read_object(text, start):
        return Found(mended[0], True, start, mended[1])
    return Found(None if cut else _unclosed(text[start:]), True, start, len(text))


def _unclosed(piece: str) -> JsonDict | None:
    """Read an object that lacks only its last braces. One that may have been cut off is not read:
    "Good" could have been "Good enough".
    """
    if not _ENDS_WITH_QUOTE.search(piece):
        return None
    for braces in range(1, _DEEPEST + 1):
        read = decoded(piece + "}" * braces, 0)
        if read and isinstance(read[0], dict):
            return read[0]
    return None


def was_inside(rest: str, cut: bool) -> bool:
    """Whether ``rest``, behind the last object, shows that this was only part of a larger one, as
    quoted JSON is.
    """
    rest = rest.lstrip("}` \t\r\n")
    return (
        bool(cut and rest)
        or rest.count("}") > rest.count("{")
        or _QUOTED_KEY.search(rest) is not None
    )


def next_object(text: str, start: int) -> int:
    """Where the next brace is that is followed by a name and a colon; -1 where there is none."""
    found = _START.search(text, start)
    return found.start() if found else -1


def read_object(text: str, start: int, depth: int = 4) -> tuple[JsonDict, int] | None:
    """The object whose brace opens at ``start``, and where it ends; None when it cannot be read
    without guessing.
    """
    data: JsonDict = {}
    at = start + 1
    while pair := _PAIR.match(text, at):
        value, end = _value(text, pair.end(), depth) or (None, -1)
        goes_on = _GOES_ON.match(text, end) if end >= 0 else None
        if goes_on is None or data.setdefault(pair[1], value) != value:
            return None
        if goes_on[1]:
            return data, goes_on.end(1)
        at = goes_on.end()
    return None


def _value(text: str, at: int, depth: int) -> Read | None:
    opening = text[at : at + 1]
    if opening in _MARKS:
        return _string(text, at)
    if opening == "{":
        return read_object(text, at, depth - 1) if depth else None
    if opening == "[":
        return decoded(text, at)
    word = _WORD.match(text, at)
    return (_meaning(word.group().strip()), word.end()) if word else None


def _string(text: str, at: int) -> Read | None:
    """Up to the first closing quote behind which the object can go on: a quote inside the text does
    not end it.
    """
    for mark in _MARKS[text[at]].finditer(text, at + 1):
        if mark.group()[0] != "\\" and _GOES_ON.match(text, mark.end()):
            return _unescaped(text[at + 1 : mark.start()]), mark.end()
    return None


def decoded(text: str, at: int) -> Read | None:
    """The well-formed JSON value at ``at``; raw newlines in texts are let through."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _unescaped(raw: str) -> JsonValue:
    read = decoded(f'"{raw}"', 0)
    if read and read[1] == len(raw) + 2:
        return read[0]
    return raw.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")


def _meaning(word: str) -> JsonValue:
    if word.lower() in _MEANING:
        return _MEANING[word.lower()]
    read = decoded(word, 0)
    return read[0] if read and read[1] == len(word) else word
