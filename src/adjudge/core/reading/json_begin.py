"""The beginning of an object in JSON: as much as a text that may break off holds of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from adjudge.core.domain.json_types import JsonDict, JsonValue

_decode = json.JSONDecoder(strict=False).raw_decode
_BETWEEN = re.compile(r"[\s,:]*")
_CHARACTERS = re.compile(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*')
_LONGEST_CUT = 1000


def begin_object(text: str) -> JsonDict:
    """Its members up to where the text breaks off; there of a list the first items, and of a text
    the beginning.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = dict(_members(text))
    return found if isinstance(found, dict) else {}


def _members(text: str) -> Iterator[tuple[str, JsonValue]]:
    at = 1
    try:
        while True:
            name, at = _decode(text, _after(text, at))
            begins = _after(text, at)
            try:
                value, at = _decode(text, begins)
            except ValueError:
                yield str(name), _cut_value(text, begins)
                return
            yield str(name), value
    except (ValueError, RecursionError):
        return


def _cut_value(text: str, at: int) -> JsonValue:
    if text.startswith('"', at):
        said = _CHARACTERS.match(text, at + 1, at + 1 + _LONGEST_CUT)
        return str(_decode(f'"{said[0] if said else ""}"')[0])
    return list(_items(text, at + 1)) if text.startswith("[", at) else None


def _items(text: str, at: int) -> Iterator[JsonValue]:
    try:
        while True:
            value, at = _decode(text, _after(text, at))
            yield value
    except (ValueError, RecursionError):
        return


def _after(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at
