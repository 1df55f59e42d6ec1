"""Placeholders for a row's fields in a command, a body or a prompt: ``{question}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.json_types import JsonValue
from adjudge.errors import SetupError

_PLACE = re.compile(r"\{\{|\}\}|\{([\w .-]+)\}")
Row = Mapping[str, JsonValue]


def places_in(template: JsonValue) -> Iterator[str]:
    """Yield the names of the fields that a template uses."""
    if isinstance(template, str):
        yield from (match[1].strip() for match in _PLACE.finditer(template) if match[1])
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from places_in(value)
    elif isinstance(template, Sequence):
        for value in template:
            yield from places_in(value)


def fill(template: JsonValue, row: Row) -> JsonValue:
    """Return the template with a row's values; ``{{`` and ``}}`` are braces.

    A text that is a single placeholder becomes the value itself, so that a list stays a list.
    """
    if isinstance(template, str):
        match = _PLACE.fullmatch(template)
        return _value(row, match[1]) if match and match[1] else fill_text(template, row)
    if isinstance(template, Mapping):
        return {name: fill(value, row) for name, value in template.items()}
    if isinstance(template, Sequence):
        return [fill(value, row) for value in template]
    return template


def fill_text(template: str, row: Row) -> str:
    """Fill the placeholders of a text with a row's values; raise SetupError if the row lacks one.

    The items of a list are separated by blank lines, and null is empty.
    """

    def put(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0][0]
        value = _value(row, found[1])
        if isinstance(value, Sequence) and not isinstance(value, str):
            return "\n\n".join(map(str, value))
        return "" if value is None else str(value)

    return _PLACE.sub(put, template)


def _value(row: Row, name: str) -> JsonValue:
    if name.strip() not in row:
        raise SetupError(
            "the row has no {name!r}; it has: {names}",
            name=name.strip(),
            names=", ".join(sorted(row)),
        )
    return row[name.strip()]
