"""The sentences of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[*_\"'”»)]*\s+(?=\S)|(?<=[。！？])(?=\S)")
QUOTATION = re.compile(r'"[^"\n]{0,2000}"|“[^“”\n]{0,2000}”|«[^«»\n]{0,2000}»|`[^`\n]{0,2000}`')


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a line; a number before the first is part of it."""
    quoted = [quotation.span() for quotation in QUOTATION.finditer(text)]
    first, *others = _split(text, quoted) if quoted else _SENTENCE_END.split(text)
    if others and re.fullmatch(r"\W*\d{1,3}\.\W*", first):
        return [f"{first} {others[0]}", *others[1:]]
    return [first, *others]


def without_quotations(text: str) -> str:
    """Return ``text`` without what it quotes; a single quoted word stays."""
    return QUOTATION.sub(
        lambda quoted: (
            quoted.group()
            if len(quoted.group()) <= 14 and " " not in quoted.group() and "[" not in quoted.group()
            else " … "
        ),
        text,
    )


def _split(text: str, quoted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the sentences of a text; none ends inside a quotation."""
    at, spans = 0, iter(quoted)
    start, end = next(spans)
    for boundary in _SENTENCE_END.finditer(text):
        while end < boundary.end() and (span := next(spans, None)):
            start, end = span
        if not start < boundary.start() < end:
            yield text[at : boundary.start()]
            at = boundary.end()
    yield text[at:]
