"""What a value in an eval file may be: each type reads a piece of YAML, and says the same to editors as JSON schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Protocol

from adjudge.reading.values import Place, nearest

Schema = dict[str, Any]
_LARGEST = 2**63 - 1
"""What counters and clocks can hold; no setting means more."""


class Node(Protocol):
    """A piece of YAML, as far as it is used."""

    id: Any
    """scalar, sequence or mapping."""
    tag: str
    value: Any
    start_mark: Any


class Type(Protocol):
    """What a value may be."""

    def read(self, node: Node, place: Place) -> Any:
        """The value, or a WrongValue raised that says where it is wrong."""
        ...

    def schema(self) -> Schema:
        """The same for editors."""
        ...


def key(type: Type, help: str, default: Any = MISSING) -> Any:
    """A field of a dataclass that is a key of the file; without a default it must be there."""
    return field(default=default, metadata={"type": type, "help": help})


def at_line(place: Place, node: Node) -> Place:
    """The same place, on the line where ``node`` begins."""
    return replace(place, entry=f"line {node.start_mark.line + 1}")


@dataclass(frozen=True)
class Text:
    """Any text; a number or a date is one as it is written."""

    endings: Sequence[str] = ()
    """What it must end in."""

    def read(self, node: Node, place: Place) -> str:
        said = _scalar(node, place, "a text").strip()
        if not said:
            raise at_line(place, node).wrong("is empty")
        if "\0" in said or not _storable(said):
            raise at_line(place, node).wrong("holds a character that no file can: NUL, or half of an emoji")
        if self.endings and not said.endswith(tuple(self.endings)):
            raise at_line(place, node).wrong(f"must end in {' or '.join(self.endings)}, not {said!r}")
        return said

    def schema(self) -> Schema:
        if self.endings:
            return {"type": "string", "pattern": f"({'|'.join(ending.replace('.', chr(92) + '.') for ending in self.endings)})$"}
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}


@dataclass(frozen=True)
class Word:
    """One of some words."""

    allowed: Sequence[str]

    def read(self, node: Node, place: Place) -> str:
        said = _scalar(node, place, f"one of {', '.join(self.allowed)}")
        if said in self.allowed:
            return said
        near = get_close_matches(said.lower(), self.allowed, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise at_line(place, node).wrong(f"must be one of {', '.join(self.allowed)}, not {said!r}{hint}")

    def schema(self) -> Schema:
        return {"enum": list(self.allowed)}


@dataclass(frozen=True)
class Number:
    """A number within limits."""

    least: float | None = None
    most: float | None = None
    whole: bool = False
    above: float | None = None

    def read(self, node: Node, place: Place) -> float:
        value = _constructed(node)
        fits = isinstance(value, int) if self.whole else isinstance(value, int | float)
        if fits and value not in (math.inf, -math.inf) and abs(value) > _LARGEST:
            raise at_line(place, node).wrong(f"is too large a number: {what(node)}")
        if not fits or isinstance(value, bool) or not math.isfinite(value) or not self._within(value):
            raise at_line(place, node).wrong(f"must be {self._wanted()}, not {what(node)}")
        return value if self.whole else float(value)

    def schema(self) -> Schema:
        limits = {"minimum": self.least, "maximum": self.most, "exclusiveMinimum": self.above}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return {"type": "integer" if self.whole else "number", **given}

    def _within(self, value: float) -> bool:
        above = self.above is None or value > self.above
        return above and (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def _wanted(self) -> str:
        limits = {"from": self.least, "above": self.above, "up to": self.most}
        said = " ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
        return f"{'a whole number' if self.whole else 'a number'} {said}".strip()


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def read(self, node: Node, place: Place) -> bool:
        value = _constructed(node)
        if not isinstance(value, bool):
            raise at_line(place, node).wrong(f"must be true or false, not {what(node)}")
        return value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Many:
    """One or several of a type; one by itself needs no list."""

    item: Type

    def read(self, node: Node, place: Place) -> tuple[Any, ...]:
        if node.id != "sequence":
            return (self.item.read(node, place),)
        if not node.value:
            raise at_line(place, node).wrong("is an empty list: give it at least one item, or leave the key out")
        return tuple(
            self.item.read(checked(each, place.item(number)), place.item(number)) for number, each in enumerate(node.value, 1)
        )

    def schema(self) -> Schema:
        item = self.item.schema()
        return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


@dataclass(frozen=True)
class Names:
    """Names with a text each."""

    def read(self, node: Node, place: Place) -> tuple[tuple[str, str], ...]:
        pairs = pairs_of(node, place)
        return tuple((name, Text().read(checked(value, place.at(name)), place.at(name))) for name, _, value in pairs)

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": Text().schema()}


@dataclass(frozen=True)
class Record:
    """A dataclass whose fields are the keys."""

    made: type
    short: str | None = None
    """The key that a text by itself stands for."""

    def read(self, node: Node, place: Place) -> Any:
        known = keys_of(self.made)
        if self.short and node.id == "scalar":
            return self.made(**{self.short: known[self.short].metadata["type"].read(node, place)}, **self._line(node))
        given: dict[str, Any] = {}
        for name, written, value in pairs_of(node, place):
            if name not in known:
                raise at_line(replace(place, field=""), written).wrong(self._unknown(name, known))
            given[name] = known[name].metadata["type"].read(checked(value, place.at(name)), place.at(name))
        for name, one in known.items():
            if one.default is MISSING and name not in given:
                raise at_line(place, node).wrong(f"the key {name!r} is missing")
        return self.made(**given, **self._line(node))

    def schema(self) -> Schema:
        known = keys_of(self.made)
        properties = {name: {"description": one.metadata["help"], **one.metadata["type"].schema()} for name, one in known.items()}
        required = [name for name, one in known.items() if one.default is MISSING]
        whole: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        whole |= {"required": required} if required else {}
        return {"anyOf": [known[self.short].metadata["type"].schema(), whole]} if self.short else whole

    def _unknown(self, name: str, known: Mapping[str, object]) -> str:
        refused = getattr(self.made, "REFUSED", {}).get(name)
        return f"unknown key {name!r}; {refused or nearest(name, list(known))}"

    def _line(self, node: Node) -> dict[str, int]:
        return {"line": node.start_mark.line + 1} if "line" in {one.name for one in fields(self.made)} else {}


@dataclass(frozen=True)
class Kinds:
    """Records of several kinds, told apart by a word under one key."""

    by: str
    records: Mapping[str, Record]

    def read(self, node: Node, place: Place) -> Any:
        for name, _, value in pairs_of(node, place):
            if name == self.by:
                kind = Word(list(self.records)).read(checked(value, place.at(name)), place.at(name))
                return self.records[kind].read(node, place)
        raise at_line(place, node).wrong(f"the key {self.by!r} is missing: it is one of {', '.join(self.records)}")

    def schema(self) -> Schema:
        each = {kind: record.schema() for kind, record in self.records.items()}
        return {"oneOf": [one | {"properties": {**one["properties"], self.by: {"const": kind}}} for kind, one in each.items()]}


def keys_of(made: type) -> dict[str, Field[Any]]:
    """The fields of a dataclass that are keys of the file."""
    return {one.name: one for one in fields(made) if "type" in one.metadata}


def pairs_of(node: Node, place: Place) -> list[tuple[str, Node, Node]]:
    """(key, where it is written, value) of each pair; a key may stand once."""
    if node.id != "mapping":
        raise at_line(place, node).wrong(f"must be keys with values, not {what(node)}")
    first: dict[str, int] = {}
    for written, _ in node.value:
        name = _scalar(written, place, "a key")
        if name in first:
            raise at_line(place, written).wrong(f"the key {name!r} stands twice; the first is on line {first[name]}")
        first[name] = written.start_mark.line + 1
    return [(written.value, written, value) for written, value in node.value]


def checked(node: Node, place: Place) -> Node:
    """``node``, which must hold something."""
    if node.tag == "tag:yaml.org,2002:null":
        raise at_line(place, node).wrong("has no value: give it one, or leave it out")
    return node


def what(node: Node) -> str:
    """What stands there instead."""
    if node.id == "scalar":
        said = node.value if len(node.value) <= 40 else node.value[:39] + "…"
        return f"the text {said!r}" if node.tag == "tag:yaml.org,2002:str" else said
    return "a list" if node.id == "sequence" else "keys with values"


def _scalar(node: Node, place: Place, wanted: str) -> str:
    if node.id != "scalar":
        raise at_line(place, node).wrong(f"must be {wanted}, not {what(node)}")
    return str(node.value)


def _storable(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _constructed(node: Node) -> Any:
    """A scalar as what YAML takes it for; None where it is none, also where a tag says what it is not: ``!!int abc``."""
    import yaml

    if node.id != "scalar" or node.tag.rpartition(":")[2] not in ("int", "float", "bool"):
        return None
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (ArithmeticError, LookupError, ValueError):
        return None
