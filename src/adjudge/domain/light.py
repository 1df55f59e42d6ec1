"""Dataclasses that are quick to make: a command loads a hundred, and a third of its start went into
methods written for each.

These share what compares, hashes and shows them. It is slower when called, so what is asked about a
thousand times a second stays an ordinary dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")
__all__ = ["light_dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as light_dataclass

    from _typeshed import DataclassInstance
else:

    def light_dataclass(
        *, frozen: bool = False, kw_only: bool = False, init: bool = True
    ) -> Callable[[type[T]], type[T]]:
        """As ``dataclasses.dataclass``."""

        def made(cls: type[T]) -> type[T]:
            shared = {"__eq__": _is_same, "__hash__": _hash if frozen else None, "__repr__": _said}
            for name in shared.keys() - cls.__dict__.keys():
                if name != "__repr__" or cls.__repr__ in (object.__repr__, _said):
                    setattr(cls, name, shared[name])  # a short one that is inherited stays
            return dataclass(frozen=frozen, kw_only=kw_only, init=init, repr=False, eq=False)(cls)

        return made


@cache
def _values(
    cls: type[DataclassInstance], *, hashed: bool
) -> Callable[[object], tuple[object, ...]]:
    getters = [
        attrgetter(one.name)
        for one in fields(cls)
        if (one.hash if hashed and one.hash is not None else one.compare)
    ]
    return lambda thing: tuple(get(thing) for get in getters)


def _is_same(self: DataclassInstance, other: object) -> object:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _values(type(self), hashed=False)
    return values(self) == values(other)


def _hash(self: DataclassInstance) -> int:
    return hash(_values(type(self), hashed=True)(self))


@recursive_repr()
def _said(self: DataclassInstance) -> str:
    shown = ((one.name, attrgetter(one.name)(self)) for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown)})"
