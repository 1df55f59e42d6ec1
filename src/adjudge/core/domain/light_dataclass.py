"""Dataclasses that are quick to define: a command loads a hundred, and generating their methods
took a third of its start.

They share their methods for comparison, hash and repr, which are slower: a class hashed a thousand
times a second stays an ordinary dataclass. Making a frozen instance takes about a third of the
time.
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
# Reentrant: setting the fields of a class looks up those of its bases.
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
        """Like ``dataclasses.dataclass``, but most methods are shared or made on first use."""

        def make(cls: type[T]) -> type[T]:
            shared = {"__eq__": _is_same, "__hash__": _hash if frozen else None, "__repr__": _repr}
            if init:
                shared["__init__"] = _InitOfClass(cls, frozen=frozen)
            if frozen:
                shared |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            for name in shared.keys() - cls.__dict__.keys():
                if name != "__repr__" or cls.__repr__ in (object.__repr__, _repr):
                    setattr(cls, name, shared[name])  # a custom __repr__ of a base class stays
            cls.__doc__ = cls.__doc__ or cls.__name__  # else ``dataclass`` sets a signature
            cls.__dataclass_fields__ = _FieldsOfClass(cls, frozen=frozen, kw_only=kw_only)
            return cls

        return make


class _FieldsOfClass:
    """Calls ``dataclass`` on a class when its fields are first looked up.

    For most classes that a command loads, this never happens.
    """

    def __init__(self, cls: Any, *, frozen: bool, kw_only: bool) -> None:
        self._cls, self._frozen, self._kw_only = cls, frozen, kw_only

    def __get__(self, instance: object, owner: type) -> object:
        with _LOOKING:
            if self._cls.__dict__["__dataclass_fields__"] is self:
                self._set()
        return self._cls.__dict__["__dataclass_fields__"]

    def _set(self) -> None:
        bases: Iterator[Any] = filter(
            is_dataclass, self._cls.__mro__[1:]
        )  # sets their fields first
        frozen_bases = [base.__dataclass_params__ for base in bases if _is_frozen(base)]
        for base in frozen_bases if self._frozen else ():
            base.frozen = False  # else ``dataclass`` would generate __setattr__ and __delattr__
        dataclass(kw_only=self._kw_only, init=False, repr=False, eq=False)(self._cls)
        for base in (*frozen_bases, self._cls.__dataclass_params__):
            base.frozen = self._frozen  # so that subclasses must be frozen, too


class _InitOfClass:
    """Writes the ``__init__`` of a dataclass when it is first called.

    For most classes that a command loads, this never happens.
    """

    def __init__(self, cls: type[DataclassInstance], *, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type) -> object:
        if self._cls.__dict__["__init__"] is self:
            self._cls.__init__ = _write_init(self._cls, frozen=self._frozen)
        return self._cls.__dict__["__init__"].__get__(instance, owner)


def _write_init(cls: type[DataclassInstance], *, frozen: bool) -> Callable[..., None]:
    defaults: dict[str, object] = {"_MISSING": MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    body = ["_own = self.__dict__"] if frozen else []  # bypasses __setattr__, which raises
    for entry in fields(cls):
        name = entry.name
        defaults |= {f"_default_{name}": entry.default, f"_make_{name}": entry.default_factory}
        default_call = f"_make_{name}()"
        if entry.default_factory is MISSING:
            value, default = name, "" if entry.default is MISSING else f"=_default_{name}"
        else:
            value, default = f"{default_call} if {name} is _MISSING else {name}", "=_MISSING"
        if entry.init:
            parameters[bool(entry.kw_only)].append(f"{name}{default}")
        elif entry.default_factory is MISSING:
            continue
        else:
            value = default_call
        body.append(f"_own[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    names = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    source = f"def __init__({', '.join(names)}):\n " + "\n ".join(body or ["pass"])
    modules = (vars(sys.modules[base.__module__]) for base in reversed(cls.__mro__))
    namespace = {name: value for module in modules for name, value in module.items()}
    namespace |= defaults  # the modules' names are for typing.get_type_hints
    exec(source, namespace)  # noqa: S102 - built from field names alone
    init = cast("FunctionType", namespace["__init__"])
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {entry.name: entry.type for entry in fields(cls) if entry.init}
    return init


def _is_frozen(cls: type) -> bool:
    dataclass_params = cls.__dict__.get("__dataclass_params__")
    return dataclass_params is not None and dataclass_params.frozen


def _refuse_to_set(self: DataclassInstance, name: str, value: object) -> None:
    _refuse_field(self, name)
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: DataclassInstance, name: str) -> None:
    _refuse_field(self, name)
    object.__delattr__(self, name)


def _refuse_field(self: DataclassInstance, name: str) -> None:
    """Raise a FrozenInstanceError, unless a plain subclass sets an attribute that is not a
    field.
    """
    # A plain subclass may have attributes other than the fields.
    cls = type(self)
    if "__dataclass_fields__" in cls.__dict__ or name in cls.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")


@cache
def _values(
    cls: type[DataclassInstance], *, hashed: bool
) -> Callable[[object], tuple[object, ...]]:
    names = [
        entry.name
        for entry in fields(cls)
        if (entry.hash if hashed and entry.hash is not None else entry.compare)
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
def _repr(self: DataclassInstance) -> str:
    shown = (
        f"{entry.name}={attrgetter(entry.name)(self)!r}" for entry in fields(self) if entry.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"
