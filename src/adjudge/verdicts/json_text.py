"""JSON objects in a reply, however they are wrapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from adjudge.verdicts.lenient import decoded, next_object, read_object

_QUOTED_KEY = re.compile(r"""["'“”„«‘]\w+["'“”»’]\s*+:""")
_ENDS_WITH_QUOTE = re.compile(r'"\s*\Z')
_DEEPEST = 3
_MOST = 500
"""No answer has as many objects; reading on would only take time."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a reply, whether its text had to be mended to be read, and where it ends."""

    data: dict[str, object] | None
    """None where there is an object that cannot be read."""
    mended: bool
    end: int


def find_objects(text: str, *, cut: bool = False) -> list[Found]:
    """Every outermost JSON object in ``text``, in order.

    One that cannot be read is the last: what follows it may be inside it, such as a verdict that it only quotes.
    """
    whole = _strict(text)
    if whole is not None:
        return [Found(item, False, len(text)) for item in whole]
    return list(_objects(text, cut))


def _strict(text: str) -> list[dict[str, object]] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _objects(text: str, cut: bool) -> Iterator[Found]:
    end = 0
    for _ in range(_MOST):
        start = next_object(text, end)
        if start < 0:
            break
        found = _read(text, start)
        yield found or Found(None if cut else _unclosed(text[start:]), True, len(text))
        if not found:
            return
        end = found.end
    if end and (next_object(text, end) >= 0 or _was_inside(text[end:], cut)):
        yield Found(None, False, len(text))


def _read(text: str, start: int) -> Found | None:
    clean = decoded(text, start)
    if clean and isinstance(clean[0], dict):
        return Found(clean[0], False, clean[1])
    mended = read_object(text, start)
    return Found(mended[0], True, mended[1]) if mended else None


def _unclosed(piece: str) -> dict[str, object] | None:
    """Read an object that lacks only its last braces. One that may have been cut off is not read: "Good" could have been
    "Good enough"."""
    if not _ENDS_WITH_QUOTE.search(piece):
        return None
    for braces in range(1, _DEEPEST + 1):
        read = decoded(piece + "}" * braces, 0)
        if read and isinstance(read[0], dict):
            return read[0]
    return None


def _was_inside(rest: str, cut: bool) -> bool:
    """Whether ``rest``, behind the last object, shows that this was only part of a larger one, as quoted JSON is."""
    rest = rest.lstrip("}` \t\r\n")
    return bool(cut and rest) or rest.count("}") > rest.count("{") or _QUOTED_KEY.search(rest) is not None
