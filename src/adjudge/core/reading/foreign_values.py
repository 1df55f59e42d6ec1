"""Values of other tools, which write them in many ways, as plain ones."""

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
"""A tool's output. It may hold anything, so readers check every step."""
HOSTILE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""Errors of a reader on a value that is not as its tool writes it."""
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)[^,\s]{0,60};base64,([A-Za-z0-9+/=_-]{100,})")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{2000,}={0,2}(?![A-Za-z0-9+/=])")
# The year 2200, in seconds.
_LATEST = 7_258_118_400.0
_DEEPEST = 60
# Digits of a whole number, below Python's limit for writing one.
_MOST_DIGITS = 4000


def objects(value: object, *path: str) -> list[Object]:
    """Return the objects in the list under the path; a non-empty object counts as a list of one."""
    at_path = inner(value, *path)
    if isinstance(at_path, Mapping):
        return [at_path] if at_path else []
    return (
        [item for item in at_path if isinstance(item, Mapping)] if isinstance(at_path, list) else []
    )


def inner(value: object, *path: str) -> Any:
    """Return the value under the path, or None."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def inner_object(value: object, *path: str) -> Object:
    """Return the object under the path, or an empty one."""
    at_path = inner(value, *path)
    return at_path if isinstance(at_path, Mapping) else {}


def first_has(value: object, *keys: str) -> bool:
    """Return True if the first object of a list has all the keys."""
    return any({*keys} <= item.keys() for item in objects(value)[:1])


def first_of(value: Object, *keys: str) -> Any:
    """Return the value of the first key that has one."""
    for key in keys:
        if (candidate := value.get(key)) is not None:
            return candidate
    return None


def text_at(value: Object, *keys: str) -> str:
    """Return the value of the first key that has one; an empty text if it is not a text."""
    text = first_of(value, *keys)
    return text if isinstance(text, str) else ""


def id_at(value: Object, *keys: str) -> str | None:
    """Return the value of the first key that has one, as an id; None if it is not a text or a
    number, or empty.
    """
    id_value = first_of(value, *keys)
    return str(id_value) if isinstance(id_value, str | int) and id_value != "" else None


def parse_json(value: object) -> object:
    """Parse a text that is JSON. Return anything else unchanged."""
    if isinstance(value, str) and value[:1].lstrip() != "" and value.lstrip()[:1] in '[{"':
        with suppress(ValueError, RecursionError):
            return cast(object, json.loads(value))
    return value


def parse_loosely(value: object) -> object:
    """Like ``parse_json``, but also reads lists and objects in Python syntax, which tables hold."""
    read = parse_json(value)
    if isinstance(read, str) and read[:1] in ("[", "{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return cast(object, ast.literal_eval(read))
    return read


def is_cut(value: object) -> bool:
    """Return True if a text starts like a JSON list or object and breaks off."""
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
    """Return the complete items of a JSON list that breaks off, and the rest of the text."""
    decode, at = json.JSONDecoder().raw_decode, 1
    items: list[object] = []
    while True:
        while text[at : at + 1] in (" ", "\n", "\t", "\r", ","):
            at += 1
        try:
            value, at = decode(text, at)
        except (ValueError, RecursionError):
            return items, text[at:]
        items.append(value)


def as_text(value: object) -> str:
    """Return a value as readable text: a text as it is, anything else as JSON, with embedded media
    replaced by placeholders.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else _to_json(value)
    if len(text) < 100:
        return text
    if ";base64," in text:
        text = _DATA_URI.sub(lambda found: media(found[1], len(found[2])), text)
    return _BASE64.sub(_without_bytes, text)


def _without_bytes(match: re.Match[str]) -> str:
    """Replace base64 data with a placeholder.

    A match without upper case, lower case or digits is a long word, and stays.
    """
    if all(re.search(kind, match[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]")):
        return media("base64", len(match[0]))
    return match[0]


def media(kind: str, characters: int = 0, place: str = "") -> str:
    """Return the placeholder for a picture, a sound or a file; ``characters``: length of its
    base64.
    """
    size = f"{max(1, round(characters * 3 / 4 / 1024))} kB" if characters else ""
    what = kind.partition("/")[0] if "/" in kind else ""
    return f"[{', '.join(part for part in (what, size, kind, place) if part)}]"


def _to_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)


def arguments_of(value: object, *, or_python: bool = False) -> JsonObject | str:
    """Return the arguments of a tool call: an object, or the text if it is not a JSON object.

    Rules depend on them, so they are read strictly: a repeated key, ``NaN`` and ``Infinity`` are
    not JSON, although ``json.loads`` accepts them. ``or_python``: a text may also be an object in
    Python syntax.
    """
    read = _parse_strictly(value)
    if isinstance(read, str):  # JSON in JSON
        read = _parse_strictly(read)
    if or_python and isinstance(read, str) and parse_json(read) is read:
        read = parse_loosely(read)
    if isinstance(read, Mapping) and _has_json_numbers(read):
        return cast(JsonObject, read)
    if value is None or read == "":
        return {}
    return as_text(value)


def _parse_strictly(value: object) -> object:
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
    """Return a JSON number exactly: 1e400, which no float can hold, becomes a whole number.

    Raises ValueError if it is too large or too close to 0 for that.
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
    pending = [value]  # no recursion: a value may be nested deeper than Python can call
    while pending:
        part = pending.pop()
        if isinstance(part, float) and not math.isfinite(part):
            return False
        if isinstance(part, Mapping):
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part
    return True


def number(value: object, *path: str) -> float | None:
    """Return the number under the path, also from a text; None if there is none."""
    raw = inner(value, *path)
    if isinstance(raw, bool) or raw is None:
        return None
    with suppress(TypeError, ValueError):
        result = float(raw)
        return result if math.isfinite(result) else None
    return None


def amount(value: object, *path: str) -> float | None:
    """Like ``number``, but None below 0: a negative cost would hide other costs in a sum."""
    result = number(value, *path)
    return None if result is None or result < 0 else result


def _count(value: object) -> int:
    return int(amount(value) or 0)


def seconds_of(value: object) -> float | None:
    """Return a moment in seconds since 1970, or None.

    Reads ISO texts (UTC without a zone), numbers in seconds, milli-, micro- or nanoseconds, and
    pairs of seconds and nanoseconds. None for a moment before 1970 or long after today: some tools
    write year 1 or 9999 for an unknown time.
    """
    moment = _moment(value)
    return moment if moment is not None and 0 <= moment < _LATEST else None


def _moment(value: object) -> float | None:
    if isinstance(value, list | tuple) and len(value) == len(("seconds", "nanoseconds")):
        seconds, part = number(value[0]), number(value[1])
        return None if seconds is None or part is None else seconds + part / 1e9
    result = number(value)
    if result is not None:
        # Nano-, micro- or milliseconds, by their magnitude.
        for size in (1e17, 1e14, 1e11):
            if result > size:
                return result / (size / 1e8)
        return result
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def time_at(value: Object, *keys: str) -> float | None:
    """Return the moment of the first key that has a value, in seconds; None if it is not a valid
    moment.
    """
    return seconds_of(first_of(value, *keys))


def elapsed_over(given: Iterable[Object], key: str) -> float | None:
    """Return the seconds from the first object to the last with a time under the key.

    None if a time is missing, or if they are in the wrong order.
    """
    times = [entry[key] for entry in given if key in entry]
    start, end = (seconds_of(times[at]) if times else None for at in (0, -1))
    return end - start if start is not None and end is not None and end >= start else None


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
# Prompt tokens that Anthropic does not count among its input tokens.
_BESIDE_PROMPT = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Names of those input tokens.
_APART = ("input_tokens", "input")


def usage_of(value: object, calls: int = 1) -> Usage | None:
    """Return token counts under any provider's names; None if there are none, or one is
    negative.
    """
    if not isinstance(value, Mapping):
        return None
    prompt, completion = first_of(value, *_PROMPT), first_of(value, *_COMPLETION)
    counts = [count for raw in (prompt, completion) if (count := number(raw)) is not None]
    if not counts or min(counts) < 0:
        return None
    apart = value.get("prompt_tokens") is None and first_of(value, *_APART) is not None
    extra_prompt = sum(_count(value.get(key)) for key in _BESIDE_PROMPT) if apart else 0
    cached = next((count for path in _CACHED if (count := _count(inner(value, *path)))), 0)
    thought = _count(first_of(value, "thoughtsTokenCount", "thoughts_token_count"))
    return Usage(calls, _count(prompt) + extra_prompt, _count(completion) + thought, cached)


def unflatten(attributes: Object, prefix: str) -> Any:
    """Return the value under ``prefix`` in keys with dots, as lists and objects; None for nothing.

    Items of a list whose keys have dots are unflattened as well.

    >>> unflatten({"m.0.role": "user"}, "m")
    [{'role': 'user'}]
    """
    if attributes.get(prefix) is not None:
        return _unflatten_deep(parse_loosely(attributes[prefix]))
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start) and value is not None:
            _put(tree, key[len(start) :].split("."), value)
    return _to_lists(tree) if tree else None


def _put(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        if not isinstance(below, dict):
            below = tree[key] = {}
        tree = below
    if isinstance(value, Mapping) and isinstance(tree.get(path[-1]), dict):
        return
    tree[path[-1]] = value


def _to_lists(value: Any) -> Any:
    """Turn objects whose keys are all numbers into lists."""
    if not isinstance(value, dict):
        return value
    converted = {key: _to_lists(child) for key, child in value.items()}
    if converted and all(key.isdecimal() for key in converted):
        return [converted[key] for key in sorted(converted, key=int)]
    return converted


def _unflatten_deep(value: Any, depth: int = 0) -> Any:
    """Turn keys with dots into objects, at any depth."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [_unflatten_deep(child, depth + 1) for child in value]
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for key, child in value.items():
        _put(tree, str(key).split("."), _unflatten_deep(child, depth + 1))
    return _to_lists(tree)


_LISTS = ("to_input_list", "all_messages")
_DUMPS = ("model_dump", "to_dict", "export", "dict")


def plain(value: object, depth: int = 0) -> Any:
    """Return an SDK's object as JSON-ready data: its dump, else its fields, its items or its
    text.
    """
    if value is None or isinstance(value, str | int | float | bool) or depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(child, depth + 1) for key, child in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(child, depth + 1) for child in value]
    for name in (*_LISTS, *_DUMPS):
        if callable(dump := getattr(value, name, None)):
            return plain(dump(), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value), depth + 1)
    listed = isinstance(value, Iterable) and not isinstance(value, bytes)
    return plain(list(cast(Iterable[object], value)), depth + 1) if listed else str(value)
