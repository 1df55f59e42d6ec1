"""Answers cut into sentences, their sources into chunks, and every sentence looked up in every
chunk.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adjudge.features.evidence.sentences import sentences
from training.claims.records import Answer

CHUNK = 280
"""Words of a source that are shown at once."""
LEXICAL = ("words", "rare words", "names and numbers")
"""What is compared with: shares of what a text says that stands in its source."""
_WORD = re.compile(r"\S+\s*")
_LETTERS = re.compile(r"\w+")
_NAME_OR_NUMBER = re.compile(r"\b(?:[A-ZА-ЯЁ]\w+|\d[\d,.]*)\b")


@dataclass(frozen=True)
class Lookups:
    """One entry a lookup in ``answer`` and ``sentence``, one an answer in the other arrays."""

    answer: NDArray[np.int32]
    sentence: NDArray[np.int32]
    """Equal where one sentence is looked up in several chunks."""
    name: NDArray[np.int16]
    """The answer's set, as a place in ``names``."""
    supported: NDArray[np.bool_]
    group: NDArray[np.int32]
    """Equal for answers about one document."""
    lexical: NDArray[np.float32]
    names: NDArray[np.str_]


def save_lookups(path: Path, lookups: Lookups) -> None:
    np.savez_compressed(path, **{one.name: getattr(lookups, one.name) for one in fields(lookups)})


def load_lookups(path: Path) -> Lookups:
    with np.load(path) as file:
        return Lookups(**{name: file[name] for name in file.files})


def sentences_of(text: str) -> list[str]:
    """What is claimed; all of it where no sentence claims anything."""
    return [one.text for one in sentences(text) if one.is_claim] or [text.strip()]


def chunks_of(document: str) -> list[str]:
    """Stretches of CHUNK words, the last of them shorter."""
    words = _WORD.findall(document.strip())
    return ["".join(words[start : start + CHUNK]).strip() for start in range(0, len(words), CHUNK)]


def lexical(answers: Sequence[Answer]) -> NDArray[np.float32]:
    """The scores of every answer, in the order of LEXICAL."""
    seen = [set(_words(one.document)) for one in answers]
    counts = Counter(word for words in seen for word in words)
    rows = []
    for one, words in zip(answers, seen, strict=True):
        said = _words(one.text)
        weights = [math.log((1 + len(seen)) / (1 + counts[word])) for word in said]
        marked = [_plain(match) for match in _NAME_OR_NUMBER.findall(one.text)]
        known = {_plain(match) for match in _NAME_OR_NUMBER.findall(one.document)} | words
        rows.append(
            (
                _share([word in words for word in said], [1.0] * len(said)),
                _share([word in words for word in said], weights),
                _share([word in known for word in marked], [1.0] * len(marked)),
            )
        )
    return np.array(rows, np.float32)


def _share(hits: Sequence[bool], weights: Sequence[float]) -> float:
    whole = sum(weights)
    return sum(w for hit, w in zip(hits, weights, strict=True) if hit) / whole if whole else 1.0


def _words(text: str) -> list[str]:
    return _LETTERS.findall(text.lower())


def _plain(text: str) -> str:
    return text.lower().rstrip(".,")
