"""The pulled GGUF file and an adapter as weights for onnxruntime: merged, turned, and rounded to
eight bits.

Rounding hurts where a few numbers are far larger than the rest. Two things are done about it, both
without changing what the model computes and without costing anything when it runs:

- everything between layers, and every head's values, is written in turned coordinates (a Hadamard
  matrix among them), in which large numbers are spread over all;
- the first token is the same in every prompt and has by far the largest numbers: its keys and
  values are computed here, in 32 bits, and kept;
- half of what goes into a matrix is the same for every token, and much of the rest lies in a few
  directions: the mean over sample prompts and what lies along those directions are taken out before
  rounding, and what the matrix makes of them is added afterwards, in 32 bits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import SetupError
from adjudge.features.local.onnx.graph import (
    AXES,
    EXACT_PARTS,
    INPUT_OF,
    Precision,
    Shape,
    arithmetics,
)
from adjudge.features.local.onnx.sample_reading import SampleReading
from adjudge.features.local.onnx.tensors import ArrayLayout
from adjudge.features.local.weights.gguf import (
    BLOCKS,
    F16,
    F32,
    Q4_0,
    Q4_1,
    Q8_0,
    Header,
    Tensor,
    read_header,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float32]
_SOURCES = {
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "output": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
_MOST = 127


def shape_of(header: Header) -> Shape:
    """Return the sizes of the model in a GGUF file."""
    metadata = header.metadata
    if header.architecture != "llama":
        raise SetupError(
            "{path} has the architecture {architecture!r}, not llama",
            path=header.path,
            architecture=header.architecture,
        )
    return Shape(
        layers=header.layers,
        width=metadata["llama.embedding_length"],
        heads=metadata["llama.attention.head_count"],
        key_heads=metadata["llama.attention.head_count_kv"],
        feed_forward=metadata["llama.feed_forward_length"],
        epsilon=metadata["llama.attention.layer_norm_rms_epsilon"],
    )


def rotation_base(header: Header) -> float:
    """Return the base of the position angles."""
    return float(header.metadata.get("llama.rope.freq_base", 10_000.0))


@dataclass(frozen=True)
class MergedWeights:
    """The weights of a GGUF file, with an adapter's changes added."""

    base: Header
    adapter: Header | None
    samples: Sequence[Sequence[int]]
    """Tokens of ordinary prompts; all prompts begin with the same one."""

    def layouts(self, precision: Precision) -> dict[str, ArrayLayout]:
        """Return the layout of each array of :meth:`arrays`, in order."""
        shape = shape_of(self.base)
        (vocabulary,) = (
            tensor.shape[1] for tensor in self.base.tensors if tensor.name == "token_embd.weight"
        )
        array_layouts = {
            "embedding": ArrayLayout("F16", (vocabulary, shape.width)),
            "unembedding": ArrayLayout("F32", (shape.width, shape.width)),
        }
        for layer, arithmetic in enumerate(arithmetics(precision, shape.layers)):
            for name, sizes in shape.matrices.items():
                array_layouts[f"{name}.{layer}"] = ArrayLayout(
                    "F32" if arithmetic == "fp32" else "I8", sizes
                )
                if arithmetic == "int8":
                    array_layouts[f"{name}.{layer}.scale"] = ArrayLayout("F32", sizes[1:])
                    array_layouts[f"{name}.{layer}.axes"] = ArrayLayout(
                        "F32", (EXACT_PARTS, sizes[1])
                    )
            for name, size in shape.means.items() if arithmetic == "int8" else ():
                array_layouts[f"{name}.{layer}"] = ArrayLayout("F32", (size, EXACT_PARTS))
                array_layouts[f"{name}.{layer}.axes"] = ArrayLayout("F32", (size, EXACT_PARTS))
                array_layouts[f"{name}.{layer}.shift"] = ArrayLayout("F32", (EXACT_PARTS,))
        cache_sizes = (shape.layers, shape.key_heads, shape.head)
        return array_layouts | {
            "first.keys": ArrayLayout("F32", cache_sizes),
            "first.values": ArrayLayout("F32", cache_sizes),
        }

    def arrays(self, precision: Precision) -> Iterator[Array]:
        """Yield embeddings, the matrices of every layer (inputs by outputs), and the first token's
        keys and values.
        """
        shape = shape_of(self.base)
        turn = _Turn(shape)
        embedding = turn.stream(self._tensor("token_embd.weight"))
        yield embedding.astype(np.float16)
        gain = self._tensor("output_norm.weight")
        yield turn.stream(turn.stream(np.diag(gain)).T)
        base = rotation_base(self.base)
        reading = SampleReading(shape, base, [embedding[list(sample)] for sample in self.samples])
        del embedding
        for layer, arithmetic in enumerate(arithmetics(precision, shape.layers)):
            matrices = self._layer(layer, shape, turn)
            inputs = reading.pass_through(matrices)
            if arithmetic == "int8":
                yield from _rounded_layer(shape, matrices, inputs)
            else:
                yield from (matrices[name] for name in shape.matrices)
        yield np.stack(reading.keys)
        yield np.stack(reading.values)

    def _layer(self, layer: int, shape: Shape, turn: _Turn) -> dict[str, Floats]:
        """Return the matrices of one layer in turned coordinates, with the gains of the norms and
        the scale of scores folded in.
        """
        raw = {
            name: self._tensor(f"blk.{layer}.{source}.weight") for name, source in _SOURCES.items()
        }
        attention, feeding = (
            self._tensor(f"blk.{layer}.{name}_norm.weight") for name in ("attn", "ffn")
        )
        heads = raw["value"].reshape(shape.key_heads, shape.head, -1)
        raw["value"] = (turn.head.T @ heads).reshape(raw["value"].shape)
        raw["output"] = (
            raw["output"].reshape(shape.width, shape.heads, shape.head) @ turn.head
        ).reshape(raw["output"].shape)
        matrices = {name: turn.stream(raw[name] * attention) for name in ("query", "key", "value")}
        matrices |= {name: turn.stream(raw[name] * feeding) for name in ("gate", "up")}
        matrices |= {name: turn.stream(raw[name].T).T for name in ("output", "down")}
        matrices["query"] = _halves(matrices["query"], shape) / np.float32(math.sqrt(shape.head))
        matrices["key"] = _halves(matrices["key"], shape)
        return {
            name: np.ascontiguousarray(matrix.T, np.float32) for name, matrix in matrices.items()
        }

    def _tensor(self, name: str) -> Floats:
        weights = _read(self.base, name)
        changes = {tensor.name for tensor in self.adapter.tensors} if self.adapter else set()
        if self.adapter is None or f"{name}.lora_a" not in changes:
            return weights
        down, up = _read(self.adapter, f"{name}.lora_a"), _read(self.adapter, f"{name}.lora_b")
        alpha = float(self.adapter.metadata.get("adapter.lora.alpha", 0.0))
        scale = alpha / len(down) if alpha else 1.0  # as llama.cpp has it
        return weights + np.float32(scale) * (up @ down)


def merged(base: Path, adapter: Path | None, samples: Sequence[Sequence[int]]) -> MergedWeights:
    """Return the weights of ``base`` with those of ``adapter`` added."""
    return MergedWeights(read_header(base), read_header(adapter) if adapter else None, samples)


class _Turn:
    """Orthogonal matrices that spread large values: one between layers, one for the values of a
    head.
    """

    def __init__(self, shape: Shape) -> None:
        self.head = hadamard(shape.head)
        size = math.gcd(shape.width, 1 << 16)
        parts = shape.width // size
        places = np.arange(parts)
        cosines = np.cos(np.pi / parts * np.outer(places, places + 0.5)) * math.sqrt(2 / parts)
        cosines[0] /= math.sqrt(2)
        self._blocks, self._cosines = hadamard(size), cosines.astype(np.float32)
        draw = random.Random(0)  # noqa: S311 - signs that are the same everywhere
        self._signs = np.array([draw.choice((-1, 1)) for _ in range(shape.width)], np.float32)

    def stream(self, rows: Floats) -> Floats:
        """Multiply ``rows`` by the turning matrix."""
        parts, size = len(self._cosines), len(self._blocks)
        turned: Array = ((rows * self._signs).reshape(-1, size) @ self._blocks).reshape(
            len(rows), parts, size
        )
        result: Floats = (turned.transpose(0, 2, 1).reshape(-1, parts) @ self._cosines.T).reshape(
            rows.shape
        )
        return result


def spread(rows: Floats, shape: Shape) -> Floats:
    """Spread values of the feed-forward layer over their neighbours."""
    return (rows.reshape(-1, shape.spread) @ hadamard(shape.spread)).reshape(rows.shape)


def hadamard(size: int) -> Floats:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(math.sqrt(size))


def _halves(rows: Floats, shape: Shape) -> Floats:
    """Reorder rotary pairs: GGUF rotates neighbours together, onnxruntime the two halves of
    a head.
    """
    heads = rows.reshape(-1, shape.head // 2, 2, rows.shape[1])
    return heads.transpose(0, 2, 1, 3).reshape(rows.shape)


def _rounded_layer(
    shape: Shape, matrices: dict[str, Floats], inputs: dict[str, Floats]
) -> Iterator[Array]:
    """Yield the matrices in eight bits with a scale per output, and the parts that are not
    rounded.
    """
    matrices = matrices | {"down": spread(matrices["down"].T, shape).T}
    inputs = inputs | {"inner_mean": spread(inputs["inner_mean"], shape)}
    means = {name: numbers.mean(axis=0) for name, numbers in inputs.items()}
    axes = {name: _main_axes(numbers - means[name]) for name, numbers in inputs.items()}
    for name in shape.matrices:
        matrix, source = matrices[name], INPUT_OF[name]
        # Never 0: a column of zeros would give NaN.
        scale = np.maximum(np.abs(matrix).max(axis=0) / np.float32(_MOST), np.float32(1e-12))
        yield np.rint(matrix / scale).astype(np.int8)
        yield from (scale, np.vstack([axes[source].T @ matrix, means[source] @ matrix]))
    for name in shape.means:
        mean, none = means[name], np.zeros_like(means[name])
        yield from (np.column_stack([axes[name], part]) for part in (mean, none))
        yield np.append(-mean @ axes[name], np.float32(1))


def _main_axes(numbers: Floats) -> Floats:
    """Return orthogonal directions of the greatest variation, as columns."""
    width = numbers.shape[1]
    signs = np.sign(hadamard(1 << (width - 1).bit_length())[:width, 1 : AXES + 9])
    basis: Floats = np.linalg.qr(signs)[0]
    # Subspace iteration; four rounds are nearly exact.
    for _ in range(4):
        basis = np.linalg.qr(numbers.T @ (numbers @ basis))[0]
    turned = np.linalg.svd(numbers @ basis, full_matrices=False)[2].T
    axes: Floats = (basis @ turned)[:, :AXES]
    return axes


def _read(header: Header, name: str) -> Floats:
    """Return a tensor as 32-bit numbers, outputs by inputs."""
    entry = next((tensor for tensor in header.tensors if tensor.name == name), None)
    if entry is None or entry.size is None:
        raise SetupError("{path} has no readable tensor {name}", path=header.path, name=name)
    with header.path.open("rb") as file:
        file.seek(header.data_start + entry.offset)
        raw = np.frombuffer(file.read(entry.size), np.uint8)
    return _dequantise(raw, entry, header.path).reshape(entry.shape[::-1])


def _dequantise(raw: Array, tensor: Tensor, path: Path) -> Floats:
    if tensor.kind in (F32, F16):
        return raw.view(np.float32 if tensor.kind == F32 else np.float16).astype(np.float32)
    if tensor.kind not in (Q8_0, Q4_0, Q4_1):
        raise SetupError(
            "{path} contains the tensor {name} in a format that adjudge cannot read ({kind})",
            path=path,
            name=tensor.name,
            kind=tensor.kind,
        )
    blocks = raw.reshape(-1, BLOCKS[tensor.kind][1])
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    if tensor.kind == Q8_0:
        return scale * blocks[:, 2:].view(np.int8)
    packed = blocks[:, -16:]
    codes = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)
    if tensor.kind == Q4_0:
        return scale * (codes - 8)
    return scale * codes + blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
