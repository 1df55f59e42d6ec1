"""Values of a foreign file, whatever they turn out to be, as what a reader needs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from adjudge.core.reading.foreign_values import parsed_loosely

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
Texts: TypeAlias = dict[str, str | tuple[str, ...]]
"""The text fields of an instance."""
_LONGEST_CELL = 1_000_000
_NOTHING = ("", "nan", "null")
_YES, _NO = ("1", "1.0", "true", "yes", "pass"), ("0", "0.0", "false", "no", "fail")


def is_empty(value: Json) -> bool:
    """Whether there is nothing in a value: null, or an empty text, list or object."""
    return value in (None, "", [], {})


def is_missing(value: Json) -> bool:
    """Whether a value stands for none: null, an empty text, NaN, also in writing."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)


def truth(value: Json) -> bool | None:
    """Whether a value says yes or no, in any of the usual ways; None where it says neither."""
    word = text(value).strip().casefold()
    return True if word in _YES else False if word in _NO else None


def number(value: object) -> float | None:
    """A finite number of the file, also one in writing; else None."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and "_" in value:  # Python would read 1_2 as 12
        return None
    try:
        found = float(value)  # type: ignore[arg-type]  # whatever it is, it is asked
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def text(value: object) -> str:
    """A value of the file as a text that a judge can read."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def fields_of(pairs: JsonObject) -> Texts:
    """Fields of an instance, without those that the file leaves empty."""
    return {
        str(name): tuple(map(text, value)) if isinstance(value, list | tuple) else text(value)
        for name, value in pairs.items()
        if not is_empty(value)
    }


def with_response(given: Texts, response: str) -> Texts:
    """What was given and what was answered; something given under the answer's own name is kept
    beside it.
    """
    beside = {"given_response" if name == "response" else name: one for name, one in given.items()}
    return {**beside, "response": response}


def only_value(value: Json) -> Json:
    """Of an object with one key, what that holds; anything else as it is."""
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def parse_cell(value: Json) -> Json:
    """A cell that holds an object or a list, as JSON or as Python writes it; anything else as it
    is.
    """
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > _LONGEST_CELL:
        return value
    return cast(Json, parsed_loosely(value))
