"""Types of JSON data that comes from outside or goes there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
    )
else:  # typing.get_type_hints of another module would not find the name in the forward reference
    JsonValue = bool | int | float | str | Sequence[Any] | Mapping[str, Any] | None
JsonObject: TypeAlias = Mapping[str, JsonValue]
JsonDict: TypeAlias = dict[str, JsonValue]
"""A JSON object that its owner may change."""
# ``json`` returns dicts, and checking for them first is five times as fast.
_OBJECTS = (dict, Mapping)
_DEEPEST = 150


def is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, _OBJECTS)


def object_in(value: JsonValue) -> JsonObject:
    """Return ``value`` if it is an object, else an empty one: external data may be anything."""
    return value if isinstance(value, _OBJECTS) else {}


def objects_in(value: JsonValue) -> tuple[JsonObject, ...]:
    """Return the objects of a list, without its other members."""
    members = value if isinstance(value, list | tuple) else ()
    return tuple(member for member in members if is_object(member))


def is_deep(value: JsonValue) -> bool:
    """Return True if a value is nested too deeply for the functions that store and compare
    values.
    """
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST):
        inner = (node.values() if isinstance(node, Mapping) else node for node in level)
        lists = (node for node in inner if isinstance(node, Iterable) and not isinstance(node, str))
        level = [child for node in lists for child in node]
        if not level:
            return False
    return True


def text_in(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def object_at(data: JsonObject, name: str) -> JsonObject:
    """Return the object under ``name``; raise a KeyError or TypeError if there is none."""
    value = data[name]
    if not is_object(value):
        raise TypeError(f"{name} is {type(value).__name__}")
    return value


def objects_at(data: JsonObject, name: str) -> Sequence[JsonObject]:
    """Return the objects of the list under ``name``; raise a KeyError or TypeError if there is
    none.
    """
    value = data[name]
    if not _are_objects(value):
        raise TypeError(f"{name} is {type(value).__name__}")
    return value


def _are_objects(value: JsonValue) -> TypeGuard[Sequence[JsonObject]]:
    return isinstance(value, list) and all(map(is_object, value))
