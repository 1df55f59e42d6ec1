"""Examples as arrays: prompts already tokenised, so that training needs neither templates nor a
tokeniser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.splits import SPLITS

MOST_LABELS = 10
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Tokenised texts one after the other, each of them ``lengths`` long."""

    ids: NDArray[np.uint16]
    lengths: NDArray[np.int32]

    @cached_property
    def starts(self) -> Ints:
        """Where each text begins in ``ids``."""
        found: Ints = np.concatenate([[0], np.cumsum(self.lengths[:-1], dtype=np.int64)])
        return found

    def tokens(self, places: Ints) -> list[NDArray[np.uint16]]:
        """The tokens of some texts."""
        return [
            self.ids[self.starts[place] : self.starts[place] + self.lengths[place]]
            for place in places
        ]


@dataclass(frozen=True)
class Translations(Texts):
    """Russian texts in a prompt with the English ones behind it: what the judge learns to read
    Russian by.
    """

    tails: NDArray[np.int32]
    """How many tokens at the end of each are the English text."""


@dataclass(frozen=True)
class Examples(Texts):
    """Questions to the judge: one entry an example in every array but ``ids``."""

    labels: NDArray[np.int32]
    """Token ids of the labels as shown, then -1."""
    truth: NDArray[np.int8]
    """Which label is right; -1 for neutral texts, which only tell the prior."""
    split: NDArray[np.int8]
    answer: NDArray[np.int8]
    kind: NDArray[np.int16]
    criterion: NDArray[np.int32]
    """Equal where the same question is asked, in the same words and fields."""
    item: NDArray[np.int32]
    """Equal where the same text is asked about in both orders of the options."""
    reversed: NDArray[np.bool_]
    russian: NDArray[np.bool_]
    kinds: tuple[str, ...]

    def of(self, split: str, *, neutral: bool = False) -> Ints:
        """The places of a split's examples."""
        wanted = (self.split == SPLITS.index(split)) & ((self.truth < 0) == neutral)
        return np.flatnonzero(wanted)


def save(path: Path, texts: Texts) -> None:
    """As one compressed file."""
    arrays = {field.name: getattr(texts, field.name) for field in fields(texts)}
    if isinstance(texts, Examples):
        arrays["kinds"] = np.frombuffer(json.dumps(texts.kinds).encode(), np.uint8)
    np.savez_compressed(path, **arrays)


def load(path: Path) -> Examples:
    """Examples that ``save`` wrote."""
    arrays = _arrays(path)
    return Examples(kinds=tuple(json.loads(arrays.pop("kinds").tobytes())), **arrays)


def load_translations(path: Path) -> Translations:
    """Translations that ``save`` wrote."""
    return Translations(**_arrays(path))


def _arrays(path: Path) -> dict[str, NDArray[np.int64]]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def batches(
    places: Ints, lengths: NDArray[np.int32], tokens: int, seed: int
) -> Iterator[tuple[int, Ints]]:
    """Places in random batches of texts that fit one width, which comes with them; one round over
    all.

    There are few widths, and at most as many texts of a width as fit into ``tokens``: a batch has
    one of few shapes.
    """
    random = np.random.default_rng(seed)
    shuffled = random.permutation(places)
    fitting = WIDTHS[np.searchsorted(WIDTHS, lengths[shuffled])]
    found = [
        (int(width), part)
        for width in np.unique(fitting)
        for part in _cut(shuffled[fitting == width], rows_of(int(width), tokens))
    ]
    for place in random.permutation(len(found)):
        yield found[place]


WIDTHS: Ints = np.concatenate(
    [np.arange(32, 256, 16), np.arange(256, 384, 32), np.arange(384, 705, 64)]
)


def rows_of(width: int, tokens: int) -> int:
    """How many texts a batch of that width has."""
    return max(1, tokens // width)


def _cut(places: Ints, rows: int) -> list[Ints]:
    return [places[start : start + rows] for start in range(0, len(places), rows)]
