"""Read sample prompts in 32 bits with numpy, layer by layer, while the weights are made.

Gives the first token's keys and values, and the inputs of each matrix.
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
    """Return cosines and sines of the angles by which positions rotate keys and queries."""
    turns: NDArray[Any] = np.outer(
        np.arange(length), base ** (-np.arange(0, shape.head, 2) / shape.head)
    )
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


class SampleReading:
    """The state of the samples after a layer. Each begins with the same token, which sees only
    itself.
    """

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
        """Take the samples through one layer; return the inputs of its matrices without first
        tokens.
        """
        normed = self._normalize()
        mixed = np.concatenate(
            [
                self._attend(normed[sample], matrices, keep=not sample.start)
                for sample in self._samples
            ]
        )
        self._stream = self._stream + mixed @ matrices["output"]
        feeding = self._normalize()
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

    def _attend(self, normed: Floats, matrices: Mapping[str, Floats], *, keep: bool) -> Floats:
        """Return the attention of one sample's tokens to each other."""
        shape, length = self._shape, len(normed)
        heads = (length, shape.key_heads, -1, shape.head)
        query, key = (
            self._rotate((normed @ matrices[name]).reshape(heads)) for name in ("query", "key")
        )
        value = (normed @ matrices["value"]).reshape(heads)
        if keep:
            self.keys.append(key[0, :, 0])
            self.values.append(value[0, :, 0])
        mask = np.triu(np.full((length, length), HIDDEN_BEHIND, np.float32), 1)
        scores = query.transpose(1, 2, 0, 3) @ key.transpose(1, 2, 3, 0) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = weights @ value.transpose(1, 2, 0, 3) / weights.sum(axis=-1, keepdims=True)
        attended: Floats = mixed.transpose(2, 0, 1, 3).reshape(length, shape.width)
        return attended

    def _rotate(self, numbers: Floats) -> Floats:
        half_a, half_b = np.split(numbers, 2, axis=-1)
        cosines, sines = (
            table[: len(numbers), None, None] for table in (self._cosines, self._sines)
        )
        return np.concatenate(
            [half_a * cosines - half_b * sines, half_b * cosines + half_a * sines], axis=-1
        )

    def _normalize(self) -> Floats:
        power = np.mean(self._stream**2, axis=-1, keepdims=True)
        normed: Floats = self._stream / np.sqrt(power + np.float32(self._shape.epsilon))
        return normed
