"""Places in a command, a body or a prompt that a row's fields fill: ``{question}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.json_types import JsonValue
from adjudge.errors import SetupError

_PLACE = re.compile(r"\{\{|\}\}|\{([\w .-]+)\}")
Row = Mapping[str, JsonValue]


def places_in(template: JsonValue) -> Iterator[str]:
    """The names of the fields that a template takes."""
    if isinstance(template, str):
        yield from (found[1].strip() for found in _PLACE.finditer(template) if found[1])
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from places_in(value)
    elif isinstance(template, Sequence):
        for value in template:
            yield from places_in(value)


def filled(template: JsonValue, row: Row) -> JsonValue:
    """The template with a row's values. A text that is one place and nothing else is the value
    itself, so that a list stays a list; ``{{`` and ``}}`` are braces.
    """
    if isinstance(template, str):
        whole = _PLACE.fullmatch(template)
        return _value(row, whole[1]) if whole and whole[1] else filled_text(template, row)
    if isinstance(template, Mapping):
        return {name: filled(value, row) for name, value in template.items()}
    if isinstance(template, Sequence):
        return [filled(value, row) for value in template]
    return template


def filled_text(template: str, row: Row) -> str:
    """A text with the values of the row put in."""

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
