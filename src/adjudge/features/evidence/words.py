"""Words in a form in which endings do not matter."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from adjudge.features.evidence.sentence_words import sentence_words

WORD: Final = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-’'.,][^\W_]+)*")
# Letters by which the cases of a Russian word differ, at most.
_CASE_ENDINGS: Final = 3


@lru_cache(maxsize=16_384)
def plain_word(word: str) -> str:
    """Normalize a word: remove case, accents and a possessive ending, and write ё as е."""
    # й would lose its breve with the accents, so it is set aside
    bare = word.casefold().replace("ё", "е").replace("й", "\0")
    bare = "".join(
        character
        for character in unicodedata.normalize("NFKD", bare)
        if not unicodedata.combining(character)
    ).replace("\0", "й")
    return bare.replace("’", "'").removesuffix("'s").removesuffix("'")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the beginning that most forms of a word share."""
    bare = plain_word(word)
    # most Russian endings are one or two letters long
    if _is_cyrillic(bare):
        return bare[: max(3, len(bare) - (2 if len(bare) > 5 else 1))] if len(bare) > 3 else bare
    # only if four letters remain, so that "ring" stays
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "ly"):
        if len(bare) - len(ending) >= 4 and bare.endswith(ending):
            return bare[: -len(ending)].removesuffix("e")
    return bare.removesuffix("e") if len(bare) > 4 else bare


@lru_cache(maxsize=1024)
def content_words(text: str) -> tuple[str, ...]:
    """Return the stems of a text's content words and numbers, in order."""
    function = sentence_words().function
    tokens = (match[0] for match in _TOKEN.finditer(text))
    return tuple(stem(word) for word in tokens if word.casefold() not in function)


def same_name(word_a: str, word_b: str) -> bool:
    """Return True if two words are forms of the same name: «Пушкин» and «Пушкина», "Brown" and
    "Brown's".
    """
    name_a, name_b = plain_word(word_a), plain_word(word_b)
    if name_a == name_b:
        return True
    if not (_is_cyrillic(name_a) and _is_cyrillic(name_b)):
        return False
    shorter = min(len(name_a), len(name_b))
    common = next((at for at in range(shorter) if name_a[at] != name_b[at]), shorter)
    return (
        common >= 3
        and max(len(name_a), len(name_b)) - common <= _CASE_ENDINGS
        and common >= shorter - 2
    )


def _is_cyrillic(word: str) -> bool:
    return bool(word) and "а" <= word[0] <= "я"
