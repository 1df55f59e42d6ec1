"""JSON as its types: what came from elsewhere, or goes there, and has no shape of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
    )
else:  # typing.get_type_hints of another module could not find the name that the text refers to
    JsonValue = bool | int | float | str | Sequence[Any] | Mapping[str, Any] | None
JsonObject: TypeAlias = Mapping[str, JsonValue]
JsonDict: TypeAlias = dict[str, JsonValue]
"""A JSON object that is being made, or is the caller's to change."""
_OBJECTS = (dict, Mapping)
"""What ``json`` reads is a dict, and to look for that first is five times as quick."""
_DEEPEST = 150


def is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, _OBJECTS)


def object_in(value: JsonValue) -> JsonObject:
    """``value``; nothing where it is not an object: what others wrote may be anything."""
    return value if isinstance(value, _OBJECTS) else {}


def objects_in(value: JsonValue) -> tuple[JsonObject, ...]:
    """The objects of a list; what else stands in it is left out."""
    found = value if isinstance(value, list | tuple) else ()
    return tuple(one for one in found if is_object(one))


def is_deep(value: JsonValue) -> bool:
    """Whether it is nested deeper than everything that keeps and compares values can follow."""
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST):
        inner = (one.values() if isinstance(one, Mapping) else one for one in level)
        lists = (one for one in inner if isinstance(one, Iterable) and not isinstance(one, str))
        level = [below for one in lists for below in one]
        if not level:
            return False
    return True


def text_in(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def object_at(data: JsonObject, name: str) -> JsonObject:
    """The object under ``name``; KeyError or TypeError where there is none."""
    value = data[name]
    if not is_object(value):
        raise TypeError(f"{name} is {type(value).__name__}")
    return value


def objects_at(data: JsonObject, name: str) -> Sequence[JsonObject]:
    """The objects of the list under ``name``; KeyError or TypeError where there is none."""
    value = data[name]
    if not _are_objects(value):
        raise TypeError(f"{name} is {type(value).__name__}")
    return value


def _are_objects(value: JsonValue) -> TypeGuard[Sequence[JsonObject]]:
    return isinstance(value, list) and all(map(is_object, value))
