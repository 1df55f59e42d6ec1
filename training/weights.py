"""GGUF tensors as arrays, and arrays as a GGUF adapter."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adjudge.features.local.weights.gguf import (
    BLOCKS,
    F16,
    F32,
    MAGIC,
    Q4_1,
    Q8_0,
    Tensor,
    read_header,
)

Array = NDArray[np.float32]
_ALIGNMENT = 32
_STRING, _FLOAT32 = 8, 6
_BLOCK = 32


def read_tensors(path: Path) -> dict[str, Array]:
    """Every tensor of the file in float32, rows first (GGUF names the row's length first)."""
    header = read_header(path)
    data = np.memmap(path, np.uint8, "r", header.data_start)
    return {tensor.name: _values(data, tensor) for tensor in header.tensors}


def read_adapter(path: Path) -> dict[str, Array]:
    """Both factors of every change, of a GGUF file or of what the trainer saved."""
    if path.suffix == ".gguf":
        return read_tensors(path)
    with np.load(path) as file:
        return {name: file[name].astype(np.float32) for name in file.files}


def _values(data: NDArray[np.uint8], tensor: Tensor) -> Array:
    if tensor.kind not in _READERS:
        raise SystemExit(
            f"tensor {tensor.name} has the type {tensor.kind}: only {sorted(_READERS)} can be read"
        )
    raw = np.ascontiguousarray(data[tensor.offset : tensor.offset + (tensor.size or 0)])
    values: Array = _READERS[tensor.kind](raw).astype(np.float32).reshape(tensor.shape[::-1])
    return values


def _q4_1(raw: NDArray[np.uint8]) -> Array:
    blocks = raw.reshape(-1, BLOCKS[Q4_1][1])
    scale, least = (
        blocks[:, place : place + 2].copy().view(np.float16).astype(np.float32) for place in (0, 2)
    )
    codes = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return codes * scale + least


def _q8_0(raw: NDArray[np.uint8]) -> Array:
    blocks = raw.reshape(-1, BLOCKS[Q8_0][1])
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return blocks[:, 2:].copy().view(np.int8) * scale


_READERS = {
    F32: lambda raw: raw.view(np.float32),
    F16: lambda raw: raw.view(np.float16),
    Q4_1: _q4_1,
    Q8_0: _q8_0,
}


def write_adapter(path: Path, tensors: Mapping[str, Array]) -> None:
    """A LoRA adapter that llama.cpp loads, in F16: ``NAME.lora_a`` is rank × in, ``NAME.lora_b``
    out × rank.

    An alpha of zero means that the product of both counts as it is, whatever its rank.
    """
    texts = {
        "general.architecture": "llama",
        "general.type": "adapter",
        "general.name": "adjudge judge for SmolLM2-135M-Instruct",
        "general.license": "apache-2.0",
        "adapter.type": "lora",
    }
    fields = [
        _text(key) + struct.pack("<I", _STRING) + _text(value) for key, value in texts.items()
    ]
    fields.append(_text("adapter.lora.alpha") + struct.pack("<If", _FLOAT32, 0.0))
    infos, blobs, offset = [], [], 0
    for name, values in tensors.items():
        blob = values.astype("<f2").tobytes()
        infos.append(
            _text(name) + struct.pack("<IQQIQ", 2, values.shape[1], values.shape[0], F16, offset)
        )
        blobs.append(blob + bytes(-len(blob) % _ALIGNMENT))
        offset += len(blobs[-1])
    head = (
        MAGIC + struct.pack("<IQQ", 3, len(infos), len(fields)) + b"".join(fields) + b"".join(infos)
    )
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + b"".join(blobs))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded
