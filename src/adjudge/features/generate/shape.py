"""The shape of an output: described to a model in words, and checked when it comes back as JSON."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import (
    Any,
    Literal,
    NotRequired,
    Protocol,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import SetupError
from adjudge.features.generate.json_schema import check_json_schema, mismatch
from adjudge.messages import Message

_PLAIN: Mapping[object, str] = {
    int: "int",
    float: "float",
    str: "str",
    bool: "bool",
    list: "list",
    dict: "dict",
    tuple: "list",
    type(None): "None",
}
_LONGEST_SHOWN = 80


@runtime_checkable
class Validating(Protocol):
    """A class that validates values itself, such as a pydantic model."""

    __name__: str

    def model_validate(self, value: object) -> object: ...

    def model_json_schema(self) -> object: ...


class WrongShape(ValueError):
    """Raised if a value does not have the requested type; the message says where and why."""


def check_schema(schema: object) -> None:
    """Raise a SetupError if values cannot be checked against ``schema``."""
    if isinstance(schema, Mapping):
        check_json_schema(schema)
    else:
        describe(schema)


def describe(schema: object) -> str:
    """Describe ``schema`` for a model, as ``list[int]``, a dict with keys, or a JSON schema."""
    if schema is None or schema is Any:
        return Message("any JSON value")
    if isinstance(schema, type) and schema in _PLAIN:
        return _PLAIN[schema]
    if isinstance(schema, Mapping | Validating):
        json_schema = schema if isinstance(schema, Mapping) else _json_schema_of(schema)
        return Message(
            "a value that fits the JSON schema {schema}",
            schema=json.dumps(json_schema, ensure_ascii=False),
        )
    if _is_record(schema):
        keys = ", ".join(
            f"{name!r}: {describe(kind)}" for name, kind in get_type_hints(schema).items()
        )
        return f"a dict {{{keys}}}"
    if isinstance(schema, type) and issubclass(schema, Enum):
        return " or ".join(repr(member.value) for member in schema)
    return _describe_generic(schema, get_origin(schema), get_args(schema))


def conform(value: object, schema: object) -> object:
    """Convert ``value`` to ``schema``, or raise WrongShape.

    For example, a dict becomes the requested dataclass.
    """
    if isinstance(schema, Mapping):
        wrong = mismatch(value, schema)
        if wrong:
            raise WrongShape(wrong)
        return value
    return _conform(value, schema, "output")


def _json_schema_of(model: Validating) -> object:
    try:
        return model.model_json_schema()
    # a class of somebody's own: whatever it raises, there is nothing to check by
    except Exception as error:
        raise SetupError(
            "output_schema {name} cannot be described as a JSON schema ({error_name}: {error}): "
            "give a pydantic model with its own fields, a dataclass or a JSON schema",
            name=model.__name__,
            error_name=type(error).__name__,
            error=error,
        ) from error


def _describe_generic(schema: object, origin: object, parts: Sequence[object]) -> str:
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin in (Union, types.UnionType):
        return " or ".join(map(describe, parts))
    if origin is list and len(parts) == 1:
        return f"list[{describe(parts[0])}]"
    if origin is dict and parts[:1] == (str,):
        return f"dict[str, {describe(parts[1])}]"
    if origin is tuple:
        inner = (
            f"[{describe(parts[0])}, …]"
            if parts[1:] == (...,)
            else f"[{', '.join(map(describe, parts))}]"
        )
        return f"a list {inner}"
    raise SetupError(
        "output_schema {schema!r} cannot be checked: use int, float, str, bool, list, dict, "
        "list[…], dict[str, …], a dataclass, a TypedDict, a pydantic model or a JSON schema",
        schema=schema,
    )


def _conform(value: object, schema: object, where: str) -> object:
    if schema is None or schema is Any:
        return value
    if isinstance(schema, type) and schema in _PLAIN:
        return _plain(value, schema, where)
    if isinstance(schema, Validating):
        return _validate(value, schema, where)
    if _is_record(schema):
        return _record(value, schema, where)
    if isinstance(schema, type) and issubclass(schema, Enum):
        return _member(value, schema, where)
    return _generic(value, schema, where)


def _plain(value: object, schema: object, where: str) -> object:
    """Check a value of a plain type without rounding.

    Neither a bool nor 3.0 is an int, but an int becomes a float, and a list becomes a tuple.
    """
    if schema is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema is tuple and isinstance(value, list):
        return tuple(value)
    if type(value) is not schema:
        raise _wrong(value, _PLAIN[schema], where)
    return value


def _generic(value: object, schema: object, where: str) -> object:
    origin, parts = get_origin(schema), get_args(schema)
    if origin is Literal:
        if not any(value == part and type(value) is type(part) for part in parts):
            raise _wrong(value, describe(schema), where)
        return value
    if origin in (Union, types.UnionType):
        return _first_that_fits(value, schema, parts, where)
    if origin is dict:
        pairs = _plain(value, dict, where)
        return {
            key: _conform(item, parts[1], f"{where}[{key!r}]")
            for key, item in typing.cast(JsonDict, pairs).items()
        }
    items = typing.cast(list[object], _plain(value, list, where))
    if origin is list:
        return [_conform(item, parts[0], f"{where}[{place}]") for place, item in enumerate(items)]
    kinds = [parts[0]] * len(items) if parts[1:] == (...,) else parts
    if len(kinds) != len(items):
        raise _wrong(value, describe(schema), where)
    return tuple(
        _conform(item, kind, f"{where}[{place}]")
        for place, (item, kind) in enumerate(zip(items, kinds, strict=True))
    )


def _first_that_fits(value: object, schema: object, parts: Sequence[object], where: str) -> object:
    for part in parts:
        if _fits(value, part):
            return _conform(value, part, where)
    raise _wrong(value, describe(schema), where)


def _fits(value: object, schema: object) -> bool:
    try:
        conform(value, schema)
    except WrongShape:
        return False
    return True


def _record(value: object, schema: type, where: str) -> object:
    """Build a record from a dict that has all required keys and no unknown ones."""
    entries = typing.cast(JsonDict, _plain(value, dict, where))
    hints = get_type_hints(schema)
    missing = [name for name in _required_keys(schema) if name not in entries]
    unknown = [name for name in entries if name not in hints]
    if missing:
        raise WrongShape(f"{where} lacks {', '.join(missing)}")
    if unknown:
        raise WrongShape(
            Message(
                "{where} has {unknown}, which was not asked for",
                where=where,
                unknown=", ".join(unknown),
            )
        )
    values = {
        name: _conform(item, hints[name], f"{where}[{name!r}]") for name, item in entries.items()
    }
    if typing.is_typeddict(schema):
        return values
    instance: object = schema(**values)
    return instance


def _required_keys(schema: type) -> list[str]:
    if dataclasses.is_dataclass(schema):
        return [
            dataclass_field.name
            for dataclass_field in dataclasses.fields(schema)
            if dataclass_field.default is dataclass_field.default_factory is dataclasses.MISSING
        ]
    # written as text, NotRequired is not seen by __required_keys__
    hints = get_type_hints(schema, include_extras=True)
    return [
        name
        for name in hints
        if name in vars(schema)["__required_keys__"] and get_origin(hints[name]) is not NotRequired
    ]


def _validate(value: object, schema: Validating, where: str) -> object:
    try:
        return schema.model_validate(value)
    except ValueError as error:
        raise WrongShape(
            Message(
                "{where} does not fit {name}: {error}",
                where=where,
                name=schema.__name__,
                error=error,
            )
        ) from None


def _member(value: object, schema: type[Enum], where: str) -> Enum:
    try:
        return schema(value)
    except ValueError:
        raise _wrong(value, describe(schema), where) from None


def _is_record(schema: object) -> TypeGuard[type]:
    return isinstance(schema, type) and (
        dataclasses.is_dataclass(schema) or typing.is_typeddict(schema)
    )


def _wrong(value: object, wanted: str, where: str) -> WrongShape:
    text = repr(value)
    short_text = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return WrongShape(
        Message(
            "{where} is {shown}, a {name}, instead of {wanted}",
            where=where,
            shown=short_text,
            name=type(value).__name__,
            wanted=wanted,
        )
    )
