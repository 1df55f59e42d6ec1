"""Four-bit weights rewritten as F16, by the standard library alone: what the embedded judge read
when it ran on xllamacpp.

Plain CPU kernels unpack four-bit weights again for every token they read; F16 they read as it lies,
and round little. The token embeddings stay as they are: they are looked up, and in F16 the output
layer they share would gain nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from adjudge.core.aio.files import written_whole
from adjudge.errors import SetupError
from adjudge.features.local.weights.gguf import (
    BLOCKS,
    F16,
    MAGIC,
    Q4_0,
    Q4_1,
    UINT32,
    Field,
    Header,
    Tensor,
    read_header,
)

_EMBEDDINGS = "token_embd.weight"
_FILE_TYPE_F16 = 1
_BLOCKS_AT_ONCE = 16_384
_LOW, _HIGH = bytes(byte & 15 for byte in range(256)), bytes(byte >> 4 for byte in range(256))
_REST = bytes(240)
"""Codes go to 15; ``bytes.translate`` wants 256 entries."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A tensor as it is and as it will be."""

    old: Tensor
    new: Tensor
    length: int


def rewrite(
    source: Path,
    target: Path,
    *,
    to_f16: bool = True,
    layers: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Write ``source`` to ``target``, its Q4_0 and Q4_1 matrices as F16, or only its first
    ``layers`` layers, or both.

    A megabyte is in memory at a time. ``progress`` hears of the bytes written and of how many there
    will be.
    """
    header = read_header(source)
    moves = _moves(header, to_f16, layers)
    total, done = sum(move.length for move in moves), 0
    with source.open("rb") as weights, written_whole(target) as file:
        file.write(_new_header(header, moves, to_f16, layers))
        for move in moves:
            _pad(file, header.alignment)
            for piece in _pieces(weights, header, move):
                file.write(piece)
                done += len(piece)
                progress(done, total)
        _pad(file, header.alignment)


def _moves(header: Header, to_f16: bool, layers: int | None) -> list[_Move]:
    moves, offset = [], 0
    for old in header.tensors:
        if layers is not None and _layer(old.name) >= layers:
            continue
        becomes_f16 = to_f16 and old.kind in (Q4_0, Q4_1) and old.name != _EMBEDDINGS
        new = old._replace(kind=F16 if becomes_f16 else old.kind, offset=offset)
        if new.size is None:
            raise SetupError(
                f"{header.path} cannot be rewritten: tensor {old.name} is of an unknown "
                f"type ({old.kind})"
            )
        moves.append(_Move(old, new, new.size))
        offset += -(-new.size // header.alignment) * header.alignment
    return moves


def _layer(tensor: str) -> int:
    """Which layer a tensor belongs to; -1 for those outside of all."""
    first, _, rest = tensor.partition(".")
    number = rest.partition(".")[0]
    return int(number) if first == "blk" and number.isdecimal() else -1


def _new_header(header: Header, moves: list[_Move], to_f16: bool, layers: int | None) -> bytes:
    changed = {"general.file_type": _FILE_TYPE_F16} if to_f16 else {}
    if layers is not None:
        changed[f"{header.architecture}.block_count"] = min(layers, header.layers)
    parts = [MAGIC, struct.pack("<IQQ", 3, len(moves), len(header.fields))]
    parts += [_field(field, changed) for field in header.fields]
    parts += [_described(move.new) for move in moves]
    return b"".join(parts)


def _field(field: Field, changed: dict[str, int]) -> bytes:
    if field.key not in changed:
        return field.raw
    return _text(field.key) + struct.pack("<II", UINT32, changed[field.key])


def _described(tensor: Tensor) -> bytes:
    dimensions = len(tensor.shape)
    numbers = struct.pack(
        f"<I{dimensions}QIQ", dimensions, *tensor.shape, tensor.kind, tensor.offset
    )
    return _text(tensor.name) + numbers


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _pad(file: BinaryIO, alignment: int) -> None:
    file.write(bytes(-file.tell() % alignment))


def _pieces(weights: BinaryIO, header: Header, move: _Move) -> Iterator[bytes]:
    left = move.old.size or 0
    at_once = _BLOCKS_AT_ONCE * BLOCKS[move.old.kind][1]
    weights.seek(header.data_start + move.old.offset)
    while left:
        raw = weights.read(min(left, at_once))
        if not raw:
            raise SetupError(f"{header.path} became shorter while it was read")
        left -= len(raw)
        yield raw if move.old.kind == move.new.kind else _checked_f16(raw, move.old, header.path)


def _checked_f16(raw: bytes, tensor: Tensor, path: Path) -> bytes:
    try:
        return as_f16(raw, tensor.kind)
    except OverflowError as error:
        raise SetupError(
            f"{path} is damaged: tensor {tensor.name} holds weights that no F16 can hold"
        ) from error


def as_f16(raw: bytes, kind: int) -> bytes:
    """Blocks of Q4_0 or Q4_1 as little-endian F16."""
    codes, pack = _codes(raw, kind), struct.Struct("<16e").pack
    # Each block is translated twice by the table of its 16 values, once for each byte of an F16: no
    # loop over weights.
    first: list[bytes] = []
    second: list[bytes] = []
    for at, values in zip(range(0, len(codes), 32), _values(raw, kind), strict=True):
        block, table = codes[at : at + 32], pack(*values)
        first.append(block.translate(table[::2] + _REST))
        second.append(block.translate(table[1::2] + _REST))
    found = bytearray(2 * len(codes))
    found[::2], found[1::2] = b"".join(first), b"".join(second)
    return bytes(found)


def _codes(raw: bytes, kind: int) -> bytes:
    """Each weight's code, 0 to 15, in the order of the weights: a block has its first half in the
    low half-bytes.
    """
    _, length = BLOCKS[kind]
    found = bytearray(len(raw) // length * 32)
    for number in range(16):
        column = raw[length - 16 + number :: length]
        found[number::32], found[16 + number :: 32] = (
            column.translate(_LOW),
            column.translate(_HIGH),
        )
    return bytes(found)


def _values(raw: bytes, kind: int) -> Iterator[list[float]]:
    """What the sixteen codes of each block stand for."""
    if kind == Q4_1:
        for scale, least in struct.iter_unpack("<2e16x", raw):
            yield [scale * code + least for code in range(16)]
    else:
        for (scale,) in struct.iter_unpack("<e16x", raw):
            yield [scale * (code - 8) for code in range(16)]
