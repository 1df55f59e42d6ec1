"""One layer of the model as an ONNX graph: grouped-query attention over a shared prefix and rows of
different lengths.

All tokens of all rows go through the matrices in one piece (``tokens``, nothing padded); only
attention sees them as a rectangle of ``rows`` by ``width`` cells. Every number of a row is computed
from that row and the prefix alone, in an order that neither the other rows nor the padding change,
so that a verdict does not depend on its company:

- activations are rounded to eight bits with a scale of their own token, and sums of integers are
  exact;
- keys behind a token get a weight of exactly 0;
- weights of keys are summed by the same product that mixes the values, through a column of ones.

Matrices are inputs: all layers share the graph, which is ready in a few hundredths of a second, and
the weights stay where they are, mapped from their file and shared by all processes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjudge.features.local.onnx import protobuf
from adjudge.features.local.onnx.protobuf import MICROSOFT, Attribute, Element

Precision = Literal["mixed", "int8", "fp32"]
"""The precision of a model: ``mixed`` has its first layers in 32 bits and its last ones in eight.
"""
Arithmetic = Literal["int8", "fp32"]
"""The arithmetic of one layer."""
EXACT = 0.7
"""Share of the layers that ``mixed`` computes in 32 bits: what is rounded early goes through all
that follow.
"""
MIDDLE = 128
"""The value of 0 in rounded activations."""
HIDDEN_BEHIND = -1e30
"""Added to the score of a key that a token may not see."""
INPUT_OF = {
    "query": "attention_mean",
    "key": "attention_mean",
    "value": "attention_mean",
    "output": "mixed_mean",
    "gate": "feeding_mean",
    "up": "feeding_mean",
    "down": "inner_mean",
}
"""Matrix → the mean of what it is multiplied with."""
AXES = 16
"""Directions in which what goes into a matrix varies most: these parts are not rounded."""
EXACT_PARTS = AXES + 1
"""The axes, and the mean, of which every token has 1."""
_STEPS = 127.0
_SMALLEST = 1e-10


@dataclass(frozen=True, slots=True)
class Shape:
    layers: int
    width: int
    heads: int
    key_heads: int
    feed_forward: int
    epsilon: float

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def group(self) -> int:
        return self.heads // self.key_heads

    @property
    def spread(self) -> int:
        """Number of neighbouring feed-forward values over which a large value is spread."""
        return math.gcd(self.feed_forward, 64)

    @property
    def means(self) -> Mapping[str, int]:
        """The means that every layer subtracts before rounding, with their sizes."""
        return {INPUT_OF[name]: sizes[0] for name, sizes in self.matrices.items()}

    @property
    def matrices(self) -> Mapping[str, tuple[int, int]]:
        """The matrices of every layer: name → (inputs, outputs)."""
        keys = self.key_heads * self.head
        return {
            "query": (self.width, self.width),
            "key": (self.width, keys),
            "value": (self.width, keys),
            "output": (self.width, self.width),
            "gate": (self.width, self.feed_forward),
            "up": (self.width, self.feed_forward),
            "down": (self.feed_forward, self.width),
        }


def arithmetics(precision: Precision, layers: int) -> list[Arithmetic]:
    """Return the arithmetic of each layer."""
    exact = math.ceil({"mixed": EXACT, "int8": 0.0, "fp32": 1.0}[precision] * layers)
    return ["fp32" if layer < exact else "int8" for layer in range(layers)]


def layer_graph(shape: Shape, arithmetic: Arithmetic, matrices: Element) -> bytes:
    """Return the layer's bytes. ``matrices`` is the type of eight-bit matrices: INT8, or UINT8 with
    128 for 0.
    """
    return _Builder(shape, arithmetic, matrices).model()


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Activations to multiply: the rounded part, the scale of each token, and the part along the
    main directions.
    """

    numbers: str
    scale: str = ""
    along: str = ""


class _Builder:
    """Builds a graph node by node. The output of a node is referred to by a name."""

    def __init__(self, shape: Shape, arithmetic: Arithmetic, matrices: Element) -> None:
        self._shape, self._arithmetic = shape, arithmetic
        self._matrices = matrices if arithmetic == "int8" else Element.FLOAT
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}
        self._count = 0

    def model(self) -> bytes:
        """Return the complete model."""
        self._layer()
        shape = self._shape
        outputs = [
            protobuf.value("next_stream", Element.FLOAT, ["kept", shape.width]),
            protobuf.value(
                "new_keys", Element.FLOAT, [shape.key_heads, "rows", "width", shape.head]
            ),
            protobuf.value(
                "new_values", Element.FLOAT, [shape.key_heads, "rows", "width", shape.head + 1]
            ),
        ]
        return protobuf.model(
            protobuf.graph(self._nodes, list(self._constants.values()), self._inputs(), outputs)
        )

    def _inputs(self) -> list[bytes]:
        shape = self._shape
        half: list[int | str] = ["angles", shape.head // 2]
        numbers: dict[str, list[int | str]] = {
            "stream": ["tokens", shape.width],
            "mask": ["group_width", "width"],
            "keys": [shape.key_heads, "prefix", shape.head],
            "values": [shape.key_heads, "prefix", shape.head + 1],
            "cosines": half,
            "sines": half,
        }
        places: dict[str, list[int | str]] = {
            "positions": [1, "tokens"],
            "cells": ["rows", "width"],
            "places": ["kept"],
            "kept": ["kept"],
        }
        values = [protobuf.value(name, Element.FLOAT, sizes) for name, sizes in numbers.items()]
        values += [protobuf.value(name, Element.INT64, sizes) for name, sizes in places.items()]
        values += [
            protobuf.value(name, self._matrices, sizes) for name, sizes in shape.matrices.items()
        ]
        if self._arithmetic == "fp32":
            return values
        rounding: dict[str, list[int]] = {"spread": [shape.spread, shape.spread]}
        for name, sizes in shape.matrices.items():
            rounding |= {f"{name}.scale": [sizes[1]], f"{name}.axes": [EXACT_PARTS, sizes[1]]}
        for name, size in shape.means.items():
            parts = [size, EXACT_PARTS]
            rounding |= {name: parts, f"{name}.axes": parts, f"{name}.shift": [EXACT_PARTS]}
        values += [protobuf.value(name, Element.FLOAT, sizes) for name, sizes in rounding.items()]
        return [*values, protobuf.value("middle", Element.UINT8, ["tokens"])]

    # -- the layer ---------------------------------------------------------------

    def _layer(self) -> None:
        """Add attention and the feed-forward part; only the ``kept`` tokens continue after
        attention.
        """
        ones, epsilon = (
            self._floats("ones", [1.0] * self._shape.width),
            {"epsilon": self._shape.epsilon},
        )
        normed = self._add(
            "SimplifiedLayerNormalization", ["stream", ones], {"axis": -1, **epsilon}
        )
        mixed = self._attention(self._round(normed, "attention_mean", "middle"))
        stream = self._add("Gather", ["stream", "kept"])
        middle = self._add("Gather", ["middle", "kept"]) if self._arithmetic == "int8" else ""
        change = self._product(self._round(mixed, "mixed_mean", middle), "output")
        feeding, summed = self._name(), self._name()
        outputs = [feeding, "", "", summed]
        self._add(
            "SkipSimplifiedLayerNormalization", [stream, change, ones], epsilon, MICROSOFT, outputs
        )
        rounded = self._round(feeding, "feeding_mean", middle)
        gate = self._add("QuickGelu", [self._product(rounded, "gate")], {"alpha": 1.0}, MICROSOFT)
        inner = self._spread(self._add("Mul", [gate, self._product(rounded, "up")]))
        change = self._product(self._round(inner, "inner_mean", middle), "down")
        self._add("Add", [summed, change], outputs=["next_stream"])

    def _spread(self, inner: str) -> str:
        """Spread large values over their neighbours before rounding."""
        if self._arithmetic == "fp32":
            return inner
        size = self._shape.spread
        blocks = self._reshape(inner, (-1, self._shape.feed_forward // size, size))
        return self._reshape(
            self._add("MatMul", [blocks, "spread"]), (-1, self._shape.feed_forward)
        )

    def _attention(self, rounded: _Rounded) -> str:
        """Add attention of each token to the prefix and to its own row."""
        shape = self._shape
        query = self._in_heads(self._rotate(self._product(rounded, "query")), shape.group)
        key = self._in_heads(self._rotate(self._product(rounded, "key")), 1, ["new_keys"])
        value = self._in_heads(self._product(rounded, "value"), 1)
        # The column of ones sums the weights in the same product that mixes the values.
        one_more = self._ints("one_more", [0] * 7 + [1])
        value = self._add(
            "Pad", [value, one_more, self._floats("one", 1.0)], outputs=["new_values"]
        )
        together = self._reshape(query, (0, -1, shape.head))
        prefix_scores = self._add("FusedMatMul", [together, "keys"], {"transB": 1}, MICROSOFT)
        row_scores = self._add("FusedMatMul", [query, key], {"transB": 1}, MICROSOFT)
        row_scores = self._add("Add", [row_scores, "mask"])
        parts = self._mix_values(prefix_scores, row_scores, "values", value)
        mixed, total = self._name(), self._name()
        self._add(
            "Split",
            [parts, self._ints("head_and_one", [shape.head, 1])],
            {"axis": -1},
            outputs=[mixed, total],
        )
        heads = self._reshape(self._add("Div", [mixed, total]), (0, 0, shape.group, -1, shape.head))
        cells = self._add("Transpose", [heads], {"perm": (1, 3, 0, 2, 4)})
        return self._add("Gather", [self._reshape(cells, (-1, shape.width)), "places"])

    def _mix_values(
        self, prefix_scores: str, row_scores: str, prefix_values: str, values: str
    ) -> str:
        """Mix values by the exponentials of their scores; the last column is the sum of those."""
        best_own = self._greatest(row_scores)
        best_before = self._reshape_like(self._greatest(prefix_scores), best_own)
        # The greatest score is subtracted first, so that no exponential overflows.
        best = self._add("Max", [best_own, best_before])
        row_scores = self._add("Exp", [self._add("Sub", [row_scores, best])])
        prefix_scores = self._add(
            "Exp", [self._add("Sub", [prefix_scores, self._reshape(best, (0, -1, 1))])]
        )
        mixed = self._add("MatMul", [row_scores, values])
        return self._add(
            "Add",
            [mixed, self._reshape_like(self._add("MatMul", [prefix_scores, prefix_values]), mixed)],
        )

    def _greatest(self, scores: str) -> str:
        return self._add("ReduceMax", [scores, self._ints("last_axis", [-1])], {"keepdims": 1})

    def _rotate(self, numbers: str) -> str:
        """Rotate queries or keys by their positions."""
        axis = self._ints("first_axis", [0])
        inputs = [self._add("Unsqueeze", [numbers, axis]), "positions", "cosines", "sines"]
        turned = self._add("RotaryEmbedding", inputs, {"interleaved": 0}, MICROSOFT)
        return self._add("Squeeze", [turned, axis])

    def _in_heads(self, numbers: str, group: int, outputs: Sequence[str] = ()) -> str:
        """Put tokens into their cells: key heads by rows by cells, with the heads of a group in
        sequence.
        """
        cells = self._add("Gather", [numbers, "cells"])
        heads = self._reshape(cells, (0, 0, self._shape.key_heads, group, self._shape.head))
        moved = self._add("Transpose", [heads], {"perm": (2, 0, 3, 1, 4)})
        return self._reshape(moved, (0, 0, -1, self._shape.head), outputs)

    # -- products ------------------------------------------------------------------

    def _round(self, numbers: str, mean: str, middle: str) -> _Rounded:
        """Subtract mean and main directions and round to eight bits per token; in 32 bits, return
        the input.
        """
        if self._arithmetic == "fp32":
            return _Rounded(numbers)
        along = self._add("Gemm", [numbers, f"{mean}.axes", f"{mean}.shift"])
        numbers = self._add("Gemm", [along, mean, numbers], {"alpha": -1.0, "transB": 1})
        most = self._greatest(self._add("Abs", [numbers]))
        scaled = self._add("Mul", [most, self._floats("step", 1 / _STEPS)])
        scale = self._add("Add", [scaled, self._floats("smallest", _SMALLEST)])
        flat = self._reshape(scale, (-1,))
        return _Rounded(
            self._add("QuantizeLinear", [numbers, flat, middle], {"axis": 0}), scale, along
        )

    def _product(self, rounded: _Rounded, matrix: str) -> str:
        if self._arithmetic == "fp32":
            return self._add("MatMul", [rounded.numbers, matrix])
        zero = self._byte(
            "matrix_zero", self._matrices, MIDDLE if self._matrices is Element.UINT8 else 0
        )
        middle = self._byte("activation_zero", Element.UINT8, MIDDLE)
        inputs = [
            rounded.numbers,
            matrix,
            rounded.scale,
            f"{matrix}.scale",
            middle,
            zero,
        ]
        product = self._add("MatMulIntegerToFloat", inputs, domain=MICROSOFT)
        return self._add("Gemm", [rounded.along, f"{matrix}.axes", product])

    # -- nodes -----------------------------------------------------------------------

    def _add(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Attribute] | None = None,
        domain: str = "",
        outputs: Sequence[str] = (),
    ) -> str:
        names = list(outputs) or [self._name()]
        self._nodes.append(protobuf.node(operator, inputs, names, attributes or {}, domain))
        return names[0]

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _reshape(self, numbers: str, sizes: Sequence[int], outputs: Sequence[str] = ()) -> str:
        """Add a reshape; 0 keeps a size, -1 takes the remaining elements."""
        name = "shape_" + "_".join(map(str, sizes))
        return self._add("Reshape", [numbers, self._ints(name, sizes)], outputs=outputs)

    def _reshape_like(self, numbers: str, other: str) -> str:
        return self._add("Reshape", [numbers, self._add("Shape", [other])])

    def _ints(self, name: str, numbers: Sequence[int]) -> str:
        self._constants[name] = protobuf.tensor(
            name, Element.INT64, [len(numbers)], struct.pack(f"<{len(numbers)}q", *numbers)
        )
        return name

    def _floats(self, name: str, numbers: float | Sequence[float]) -> str:
        several = [numbers] if isinstance(numbers, float) else numbers
        sizes = [] if isinstance(numbers, float) else [len(several)]
        self._constants[name] = protobuf.tensor(
            name, Element.FLOAT, sizes, struct.pack(f"<{len(several)}f", *several)
        )
        return name

    def _byte(self, name: str, element: Element, number: int) -> str:
        self._constants[name] = protobuf.tensor(name, element, [], struct.pack("<B", number))
        return name
