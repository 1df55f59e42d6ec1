"""What differs between two texts, by lines or by words."""

from __future__ import annotations

import difflib
import re
from collections import Counter

_WORDS = re.compile(r"\s+|[^\s]+")
_MOST_PAIRS = 2_000_000
"""Equal words of two texts that are compared each with each: of texts that say one thing again and
again only rare words are.
"""
Part = tuple[str, str]
"""(``same``, ``gone`` or ``new``, text)."""


def line_difference(before: str, after: str) -> list[str]:
    """What changed, as lines of a unified diff without its head."""
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(found)[2:]


def word_difference(before: str, after: str) -> list[Part]:
    """What became of each word."""
    one, other = _WORDS.findall(before), _WORDS.findall(after)
    parts: list[Part] = []
    counts = Counter(other)
    is_long = sum(count * counts[word] for word, count in Counter(one).items()) > _MOST_PAIRS
    found = difflib.SequenceMatcher(None, one, other, autojunk=is_long)
    for tag, a, b, c, d in found.get_opcodes():
        if tag == "equal":
            parts.append(("same", "".join(one[a:b])))
            continue
        parts += [("gone", "".join(one[a:b]))] if b > a else []
        parts += [("new", "".join(other[c:d]))] if d > c else []
    return parts
