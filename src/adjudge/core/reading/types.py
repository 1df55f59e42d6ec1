"""What a value of a file may be: each type reads one, and says the same to
editors as JSON schema.
"""

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
_COMMA = Message("a text with a comma in it needs quotes between brackets")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LARGEST = 2**63 - 1
"""What counters and clocks can hold; no setting means more."""


class Type(Protocol[T_co]):
    def read(self, value: object, place: Place) -> T_co:
        """The value, or a WrongValue raised that says where it is wrong."""
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
    """A field of a dataclass that is a key of the file; without a default it must be there.

    Commands that offer the key as an option take type, default and help from here. ``option``: what
    it is called there, if not ``--`` and the name of the field. ``aliases``: older names of the
    key, and with ``--`` of the option, which are read and not listed. ``bare``: the value of an
    option that is typed without one. ``metavar``: how help writes its value.
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
    """Any text; a number or a date is one as it is written."""

    endings: Sequence[str] = ()

    def read(self, value: object, place: Place) -> str:
        said = _scalar(value, place, "a text").strip()
        if not said:
            raise place.wrong("is empty")
        if _UNSTORABLE.search(said):
            raise place.wrong("holds a character that no file can: NUL, or half of an emoji")
        if self.endings and not said.endswith(tuple(self.endings)):
            raise place.wrong(
                "must end in {endings}, not {said!r}",
                endings=join(Message(" or "), self.endings),
                said=said,
            )
        return said

    def schema(self) -> Schema:
        if self.endings:
            endings = "|".join(ending.replace(".", r"\.") for ending in self.endings)
            return {"type": "string", "pattern": f"({endings})$"}
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}


class FilePath(Text):
    """The path of a file that is read: relative to the eval file, or to the working folder if it is
    typed.
    """


@light_dataclass(frozen=True)
class Word(Generic[W]):
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
    kind = Message("a number")

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def read(self, value: object, place: Place) -> float:
        meant = _meant(value)
        if isinstance(meant, bool) or not isinstance(meant, int | float):
            raise place.wrong("must be {wanted}, not {what}", wanted=self._wanted, what=what(value))
        return float(self._checked(meant, value, place))

    def schema(self) -> Schema:
        return {"type": "number", **self._limits()}

    def _checked(self, number: N, value: object, place: Place) -> N:
        if number not in (math.inf, -math.inf) and abs(number) > _LARGEST:
            raise place.wrong("is too large a number: {what}", what=what(value))
        if not math.isfinite(number) or not self._within(number):
            raise place.wrong("must be {wanted}, not {what}", wanted=self._wanted, what=what(value))
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
    def _wanted(self) -> Message:
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
        meant = _meant(value)
        if isinstance(meant, bool) or not isinstance(meant, int):
            raise place.wrong("must be {wanted}, not {what}", wanted=self._wanted, what=what(value))
        return self._checked(meant, value, place)

    def schema(self) -> Schema:
        return {"type": "integer", **self._limits()}

    kind = Message("a whole number")


class Flag:
    def read(self, value: object, place: Place) -> bool:
        meant = _meant(value)
        if not isinstance(meant, bool):
            raise place.wrong("must be true or false, not {what}", what=what(value))
        return meant

    def schema(self) -> Schema:
        return {"type": "boolean"}


@light_dataclass(frozen=True)
class Many(Generic[T]):
    """One or several of a type; one by itself needs no list."""

    item: Type[T]
    commas: bool = False
    """True if an option of a command takes several of them in one word, separated by commas."""

    def read(self, value: object, place: Place) -> tuple[T, ...]:
        if not isinstance(value, list):
            return (self.item.read(value, place),)
        if not value:
            raise place.wrong("is an empty list: give it at least one item, or leave the key out")
        return tuple(read_value(self.item, each, at) for at, each in list_of(value, place))

    def schema(self) -> Schema:
        item = self.item.schema()
        return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


class Names:
    def read(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        given = mapping(value, place)
        return tuple(
            (name, read_value(Text(), each, place.at(name))) for name, each in given.items()
        )

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": Text().schema()}


@light_dataclass(frozen=True)
class Numbers:
    """Several numbers with a name each."""

    number: Number

    def read(self, value: object, place: Place) -> tuple[tuple[str, float], ...]:
        given = mapping(value, place)
        return tuple(
            (name, read_value(self.number, each, place.at(name))) for name, each in given.items()
        )

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.number.schema()}


@light_dataclass(frozen=True)
class NumberOrNamed:
    """A number, or several with a name each."""

    number: Number

    def read(self, value: object, place: Place) -> float | tuple[tuple[str, float], ...]:
        if not isinstance(value, Mapping):
            return self.number.read(value, place)
        return Numbers(self.number).read(value, place)

    def schema(self) -> Schema:
        return {"anyOf": [self.number.schema(), Numbers(self.number).schema()]}


@light_dataclass(frozen=True)
class Record(Generic[T]):
    """A dataclass whose fields are the keys."""

    made: type[T]
    short: str | None = None
    """The key that a text by itself stands for."""

    def read(self, value: object, place: Place) -> T:
        made: type = self.made
        known = _names_of(made)
        given: dict[str, object] = {"line": place.line} if hasattr(made, "line") else {}
        if self.short and isinstance(value, str):
            given[self.short] = known[self.short].metadata["type"].read(value, place)
            return self.made(**given)
        for name, each in mapping(value, place).items():
            if name not in known:
                in_text = each is None and " " in name
                hint = _COMMA if in_text else self._unknown(name, keys_of(made))
                raise replace(place.at_key(name), field="").wrong(hint)
            one = known[name]
            if one.name in given:
                raise place.at_key(name).wrong(
                    "is there twice, by two names: keep {name!r}", name=one.name
                )
            given[one.name] = read_value(one.metadata["type"], each, place.at(name))
        for name, one in keys_of(made).items():
            if one.default is MISSING and one.name not in given:
                raise place.wrong("the key {name!r} is missing", name=name)
        return self.made(**given)

    def schema(self) -> Schema:
        made: type = self.made
        known = keys_of(made)
        properties = {
            name: {"description": one.metadata["help"], **one.metadata["type"].schema()}
            for name, one in _names_of(made).items()
        }
        required = [name for name, one in known.items() if one.default is MISSING]
        whole: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        whole |= {"required": required} if required else {}
        return (
            {"anyOf": [known[self.short].metadata["type"].schema(), whole]} if self.short else whole
        )

    def _unknown(self, name: str, known: Mapping[str, object]) -> str:
        refused = getattr(self.made, "REFUSED", {}).get(name)
        return Message(
            "unknown key {name!r}; {hint}",
            name=name,
            hint=refused or nearest(name, list(known)),
        )


@light_dataclass(frozen=True)
class Kinds(Generic[T]):
    """Records of several kinds, told apart by a word under one key."""

    by: str
    records: Mapping[str, Type[T]]

    def read(self, value: object, place: Place) -> T:
        given, at = mapping(value, place), place.at(self.by)
        if self.by in given:
            found = self.records.get(str(given[self.by]))
            known = found or self.records[read_value(Word(list(self.records)), given[self.by], at)]
            return known.read(value, place)
        raise place.wrong(
            "the key {by!r} is missing: it is one of {records}",
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
        found: Schema = self._type().schema()
        return found


class Json:
    """Any JSON, as YAML writes it."""

    def read(self, value: object, place: Place) -> JsonValue:
        if isinstance(value, Mapping):
            return {str(name): self.read(one, place.at(str(name))) for name, one in value.items()}
        if isinstance(value, list):
            return [self.read(one, place) for one in value]
        meant = getattr(value, "meant", value)
        is_word = isinstance(value, str) and value not in ("true", "false")  # such as no
        if meant is None or (
            isinstance(meant, bool | int | float) and not (isinstance(meant, bool) and is_word)
        ):
            return meant
        return str(value)

    def schema(self) -> Schema:
        return {}


class JsonNames:
    """An object whose values are any JSON."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, JsonValue], ...]:
        given = mapping(value, place)
        return tuple((name, Json().read(each, place.at(name))) for name, each in given.items())

    def schema(self) -> Schema:
        return {"type": "object"}


@cache
def keys_of(made: type) -> dict[str, Field[object]]:
    """The fields of a dataclass that are keys of the file, by what the file calls them: ``as_`` is
    written ``as``.
    """
    return {one.name.removesuffix("_"): one for one in fields(made) if "type" in one.metadata}


@cache
def _names_of(made: type) -> dict[str, Field[object]]:
    """Like ``keys_of``, with the older names of each key, too."""
    keys = keys_of(made)
    older = {name: key for key in keys.values() for name in key.metadata["aliases"]}
    return {**keys, **older}


def read_value(kind: Type[T], value: object, place: Place) -> T:
    """What ``kind`` reads; nothing is a value only where it is JSON."""
    if value is None and not isinstance(kind, Json):
        raise place.wrong("has no value: give it one, or leave it out")
    return kind.read(value, place)


def _scalar(value: object, place: Place, wanted: str) -> str:
    if not isinstance(value, str):
        raise place.wrong("must be {wanted}, not {what}", wanted=wanted, what=what(value))
    return str(value)


def _meant(value: object) -> object:
    return value.meant if isinstance(value, Scalar) else None
