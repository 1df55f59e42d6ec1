"""Values that other tools write in many ways, as plain ones."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias, cast

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.reading.values import unique_keys

Object: TypeAlias = Mapping[str, Any]
"""What a tool wrote: looked into with care, since it may be anything."""
HOSTILE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""What a reader raises on a value that is not as its tool writes it."""
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)[^,\s]{0,60};base64,([A-Za-z0-9+/=_-]{100,})")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{2000,}={0,2}(?![A-Za-z0-9+/=])")
_LATEST = 7_258_118_400.0
"""The year 2200, in seconds."""
_DEEPEST = 60
_MOST_DIGITS = 4000
"""Digits of a whole number, fewer than Python refuses to write."""


def objects(value: object, *path: str) -> list[Object]:
    """The objects of the list under the path; of one object itself, where it holds anything."""
    found = inner(value, *path)
    if isinstance(found, Mapping):
        return [found] if found else []
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def inner(value: object, *path: str) -> Any:
    """What stands under the path; None where nothing does."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def inner_object(value: object, *path: str) -> Object:
    """The object under the path; an empty one where none is."""
    found = inner(value, *path)
    return found if isinstance(found, Mapping) else {}


def first_has(value: object, *keys: str) -> bool:
    """Whether the first object of a list has all the keys."""
    return any({*keys} <= one.keys() for one in objects(value)[:1])


def first_of(value: Object, *keys: str) -> Any:
    """What stands under the first of the keys that has something."""
    for key in keys:
        if (found := value.get(key)) is not None:
            return found
    return None


def text_at(value: Object, *keys: str) -> str:
    """The text under the first of the keys that has one."""
    found = first_of(value, *keys)
    return found if isinstance(found, str) else ""


def id_at(value: Object, *keys: str) -> str | None:
    """The id under the first of the keys that has one."""
    found = first_of(value, *keys)
    return str(found) if isinstance(found, str | int) and found != "" else None


def parsed(value: object) -> object:
    """What a text holds as JSON; anything else, and a text that is no JSON, as it is."""
    if isinstance(value, str) and value[:1].lstrip() != "" and value.lstrip()[:1] in '[{"':
        with suppress(ValueError, RecursionError):
            return cast(object, json.loads(value))
    return value


def parsed_loosely(value: object) -> object:
    """As ``parsed``; also lists and objects as Python writes them, which tables hold."""
    found = parsed(value)
    if isinstance(found, str) and found[:1] in ("[", "{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return cast(object, ast.literal_eval(found))
    return found


def is_cut(value: object) -> bool:
    """Whether a text begins as a list or an object in JSON and breaks off."""
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return False
    try:
        json.loads(value)
    except json.JSONDecodeError as error:
        return error.pos >= len(value) - 2 or error.msg.startswith("Unterminated")
    except RecursionError:
        return False
    return False


def whole_items(text: str) -> tuple[list[object], str]:
    """The items of a list in JSON that breaks off, and what is left of the one it breaks off in."""
    decode, at = json.JSONDecoder().raw_decode, 1
    found: list[object] = []
    while True:
        while text[at : at + 1] in (" ", "\n", "\t", "\r", ","):
            at += 1
        try:
            value, at = decode(text, at)
        except (ValueError, RecursionError):
            return found, text[at:]
        found.append(value)


def as_text(value: object) -> str:
    """A value as a text to read: a text as it is, anything else as JSON; pictures as a word."""
    if value is None:
        return ""
    said = value if isinstance(value, str) else _dumped(value)
    if len(said) < 100:
        return said
    if ";base64," in said:
        said = _DATA_URI.sub(lambda found: media(found[1], len(found[2])), said)
    return _BASE64.sub(_without_bytes, said)


def _without_bytes(found: re.Match[str]) -> str:
    """A word in place of base64; a long word that lacks a kind of its characters is none."""
    if all(re.search(kind, found[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]")):
        return media("base64", len(found[0]))
    return found[0]


def media(kind: str, characters: int = 0, place: str = "") -> str:
    """What stands in place of a picture, a sound or a file; ``characters``: of base64."""
    size = f"{max(1, round(characters * 3 / 4 / 1024))} kB" if characters else ""
    what = kind.partition("/")[0] if "/" in kind else ""
    return f"[{', '.join(part for part in (what, size, kind, place) if part)}]"


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)


def arguments_of(value: object, *, or_python: bool = False) -> JsonObject | str:
    """Return the arguments of a call: an object, or the text if that is not a JSON object.

    Rules decide by them, so that they are read strictly: a key that is there twice, ``NaN`` and
    ``Infinity`` are not JSON, though ``json.loads`` takes them. ``or_python``: a text may also be
    an object as Python writes it.
    """
    read = _parsed_strictly(value)
    if isinstance(read, str):  # JSON in JSON
        read = _parsed_strictly(read)
    if or_python and isinstance(read, str) and parsed(read) is read:
        read = parsed_loosely(read)
    if isinstance(read, Mapping) and _has_json_numbers(read):
        return cast(JsonObject, read)
    if value is None or read == "":
        return {}
    return as_text(value)


def _parsed_strictly(value: object) -> object:
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"'):
        with suppress(ValueError, RecursionError):
            return cast(
                object,
                json.loads(
                    value,
                    object_pairs_hook=unique_keys,
                    parse_float=exact_number,
                    parse_constant=_refuse_constant,
                ),
            )
    return value


def exact_number(text: str) -> float:
    """Return a number in JSON as it is written: 1e400, which no float can hold, as a whole number.
    A ValueError if it is too large or too near to 0 for that.
    """
    number = float(text)
    if math.isfinite(number) and (number or not Decimal(text)):
        return number
    if not 0 < Decimal(text).adjusted() <= _MOST_DIGITS:
        raise ValueError(text)
    return int(Decimal(text))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _has_json_numbers(value: object) -> bool:
    """Return False if a number inside is infinite or NaN, which is not JSON."""
    left = [value]  # no recursion: a value may be nested deeper than Python can call
    while left:
        part = left.pop()
        if isinstance(part, float) and not math.isfinite(part):
            return False
        if isinstance(part, Mapping):
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
    return True


def number(value: object, *path: str) -> float | None:
    """The number under the path, or a text that is one."""
    given = inner(value, *path)
    if isinstance(given, bool) or given is None:
        return None
    with suppress(TypeError, ValueError):
        found = float(given)
        return found if math.isfinite(found) else None
    return None


def amount(value: object, *path: str) -> float | None:
    """Like ``number``, but None if it is below 0: nothing costs less than nothing, and in a sum it
    would hide what the rest cost.
    """
    found = number(value, *path)
    return None if found is None or found < 0 else found


def _count(value: object) -> int:
    return int(amount(value) or 0)


def seconds_of(value: object) -> float | None:
    """A moment in seconds: ISO text, in UTC where it names no zone, a number in seconds, milli-,
    micro- or nanoseconds, or a pair of seconds and nanoseconds. None for a moment before 1970 or
    long after today: year 1 and year 9999 are how some tools write that they do not know.
    """
    found = _moment(value)
    return found if found is not None and 0 <= found < _LATEST else None


def _moment(value: object) -> float | None:
    if isinstance(value, list | tuple) and len(value) == len(("seconds", "nanoseconds")):
        whole, part = number(value[0]), number(value[1])
        return None if whole is None or part is None else whole + part / 1e9
    found = number(value)
    if found is not None:
        for size in (1e17, 1e14, 1e11):
            if found > size:
                return found / (size / 1e8)
        return found
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def time_at(value: Object, *keys: str) -> float | None:
    """The moment under the first of the keys that has one."""
    return seconds_of(first_of(value, *keys))


def elapsed_over(given: Iterable[Object], key: str) -> float | None:
    """Seconds from the first of the objects to the last that has a time under the key; None where
    one is not there, or they are the wrong way round.
    """
    times = [one[key] for one in given if key in one]
    begun, ended = (seconds_of(times[at]) if times else None for at in (0, -1))
    return ended - begun if begun is not None and ended is not None and ended >= begun else None


_PROMPT = (
    *("prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "promptTokenCount"),
    *(
        "request_tokens",
        "input",
        "tokens_sent",
        "prompt",
        "promptTokensTotal",
        "prompt_token_count",
    ),
)
_COMPLETION = (
    *("completion_tokens", "output_tokens", "outputTokens", "completionTokens"),
    *("candidatesTokenCount", "response_tokens", "output", "tokens_received", "completion"),
    "candidates_token_count",
)
_CACHED = (
    ("cached_tokens",),
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("input_token_details", "cache_read"),
    ("inputTokenDetails", "cacheReadTokens"),
    ("cache_read_tokens",),
    ("cache_read_input_tokens",),
    ("cachedInputTokens",),
    ("cached_prompt_tokens",),
    ("cachedContentTokenCount",),
    ("input_cached_tokens",),
    ("cache_read",),
)
_BESIDE_PROMPT = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Prompt tokens that Anthropic does not count among its input tokens."""
_APART = ("input_tokens", "input")
"""How those input tokens are named."""


def usage_of(value: object, calls: int = 1) -> Usage | None:
    """Tokens as any provider names them; None if none are named, or a number of them is below 0."""
    if not isinstance(value, Mapping):
        return None
    prompt, completion = first_of(value, *_PROMPT), first_of(value, *_COMPLETION)
    given = [found for one in (prompt, completion) if (found := number(one)) is not None]
    if not given or min(given) < 0:
        return None
    apart = value.get("prompt_tokens") is None and first_of(value, *_APART) is not None
    beside = sum(_count(value.get(key)) for key in _BESIDE_PROMPT) if apart else 0
    cached = next((found for path in _CACHED if (found := _count(inner(value, *path)))), 0)
    thought = _count(first_of(value, "thoughtsTokenCount", "thoughts_token_count"))
    return Usage(calls, _count(prompt) + beside, _count(completion) + thought, cached)


def unflattened(attributes: Object, prefix: str) -> Any:
    """What stands under ``prefix`` in keys with dots, as lists and objects; None for nothing.

    A list whose items have keys with dots is taken apart the same way.
    """
    if attributes.get(prefix) is not None:
        return _deep(parsed_loosely(attributes[prefix]))
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start) and value is not None:
            _put(tree, key[len(start) :].split("."), value)
    return _listed(tree) if tree else None


def _put(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        if not isinstance(below, dict):
            below = tree[key] = {}
        tree = below
    if isinstance(value, Mapping) and isinstance(tree.get(path[-1]), dict):
        return
    tree[path[-1]] = value


def _listed(value: Any) -> Any:
    """Objects whose keys are all numbers become lists."""
    if not isinstance(value, dict):
        return value
    made = {key: _listed(one) for key, one in value.items()}
    if made and all(key.isdecimal() for key in made):
        return [made[key] for key in sorted(made, key=int)]
    return made


def _deep(value: Any, depth: int = 0) -> Any:
    """Keys with dots, at any depth, as objects."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [_deep(one, depth + 1) for one in value]
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for key, one in value.items():
        _put(tree, str(key).split("."), _deep(one, depth + 1))
    return _listed(tree)


_LISTS = ("to_input_list", "all_messages")
_DUMPS = ("model_dump", "to_dict", "export", "dict")


def plain(value: object, depth: int = 0) -> Any:
    """An object of an SDK as JSON: what it dumps, else its fields."""
    if value is None or isinstance(value, str | int | float | bool) or depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth + 1) for one in value]
    for name in (*_LISTS, *_DUMPS):
        if callable(dump := getattr(value, name, None)):
            return plain(dump(), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value), depth + 1)
    listed = isinstance(value, Iterable) and not isinstance(value, bytes)
    return plain(list(cast(Iterable[object], value)), depth + 1) if listed else str(value)
