"""Split a text into its fragments: retrievers are often logged as one cell with numbered parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adjudge.core.data.cells import with_line_breaks

_NUMBERED: Final = re.compile(r"(?:^|\n)[ \t]*(?:\[(\d{1,3})\]|\(?(\d{1,3})[.)])[ \t]+")


def fragments_in(texts: str | Sequence[str]) -> tuple[str, ...]:
    """Return a list as it is, and a text split into its parts if they are numbered from 1, else
    whole.

    Blank fragments are left out.
    """
    if isinstance(texts, str):
        texts = _parts(with_line_breaks(texts))
    return tuple(text for text in texts if text.strip())


def _parts(text: str) -> Sequence[str]:
    marks = list(_NUMBERED.finditer(text))
    numbers = [int(mark[1] or mark[2]) for mark in marks]
    if (
        len(marks) < 2
        or numbers != list(range(1, len(marks) + 1))
        or text[: marks[0].start()].strip()
    ):
        return (text,)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
