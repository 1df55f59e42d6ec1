"""Values compared as JSON, by matchers where the expected one has them, with parts left out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar, cast

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.reading.foreign_values import exact_number
from adjudge.core.reading.patterns import find_all
from adjudge.core.reading.values import Place, what

_T = TypeVar("_T")
Types = Literal["strict", "loose"]
Texts = Literal["exact", "folded"]
TYPES: tuple[Types, ...] = ("strict", "loose")
TEXTS: tuple[Texts, ...] = ("exact", "folded")
_WRITTEN = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][-+]?[0-9]{1,3})?")
"""A number as JSON writes it."""
_BLANKS = re.compile(r"(?<!\\)\s+")
"""Of a regular expression: those that are written as they are."""
_QUOTED = "{is: …}"
_KEPT_TEXT = 1_000
"""Whether an expression matches a text is remembered of texts up to this length."""
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Is:
    """This very value; nothing in it is a matcher."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class OneOf:
    options: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """A text that the regular expression matches as a whole."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Near:
    number: float
    within: float


@dataclass(frozen=True, slots=True)
class Between:
    """A number above one limit, below another, or both."""

    above: float | None
    below: float | None


@dataclass(frozen=True, slots=True)
class Containing:
    """A text with all of these in it, a list with all among its items, an object with all keys."""

    parts: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class SetOf:
    """A list of these items and no others, in any order, however often."""

    items: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value, null too; but there must be one."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list with matchers in it."""

    items: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object with matchers in it."""

    keys: tuple[tuple[str, Matcher], ...]


Matcher: TypeAlias = (
    Is | OneOf | Matches | Near | Between | Containing | SetOf | Anything | ListOf | ObjectOf
)


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """When two values are the same."""

    types: Types = "strict"
    """``loose``: "1" is 1, and "true" is true."""
    text: Texts = "exact"
    """``folded``: case and white space are put aside."""
    ignore: tuple[str, ...] = ()
    """Paths that do not count, such as ``request_id`` or ``*.timestamp``."""

    def ignores(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.ignore)

    def kept(self, given: Mapping[str, object], path: str = "") -> list[str]:
        """The keys of the arguments that count."""
        if not self.ignore:
            return [*given]
        return [name for name in given if not self.ignores(_below(path, name))]

    def normal(  # noqa: PLR0911 - one for each type
        self, value: JsonValue, path: str = ""
    ) -> Hashable:
        """Equal for values that are the same."""
        match self._meant(value):
            case None:
                return ("null",)
            case bool() as truth:
                return ("truth", truth)
            case int() as whole:
                return ("number", whole)
            case float() as number:
                return ("number", "nan" if math.isnan(number) else number)
            case str() as text:
                return ("text", self._fold(text))
            case Mapping() as given:
                names = sorted(self.kept(given, path))
                return (
                    "object",
                    *((name, self.normal(given[name], _below(path, name))) for name in names),
                )
            case items:
                counted = ((_below(path, str(place)), item) for place, item in enumerate(items))
                kept = (self.normal(item, at) for at, item in counted if not self.ignores(at))
                return ("list", *kept)

    def matches(  # noqa: PLR0911 - one for each kind
        self, wanted: Matcher, value: JsonValue, path: str = ""
    ) -> bool:
        """Whether ``value`` is what is wanted; CannotMatch where nobody can tell."""
        match wanted:
            case Is(exact):
                return self.normal(exact, path) == self.normal(value, path)
            case Anything():
                return True
            case OneOf(options):
                return any(self.matches(option, value, path) for option in options)
            case Matches(pattern):
                text = self._text(value)
                folded = self.text == "folded"
                pattern = _fold_pattern(pattern) if folded else pattern
                return text is not None and _fits(pattern, self._fold(text), folded)
            case Near(number, within):
                found = self._number(value)
                return found is not None and abs(_exact(found) - _exact(number)) <= _exact(within)
            case Between(above, below):
                found = self._number(value)
                return (
                    found is not None
                    and (above is None or found > above)
                    and (below is None or found < below)
                )
            case Containing(parts):
                return all(self._contains(part, value, path) for part in parts)
            case SetOf(items):
                found_items = _items(value)
                return (
                    found_items is not None
                    and all(
                        any(self.matches(item, one, path) for item in items) for one in found_items
                    )
                    and all(
                        any(self.matches(item, one, path) for one in found_items) for item in items
                    )
                )
            case ListOf(items):
                return self._matches_list(items, value, path)
            case ObjectOf(keys):
                return isinstance(value, Mapping) and self.same_keys(dict(keys), value, path)

    def same_keys(self, wanted: Mapping[str, Matcher], given: JsonObject, path: str = "") -> bool:
        """Whether both have the same keys, each with a value that is wanted."""
        as_many = len(self.kept(wanted, path)) == len(self.kept(given, path))
        return as_many and self.has_keys(wanted, given, path)

    def has_keys(self, wanted: Mapping[str, Matcher], given: JsonObject, path: str = "") -> bool:
        """Whether all wanted keys are there, each with a value that is wanted."""
        return all(self.has_key(wanted, name, given, path) for name in self.kept(wanted, path))

    def has_key(
        self, wanted: Mapping[str, Matcher], name: str, given: JsonObject, path: str = ""
    ) -> bool:
        return name in given and self.matches(wanted[name], given[name], _below(path, name))

    def _matches_list(self, items: Sequence[Matcher], value: JsonValue, path: str) -> bool:
        found = _items(value)
        if found is None:
            return False
        wanted = [(at, one) for at, one in _numbered(items, path) if not self.ignores(at)]
        given = [(at, one) for at, one in _numbered(found, path) if not self.ignores(at)]
        return len(wanted) == len(given) and all(
            self.matches(matcher, one, at)
            for (at, matcher), (_, one) in zip(wanted, given, strict=True)
        )

    def _contains(self, part: Matcher, value: JsonValue, path: str) -> bool:
        if isinstance(value, str):
            if not isinstance(part, Is):
                return False
            text = self._text(part.value)
            return text is not None and self._fold(text) in self._fold(value)
        if isinstance(value, Mapping):
            wanted = keys_of(part)
            return wanted is not None and self.has_keys(wanted, value, path)
        items = _items(value)
        return items is not None and any(self.matches(part, item, path) for item in items)

    def _meant(self, value: JsonValue) -> JsonValue:
        if self.types == "strict" or not isinstance(value, str):
            return value
        text = value.strip()
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if not _WRITTEN.fullmatch(text):
            return value
        try:
            return cast(JsonValue, json.loads(text, parse_float=exact_number))
        except ValueError:
            return value

    def _number(self, value: JsonValue) -> float | None:
        meant = self._meant(value)
        if isinstance(meant, bool) or not isinstance(meant, int | float):
            return None
        return meant if _is_finite(meant) else None

    def _text(self, value: JsonValue) -> str | None:
        if isinstance(value, str):
            return value
        is_scalar = isinstance(value, bool | int | float)
        return json.dumps(value) if self.types == "loose" and is_scalar else None

    def _fold(self, text: str) -> str:
        return text if self.text == "exact" else " ".join(text.split()).casefold()


def _exact(number: float) -> Fraction:
    """As it is written: 1.1 is 11/10, so that 1.1 is within 0.1 of 1."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _is_finite(number: float) -> bool:
    """Also of whole numbers that no float can hold."""
    return isinstance(number, int) or math.isfinite(number)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _items(value: JsonValue) -> Sequence[JsonValue] | None:
    return value if isinstance(value, list | tuple) else None


def _numbered(items: Sequence[_T], path: str) -> list[tuple[str, _T]]:
    return [(_below(path, str(place)), item) for place, item in enumerate(items)]


def keys_of(part: Matcher) -> Mapping[str, Matcher] | None:
    """What is wanted under each key of an object; None of anything else."""
    if isinstance(part, ObjectOf):
        return dict(part.keys)
    if isinstance(part, Is) and isinstance(part.value, Mapping):
        return {name: Is(value) for name, value in part.value.items()}
    return None


@lru_cache(maxsize=256)
def _fold_pattern(pattern: str) -> str:
    r"""A regular expression for folded texts. Letters that match in either case stay: ``\S`` is not
    ``\s``.
    """
    letters = (one if one.casefold() == one.lower() else one.casefold() for one in pattern)
    folded = _BLANKS.sub(" ", "".join(letters)).lstrip()
    return folded if folded.endswith("\\ ") else folded.rstrip()


def _fits(pattern: str, text: str, folded: bool) -> bool:
    find = _find_whole if len(text) <= _KEPT_TEXT else _find_whole.__wrapped__
    return find(pattern, text, folded)


@lru_cache(maxsize=4096)
def _find_whole(pattern: str, text: str, folded: bool) -> bool:
    return bool(find_all(pattern, re.IGNORECASE if folded else 0, text, whole=True))


def read_matcher(value: JsonValue, place: Place) -> Matcher:
    """What a value of an expected call asks for: an object whose keys are those of a matcher is
    one, at any depth; ``{is: …}`` quotes an object that only looks like it.
    """
    if isinstance(value, Mapping):
        for keys, read in _READERS:
            if value and value.keys() <= keys:
                return read(value, place)
        inner = {name: read_matcher(below, place.at(name)) for name, below in value.items()}
        if all(isinstance(matcher, Is) for matcher in inner.values()):
            return Is(value)
        return ObjectOf(tuple(inner.items()))
    if isinstance(value, list | tuple):
        items = _read_items(value, place)
        return Is(value) if all(isinstance(item, Is) for item in items) else ListOf(items)
    return Is(value)


def _read_items(value: JsonValue, place: Place) -> tuple[Matcher, ...]:
    if not isinstance(value, list | tuple):
        raise place.wrong("must be a list, not {what}", what=what(value))
    return tuple(read_matcher(item, place.item(at)) for at, item in enumerate(value, 1))


def _read_number(value: JsonValue, place: Place) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise place.wrong(
            "must be a number, not {what}; {quoted} quotes an object that has this key",
            what=what(value),
            quoted=_QUOTED,
        )
    return value


def _read_one_of(given: JsonObject, place: Place) -> Matcher:
    options = _read_items(given["one_of"], place.at("one_of"))
    if not options:
        raise place.at("one_of").wrong("is an empty list: nothing can be one of it")
    return OneOf(options)


def _read_pattern(given: JsonObject, place: Place) -> Matcher:
    pattern, at = given["matches"], place.at("matches")
    if not isinstance(pattern, str):
        raise at.wrong("must be a text, not {what}", what=what(pattern))
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise at.wrong(
            "is not a regular expression: {reason}", reason=str(error) or type(error).__name__
        ) from error
    return Matches(pattern)


def _read_near(given: JsonObject, place: Place) -> Matcher:
    for name in ("near", "within"):
        if name not in given:
            raise place.wrong(
                "near and within go together: {name} is missing; {quoted} quotes an object that "
                "has such a key",
                name=name,
                quoted=_QUOTED,
            )
    within = _read_number(given["within"], place.at("within"))
    if within < 0:
        raise place.at("within").wrong("must be a number from 0, not {what}", what=what(within))
    return Near(_read_number(given["near"], place.at("near")), within)


def _read_between(given: JsonObject, place: Place) -> Matcher:
    limits = {name: _read_number(limit, place.at(name)) for name, limit in given.items()}
    return Between(limits.get("above"), limits.get("below"))


def _read_contains(given: JsonObject, place: Place) -> Matcher:
    value, at = given["contains"], place.at("contains")
    if isinstance(value, list | tuple):
        return Containing(_read_items(value, at))
    return Containing((read_matcher(value, at),))


def _read_any(given: JsonObject, place: Place) -> Matcher:
    if given["any"] not in (None, True):
        raise place.at("any").wrong(
            "must be true, not {what}: any stands for every value", what=what(given["any"])
        )
    return Anything()


_READERS: Sequence[tuple[frozenset[str], Callable[[JsonObject, Place], Matcher]]] = (
    (frozenset({"is"}), lambda given, _: Is(given["is"])),
    (frozenset({"one_of"}), _read_one_of),
    (frozenset({"matches"}), _read_pattern),
    (frozenset({"near", "within"}), _read_near),
    (frozenset({"above", "below"}), _read_between),
    (frozenset({"contains"}), _read_contains),
    (frozenset({"set"}), lambda given, place: SetOf(_read_items(given["set"], place.at("set")))),
    (frozenset({"any"}), _read_any),
)
"""The keys of each matcher, and what reads it."""
