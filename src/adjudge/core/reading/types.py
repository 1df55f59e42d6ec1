"""Types of values in a file. Each reads one, and describes it as JSON schema for editors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.values import Place, Scalar, list_of, mapping, nearest, what
from adjudge.messages import Message, join

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
W = TypeVar("W", bound=str)
N = TypeVar("N", int, float)
Schema = dict[str, object]
_COMMA = Message("in brackets, a string with a comma needs quotes")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Largest value of counters and clocks; no setting needs more.
_LARGEST = 2**63 - 1


class Type(Protocol[T_co]):
    """Reads values of one type, and describes them as JSON schema."""

    def read(self, value: object, place: Place) -> T_co:
        """Return the value, or raise a WrongValue that names its place."""
        ...

    def schema(self) -> Schema: ...


@overload
def key(
    type: Type[T], help: str, *, option: str | Sequence[str] = ..., aliases: Sequence[str] = ...
) -> T: ...
@overload
def key(
    type: Type[T],
    help: str,
    default: T,
    *,
    option: str | Sequence[str] = ...,
    aliases: Sequence[str] = ...,
    bare: str | None = ...,
    metavar: str = ...,
) -> T: ...
def key(
    type: Type[T],
    help: str,
    default: object = MISSING,
    *,
    option: str | Sequence[str] = (),
    aliases: Sequence[str] = (),
    bare: str | None = None,
    metavar: str = "",
) -> T:
    """Declare a dataclass field as a key of the file; without a default it is required.

    Commands that offer the key as an option take type, default and help from here. ``option``: its
    name there, if not ``--`` and the name of the field. ``aliases``: older names of the key, and
    with ``--`` of the option, which are read but not listed. ``bare``: the value of an option that
    is typed without one. ``metavar``: placeholder for the value in help.

    Example: ``limit: int | None = key(WholeNumber(least=1), "Rows to judge", None)``
    """
    names = (option,) if isinstance(option, str) else tuple(option)
    about = {
        "type": type,
        "help": help,
        "option": names,
        "aliases": tuple(aliases),
        "bare": bare,
        "metavar": metavar,
    }
    return cast(T, field(default=default, metadata=about))


@light_dataclass(frozen=True)
class Text:
    """Any text. A number or a date is read as it is written."""

    endings: Sequence[str] = ()

    def read(self, value: object, place: Place) -> str:
        text = _scalar(value, place, "a string").strip()
        if not text:
            raise place.wrong("is empty")
        if _UNSTORABLE.search(text):
            raise place.wrong(
                "contains a character that files cannot have: NUL, or half of an emoji"
            )
        if self.endings and not text.endswith(tuple(self.endings)):
            raise place.wrong(
                "must end in {endings}, not {said!r}",
                endings=join(Message(" or "), self.endings),
                said=text,
            )
        return text

    def schema(self) -> Schema:
        if self.endings:
            endings = "|".join(ending.replace(".", r"\.") for ending in self.endings)
            return {"type": "string", "pattern": f"({endings})$"}
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}


class FilePath(Text):
    """The path of an input file, relative to the eval file, or to the working folder if it is typed
    in a command.
    """


@light_dataclass(frozen=True)
class Word(Generic[W]):
    """One of a few words."""

    allowed: Sequence[W]

    def read(self, value: object, place: Place) -> W:
        text = _scalar(value, place, Message("one of {allowed}", allowed=", ".join(self.allowed)))
        for word in self.allowed:
            if word == text:
                return word
        near = get_close_matches(text.lower(), self.allowed, n=1, cutoff=0.5)
        hint = Message("; did you mean {near!r}?", near=near[0]) if near else ""
        raise place.wrong(
            "must be one of {allowed}, not {text!r}{suggestion}",
            allowed=", ".join(self.allowed),
            text=text,
            suggestion=hint,
        )

    def schema(self) -> Schema:
        return {"enum": list(self.allowed)}


@light_dataclass(frozen=True)
class Number:
    """A number within limits.

    Example: ``Number(least=0, most=1)``
    """

    kind = Message("a number")

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def read(self, value: object, place: Place) -> float:
        yaml_value = _yaml_value(value)
        if isinstance(yaml_value, bool) or not isinstance(yaml_value, int | float):
            raise place.wrong(
                "must be {wanted}, not {what}", wanted=self._description, what=what(value)
            )
        return float(self._check_limits(yaml_value, value, place))

    def schema(self) -> Schema:
        return {"type": "number", **self._limits()}

    def _check_limits(self, number: N, value: object, place: Place) -> N:
        if number not in (math.inf, -math.inf) and abs(number) > _LARGEST:
            raise place.wrong("is too large: {what}", what=what(value))
        if not math.isfinite(number) or not self._within(number):
            raise place.wrong(
                "must be {wanted}, not {what}", wanted=self._description, what=what(value)
            )
        return number

    def _limits(self) -> Schema:
        limits = {
            "minimum": self.least,
            "maximum": self.most,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}

    def _within(self, value: float) -> bool:
        return (
            (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    @property
    def _description(self) -> Message:
        limits = [self.kind]
        if self.least is not None:
            limits.append(Message("from {least:g}", least=self.least))
        if self.above is not None:
            limits.append(Message("above {least:g}", least=self.above))
        if self.most is not None:
            limits.append(Message("up to {most:g}", most=self.most))
        if self.below is not None:
            limits.append(Message("below {most:g}", most=self.below))
        return join(" ", limits)


class WholeNumber(Number):
    """A number without a fraction."""

    def read(self, value: object, place: Place) -> int:
        yaml_value = _yaml_value(value)
        if isinstance(yaml_value, bool) or not isinstance(yaml_value, int):
            raise place.wrong(
                "must be {wanted}, not {what}", wanted=self._description, what=what(value)
            )
        return self._check_limits(yaml_value, value, place)

    def schema(self) -> Schema:
        return {"type": "integer", **self._limits()}

    kind = Message("a whole number")


class Flag:
    """True or false."""

    def read(self, value: object, place: Place) -> bool:
        yaml_value = _yaml_value(value)
        if not isinstance(yaml_value, bool):
            raise place.wrong("must be true or false, not {what}", what=what(value))
        return yaml_value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@light_dataclass(frozen=True)
class Many(Generic[T]):
    """One value of a type, or a list of them."""

    item: Type[T]
    commas: bool = False
    """True if an option of a command takes several of them in one word, separated by commas."""

    def read(self, value: object, place: Place) -> tuple[T, ...]:
        if not isinstance(value, list):
            return (self.item.read(value, place),)
        if not value:
            raise place.wrong("is an empty list: give it at least one item, or leave the key out")
        return tuple(read_value(self.item, item, at) for at, item in list_of(value, place))

    def schema(self) -> Schema:
        item = self.item.schema()
        return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


class Names:
    """A mapping of names to texts, read as pairs."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        entries = mapping(value, place)
        return tuple(
            (name, read_value(Text(), text, place.at(name))) for name, text in entries.items()
        )

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": Text().schema()}


@light_dataclass(frozen=True)
class ColumnNames:
    """A mapping of fields to columns, read as pairs. An empty column leaves the field out."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        entries = mapping(value, place)
        return tuple(
            (
                name,
                "" if column in (None, "") else read_value(Text(), column, place.at(name)),
            )
            for name, column in entries.items()
        )

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}}


@light_dataclass(frozen=True)
class Numbers:
    """A mapping of names to numbers, read as pairs."""

    number: Number

    def read(self, value: object, place: Place) -> tuple[tuple[str, float], ...]:
        entries = mapping(value, place)
        return tuple(
            (name, read_value(self.number, number, place.at(name)))
            for name, number in entries.items()
        )

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.number.schema()}


@light_dataclass(frozen=True)
class NumberOrNamed:
    """A number, or a mapping of names to numbers."""

    number: Number

    def read(self, value: object, place: Place) -> float | tuple[tuple[str, float], ...]:
        if not isinstance(value, Mapping):
            return self.number.read(value, place)
        return Numbers(self.number).read(value, place)

    def schema(self) -> Schema:
        return {"anyOf": [self.number.schema(), Numbers(self.number).schema()]}


@light_dataclass(frozen=True)
class Record(Generic[T]):
    """A dataclass whose fields are the keys.

    Example: ``Record(ModelEntry, short="model")``
    """

    made: type[T]
    short: str | None = None
    """The key that a bare text sets."""

    def read(self, value: object, place: Place) -> T:
        kind: type = self.made
        fields_by_name = _names_of(kind)
        members: dict[str, object] = {"line": place.line} if hasattr(kind, "line") else {}
        if self.short and isinstance(value, str):
            members[self.short] = fields_by_name[self.short].metadata["type"].read(value, place)
            return self.made(**members)
        for name, member in mapping(value, place).items():
            if name not in fields_by_name:
                in_text = member is None and " " in name
                hint = _COMMA if in_text else self._unknown(name, keys_of(kind))
                raise replace(place.at_key(name), field="").wrong(hint)
            key_field = fields_by_name[name]
            if key_field.name in members:
                raise place.at_key(name).wrong(
                    "is set twice, under two names: keep {name!r}", name=key_field.name
                )
            members[key_field.name] = read_value(key_field.metadata["type"], member, place.at(name))
        for name, key_field in keys_of(kind).items():
            if key_field.default is MISSING and key_field.name not in members:
                raise place.wrong("the key {name!r} is missing", name=name)
        return self.made(**members)

    def schema(self) -> Schema:
        kind: type = self.made
        keys = keys_of(kind)
        properties = {
            name: {"description": key_field.metadata["help"], **key_field.metadata["type"].schema()}
            for name, key_field in _names_of(kind).items()
        }
        required = [name for name, key_field in keys.items() if key_field.default is MISSING]
        full: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        full |= {"required": required} if required else {}
        return {"anyOf": [keys[self.short].metadata["type"].schema(), full]} if self.short else full

    def _unknown(self, name: str, known: Mapping[str, object]) -> str:
        refused = getattr(self.made, "REFUSED", {}).get(name)
        return Message(
            "unknown key {name!r}; {hint}",
            name=name,
            hint=refused or nearest(name, list(known)),
        )


@light_dataclass(frozen=True)
class Kinds(Generic[T]):
    """Records of several kinds, distinguished by the value of one key."""

    by: str
    records: Mapping[str, Type[T]]

    def read(self, value: object, place: Place) -> T:
        entries, at = mapping(value, place), place.at(self.by)
        if self.by in entries:
            match = self.records.get(str(entries[self.by]))
            record = (
                match or self.records[read_value(Word(list(self.records)), entries[self.by], at)]
            )
            return record.read(value, place)
        raise place.wrong(
            "the key {by!r} is missing: set it to one of {records}",
            by=self.by,
            records=", ".join(self.records),
        )

    def schema(self) -> Schema:
        return {
            "oneOf": [
                self._with_kind(kind, record.schema()) for kind, record in self.records.items()
            ]
        }

    def _with_kind(self, kind: str, schema: Schema) -> Schema:
        return schema | {
            "properties": {**cast(Schema, schema["properties"]), self.by: {"const": kind}}
        }


@light_dataclass(frozen=True)
class LazyType:
    """A type that is loaded when a file has a value of it."""

    module: str
    name: str

    def _type(self) -> Any:
        return getattr(import_module(self.module), self.name)

    def read(self, value: object, place: Place) -> Any:
        return self._type().read(value, place)

    def schema(self) -> Schema:
        type_schema: Schema = self._type().schema()
        return type_schema


class Json:
    """Any JSON, written as YAML."""

    def read(self, value: object, place: Place) -> JsonValue:
        if isinstance(value, Mapping):
            return {
                str(name): self.read(child, place.at(str(name))) for name, child in value.items()
            }
        if isinstance(value, list):
            return [self.read(child, place) for child in value]
        yaml_value = getattr(value, "meant", value)
        # YAML 1.1 also reads no, yes, on and off as booleans.
        is_word = isinstance(value, str) and value not in ("true", "false")  # such as no
        if yaml_value is None or (
            isinstance(yaml_value, bool | int | float)
            and not (isinstance(yaml_value, bool) and is_word)
        ):
            return yaml_value
        return str(value)

    def schema(self) -> Schema:
        return {}


class JsonNames:
    """A mapping of names to JSON values, read as pairs."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, JsonValue], ...]:
        entries = mapping(value, place)
        return tuple((name, Json().read(child, place.at(name))) for name, child in entries.items())

    def schema(self) -> Schema:
        return {"type": "object"}


@cache
def keys_of(made: type) -> dict[str, Field[object]]:
    """Return the fields of a dataclass that are keys of the file, by the names there: ``as_`` is
    written ``as``.
    """
    return {
        key_field.name.removesuffix("_"): key_field
        for key_field in fields(made)
        if "type" in key_field.metadata
    }


@cache
def _names_of(made: type) -> dict[str, Field[object]]:
    """Like ``keys_of``, but also by older names."""
    keys = keys_of(made)
    older = {name: key for key in keys.values() for name in key.metadata["aliases"]}
    return {**keys, **older}


def read_value(kind: Type[T], value: object, place: Place) -> T:
    """Read a value; raise a WrongValue if it is empty, except for ``Json``."""
    if value is None and not isinstance(kind, Json):
        raise place.wrong("has no value: give it one, or leave it out")
    return kind.read(value, place)


def _scalar(value: object, place: Place, wanted: str) -> str:
    if not isinstance(value, str):
        raise place.wrong("must be {wanted}, not {what}", wanted=wanted, what=what(value))
    return str(value)


def _yaml_value(value: object) -> object:
    return value.meant if isinstance(value, Scalar) else None
