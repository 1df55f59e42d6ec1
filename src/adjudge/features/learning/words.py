"""Texts as numbers without a model: hashed words and character n-grams, and simple features."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from adjudge.features.learning.prompt_form import JudgedTexts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
BUCKETS = 4096
"""Buckets for words, and as many for character n-grams; n-grams are hashed, so a file holds no
text.
"""
SIMPLE = 18
_LETTERS = (3, 4)
# Characters of a text that are counted.
_MOST_CHARACTERS = 20_000
_LONGEST_PIECE = 40
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\w+|[^\w\s]+")
_SENTENCE = re.compile(r"[.!?…]+(?:\s|$)")
_LINK = re.compile(r"https?://|www\.")
_WRITER = frozenset(("i", "me", "my", "mine", "we", "us", "our")) | frozenset(
    ("я", "мне", "меня", "мой", "моя", "мы", "нам", "нас", "наш")
)
_READER = frozenset(("you", "your", "yours")) | frozenset(
    ("ты", "тебя", "тебе", "твой", "вы", "вам", "вас", "ваш")
)


def counted(texts: Sequence[JudgedTexts]) -> Floats:
    """Return rows by 2 × BUCKETS: log counts of hashed n-grams."""
    counts = np.zeros((len(texts), 2 * BUCKETS))
    for row, judged_texts in zip(counts, texts, strict=True):
        text = judged_texts.judged[:_MOST_CHARACTERS].lower()
        words = _WORD.findall(text)
        letters = chain.from_iterable(map(_letters, _PIECE.findall(text)))
        for start, grams in ((0, _hash_words(words)), (BUCKETS, letters)):
            for hashed, count in Counter(grams).items():
                # A random sign keeps collisions from adding up.
                sign = 1 if hashed & 0x8000_0000 else -1
                row[start + hashed % BUCKETS] += sign * (1 + math.log(count))
    return counts


def rarity(counts: Floats) -> Floats:
    """Return the inverse document frequency of each bucket, at least 1."""
    rows = len(counts)
    rarities: Floats = np.log((1 + rows) / (1 + (counts != 0).sum(axis=0))) + 1
    return rarities


def scaled(counts: Floats, rarities: Floats) -> Floats:
    """Weight counts by rarity; the words and the letters of a row each get length one."""
    weighted = counts * rarities
    for half in (slice(0, BUCKETS), slice(BUCKETS, None)):
        length = np.sqrt((weighted[:, half] ** 2).sum(axis=1, keepdims=True))
        weighted[:, half] /= np.where(length > 0, length, 1.0)
    return weighted


def simple(texts: Sequence[JudgedTexts]) -> Floats:
    """Return rows by SIMPLE features."""
    return np.array([[*_simple(judged_texts)] for judged_texts in texts], np.float64).reshape(
        len(texts), SIMPLE
    )


def _hash_words(words: Sequence[str]) -> Iterator[int]:
    """Hash words and pairs of words."""
    yield from map(_hash, words)
    yield from map(_hash, map(" ".join, pairwise(words)))


def _hash(gram: str) -> int:
    return crc32(gram.encode("utf-8", "replace"))


@lru_cache(maxsize=1 << 14)
def _letters(piece: str) -> tuple[int, ...]:
    """Hash character n-grams of a word or of a run of other signs."""
    padded = f" {piece[:_LONGEST_PIECE]} "
    return tuple(
        _hash(f"{length} {padded[start : start + length]}")
        for length in _LETTERS
        for start in range(max(1, len(padded) - length + 1))
    )


def _simple(judged_texts: JudgedTexts) -> Iterator[float]:
    text = judged_texts.judged[:_MOST_CHARACTERS]
    words, size = _WORD.findall(text), max(1, len(text))
    count, folded = max(1, len(words)), [word.lower() for word in words]
    context = " ".join(judged_texts.others)[:_MOST_CHARACTERS]
    context_words = {word.lower() for word in _WORD.findall(context)}
    # The order of these features is the order of the weights in a file: change _FEATURES with it.
    yield math.log1p(len(text))
    yield math.log1p(len(words))
    yield math.log1p(len(_SENTENCE.findall(text)))
    yield math.log1p(text.count("\n"))
    yield sum(map(len, words)) / count
    yield sum(map(str.isdigit, text)) / size
    yield sum(map(str.isupper, text)) / size
    yield sum(word.isupper() and len(word) > 1 for word in words) / count
    yield (len(text) - sum(map(str.isalnum, text)) - sum(map(str.isspace, text))) / size
    yield math.log1p(text.count("?"))
    yield math.log1p(text.count("!"))
    yield text.count(",") / count
    yield math.log1p(sum(text.count(mark) for mark in "\"“”«»'"))
    yield math.log1p(len(_LINK.findall(text)) + text.count("@") + text.count("#"))
    yield len({*folded}) / count
    yield sum(word in _WRITER for word in folded) / count
    yield sum(word in _READER for word in folded) / count
    yield len([word for word in folded if word in context_words]) / count
