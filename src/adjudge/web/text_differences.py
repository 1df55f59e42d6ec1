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


def line_difference(old: str, new: str) -> list[str]:
    """Return the changed lines as a unified diff without its header."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    return list(lines)[2:]


def word_difference(old: str, new: str) -> list[Part]:
    """Split two texts into parts that are the same, gone or new, word by word."""
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    parts: list[Part] = []
    counts = Counter(new_words)
    is_long = sum(count * counts[word] for word, count in Counter(old_words).items()) > _MOST_PAIRS
    matcher = difflib.SequenceMatcher(None, old_words, new_words, autojunk=is_long)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            parts.append(("same", "".join(old_words[a:b])))
            continue
        parts += [("gone", "".join(old_words[a:b]))] if b > a else []
        parts += [("new", "".join(new_words[c:d]))] if d > c else []
    return parts
