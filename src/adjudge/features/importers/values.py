"""Values of a foreign file, of any type, in the form that a reader needs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from adjudge.core.reading.foreign_values import parse_loosely

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
Texts: TypeAlias = dict[str, str | tuple[str, ...]]
"""The text fields of an instance."""
_LONGEST_CELL = 1_000_000
_NOTHING = ("", "nan", "null")
_YES, _NO = ("1", "1.0", "true", "yes", "pass"), ("0", "0.0", "false", "no", "fail")


def is_empty(value: Json) -> bool:
    """Return True for null, an empty text, list or object."""
    return value in (None, "", [], {})


def is_missing(value: Json) -> bool:
    """Return True for null, NaN, an empty text and words for a missing value."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)


def truth(value: Json) -> bool | None:
    """Return True or False for any of the usual words, else None."""
    word = text(value).strip().casefold()
    return True if word in _YES else False if word in _NO else None


def number(value: object) -> float | None:
    """Return a number, boolean or numeric text as a finite float, else None."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and "_" in value:  # Python would read 1_2 as 12
        return None
    try:
        parsed = float(value)  # type: ignore[arg-type]  # whatever it is, it is asked
    except (TypeError, ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def text(value: object) -> str:
    """Return a value as text that a judge can read."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def fields_of(pairs: JsonObject) -> Texts:
    """Return the fields of an instance, without empty ones."""
    return {
        str(name): tuple(map(text, value)) if isinstance(value, list | tuple) else text(value)
        for name, value in pairs.items()
        if not is_empty(value)
    }


def with_response(given: Texts, response: str) -> Texts:
    """Add the response; an input called ``response`` becomes ``given_response``."""
    inputs = {
        "given_response" if name == "response" else name: value for name, value in given.items()
    }
    return {**inputs, "response": response}


def only_value(value: Json) -> Json:
    """Return the value of an object with a single key; any other value unchanged."""
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def parse_cell(value: Json) -> Json:
    """Parse a cell that holds an object or a list, as JSON or as Python writes it; return others
    unchanged.
    """
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > _LONGEST_CELL:
        return value
    return cast(Json, parse_loosely(value))
