"""Turn text into token ids exactly as llama.cpp does with SmolLM2's vocabulary: byte-level BPE,
digits one by one.

Letters and numbers are those of Unicode 15.1, from the files in this folder: another Python's
tables would cut rare scripts differently. Control tokens are never read from text; only
:meth:`Tokenizer.encode_frame` reads them, for the chat template.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import accumulate
from pathlib import Path

_WHITESPACE = r"\x09-\x0d\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SURROGATE = re.compile("[\ud800-\udfff]")
# Longer words are not cached, because they seldom occur twice.
_LONGEST_KEPT = 24


class Tokenizer:
    """A tokenizer of ``tokens`` by id, in GPT-2's byte alphabet.

    ``merges`` are in order of rank; ``control`` maps control tokens to ids.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[str], control: dict[str, int]
    ) -> None:
        self._ids = dict(zip(tokens, range(len(tokens)), strict=True))
        self._lengths = [len(token) for token in tokens]
        self._ranks = dict(zip(merges, range(len(merges)), strict=True))
        self._control = control
        self._controls = re.compile(
            "|".join(map(re.escape, sorted(control, key=len, reverse=True)))
        )
        self._pattern = _pattern()
        self._kept = lru_cache(maxsize=1 << 16)(self._cut)

    def encode(self, text: str) -> list[int]:
        """Return the ids of any ``text``. A lone surrogate is read as U+FFFD."""
        ids: list[int] = []
        for word in self._pattern.findall(
            text
            if _SURROGATE.search(text) is None
            else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        ):
            ids += self._kept(word) if len(word) <= _LONGEST_KEPT else self._cut(word)
        return ids

    def span(self, ids: Sequence[int], first: int, behind: int) -> tuple[int, int]:
        """Return the range of tokens that cover the text's bytes from ``first`` up to, but not
        including, ``behind``.
        """
        ends = list(accumulate(self._lengths[id] for id in ids))  # a token's letter is a byte
        start = bisect_right(ends, first)
        return start, max(start + 1, min(len(ids), bisect_left(ends, behind) + 1))

    def encode_frame(self, text: str) -> list[int]:
        """Return the ids of adjudge's own text; control tokens in it are read as such."""
        ids, end = [], 0
        for match in self._controls.finditer(text):
            ids += [*self.encode(text[end : match.start()]), self._control[match.group()]]
            end = match.end()
        return [*ids, *self.encode(text[end:])]

    def _cut(self, word: str) -> tuple[int, ...]:
        spelt = word.encode().decode("latin-1").translate(_ALPHABET)
        return tuple(
            self._ids[part] for part in self._merge(spelt) if part in self._ids
        )  # some bytes have no token: left out

    def _merge(self, spelt: str) -> list[str]:
        """Merge letters pair by pair: the lowest rank first, among equals the leftmost."""
        parts: list[str] = list(spelt)
        next_place = [*range(1, len(parts)), -1]
        previous_place = [*range(-1, len(parts) - 1)]
        ranks = self._ranks
        waiting = [
            (rank, place, parts[place] + parts[place + 1])
            for place in range(len(parts) - 1)
            if (rank := ranks.get(f"{parts[place]} {parts[place + 1]}")) is not None
        ]
        heapify(waiting)
        while waiting:
            _, place, pair = heappop(waiting)
            right_place = next_place[place]
            if not parts[place] or right_place < 0 or parts[place] + parts[right_place] != pair:
                continue  # one of the two has been merged with another since
            parts[place], parts[right_place] = pair, ""
            next_place[place] = next_place[right_place]
            if next_place[right_place] >= 0:
                previous_place[next_place[right_place]] = place
            for start, end in ((previous_place[place], place), (place, next_place[place])):
                if (
                    start >= 0
                    and end >= 0
                    and (rank := ranks.get(f"{parts[start]} {parts[end]}")) is not None
                ):
                    heappush(waiting, (rank, start, parts[start] + parts[end]))
        return [part for part in parts if part]


def _alphabet() -> dict[int, str]:
    """Return GPT-2's letter for each byte: itself if printable, else one from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + place) for place, byte in enumerate(hidden)
    }


_ALPHABET = _alphabet()


@cache
def _pattern() -> re.Pattern[str]:
    """Match words: a single digit; an English ending; letters or other signs with the space before
    them; white space.

    The last white space before a word belongs to that word.
    """
    letters, numbers, space = _ranges("letters"), _ranges("numbers"), _WHITESPACE
    return re.compile(
        rf"[{numbers}]|'(?:[stmd]|re|ve|ll)| ?[{letters}]+| ?[^{space}{letters}{numbers}]+"
        rf"|[{space}]+(?![^{space}{numbers}])|[{space}]+"
    )


def _ranges(name: str) -> str:
    """Return the character ranges in a file, to be put inside a character class."""
    text = Path(__file__).with_name(f"{name}.txt").read_text(encoding="ascii")
    bounds = (part.partition("-") for part in text.split())
    return "".join(f"{_escape(low)}{dash}{_escape(high)}" for low, dash, high in bounds)


def _escape(number: str) -> str:
    return f"\\U{number:0>8}" if number else ""
