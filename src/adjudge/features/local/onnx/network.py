"""The layers and their weights in memory: token ids in, the final state of each row's last token
out.

No thread is started: a pass runs in its caller's thread, and passes in several threads do not
disturb each other. So nothing waits at barriers next to other work, and a fork is harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from adjudge.features.local.libraries import import_onnxruntime
from adjudge.features.local.onnx.graph import (
    HIDDEN_BEHIND,
    MIDDLE,
    Arithmetic,
    Precision,
    Shape,
    arithmetics,
    layer_graph,
)
from adjudge.features.local.onnx.merger import hadamard
from adjudge.features.local.onnx.protobuf import Element, graph, model, node, tensor, value
from adjudge.features.local.onnx.sample_reading import angles
from adjudge.features.local.onnx.tensors import Tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float32]
LONGEST = 4096
"""Maximum tokens per prompt."""
PIECE = 256
"""Tokens of one row that are read in one step: what attention compares grows with the square of
them.
"""
_ERRORS_ONLY = 3
_STEP = ["next_stream"]
_STEP_AND_KEYS = ["next_stream", "new_keys", "new_values"]


class OrtValue(Protocol):
    """An array of onnxruntime."""

    def numpy(self) -> Array: ...


@dataclass(frozen=True, slots=True)
class Prefix:
    """Keys and values of tokens that many rows begin with, one array per layer."""

    length: int
    keys: list[Floats]
    values: list[Floats]


@dataclass(slots=True)
class _Piece:
    """Tokens on their way through the layers, with the inputs that all layers need and the place of
    each row's last token.
    """

    stream: OrtValue
    feeds: dict[str, OrtValue]
    last: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Watched:
    """The states of a pass to return."""

    layers: tuple[int, ...]
    """After how many layers, in ascending order."""
    spans: Sequence[tuple[int, int]]
    """Per row, the tokens to average over: first, and first behind."""
    to_end: bool = True
    """True if the pass goes on to the last layer."""


class Network:
    """One loaded model. Passes may run in several threads at once."""

    def __init__(self, tensors: Tensors, shape: Shape, precision: Precision, base: float) -> None:
        self._library = import_onnxruntime()
        self._shape, self._arrays = shape, tensors.arrays
        self._arithmetics = arithmetics(precision, shape.layers)
        unsigned = "int8" in self._arithmetics and _saturates(self._library)
        matrices = Element.UINT8 if unsigned else Element.INT8
        self._sessions = {
            arithmetic: _session(self._library, layer_graph(shape, arithmetic, matrices))
            for arithmetic in set(self._arithmetics)
        }
        turns = self._values(
            dict(zip(("cosines", "sines"), angles(base, shape, LONGEST), strict=True))
        )
        spread = self._values({"spread": hadamard(shape.spread)})
        self._everywhere: dict[Arithmetic, dict[str, OrtValue]] = {
            "fp32": turns,
            "int8": turns | spread,
        }
        self._layers = [self._weights(layer, unsigned) for layer in range(shape.layers)]
        self._labels: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.start = self._start()

    def read(self, before: Prefix, ids: Sequence[int]) -> Prefix:
        """Extend a prefix by ``ids``."""
        keys, values = [], []
        pieces = self._pieces(before, ids)
        for layer in range(self._shape.layers):
            key, value = self._through(layer, pieces, before)
            keys.append(key)
            values.append(value)
        return Prefix(before.length + len(ids), keys, values)

    def states(self, before: Prefix, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return for each row after ``before`` the state that decides its next token.

        A row longer than PIECE must come alone.
        """
        pieces = self._cut(before, rows)
        for layer in range(self._shape.layers):
            self._advance(layer, pieces, before)
        return self._final(pieces[-1], len(rows))

    def hidden(
        self, before: Prefix, rows: Sequence[Sequence[int]], wanted: Watched
    ) -> tuple[Floats, NDArray[np.float64] | None]:
        """Return states inside the network: rows by layers by (mean over the span, last token) by
        width.

        The second value is the result of ``states``, or None if the pass stops after the last
        requested layer.
        """
        if not wanted.layers or not all(0 < layer < self._shape.layers for layer in wanted.layers):
            raise ValueError(f"layers must be from 1 to {self._shape.layers - 1}")
        pieces = self._cut(before, rows)
        ends = np.cumsum([len(row) for row in rows])
        inside: list[NDArray[np.float64]] = []
        for layer in range(self._shape.layers if wanted.to_end else max(wanted.layers)):
            self._advance(layer, pieces, before)
            if layer + 1 in wanted.layers:
                stream = np.concatenate([piece.stream.numpy() for piece in pieces])
                inside.append(_mean_and_last(stream, ends, wanted.spans))
        states = np.stack(inside, axis=1).astype(np.float32)
        return states, self._final(pieces[-1], len(rows)) if wanted.to_end else None

    def _cut(self, before: Prefix, rows: Sequence[Sequence[int]]) -> list[_Piece]:
        """Put several rows into one piece; cut a single row into pieces."""
        if len(rows) == 1:
            return self._pieces(before, rows[0])
        return [self._piece(before.length, rows)]

    def _advance(self, layer: int, pieces: Sequence[_Piece], before: Prefix) -> None:
        """Take pieces through one layer; after the last one only each row's last token remains."""
        *begin, end = pieces
        if layer == self._shape.layers - 1:  # only the last token of each row is asked about
            end.feeds |= self._values(
                {"kept": end.last, "places": end.feeds["places"].numpy()[end.last]}
            )
        keys, values = self._through(layer, begin, before)
        (end.stream,) = self._step(layer, end, keys, values, _STEP)

    def _final(self, end: _Piece, rows: int) -> NDArray[np.float64]:
        stream = end.stream.numpy()[:rows].astype(np.float64)
        states: NDArray[np.float64] = stream / np.sqrt(
            (stream**2).mean(axis=-1, keepdims=True) + self._shape.epsilon
        )
        return states

    def logits(self, state: NDArray[np.float64], labels: Sequence[int]) -> NDArray[np.float64]:
        """Return the logit of each label after a state."""
        key = tuple(labels)
        if key not in self._labels:
            rows = self._arrays["embedding"][list(labels)].astype(np.float64)
            self._labels[key] = rows @ self._arrays["unembedding"].astype(np.float64)
        label_logits: NDArray[np.float64] = (self._labels[key] * state).sum(axis=-1)
        return label_logits

    def _pieces(self, before: Prefix, ids: Sequence[int]) -> list[_Piece]:
        """Cut one row into pieces, always at multiples of PIECE."""
        starts = range(0, len(ids), PIECE)
        return [
            self._piece(before.length + start, [ids[start : start + PIECE]]) for start in starts
        ]

    def _piece(self, before: int, rows: Sequence[Sequence[int]]) -> _Piece:
        """Return a piece made of rows, or of a part of one, that follow ``before`` tokens."""
        lengths = np.array([len(row) for row in rows])
        width, ids = int(lengths.max()), np.concatenate([np.asarray(row, np.int64) for row in rows])
        columns = np.concatenate([np.arange(length) for length in lengths])
        places = np.repeat(np.arange(len(rows)), lengths) * width + columns
        cells = np.zeros((len(rows), width), np.int64)
        cells.reshape(-1)[places] = np.arange(len(ids))
        last = np.cumsum(lengths) - 1
        feeds: dict[str, Array] = {
            "positions": (before + columns)[None],
            "cells": cells,
            "places": places,
            "kept": np.arange(len(ids)),
            "mask": np.tile(
                np.triu(np.full((width, width), HIDDEN_BEHIND, np.float32), 1),
                (self._shape.group, 1),
            ),
        }
        feeds["middle"] = np.full(len(ids), MIDDLE, np.uint8)
        stream = self._library.OrtValue.ortvalue_from_numpy(
            self._arrays["embedding"][ids].astype(np.float32)
        )
        # a product of a single row is summed in another order: there are always two
        return _Piece(stream, self._values(feeds), np.repeat(last, 2) if len(rows) == 1 else last)

    def _through(
        self, layer: int, pieces: Sequence[_Piece], before: Prefix
    ) -> tuple[Floats, Floats]:
        """Take pieces through one layer, one after the other; return the keys and values up to the
        end.
        """
        keys, values = before.keys[layer], before.values[layer]
        for piece in pieces:
            piece.stream, key, value = self._step(layer, piece, keys, values, _STEP_AND_KEYS)
            keys = np.concatenate([keys, key.numpy()[:, 0]], axis=1)
            values = np.concatenate([values, value.numpy()[:, 0]], axis=1)
        return keys, values

    def _step(
        self, layer: int, piece: _Piece, keys: Floats, values: Floats, wanted: list[str]
    ) -> list[OrtValue]:
        prefix = self._values({"keys": keys, "values": values})
        arithmetic = self._arithmetics[layer]
        inputs = {
            "stream": piece.stream,
            **piece.feeds,
            **prefix,
            **self._layers[layer],
            **self._everywhere[arithmetic],
        }
        if arithmetic == "fp32":
            del inputs["middle"]
        outputs: list[OrtValue] = self._sessions[arithmetic].run_with_ort_values(wanted, inputs)
        return outputs

    def _weights(self, layer: int, unsigned: bool) -> dict[str, OrtValue]:
        names: dict[str, tuple[str, ...]] = dict.fromkeys(self._shape.matrices, ("",))
        if self._arithmetics[layer] == "int8":
            names = dict.fromkeys(self._shape.matrices, ("", ".scale", ".axes"))
            names |= dict.fromkeys(self._shape.means, ("", ".axes", ".shift"))
        arrays = {
            name + part: self._arrays[f"{name}.{layer}{part}"]
            for name, parts in names.items()
            for part in parts
        }
        if unsigned:
            arrays |= {
                name: array.view(np.uint8) ^ 0x80
                for name, array in arrays.items()
                if array.dtype == np.int8
            }
        return self._values(arrays)

    def _values(self, arrays: dict[str, Array]) -> dict[str, OrtValue]:
        return {
            name: self._library.OrtValue.ortvalue_from_numpy(array)
            for name, array in arrays.items()
        }

    def _start(self) -> Prefix:
        """Return the keys and values of the first token, which every prompt shares."""
        keys = [np.ascontiguousarray(key[:, None]) for key in self._arrays["first.keys"]]
        values = [
            np.concatenate([value, np.ones_like(value[:, :1])], axis=1)[:, None]
            for value in self._arrays["first.values"]
        ]
        return Prefix(1, keys, values)


def _mean_and_last(
    stream: Floats, ends: NDArray[np.int64], spans: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """Return per row the mean over its span and its last token, from that row's numbers alone."""
    rows = []
    for end, begin, (span_start, span_end) in zip(ends, [0, *ends[:-1]], spans, strict=True):
        row = stream[begin:end].astype(np.float64)
        rows.append((row[span_start:span_end].sum(axis=0) / max(1, span_end - span_start), row[-1]))
    return np.array(rows)


def _session(library: Any, graph: bytes) -> Any:
    options = library.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _ERRORS_ONLY
    return library.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _saturates(library: Any) -> bool:
    """Return True if products of unsigned with signed bytes overflow on this CPU, as on x86 without
    VNNI.
    """
    matrix = tensor("matrix", Element.INT8, [64, 16], bytes([127]) * 1024)
    product = node("MatMulInteger", ["numbers", "matrix"], ["found"], {})
    numbers, product_value = (
        value("numbers", Element.UINT8, ["rows", 64]),
        value("found", Element.INT32, ["rows", 16]),
    )
    session = _session(library, model(graph([product], [matrix], [numbers], [product_value])))
    (result,) = session.run(None, {"numbers": np.full((8, 64), 255, np.uint8)})
    return bool((result != 255 * 127 * 64).any())
