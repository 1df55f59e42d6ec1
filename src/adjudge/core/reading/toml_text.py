"""TOML whose values know their lines, like those of YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.reading.values import Items, Place, Scalar, YamlMapping

_TABLE = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_Lines = Mapping[tuple[str, ...], int]


def load_toml(content: str, place: Place, table: Sequence[str] = ()) -> Place | None:
    """Return ``place`` with the named table of ``content`` as its value, or None without such a
    table.
    """
    import tomllib  # most projects have no such table

    try:
        data: object = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        line = _AT_LINE.search(str(error))
        raise replace(place, line=int(line[1]) if line else 1).wrong(
            "is not TOML: {said}", said=_AT_LINE.sub("", str(error)).strip()
        ) from None
    except RecursionError:
        raise replace(place, line=1).wrong("is nested too deeply") from None
    lines = _lines(content)
    for name in table:
        if not isinstance(data, Mapping) or name not in data:
            return None
        data = data[name]
    return replace(
        place, line=lines.get(tuple(table), 1), value=with_lines(data, tuple(table), lines)
    )


def _lines(content: str) -> _Lines:
    """Map keys and tables to their lines.

    A line inside a long text may look like a key; nothing asks for such a key.
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(content.splitlines(), 1):
        if header := _TABLE.match(line):
            table = _parts(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_parts(key[1])), number)
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple("".join(groups) for groups in _PART.findall(dotted))


def with_lines(value: object, path: tuple[str, ...] = (), lines: _Lines | None = None) -> JsonValue:
    """Convert a parsed ``value`` to the types that keep the lines of a file."""
    lines = lines or {}
    if isinstance(value, Mapping):
        values = YamlMapping(
            (str(name), with_lines(below, (*path, str(name)), lines))
            for name, below in value.items()
        )
        values.lines = {name: _line((*path, name), lines) for name in values}
        values.key_lines = dict(values.lines)
        return values
    if isinstance(value, list):
        items = Items(with_lines(item, path, lines) for item in value)
        items.lines = [_line(path, lines)] * len(value)
        return items
    if isinstance(value, bool):
        return Scalar(str(value).lower(), value)
    return Scalar(str(value), value if isinstance(value, str | int | float) else None)


def _line(path: tuple[str, ...], lines: _Lines) -> int:
    """Return the line of a key, or of the table around it."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 1)
