"""The row that a judgment was made of, by its own columns. What is a field already is kept as the field's name, not twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from adjudge.domain.instance import Instance

INPUT = "input"
"""Where it stands in what is kept of a judgment."""


def input_of(instance: Instance) -> dict[str, object]:
    """What to keep of the row that was read; nothing where a program made the instance."""
    row = instance.metadata.get("row")
    if not isinstance(row, Mapping):
        return {}
    fields = {value: name for name, value in instance.fields.items() if isinstance(value, str)}
    return {INPUT: {str(column): _kept(value, fields) for column, value in row.items()}}


def input_from(kept: object, fields: Mapping[str, object]) -> dict[str, object]:
    """The row again, with the texts of its fields."""
    if not isinstance(kept, Mapping):
        return {}
    return {str(column): _read(value, fields) for column, value in kept.items()}


def cell_of(value: object) -> object:
    """A cell as JSON-ready data; a number that JSON does not know is nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): cell_of(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [cell_of(item) for item in value]
    return str(value)


def _kept(value: object, fields: Mapping[str, str]) -> object:
    if isinstance(value, str) and value in fields:
        return {"field": fields[value]}
    return {"value": cell_of(value)} if isinstance(value, Mapping) else cell_of(value)


def _read(value: object, fields: Mapping[str, object]) -> object:
    if not isinstance(value, Mapping):
        return value
    return fields.get(str(value["field"])) if "field" in value else value.get("value")
