"""The part of JSON Schema that outputs are described with. Keywords it does not know are refused, not ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjudge.errors import SetupError

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}
_BOUNDS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any, Any], bool], str, type | tuple[type, ...]]] = {
    "minimum": (lambda value: value, lambda value, bound: value >= bound, "at least", (int, float)),
    "maximum": (lambda value: value, lambda value, bound: value <= bound, "at most", (int, float)),
    "exclusiveMinimum": (lambda value: value, lambda value, bound: value > bound, "above", (int, float)),
    "exclusiveMaximum": (lambda value: value, lambda value, bound: value < bound, "below", (int, float)),
    "minLength": (len, lambda size, bound: size >= bound, "of a length of at least", str),
    "maxLength": (len, lambda size, bound: size <= bound, "of a length of at most", str),
    "minItems": (len, lambda size, bound: size >= bound, "of a length of at least", list),
    "maxItems": (len, lambda size, bound: size <= bound, "of a length of at most", list),
}
_CHECKED = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "pattern",
    *_BOUNDS,
}
_WORDS = {"title", "description", "$schema", "$id", "default", "examples"}


def check_json_schema(schema: Mapping[str, Any], where: str = "output_schema") -> None:
    """Raise a SetupError at the first keyword that would not be checked."""
    for key in schema:
        if key not in _CHECKED | _WORDS:
            raise SetupError(f"{where} uses {key!r}, which is not checked here; there are {', '.join(sorted(_CHECKED))}")
    for kind in _kinds(schema):
        if kind not in _TYPES:
            raise SetupError(f"{where} has the type {kind!r}; there are {', '.join(_TYPES)}")
    for name, inner in _inner(schema):
        check_json_schema(inner, f"{where}.{name}")


def mismatch(value: object, schema: Mapping[str, Any], where: str = "output") -> str | None:
    """Why ``value`` does not fit ``schema``, or None where it does."""
    kinds = _kinds(schema)
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        return f"{where} is {value!r:.80}; wanted is {' or '.join(kinds)}"
    checks = (_choice, _bounds, _object, _array, _alternatives)
    return next((wrong for check in checks if (wrong := check(value, schema, where))), None)


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    kind = schema.get("type", ())
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _inner(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    found = [(name, one) for name, one in schema.get("properties", {}).items()]
    found += [(key, schema[key]) for key in ("items", "additionalProperties") if isinstance(schema.get(key), Mapping)]
    return found + [(key, one) for key in ("anyOf", "oneOf") for one in schema.get(key, ())]


def _choice(value: object, schema: Mapping[str, Any], where: str) -> str | None:
    allowed = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    if allowed and not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
        return f"{where} is {value!r:.80}; wanted is {' or '.join(map(repr, allowed))}"
    return None


def _bounds(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    for key, (measure, holds, words, kind) in _BOUNDS.items():
        applies = key in schema and isinstance(value, kind) and not isinstance(value, bool)
        if applies and not holds(measure(value), schema[key]):
            return f"{where} is {value!r:.80}; wanted is one {words} {schema[key]}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        return f"{where} is {value!r:.80}; wanted is a text that matches {schema['pattern']}"
    return None


def _object(value: object, schema: Mapping[str, Any], where: str) -> str | None:
    if not isinstance(value, dict):
        return None
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{where} lacks {', '.join(missing)}"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        inner = properties.get(name, others)
        if inner is False:
            return f"{where} has {name!r}, which nobody asked for"
        if isinstance(inner, Mapping) and (wrong := mismatch(item, inner, f"{where}[{name!r}]")):
            return wrong
    return None


def _array(value: object, schema: Mapping[str, Any], where: str) -> str | None:
    if not isinstance(value, list) or "items" not in schema:
        return None
    wrongs = (mismatch(item, schema["items"], f"{where}[{place}]") for place, item in enumerate(value))
    return next(filter(None, wrongs), None)


def _alternatives(value: object, schema: Mapping[str, Any], where: str) -> str | None:
    for key in ("anyOf", "oneOf"):
        fitting = sum(mismatch(value, one, where) is None for one in schema.get(key, ()))
        if key in schema and not (fitting == 1 or (fitting and key == "anyOf")):
            return f"{where} is {value!r:.80}, which does not fit {key} of the schema"
    return None
