"""Sample prompts read in 32 bits by numpy, a layer at a time, while the weights are made: what is
kept of the first token, and what goes into each matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.features.local.onnx.graph import HIDDEN_BEHIND, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def angles(base: float, shape: Shape, length: int) -> tuple[Floats, Floats]:
    """Cosines and sines of the angles that positions turn keys and queries by."""
    turns: NDArray[Any] = np.outer(
        np.arange(length), base ** (-np.arange(0, shape.head, 2) / shape.head)
    )
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


class SampleReading:
    """Where the samples are. Each begins with the same token, which sees nothing but itself."""

    def __init__(self, shape: Shape, base: float, samples: Sequence[Floats]) -> None:
        self._shape = shape
        self._stream: NDArray[Any] = np.concatenate(samples)
        ends = np.cumsum([len(sample) for sample in samples])
        self._samples = [
            slice(end - len(sample), end) for end, sample in zip(ends, samples, strict=True)
        ]
        self._others = np.ones(len(self._stream), bool)
        self._others[[sample.start for sample in self._samples]] = False
        self._cosines, self._sines = angles(base, shape, max(len(sample) for sample in samples))
        self.keys: list[Floats] = []
        self.values: list[Floats] = []

    def pass_through(self, matrices: Mapping[str, Floats]) -> dict[str, Floats]:
        """Through one layer; what goes into its matrices, first tokens left out."""
        normed = self._normed()
        mixed = np.concatenate(
            [
                self._attended(normed[sample], matrices, keep=not sample.start)
                for sample in self._samples
            ]
        )
        self._stream = self._stream + mixed @ matrices["output"]
        feeding = self._normed()
        gate = feeding @ matrices["gate"]
        inner: Floats = gate / (1 + np.exp(-gate)) * (feeding @ matrices["up"])
        self._stream = self._stream + inner @ matrices["down"]
        inputs = {
            "attention_mean": normed,
            "mixed_mean": mixed,
            "feeding_mean": feeding,
            "inner_mean": inner,
        }
        return {name: numbers[self._others] for name, numbers in inputs.items()}

    def _attended(self, normed: Floats, matrices: Mapping[str, Floats], *, keep: bool) -> Floats:
        """What the tokens of one sample take from each other."""
        shape, length = self._shape, len(normed)
        heads = (length, shape.key_heads, -1, shape.head)
        query, key = (
            self._turned((normed @ matrices[name]).reshape(heads)) for name in ("query", "key")
        )
        value = (normed @ matrices["value"]).reshape(heads)
        if keep:
            self.keys.append(key[0, :, 0])
            self.values.append(value[0, :, 0])
        mask = np.triu(np.full((length, length), HIDDEN_BEHIND, np.float32), 1)
        scores = query.transpose(1, 2, 0, 3) @ key.transpose(1, 2, 3, 0) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = weights @ value.transpose(1, 2, 0, 3) / weights.sum(axis=-1, keepdims=True)
        found: Floats = mixed.transpose(2, 0, 1, 3).reshape(length, shape.width)
        return found

    def _turned(self, numbers: Floats) -> Floats:
        first, second = np.split(numbers, 2, axis=-1)
        cosines, sines = (
            table[: len(numbers), None, None] for table in (self._cosines, self._sines)
        )
        return np.concatenate(
            [first * cosines - second * sines, second * cosines + first * sines], axis=-1
        )

    def _normed(self) -> Floats:
        power = np.mean(self._stream**2, axis=-1, keepdims=True)
        found: Floats = self._stream / np.sqrt(power + np.float32(self._shape.epsilon))
        return found
