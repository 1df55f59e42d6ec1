"""The retrieved fragments of a row, one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERED = re.compile(
    r"^[ \t]*(?:(?:fragment|source|document|passage|фрагмент|источник|документ)[ \t]+)?[\[(]?(\d{1,3})(?:[\])][.:]?|[.:])[ \t]+",
    re.IGNORECASE | re.MULTILINE,
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*$", re.MULTILINE)


def fragments(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """A list is its items. A text is split where its lines are numbered from 1 on, else at ruled lines; else it is one."""
    if value is None:
        return ()
    if not isinstance(value, str):
        return tuple(text for text in value if text.strip())
    text = value if "\n" in value else value.replace("\\r\\n", "\n").replace("\\n", "\n")
    parts = _numbered(text) or _RULE.split(text)
    return tuple(part.strip() for part in parts if part.strip())


def _numbered(text: str) -> list[str]:
    """The texts behind 1, 2, 3, …; none where the lines are not numbered so, or something stands before the first."""
    starts: list[re.Match[str]] = []
    for found in _NUMBERED.finditer(text):
        if int(found[1]) == len(starts) + 1:
            starts.append(found)
    if not starts or text[: starts[0].start()].strip():
        return []
    ends = [*(found.start() for found in starts[1:]), len(text)]
    return [text[found.end() : end] for found, end in zip(starts, ends, strict=True)]
