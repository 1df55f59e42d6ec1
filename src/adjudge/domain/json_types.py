"""JSON as its types: what came from elsewhere, or goes there, and has no shape of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = (
    bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
)
JsonObject: TypeAlias = Mapping[str, JsonValue]
JsonDict: TypeAlias = dict[str, JsonValue]
"""A JSON object that is being made, or is the caller's to change."""


def object_in(value: JsonValue) -> JsonObject:
    """``value``; nothing where it is not an object: what others wrote may be anything."""
    return value if isinstance(value, Mapping) else {}


def objects_in(value: JsonValue) -> tuple[JsonObject, ...]:
    """The objects of a list."""
    found = value if isinstance(value, list | tuple) else ()
    return tuple(one for one in found if isinstance(one, Mapping))


def text_in(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
