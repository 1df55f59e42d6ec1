"""Write ONNX models as bytes: the few protobuf messages that adjudge's graphs need.

The package ``onnx`` would add twenty megabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum

Attribute = int | float | Sequence[int]
MICROSOFT = "com.microsoft"
"""The domain of the operators that onnxruntime adds."""
_IR_VERSION, _OPSET = 10, 21
_FLOAT, _INT, _INTS = 1, 2, 7


class Element(IntEnum):
    """The type of a tensor's elements."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    INT32 = 6
    INT64 = 7


def model(graph: bytes) -> bytes:
    """Return a complete model around a graph."""
    opsets = [
        _text(1, domain) + _number(2, version) for domain, version in (("", _OPSET), (MICROSOFT, 1))
    ]
    return (
        _number(1, _IR_VERSION)
        + _text(2, "adjudge")
        + _bytes(7, graph)
        + b"".join(_bytes(8, opset) for opset in opsets)
    )


def graph(
    nodes: Sequence[bytes],
    initializers: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
) -> bytes:
    """Return a graph of nodes in an order they can run in, with inputs and outputs."""
    fields = {1: nodes, 5: initializers, 11: inputs, 12: outputs}
    return _text(2, "judge") + b"".join(
        _bytes(field, message) for field, messages in fields.items() for message in messages
    )


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute],
    domain: str = "",
) -> bytes:
    names = b"".join(_text(1, name) for name in inputs) + b"".join(
        _text(2, name) for name in outputs
    )
    settings = b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
    return names + _text(4, operator) + settings + _text(7, domain)


def tensor(name: str, element: Element, shape: Sequence[int], raw: bytes) -> bytes:
    return (
        b"".join(_number(1, size) for size in shape)
        + _number(2, element)
        + _text(8, name)
        + _bytes(9, raw)
    )


def value(name: str, element: Element, shape: Sequence[int | str]) -> bytes:
    """Return an input or output; a dimension that may vary has a name."""
    sizes = b"".join(
        _bytes(1, _number(1, size) if isinstance(size, int) else _text(2, size)) for size in shape
    )
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, element) + _bytes(2, sizes)))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _INT)
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    return _text(1, name) + b"".join(_number(8, number) for number in value) + _number(20, _INTS)


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number & 0xFFFF_FFFF_FFFF_FFFF)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
