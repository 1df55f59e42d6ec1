"""Immutable mappings, and the hash of what a thing says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Generic, Never, TypeVar

V_co = TypeVar("V_co", covariant=True)
_encode = json.JSONEncoder(separators=(",", ":")).encode


class FrozenDict(Mapping[str, V_co], Generic[V_co]):
    """A dict that can be read, hashed and pickled, and never changed."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, V_co] | None = None) -> None:
        object.__setattr__(self, "_data", dict(data or {}))

    _data: dict[str, V_co]

    def __getitem__(self, key: str) -> V_co:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def items(self) -> ItemsView[str, V_co]:
        """Those of the dict itself: four times as fast as the ones a Mapping makes."""
        return self._data.items()

    def __hash__(self) -> int:
        return hash(frozenset(self._data.items()))

    def __repr__(self) -> str:
        return repr(self._data)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("this mapping cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("this mapping cannot be changed")

    def __reduce__(self) -> tuple[type[FrozenDict[V_co]], tuple[dict[str, V_co]]]:
        return (FrozenDict, (self._data,))


NOTHING: FrozenDict[Never] = FrozenDict()
"""An empty one, for all who need it."""


def plain(value: object) -> object:
    """``value`` as JSON-ready data: dataclasses and mappings become dicts, tuples lists, enums their values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _canonical(value: object) -> object:
    """1.0 as 1: what is equal says the same."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def text_hash(*parts: object) -> str:
    """The SHA-256 of texts, numbers and tuples of them; many times as fast as ``content_hash``."""
    return hashlib.sha256(_encode(parts).encode()).hexdigest()


def content_hash(*parts: object) -> str:
    """The SHA-256 of what ``parts`` say; equal content gives equal hashes in every process."""
    text = json.dumps(_canonical(plain(parts)), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
