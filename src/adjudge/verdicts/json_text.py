"""JSON objects in a reply, however they are wrapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_DECODER = json.JSONDecoder(strict=False)
_STRUCTURE = re.compile(r'\\.|["{}]', re.DOTALL)
_SMART_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"'})
_ENDS_WITH_QUOTE = re.compile(r"[\"'”»]\s*,?\s*$")
_MENDABLE = 20_000
"""Longest piece of broken JSON that is mended; a longer one costs more than another call."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a reply, and whether its text had to be mended to be read."""

    data: dict[str, object]
    mended: bool


def find_objects(text: str) -> list[Found]:
    """Every outermost JSON object in ``text``, in order."""
    whole = _strict(text)
    if whole is not None:
        return [Found(item, False) for item in whole]
    return [found for piece in _pieces(text) if (found := _read(*piece)) is not None]


def _strict(text: str) -> list[dict[str, object]] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text of each outermost {…}, and whether it is closed. What follows an unclosed one is inside it."""
    start = text.find("{")
    while start >= 0:
        end = _end_of_object(text, start)
        yield text[start:end], end is not None
        start = text.find("{", end) if end is not None else -1


def _end_of_object(text: str, start: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return _balanced_end(text, start)


def _balanced_end(text: str, start: int) -> int | None:
    """Where the braces opened at ``start`` are closed again, those inside strings left out."""
    depth, quoted = 0, False
    for token in _STRUCTURE.finditer(text, start):
        mark = token.group()
        if mark == '"':
            quoted = not quoted
        elif not quoted and mark in "{}":
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return token.end()
    return None


def _read(piece: str, closed: bool) -> Found | None:
    try:
        data = json.loads(piece, strict=False)
        return Found(data, False)
    except (ValueError, RecursionError):
        return _mend(piece, closed)


def _mend(piece: str, closed: bool) -> Found | None:
    """Read broken JSON. A value that may have been cut off is not read: "Good" could have been "Good enough"."""
    if len(piece) > _MENDABLE or not (closed or _ENDS_WITH_QUOTE.search(piece)):
        return None
    import json_repair  # takes a while to load and is rarely needed

    for candidate in (piece, piece.translate(_SMART_QUOTES)):
        try:
            data = json_repair.loads(candidate)
        except Exception:  # noqa: BLE001 - a third party's reader on hostile text: whatever it raises means unreadable
            data = None
        if isinstance(data, dict) and data:
            return Found(data, True)
    return None
