"""Compare values as JSON, with matchers in the expected value and ignored paths."""

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
    """Exactly this value; no part of it is read as a matcher."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class OneOf:
    options: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """A text that the regular expression matches in full."""

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
    """A text that contains all parts, a list with a match for each part, or an object with all
    keys.
    """

    parts: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class SetOf:
    """A list of exactly these items, in any order and repeated any number of times."""

    items: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value, including null; but the argument must be present."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list with one matcher per item, in order."""

    items: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object with one matcher per key."""

    keys: tuple[tuple[str, Matcher], ...]


Matcher: TypeAlias = (
    Is | OneOf | Matches | Near | Between | Containing | SetOf | Anything | ListOf | ObjectOf
)


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """Rules for comparing two values."""

    types: Types = "strict"
    """``loose``: "1" is 1, and "true" is true."""
    text: Texts = "exact"
    """``folded``: case and white space are put aside."""
    ignore: tuple[str, ...] = ()
    """Paths that do not count, such as ``request_id`` or ``*.timestamp``."""

    def ignores(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.ignore)

    def keys_that_count(self, arguments: Mapping[str, object], path: str = "") -> list[str]:
        """Return the keys of the arguments that are not ignored."""
        if not self.ignore:
            return [*arguments]
        return [name for name in arguments if not self.ignores(_below(path, name))]

    def normal(  # noqa: PLR0911 - one for each type
        self, value: JsonValue, path: str = ""
    ) -> Hashable:
        """Return a key that is equal for equal values."""
        match self._parse_loosely(value):
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
            case Mapping() as mapping_value:
                names = sorted(self.keys_that_count(mapping_value, path))
                return (
                    "object",
                    *(
                        (name, self.normal(mapping_value[name], _below(path, name)))
                        for name in names
                    ),
                )
            case items:
                counted = ((_below(path, str(place)), item) for place, item in enumerate(items))
                counting = (self.normal(item, at) for at, item in counted if not self.ignores(at))
                return ("list", *counting)

    def matches(  # noqa: PLR0911 - one for each kind
        self, matcher: Matcher, value: JsonValue, path: str = ""
    ) -> bool:
        """Return True if ``value`` matches; raise CannotMatch if that cannot be decided."""
        match matcher:
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
                number_value = self._number(value)
                return number_value is not None and abs(
                    _exact(number_value) - _exact(number)
                ) <= _exact(within)
            case Between(above, below):
                number_value = self._number(value)
                return (
                    number_value is not None
                    and (above is None or number_value > above)
                    and (below is None or number_value < below)
                )
            case Containing(parts):
                return all(self._contains(part, value, path) for part in parts)
            case SetOf(items):
                found_items = _items(value)
                return (
                    found_items is not None
                    and all(
                        any(self.matches(item, element, path) for item in items)
                        for element in found_items
                    )
                    and all(
                        any(self.matches(item, element, path) for element in found_items)
                        for item in items
                    )
                )
            case ListOf(items):
                return self._matches_list(items, value, path)
            case ObjectOf(keys):
                return isinstance(value, Mapping) and self.same_keys(dict(keys), value, path)

    def same_keys(
        self, matchers: Mapping[str, Matcher], arguments: JsonObject, path: str = ""
    ) -> bool:
        """Return True if both have the same keys, each with a matching value."""
        count = len(self.keys_that_count(matchers, path))
        is_equal = count == len(self.keys_that_count(arguments, path))
        return is_equal and self.has_keys(matchers, arguments, path)

    def has_keys(
        self, matchers: Mapping[str, Matcher], arguments: JsonObject, path: str = ""
    ) -> bool:
        """Return True if all expected keys are present, each with a matching value."""
        names = self.keys_that_count(matchers, path)
        return all(self.has_key(matchers, name, arguments, path) for name in names)

    def has_key(
        self, matchers: Mapping[str, Matcher], name: str, arguments: JsonObject, path: str = ""
    ) -> bool:
        return name in arguments and self.matches(
            matchers[name], arguments[name], _below(path, name)
        )

    def _matches_list(self, items: Sequence[Matcher], value: JsonValue, path: str) -> bool:
        elements = _items(value)
        if elements is None:
            return False
        matchers = [(at, item) for at, item in _with_paths(items, path) if not self.ignores(at)]
        values = [(at, item) for at, item in _with_paths(elements, path) if not self.ignores(at)]
        return len(matchers) == len(values) and all(
            self.matches(matcher, item, at)
            for (at, matcher), (_, item) in zip(matchers, values, strict=True)
        )

    def _contains(self, part: Matcher, value: JsonValue, path: str) -> bool:
        if isinstance(value, str):
            if not isinstance(part, Is):
                return False
            text = self._text(part.value)
            return text is not None and self._fold(text) in self._fold(value)
        if isinstance(value, Mapping):
            matchers = keys_of(part)
            return matchers is not None and self.has_keys(matchers, value, path)
        items = _items(value)
        return items is not None and any(self.matches(part, item, path) for item in items)

    def _parse_loosely(self, value: JsonValue) -> JsonValue:
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
        parsed = self._parse_loosely(value)
        if isinstance(parsed, bool) or not isinstance(parsed, int | float):
            return None
        return parsed if _is_finite(parsed) else None

    def _text(self, value: JsonValue) -> str | None:
        if isinstance(value, str):
            return value
        is_scalar = isinstance(value, bool | int | float)
        return json.dumps(value) if self.types == "loose" and is_scalar else None

    def _fold(self, text: str) -> str:
        return text if self.text == "exact" else " ".join(text.split()).casefold()


def _exact(number: float) -> Fraction:
    """Return the fraction that a number is written as: 1.1 is 11/10, so 1.1 is within 0.1 of 1."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _is_finite(number: float) -> bool:
    # math.isfinite fails on whole numbers that no float can hold
    return isinstance(number, int) or math.isfinite(number)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _items(value: JsonValue) -> Sequence[JsonValue] | None:
    return value if isinstance(value, list | tuple) else None


def _with_paths(items: Sequence[_T], path: str) -> list[tuple[str, _T]]:
    return [(_below(path, str(place)), item) for place, item in enumerate(items)]


def keys_of(part: Matcher) -> Mapping[str, Matcher] | None:
    """Return the matcher of each key of an object; None for any other value."""
    if isinstance(part, ObjectOf):
        return dict(part.keys)
    if isinstance(part, Is) and isinstance(part.value, Mapping):
        return {name: Is(value) for name, value in part.value.items()}
    return None


@lru_cache(maxsize=256)
def _fold_pattern(pattern: str) -> str:
    """Convert a regular expression to one that matches folded texts."""
    # letters that match in either case stay: ``\S`` is not ``\s``
    letters = (
        letter if letter.casefold() == letter.lower() else letter.casefold() for letter in pattern
    )
    folded = _BLANKS.sub(" ", "".join(letters)).lstrip()
    return folded if folded.endswith("\\ ") else folded.rstrip()


def _fits(pattern: str, text: str, folded: bool) -> bool:
    # long texts would fill the cache
    find = _find_whole if len(text) <= _KEPT_TEXT else _find_whole.__wrapped__
    return find(pattern, text, folded)


@lru_cache(maxsize=4096)
def _find_whole(pattern: str, text: str, folded: bool) -> bool:
    return bool(find_all(pattern, re.IGNORECASE if folded else 0, text, whole=True))


def read_matcher(value: JsonValue, place: Place) -> Matcher:
    """Read a value in an expected call as a matcher.

    An object with the keys of a matcher is read as one, at any depth. ``{is: …}`` quotes an object
    that only looks like a matcher.
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
        raise place.at("one_of").wrong("must not be an empty list")
    return OneOf(options)


def _read_pattern(given: JsonObject, place: Place) -> Matcher:
    pattern, at = given["matches"], place.at("matches")
    if not isinstance(pattern, str):
        raise at.wrong("must be a string, not {what}", what=what(pattern))
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
                "near and within must be used together, but {name} is missing; {quoted} quotes "
                "an object that has such a key",
                name=name,
                quoted=_QUOTED,
            )
    within = _read_number(given["within"], place.at("within"))
    if within < 0:
        raise place.at("within").wrong(
            "must be a number of at least 0, not {what}", what=what(within)
        )
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
            "must be true, not {what}; any: true accepts every value", what=what(given["any"])
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
