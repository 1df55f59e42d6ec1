"""Examples as arrays: prompts already tokenised, so that training needs neither templates nor a tokeniser."""

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


@dataclass(frozen=True)
class Examples:
    """One entry an example in every array but ``ids``, which holds all prompts one after the other."""

    ids: NDArray[np.uint16]
    lengths: NDArray[np.int32]
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

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each prompt begins in ``ids``."""
        found: NDArray[np.int64] = np.concatenate([[0], np.cumsum(self.lengths[:-1], dtype=np.int64)])
        return found

    def of(self, split: str, *, neutral: bool = False) -> NDArray[np.int64]:
        """The places of a split's examples."""
        wanted = (self.split == SPLITS.index(split)) & ((self.truth < 0) == neutral)
        return np.flatnonzero(wanted)


def save(path: Path, examples: Examples) -> None:
    """As one compressed file."""
    arrays = {field.name: getattr(examples, field.name) for field in fields(examples) if field.name != "kinds"}
    np.savez_compressed(path, kinds=np.frombuffer(json.dumps(examples.kinds).encode(), np.uint8), **arrays)


def load(path: Path) -> Examples:
    """What ``save`` wrote."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return Examples(kinds=tuple(json.loads(arrays.pop("kinds").tobytes())), **arrays)


def batches(places: NDArray[np.int64], lengths: NDArray[np.int32], tokens: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Places in random batches of prompts of like length, each at most ``tokens`` with its padding; one round over all."""
    random = np.random.default_rng(seed)
    found: list[NDArray[np.int64]] = []
    pool = 64 * tokens // max(1, int(lengths[places].mean()))
    shuffled = random.permutation(places)
    for start in range(0, len(shuffled), pool):
        found += _cut(shuffled[start : start + pool], lengths, tokens)
    for place in random.permutation(len(found)):
        yield found[place]


def _cut(places: NDArray[np.int64], lengths: NDArray[np.int32], tokens: int) -> list[NDArray[np.int64]]:
    ordered = places[np.argsort(lengths[places], kind="stable")]
    found, start = [], 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or (end + 1 - start) * lengths[ordered[end]] > tokens:
            found.append(ordered[start:end])
            start = end
    return found
