"""The sentences of a line, and words in them that say how something is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

EMPHASIS = re.compile(r"\*++|`++|__++")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[*_\"'”»)]*\s+(?=\S)")
QUOTATION = re.compile(r'"[^"\n]{0,2000}"|“[^”\n]{0,2000}”|«[^»\n]{0,2000}»|`[^`\n]{0,2000}`')
HEADING = re.compile(r":[*_\s]*\Z")
DOUBT = re.compile(
    r"\b(?:if|unless|whether|had|would|might|could|may|either|between|initial\w*|at first"
    r"|first|prelim\w*|draft"
    r"|tempt\w*|someone|some|lean\w*|almost|nearly"
    r"|if only|says?|said|claims?|according|author|student|agent|users?|he|she|they|his|her"
    r"|their|asks?|asked"
    r"|requires?|when|for example|e\.g|under an?|strict\w*|lenient\w*|default"
    r"|если|бы|может|возможно|сначала|либо|между|пишет|утверждает)\b",
    re.IGNORECASE,
)
DENIES = re.compile(
    r"(?:\b(?:no (?:reason|need|cause|grounds) (?:to|for)|not|never|no longer|cannot|can't"
    r"|isn't|wasn't|don't"
    r"|doesn't|didn't|wouldn't|won't|hardly|не|ни)|n['’]t)\W+(?:\w+\W+){0,3}\Z",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\b(?:rather than|instead of|than|nor|or|versus|vs\.?|вместо|чем|или|а "
    r"не)\W+(?:\w+\W+){0,1}\Z",
    re.IGNORECASE,
)


def sentences_of(text: str) -> list[str]:
    """The sentences of a line; a number before the first is part of it."""
    quoted = [one.span() for one in QUOTATION.finditer(text)]
    first, *others = _split(text, quoted) if quoted else _SENTENCE_END.split(text)
    if others and re.fullmatch(r"\W*\d{1,3}\.\W*", first):
        return [f"{first} {others[0]}", *others[1:]]
    return [first, *others]


def _split(text: str, quoted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The sentences of a text, which do not end within what it quotes."""
    at, spans = 0, iter(quoted)
    start, end = next(spans)
    for found in _SENTENCE_END.finditer(text):
        while end < found.end() and (span := next(spans, None)):
            start, end = span
        if not start < found.start() < end:
            yield text[at : found.start()]
            at = found.end()
    yield text[at:]


def unquoted(found: re.Match[str]) -> str:
    """What is quoted is somebody else's, but for a word or two: "FAIL"."""
    return (
        found.group()
        if len(found.group()) <= 14 and " " not in found.group() and "[" not in found.group()
        else " … "
    )


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)?", text)
