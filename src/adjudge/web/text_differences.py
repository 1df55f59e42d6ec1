"""The differences between two texts, by lines or by words."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

_WORDS = re.compile(r"\s+|[^\s]+")
_MOST_PAIRS = 2_000_000
"""Equal words of two texts that are compared each with each: of texts that say one thing again and
again only rare words are.
"""
Part = tuple[str, str]
"""(``same``, ``gone`` or ``new``, text)."""


_RELATED = 0.3
"""Share of the shorter text's words that two versions of one text have in common at least."""
_SHARED = 0.6
"""Like _RELATED, in whatever order: unrelated texts of one language share words such as "the"."""
_LEAST_WORDS = 8
"""Texts with fewer words are compared word by word in any case."""


def are_unrelated(parts: Sequence[Part]) -> bool:
    """Return True if two texts are not versions of one another, so their common words are
    coincidental.
    """
    words: dict[str, Counter[str]] = {kind: Counter() for kind in ("same", "gone", "new")}
    for kind, text in parts:
        words[kind].update(text.split())
    same, gone, new = (words[kind] for kind in ("same", "gone", "new"))
    shorter = same.total() + min(gone.total(), new.total())
    # words of texts that say one thing again and again are not all matched in their order
    shared = same.total() + (gone & new).total()
    is_short = shorter < _LEAST_WORDS
    return not is_short and same.total() < _RELATED * shorter and shared < _SHARED * shorter


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
