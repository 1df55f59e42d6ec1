"""Find a quote in a text, whatever its white space and quotation marks; and find the passage that
is most like a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adjudge.core.domain.span import Span
from adjudge.features.evidence.sentences import Sentence, sentences
from adjudge.features.evidence.words import content_words

_MARKS: Final = frozenset("\"'`“”„‟«»‘’‚‛‹›″′＂＇")
# Substitutes in prompts for characters that could pass for marks of ours.
_SHOWN_AS: Final = {"‹": "<", "⦗": "<", "⁅": "["}
# Letters and digits that a quote must have, and a word that means something: "a" and "the" stand
# in every text.
_LEAST: Final = 3
# Characters around the end of a quote in which words and numbers are read.
_REACH: Final = 60
# A number with its sign and its thousands, or a word with its accents.
_UNIT: Final = re.compile(
    r"(?<![^\W_])[-−]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)"
    r"|(?<![^\W_])[-−]?\d+(?:[.,:]\d+)*[^\W_]*|(?:[^\W_][\u0300-\u036f]*)+"
)
_ELLIPSIS: Final = re.compile(r"\s*[\[(]?(?:…|\.{3,})[\])]?\s*")
# An ellipsis at either end leaves nothing out that matters.
_ENDS: Final = re.compile(rf"\A{_ELLIPSIS.pattern}|{_ELLIPSIS.pattern}\Z")
# Characters that an ellipsis may leave out: parts that are farther apart prove nothing.
_LONGEST_GAP: Final = 300
# The share of a sentence's words that a passage must have to be worth showing.
_ALIKE: Final = 0.3


@dataclass(frozen=True, slots=True)
class _Folded:
    """A normalized text, with the original position of each character."""

    text: str
    places: tuple[int, ...]


def find_quote(quote: str, text: str) -> Span | None:
    """Return the span of ``quote`` in ``text``, whole words only; None if absent or too short.

    Case, white space and quotation marks are ignored. A quote with an ellipsis is found if its
    parts follow each other closely: "The tower … is 330 metres tall".
    """
    folded = _fold(text)
    # an ellipsis at an end was cut off; those inside split the quote
    parts = [_fold(part).text.strip() for part in _ELLIPSIS.split(_ENDS.sub("", quote))]
    start = end = None
    for part in parts:
        if sum(map(str.isalnum, part)) < _LEAST or not content_words(part):
            return None
        at = _find(part, folded.text, 0 if end is None else end)
        if at is None or (end is not None and at - end > _LONGEST_GAP):
            return None
        start, end = at if start is None else start, at + len(part)
    if start is None or end is None:
        return None
    return Span(folded.places[start], folded.places[end - 1] + 1)


def _find(part: str, text: str, start: int) -> int | None:
    """Return the index of ``part`` in ``text`` from ``start`` on, whole words only; None if
    absent.
    """
    at = text.find(part, start)
    while at != -1:
        if _whole_words(text, at, at + len(part)):
            return at
        at = text.find(part, at + 1)
    return None


def _whole_words(text: str, start: int, end: int) -> bool:
    """Return True if neither end cuts a word, an accented letter or a number.

    "330" is not in "1,330", nor "5" in "-5".
    """
    return not _cuts(text, start) and not _cuts(text, end)


def _cuts(text: str, at: int) -> bool:
    window = max(0, at - _REACH)
    units = (match.span() for match in _UNIT.finditer(text[window : at + _REACH]))
    return any(unit_start < at - window < unit_end for unit_start, unit_end in units)


@lru_cache(maxsize=256)
def _fold(text: str) -> _Folded:
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        lower = character.lower()
        # models quote what the prompt showed, which may be a substitute for the character in the
        # source
        folded = _SHOWN_AS.get(character, lower if len(lower) == 1 else character)
        if folded.isspace():
            if characters and characters[-1] == " ":
                continue
            folded = " "
        elif folded in _MARKS:
            continue
        characters.append(folded)
        places.append(place)
    return _Folded("".join(characters), tuple(places))


def most_alike(sentence: str, texts: Sequence[str]) -> tuple[int, Span] | None:
    """Return the index of the text, and its passage, with the largest share of the sentence's
    words.

    Return None if no passage is similar enough.
    """
    words_of_sentence = frozenset(content_words(sentence))
    if not words_of_sentence:
        return None
    best: tuple[float, int, Sentence] | None = None
    for number, text in enumerate(texts):
        for passage, words in _passages(text):
            share = len(words_of_sentence & words) / len(words_of_sentence)
            if share >= _ALIKE and (best is None or share > best[0]):
                best = (share, number, passage)
    return None if best is None else (best[1], best[2])


@lru_cache(maxsize=256)
def _passages(text: str) -> tuple[tuple[Sentence, frozenset[str]], ...]:
    return tuple(
        (sentence, frozenset(content_words(sentence.text))) for sentence in sentences(text)
    )
