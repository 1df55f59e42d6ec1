"""Values of a foreign file, whatever they turn out to be, as what a reader needs."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from adjudge.domain.message import Usage

_LONGEST_CELL = 1_000_000
_NOTHING = ("", "nan", "null")
_YES, _NO = ("1", "1.0", "true", "yes", "pass"), ("0", "0.0", "false", "no", "fail")


def without(record: Mapping[str, object], *names: str) -> dict[str, object]:
    """What a record holds beside what was read of it."""
    return {
        name: value
        for name, value in record.items()
        if name not in names and value not in (None, "", [], {})
    }


def mapping(value: object) -> Mapping[str, object]:
    """An object of the file; nothing where it holds something else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[object]:
    """A list of the file; nothing where it holds something else."""
    return value if isinstance(value, list | tuple) else ()


def is_missing(value: object) -> bool:
    """Whether there is nothing in a value: null, an empty text, NaN, also in writing."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)


def truth(value: object) -> bool | None:
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


def texts(value: object) -> str | tuple[str, ...]:
    """A text, or a list of them."""
    return tuple(text(item) for item in value) if isinstance(value, list | tuple) else text(value)


def fields_of(pairs: Mapping[str, object]) -> dict[str, str | tuple[str, ...]]:
    """Fields of an instance, without those that the file leaves empty."""
    return {
        str(name): texts(value) for name, value in pairs.items() if value not in (None, "", [], {})
    }


def answered(
    given: Mapping[str, str | tuple[str, ...]], response: str
) -> dict[str, str | tuple[str, ...]]:
    """What was given and what was answered; something given under the answer's own name is kept
    beside it.
    """
    return {
        **{
            "given_response" if name == "response" else name: value for name, value in given.items()
        },
        "response": response,
    }


def parsed(value: object) -> object:
    """A cell that holds an object or a list, as JSON or as Python writes it; anything else as it
    is.
    """
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > _LONGEST_CELL:
        return value
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            found: object = read(value)
            return found
    return value


def first(record: Mapping[str, object], *names: str) -> object:
    """What the first of ``names`` that the record has holds."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def usage_of(prompt: object, completion: object, calls: int = 1) -> Usage:
    """What a reply took, where the file says so."""
    asked, answered = number(prompt), number(completion)
    return (
        Usage()
        if asked is None and answered is None
        else Usage(calls, int(asked or 0), int(answered or 0))
    )


def seconds(value: object) -> float | None:
    """A time of the file, ISO or seconds since 1970, as seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value) / 1000 if value > 1e11 else float(value)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
