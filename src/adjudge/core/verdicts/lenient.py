"""JSON as models write it: any quotes, quotes inside texts, raw newlines, bare words, missing and
stray commas.

Nothing is guessed. A value ends at the first place where its object can go on. What does not fit is
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


def _refuse_conflicts(pairs: list[tuple[str, JsonValue]]) -> JsonDict:
    """Return an object, or raise ValueError if it has two different values for one key."""
    data = dict(pairs)
    if len(data) < len(pairs) and any(data[name] != value for name, value in pairs):
        raise ValueError("one name twice")
    return data


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_refuse_conflicts)
_ENDS_WITH_QUOTE = re.compile(r'"\s*\Z')
_DEEPEST = 3
MOST_OBJECTS = 500
"""Objects per reply. No answer has as many; reading on would only take time."""

Read = tuple[JsonValue, int]
"""A value and where it ends."""


class FoundObject(NamedTuple):
    """An object in a reply."""

    data: JsonDict | None
    """None if it cannot be read."""
    mended: bool
    start: int
    end: int
    """An object that cannot be read takes the rest of the text with it."""


def find_objects(text: str, *, cut: bool = False) -> list[FoundObject]:
    """Return every outermost object in ``text``, in order.

    An unreadable object is the last, because the text after it may be inside it, such as a quoted
    verdict.
    """
    objects: list[FoundObject] = []
    end, start = 0, next_object(text, 0)
    while start >= 0 and len(objects) < MOST_OBJECTS:
        objects.append(object_at(text, start, cut))
        end = objects[-1].end
        start = next_object(text, end)
    if objects and end < len(text) and (start >= 0 or was_inside(text[end:], cut)):
        objects.append(FoundObject(None, False, end, len(text)))
    return objects


def object_at(text: str, start: int, cut: bool) -> FoundObject:
    """Return the object whose brace opens at ``start``."""
    clean = decode_at(text, start)
    if clean and isinstance(clean[0], dict):
        return FoundObject(clean[0], False, start, clean[1])
    if mended := read_object(text, start):
        return FoundObject(mended[0], True, start, mended[1])
    return FoundObject(None if cut else _read_unclosed(text[start:]), True, start, len(text))


def _read_unclosed(piece: str) -> JsonDict | None:
    """Read an object that lacks only its last braces; return None for any other.

    One that may have been cut off is not read: "Good" could have been "Good enough".
    """
    if not _ENDS_WITH_QUOTE.search(piece):
        return None
    # Models that stop early forget the closing braces of nested objects, seldom more than three.
    for braces in range(1, _DEEPEST + 1):
        read = decode_at(piece + "}" * braces, 0)
        if read and isinstance(read[0], dict):
            return read[0]
    return None


def was_inside(rest: str, cut: bool) -> bool:
    """Return True if the text after the last object shows that this was part of a larger one, such
    as quoted JSON.
    """
    rest = rest.lstrip("}` \t\r\n")
    return (
        bool(cut and rest)
        or rest.count("}") > rest.count("{")
        or _QUOTED_KEY.search(rest) is not None
    )


def next_object(text: str, start: int) -> int:
    """Return the index of the next brace that is followed by a name and a colon, or -1."""
    match = _START.search(text, start)
    return match.start() if match else -1


def read_object(text: str, start: int, depth: int = 4) -> tuple[JsonDict, int] | None:
    """Return the object whose brace opens at ``start``, and its end; None if it cannot be read
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
        return decode_at(text, at)
    word = _WORD.match(text, at)
    # A bare word ends at a comma, so that it does not swallow the next name.
    return (_read_word(word.group().strip()), word.end()) if word else None


def _string(text: str, at: int) -> Read | None:
    """Read up to the first closing quote after which the object can go on; None if there is none.

    A quote inside the text does not end it.
    """
    for mark in _MARKS[text[at]].finditer(text, at + 1):
        if mark.group()[0] != "\\" and _GOES_ON.match(text, mark.end()):
            return _unescape(text[at + 1 : mark.start()]), mark.end()
    return None


def decode_at(text: str, at: int) -> Read | None:
    """Return the well-formed JSON value at ``at``, and its end, or None. Raw newlines in texts are
    allowed.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _unescape(raw: str) -> JsonValue:
    read = decode_at(f'"{raw}"', 0)
    # Decoding may end at a quote inside the text. Then only plain escapes are undone.
    if read and read[1] == len(raw) + 2:
        return read[0]
    return raw.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")


def _read_word(word: str) -> JsonValue:
    if word.lower() in _MEANING:
        return _MEANING[word.lower()]
    read = decode_at(word, 0)
    return read[0] if read and read[1] == len(word) else word
