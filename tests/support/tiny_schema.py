"""As much of JSON schema as ours uses. A word it does not know is an error, so that nothing passes unchecked."""

from __future__ import annotations

import re
from typing import Any

_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}
_SAID_ONLY = {"$schema", "title", "description"}


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether ``value`` is valid under ``schema``."""
    return all(word in _SAID_ONLY or _RULES[word](value, rule, schema) for word, rule in schema.items())


def _is(value: object, name: str) -> bool:
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def _number(value: object) -> bool:
    return _is(value, "number")


def _extra(value: Any, rule: object, schema: dict[str, Any]) -> bool:
    rest = [item for name, item in value.items() if name not in schema.get("properties", {})] if isinstance(value, dict) else []
    return not rest if rule is False else all(fits(item, rule) for item in rest)  # type: ignore[arg-type]


_RULES: dict[str, Any] = {
    "type": lambda value, rule, _: any(_is(value, name) for name in ([rule] if isinstance(rule, str) else rule)),
    "enum": lambda value, rule, _: value in rule,
    "const": lambda value, rule, _: value == rule,
    "pattern": lambda value, rule, _: not isinstance(value, str) or bool(re.search(rule, value)),
    "minimum": lambda value, rule, _: not _number(value) or value >= rule,
    "maximum": lambda value, rule, _: not _number(value) or value <= rule,
    "exclusiveMinimum": lambda value, rule, _: not _number(value) or value > rule,
    "anyOf": lambda value, rule, _: any(fits(value, each) for each in rule),
    "oneOf": lambda value, rule, _: sum(fits(value, each) for each in rule) == 1,
    "items": lambda value, rule, _: not isinstance(value, list) or all(fits(item, rule) for item in value),
    "minItems": lambda value, rule, _: not isinstance(value, list) or len(value) >= rule,
    "required": lambda value, rule, _: not isinstance(value, dict) or set(rule) <= value.keys(),
    "properties": lambda value, rule, _: (
        not isinstance(value, dict) or all(fits(item, rule[name]) for name, item in value.items() if name in rule)
    ),
    "additionalProperties": _extra,
}
