"""The beginning of a JSON object in a text that may break off."""

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
    """Return the members of a JSON object that may break off; empty if the text is no object.

    The broken value is read in part: the first items of a list, the start of a text.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = dict(_members(text))
    return data if isinstance(data, dict) else {}


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
        match = _CHARACTERS.match(text, at + 1, at + 1 + _LONGEST_CUT)
        return str(_decode(f'"{match[0] if match else ""}"')[0])
    return list(_items(text, at + 1)) if text.startswith("[", at) else None


def _items(text: str, at: int) -> Iterator[JsonValue]:
    try:
        while True:
            value, at = _decode(text, _after(text, at))
            yield value
    except (ValueError, RecursionError):
        return


def _after(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at
