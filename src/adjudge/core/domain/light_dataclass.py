"""Dataclasses that are quick to make: a command loads a hundred, and a third of its start went into
methods written for each.

These share what compares, hashes and shows them, which is slower: what is hashed a thousand times a
second stays an ordinary dataclass. Making a frozen one takes about a third of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields, is_dataclass
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

T = TypeVar("T")
_LOOKING = RLock()
__all__ = ["light_dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as light_dataclass
    from types import FunctionType

    from _typeshed import DataclassInstance
else:

    def light_dataclass(
        *, frozen: bool = False, kw_only: bool = False, init: bool = True
    ) -> Callable[[type[T]], type[T]]:
        """As ``dataclasses.dataclass``."""

        def made(cls: type[T]) -> type[T]:
            shared = {"__eq__": _is_same, "__hash__": _hash if frozen else None, "__repr__": _said}
            if init:
                shared["__init__"] = _InitOfClass(cls, frozen=frozen)
            if frozen:
                shared |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            for name in shared.keys() - cls.__dict__.keys():
                if name != "__repr__" or cls.__repr__ in (object.__repr__, _said):
                    setattr(cls, name, shared[name])  # a short one that is inherited stays
            cls.__doc__ = cls.__doc__ or cls.__name__  # else ``dataclass`` writes a signature there
            cls.__dataclass_fields__ = _FieldsOfClass(cls, frozen=frozen, kw_only=kw_only)
            return cls

        return made


class _FieldsOfClass:
    """What ``dataclass`` sets on a class, set when somebody looks: at most classes that a command
    loads nobody does.
    """

    def __init__(self, cls: Any, *, frozen: bool, kw_only: bool) -> None:
        self._cls, self._frozen, self._kw_only = cls, frozen, kw_only

    def __get__(self, instance: object, owner: type) -> object:
        with _LOOKING:
            if self._cls.__dict__["__dataclass_fields__"] is self:
                self._set()
        return self._cls.__dict__["__dataclass_fields__"]

    def _set(self) -> None:
        bases: Iterator[Any] = filter(is_dataclass, self._cls.__mro__[1:])  # it sets theirs first
        frozen_bases = [one.__dataclass_params__ for one in bases if _is_frozen(one)]
        for one in frozen_bases if self._frozen else ():
            one.frozen = False  # else ``dataclass`` would write what refuses, once more
        dataclass(kw_only=self._kw_only, init=False, repr=False, eq=False)(self._cls)
        for one in (*frozen_bases, self._cls.__dataclass_params__):
            one.frozen = self._frozen  # what inherits from it is to be frozen, too


class _InitOfClass:
    """The ``__init__`` that ``dataclass`` would write, written when it is first needed: of most
    classes that a command loads it makes no instance.
    """

    def __init__(self, cls: type[DataclassInstance], *, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type) -> object:
        if self._cls.__dict__["__init__"] is self:
            self._cls.__init__ = _write_init(self._cls, frozen=self._frozen)
        return self._cls.__dict__["__init__"].__get__(instance, owner)


def _write_init(cls: type[DataclassInstance], *, frozen: bool) -> Callable[..., None]:
    known: dict[str, object] = {"_MISSING": MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    body = ["_own = self.__dict__"] if frozen else []  # past __setattr__, which refuses
    for one in fields(cls):
        name = one.name
        known |= {f"_default_{name}": one.default, f"_make_{name}": one.default_factory}
        made = f"_make_{name}()"
        if one.default_factory is MISSING:
            value, default = name, "" if one.default is MISSING else f"=_default_{name}"
        else:
            value, default = f"{made} if {name} is _MISSING else {name}", "=_MISSING"
        if one.init:
            parameters[bool(one.kw_only)].append(f"{name}{default}")
        elif one.default_factory is MISSING:
            continue
        else:
            value = made
        body.append(f"_own[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    names = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    source = f"def __init__({', '.join(names)}):\n " + "\n ".join(body or ["pass"])
    modules = (vars(sys.modules[base.__module__]) for base in reversed(cls.__mro__))
    namespace = {name: value for module in modules for name, value in module.items()}
    namespace |= known  # the rest is for typing.get_type_hints
    exec(source, namespace)  # noqa: S102 - of names of fields alone
    written = cast("FunctionType", namespace["__init__"])
    written.__qualname__, written.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    written.__annotations__ = {one.name: one.type for one in fields(cls) if one.init}
    return written


def _is_frozen(cls: type) -> bool:
    made_by = cls.__dict__.get("__dataclass_params__")
    return made_by is not None and made_by.frozen


def _refuse_to_set(self: DataclassInstance, name: str, value: object) -> None:
    _refuse_field(self, name)
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: DataclassInstance, name: str) -> None:
    _refuse_field(self, name)
    object.__delattr__(self, name)


def _refuse_field(self: DataclassInstance, name: str) -> None:
    """A class that inherits and is none itself may have attributes beside the fields."""
    cls = type(self)
    if "__dataclass_fields__" in cls.__dict__ or name in cls.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")


@cache
def _values(
    cls: type[DataclassInstance], *, hashed: bool
) -> Callable[[object], tuple[object, ...]]:
    names = [
        one.name
        for one in fields(cls)
        if (one.hash if hashed and one.hash is not None else one.compare)
    ]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda thing: tuple(getattr(thing, name) for name in names)


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
