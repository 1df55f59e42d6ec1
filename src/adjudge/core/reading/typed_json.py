"""JSON → dataclasses, by their annotations. Strict, so that a file from an untrusted source is
checked once, when it is read.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import (
    Any,
    TypeVar,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

from adjudge.core.domain.json_document import type_hints
from adjudge.messages import Message, StoredMessage, join

T = TypeVar("T")
Reader = Callable[[object], Any]
"""Returns the checked value, or raises a WrongType."""
# Annotation → its types in JSON.
_SCALARS: Mapping[object, tuple[type, ...]] = {
    str: (str, StoredMessage),
    int: (int,),
    float: (float,),
    bool: (bool,),
    type(None): (type(None),),
}
_MOST = int(sys.float_info.max)


_NAMES = {
    str: Message("a string"),
    int: Message("a whole number"),
    float: Message("a number"),
    bool: Message("true or false"),
    type(None): "null",
}


class WrongType(ValueError):
    """Raised for a value that its annotation does not allow."""

    def __init__(self, wanted: str, value: object, place: str = "") -> None:
        super().__init__(wanted, value, place)
        self.wanted, self.value, self.place = wanted, value, place

    def inside(self, name: object) -> WrongType:
        """Return this error with the name of the object or list around it."""
        return WrongType(
            self.wanted, self.value, f"{name}.{self.place}" if self.place else str(name)
        )

    def __str__(self) -> str:
        if self.value is MISSING:
            return Message("{place} is missing", place=self.place)
        return Message(
            "{place} must be {wanted}, not {value!r:.60}",
            place=self.place or Message("it"),
            wanted=self.wanted,
            value=self.value,
        )


def read_as(kind: type[T], value: object, **given: object) -> T:
    """Read ``value``, as ``json.loads`` returns it, as a TypedDict or dataclass with plain
    annotations.

    ``given``: members that are not read from it. Unknown keys are ignored. A WrongType names the
    place of an error.

    Example: ``read_as(Usage, {"calls": 1, "prompt_tokens": 20})``
    """
    if given:
        record: T = _members(cast(type, kind), tuple(given))(value, **given)
        return record
    result: T = reader_of(cast(object, kind))(value)
    return result


@cache
def reader_of(kind: object) -> Reader:
    """Return the reader of an annotation."""
    if kind is object or is_json(kind):
        return lambda value: value
    if kind in _SCALARS:
        return _one_of(_SCALARS[kind], frozenset())
    if is_dataclass(kind) or is_typeddict(kind):
        return _members(cast(type, kind))
    parts = get_args(kind)
    read: Mapping[object, Callable[[], Reader]] = {
        typing.Annotated: lambda: reader_of(parts[0]),
        typing.Literal: lambda: _one_of((), frozenset(parts)),
        typing.Union: lambda: _any_of(parts),
        types.UnionType: lambda: _any_of(parts),
        tuple: lambda: _items(parts[0], tuple) if parts[1:] == (...,) else _places(parts),
        list: lambda: _items(parts[0], list),
        Mapping: lambda: _values(parts[1]),
    }
    return read[get_origin(kind)]()


def is_json(kind: object) -> bool:
    """Return True for ``JsonValue``: the only union with a sequence in it."""
    union = get_origin(kind) in (typing.Union, types.UnionType)
    return union and any(get_origin(part) is Sequence for part in get_args(kind))


def _one_of(kinds: Collection[type], words: Collection[object]) -> Reader:
    allowed, description = frozenset(kinds), _describe_kinds(kinds, words)

    def read(value: object) -> object:
        # Exact types, because bool is a subclass of int.
        if type(value) in allowed or (words and type(value) in (str, int) and value in words):
            return value
        if type(value) is int and float in allowed and -_MOST <= value <= _MOST:
            return value  # an int stays one in a float field, so that it is written back as 1
        raise WrongType(description, value)

    return read


# NaN and too large numbers would not survive as floats.


def _any_of(parts: Sequence[object]) -> Reader:
    """Read a union of scalars and words, with at most one kind that is an object or a list."""
    plain = [part for part in parts if part in _SCALARS or get_origin(part) is typing.Literal]
    words = frozenset(
        word for part in plain if get_origin(part) is typing.Literal for word in get_args(part)
    )
    kinds = frozenset(kind for part in plain if part in _SCALARS for kind in _SCALARS[part])
    simple, nested = _one_of(kinds, words), [reader_of(part) for part in parts if part not in plain]
    if not nested:
        return simple
    (inner,) = nested

    def read(value: object) -> object:
        return inner(value) if type(value) in (dict, list) else simple(value)

    return read


def _items(kind: object, make: Callable[[Iterable[object]], object]) -> Reader:
    read_item, kinds = reader_of(kind), _kinds(kind)

    def read(value: object) -> object:
        if type(value) is not list:
            raise WrongType("a list", value)
        if kinds.issuperset(map(type, value)):
            return make(value)
        items: list[object] = []
        try:
            for item in value:
                items.append(read_item(item))
        except WrongType as error:
            raise error.inside(len(items)) from None
        return make(items)

    return read


def _places(kinds: Sequence[object]) -> Reader:
    readers = [reader_of(kind) for kind in kinds]

    def read(value: object) -> tuple[object, ...]:
        if type(value) is not list or len(value) != len(readers):
            raise WrongType(Message("a list of {count}", count=len(readers)), value)
        return tuple(read_item(item) for read_item, item in zip(readers, value, strict=True))

    return read


def _values(kind: object) -> Reader:
    read_value, kinds = reader_of(kind), _kinds(kind)

    def read(value: object) -> dict[str, object]:
        if type(value) is not dict:
            raise WrongType(Message("an object"), value)
        if kinds.issuperset(map(type, value.values())):
            return value
        name = ""
        values: dict[str, object] = {}
        try:
            for name, item in value.items():
                values[name] = read_value(item)
        except WrongType as error:
            raise error.inside(name) from None
        return values

    return read


@cache
def _members(kind: type, known: tuple[str, ...] = ()) -> Callable[..., Any]:
    hints = type_hints(kind)
    own_fields = (
        {own_field.name: own_field for own_field in fields(kind)} if is_dataclass(kind) else {}
    )
    names = [name for name in own_fields or hints if name not in known]
    optional = {name for name, own_field in own_fields.items() if own_field.default is not MISSING}
    plan: list[tuple[str, frozenset[type], Reader]] = []

    def read(value: object, **given: object) -> object:
        # Lazy, because a class may contain itself. One assignment, because of other threads.
        if not plan:
            plan[:] = [(name, _kinds(hints[name]), reader_of(hints[name])) for name in names]
        if type(value) is not dict:
            raise WrongType(Message("an object"), value)
        members = {}
        for name, kinds, read_member in plan:
            member = value.get(name, MISSING)
            if type(member) in kinds:
                members[name] = member
            elif member is not MISSING:
                try:
                    members[name] = read_member(member)
                except WrongType as error:
                    raise error.inside(name) from None
            elif name not in optional:
                raise WrongType("", MISSING, name)
        return kind(**members, **given)

    return read


@cache
def _kinds(kind: object) -> frozenset[type]:
    """Return the JSON types that need no further check."""
    if get_origin(kind) is typing.Annotated:
        return _kinds(get_args(kind)[0])
    if get_origin(kind) in (typing.Union, types.UnionType):
        return frozenset().union(*map(_kinds, get_args(kind)))
    return frozenset(_SCALARS.get(kind, ()))


def _describe_kinds(kinds: Collection[type], words: Collection[object]) -> str:
    names = [name for kind, name in _NAMES.items() if kind in kinds]
    return join(Message(" or "), [*map(repr, sorted(words, key=str)), *names])
