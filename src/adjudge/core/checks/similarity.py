"""Similarity of two texts: by letters, by words, by their order."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, get_args

from adjudge.core.checks.check import Check, Observation, lacks, texts_in
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import Number, Text, Word, key
from adjudge.messages import Message

Way = Literal["edit", "tokens", "rouge-l", "bleu"]
WAYS: tuple[Way, ...] = get_args(Way)
_WORD = re.compile(r"\w+")
_NGRAM = 4


def words_of(text: str) -> list[str]:
    """Return the words in lower case, without punctuation."""
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


def edit_similarity(one: str, two: str) -> float:
    """Return 1 - distance / length of the longer text. Inserting, removing or changing a letter
    costs 1.
    """
    longest = max(len(one), len(two))
    return 1.0 if not longest else 1 - edit_distance(one, two) / longest


def edit_distance(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    """Return the Levenshtein distance, by the bit-parallel algorithm of Myers and Hyyrö."""
    if not one or not two:
        return max(len(one), len(two))
    places = _places(one)
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    plus, minus, distance = every, 0, len(one)
    for letter in two:
        same = places.get(letter, 0)
        diagonal = ((((same & plus) + plus) ^ plus) | same | minus) & every
        up, down = minus | (~(diagonal | plus) & every), plus & diagonal
        distance += bool(up & last) - bool(down & last)
        up, down = ((up << 1) | 1) & every, (down << 1) & every
        plus, minus = down | (~(diagonal | up) & every), up & diagonal
    return distance


def common_length(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence, by a bit-parallel algorithm."""
    places = _places(one)
    every = (1 << len(one)) - 1
    row = every
    for item in two:
        same = row & places.get(item, 0)
        row = ((row + same) | (row - same)) & every
    return (row ^ every).bit_count()


def _places(items: Sequence[Hashable]) -> dict[Hashable, int]:
    masks: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        masks[item] = masks.get(item, 0) | 1 << place
    return masks


def _f1(common: float, one: int, two: int) -> float:
    return 2 * common / (one + two) if one + two else 1.0


def token_overlap(text: str, wanted: str) -> float:
    """Return the F1 of common words, in any order."""
    text_words, wanted_words = words_of(text), words_of(wanted)
    return _f1(
        sum((Counter(text_words) & Counter(wanted_words)).values()),
        len(text_words),
        len(wanted_words),
    )


def rouge_l(text: str, wanted: str) -> float:
    """Return the F1 of the longest common subsequence of words."""
    text_words, wanted_words = words_of(text), words_of(wanted)
    return _f1(common_length(text_words, wanted_words), len(text_words), len(wanted_words))


def bleu(text: str, wanted: str) -> float:
    """Return BLEU of one sentence, up to four words at a time.

    A length without a match counts half of the previous one (sacreBLEU's exponential smoothing).
    Lengths beyond the text are left out.
    """
    text_words, wanted_words = words_of(text), words_of(wanted)
    if not text_words or not wanted_words:
        return float(text_words == wanted_words)
    logs, misses = [], 0
    for size in range(1, min(_NGRAM, len(text_words)) + 1):
        text_grams, wanted_grams = _grams(text_words, size), _grams(wanted_words, size)
        hits, every = sum((text_grams & wanted_grams).values()), sum(text_grams.values())
        if not hits:
            misses += 1
        # sacreBLEU's "exp" smoothing: each length without a match halves the precision.
        logs.append(math.log(hits / every if hits else 1 / (2**misses * every)))
    if misses == len(logs):
        return 0.0
    brevity = min(0.0, 1 - len(wanted_words) / len(text_words))
    return math.exp(brevity + sum(logs) / len(logs))


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


_BY: Mapping[Way, Callable[[str, str], float]] = {
    "edit": edit_similarity,
    "tokens": token_overlap,
    "rouge-l": rouge_l,
    "bleu": bleu,
}


@light_dataclass(frozen=True, kw_only=True)
class Similar(Check):
    """The text is similar enough to another one."""

    to: str = key(Text(), "The field with the other text.", "reference")
    by: Way = key(Word[Way](WAYS), "Measure of similarity.", "rouge-l")
    least: float = key(Number(least=0, most=1), "Minimum similarity, from 0 to 1.", 0.5)

    @property
    def title(self) -> str:
        return Message(
            "{way} to {field} is at least {least:g}", way=self.by, field=self.to, least=self.least
        )

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.to,)

    def look(self, text: str, row: Instance) -> Observation:
        texts = texts_in(row, self.to)
        if not texts:
            return lacks(row, self.to)
        other_text = "\n".join(texts)
        value = _BY[self.by](text, other_text)
        reason = Message("{way} {value:.3f}", way=self.by, value=value)
        return Observation(value >= self.least, reason, (), value)
