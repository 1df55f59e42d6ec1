"""Text as token ids, exactly as llama.cpp makes them of SmolLM2's vocabulary: byte-level BPE,
digits one by one.

Letters and numbers are those of Unicode 15.1, from the files beside this one: another Python's
tables would cut rare scripts elsewhere. Control tokens are never read from text; only
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
_LONGEST_KEPT = 24
"""Words longer than this are cut anew each time: they are seldom seen twice."""


class Tokenizer:
    """``tokens`` by id, spelt in GPT-2's alphabet of bytes; ``merges`` in order of rank;
    ``control`` token → id.
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
        """The ids of ``text``, whatever it holds. A lone surrogate is read as U+FFFD."""
        ids: list[int] = []
        for word in self._pattern.findall(_without_surrogates(text)):
            ids += self._kept(word) if len(word) <= _LONGEST_KEPT else self._cut(word)
        return ids

    def span(self, ids: Sequence[int], first: int, behind: int) -> tuple[int, int]:
        """Return the tokens that hold the bytes from ``first`` up to ``behind`` of their text."""
        ends = list(accumulate(self._lengths[id] for id in ids))  # a token's letter is a byte
        start = bisect_right(ends, first)
        return start, max(start + 1, min(len(ids), bisect_left(ends, behind) + 1))

    def encode_frame(self, text: str) -> list[int]:
        """The ids of text of our own, control tokens in it read as such."""
        ids, end = [], 0
        for found in self._controls.finditer(text):
            ids += [*self.encode(text[end : found.start()]), self._control[found.group()]]
            end = found.end()
        return [*ids, *self.encode(text[end:])]

    def _cut(self, word: str) -> tuple[int, ...]:
        spelt = word.encode().decode("latin-1").translate(_ALPHABET)
        return tuple(
            self._ids[part] for part in self._merged(spelt) if part in self._ids
        )  # some bytes have no token: left out

    def _merged(self, spelt: str) -> list[str]:
        """The letters put together pair by pair: the pair of the lowest rank first, of equal ones
        the leftmost.
        """
        parts: list[str] = list(spelt)
        after = [*range(1, len(parts)), -1]
        before = [*range(-1, len(parts) - 1)]
        ranks = self._ranks
        waiting = [
            (rank, left, parts[left] + parts[left + 1])
            for left in range(len(parts) - 1)
            if (rank := ranks.get(f"{parts[left]} {parts[left + 1]}")) is not None
        ]
        heapify(waiting)
        while waiting:
            _, left, whole = heappop(waiting)
            right = after[left]
            if not parts[left] or right < 0 or parts[left] + parts[right] != whole:
                continue  # one of the two has been merged with another since
            parts[left], parts[right] = whole, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            for start, end in ((before[left], left), (left, after[left])):
                if (
                    start >= 0
                    and end >= 0
                    and (rank := ranks.get(f"{parts[start]} {parts[end]}")) is not None
                ):
                    heappush(waiting, (rank, start, parts[start] + parts[end]))
        return [part for part in parts if part]


def _without_surrogates(text: str) -> str:
    """Pairs of surrogates as the sign they mean, lone ones as U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _alphabet() -> dict[int, str]:
    """GPT-2's letter for each byte: itself where it can be seen, else one from 256 on."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {
        byte: chr(256 + place) for place, byte in enumerate(others)
    }


_ALPHABET = _alphabet()


@cache
def _pattern() -> re.Pattern[str]:
    """Words: a single digit; an English ending; letters or other signs with the space before them;
    white space.

    The last white space before a word is left to that word.
    """
    letters, numbers, space = _ranges("letters"), _ranges("numbers"), _WHITESPACE
    return re.compile(
        rf"[{numbers}]|'(?:[stmd]|re|ve|ll)| ?[{letters}]+| ?[^{space}{letters}{numbers}]+"
        rf"|[{space}]+(?![^{space}{numbers}])|[{space}]+"
    )


def _ranges(name: str) -> str:
    """The ranges of one of the files as the inside of a character class."""
    text = Path(__file__).with_name(f"{name}.txt").read_text(encoding="ascii")
    bounds = (part.partition("-") for part in text.split())
    return "".join(f"{_escaped(first)}{dash}{_escaped(last)}" for first, dash, last in bounds)


def _escaped(number: str) -> str:
    return f"\\U{number:0>8}" if number else ""
