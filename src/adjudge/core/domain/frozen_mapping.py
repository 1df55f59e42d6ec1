"""Immutable mappings, JSON-ready data, and hashes of content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Generic, NoReturn, TypeVar, cast

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.json_writer import json_writer

V = TypeVar("V")
_encode = json_writer(separators=(",", ":"))
_encode_finite = json_writer(allow_nan=False)
_encode_sorted = json_writer(separators=(",", ":"), sort_keys=True)


class FrozenDict(dict[str, V], Generic[V]):
    """A dict that can be read, hashed and pickled, but not changed."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("this mapping cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[FrozenDict[V]], tuple[dict[str, V]]]:
        return (FrozenDict, (dict(self),))


_PLAIN = frozenset({str, int, float, bool, type(None)})
# Floats are left out: ``_canonical`` turns whole ones into integers.
_EXACT = _PLAIN - {float}
NOTHING: FrozenDict[Any] = FrozenDict()
"""The shared empty mapping."""


def plain(value: object) -> JsonValue:
    """Return ``value`` as JSON-ready data: dataclasses and mappings become dicts, tuples lists,
    enums their values.
    """
    if type(value) in _PLAIN:
        return cast(JsonValue, value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Enum):
        return cast(JsonValue, value.value)
    if isinstance(value, Mapping):
        return {
            str(key): item if type(item) in _PLAIN else plain(item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    return cast(JsonValue, value)


def json_copy(value: object) -> JsonValue:
    """Return ``value`` after a round trip through JSON; unknown objects become their text."""
    return cast(JsonValue, json.loads(json.dumps(plain(value), default=str)))


def some_of(value: object, *names: str) -> JsonDict:
    """Return the named attributes of ``value`` as JSON-ready data, using their ``to_dict`` if they
    have one.
    """
    return {name: to_json(getattr(value, name)) for name in names}


def to_json(value: object) -> JsonValue:
    """Return ``value`` as JSON-ready data, using ``to_dict`` of objects that have one."""
    if hasattr(value, "to_dict"):
        return cast(JsonDict, value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return plain(value)


def nonempty(**values: V) -> dict[str, V]:
    """Return the values that are not empty, by their names."""
    return {name: value for name, value in values.items() if value}


def json_text(value: object) -> str:
    """Return JSON-ready data as strict JSON: NaN and the infinities become texts."""
    try:
        return _encode_finite(value)
    except ValueError:
        return json.dumps(_with_finite_numbers(value))


def _with_finite_numbers(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _with_finite_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_finite_numbers(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _canonical(value: object) -> object:
    """Turn 1.0 into 1, so that equal content has one hash."""
    if isinstance(value, dict):
        return {
            key: item if type(item) in _EXACT else _canonical(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [item if type(item) in _EXACT else _canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def text_hash(*parts: object) -> str:
    """Return the SHA-256 of texts, numbers and tuples of them; many times faster than
    ``content_hash``.
    """
    return hashlib.sha256(_encode(parts).encode()).hexdigest()


def content_hash(*parts: object) -> str:
    """Return the SHA-256 of the parts' content; equal content gives equal hashes in every
    process.
    """
    return hashlib.sha256(canonical_text(parts).encode()).hexdigest()


def canonical_text(value: object) -> str:
    """Return the text that ``content_hash`` hashes; equal content gives equal texts."""
    return _encode_sorted(_canonical(plain(value)))


def joined_text(texts: Mapping[str, str]) -> str:
    """Return the canonical text of an object, given the canonical text of each value."""
    return "{" + ",".join([f'"{name}":{texts[name]}' for name in sorted(texts)]) + "}"


def joined_hash(texts: Mapping[str, str]) -> str:
    """Return the ``content_hash`` of an object, given the canonical text of each value."""
    return hashlib.sha256(f"[{joined_text(texts)}]".encode()).hexdigest()
