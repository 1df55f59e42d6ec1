"""Read and check GGUF headers before the file is loaded.

The loading library reports every error alike; this module names it. It does not check the weights
themselves (pulling compares their SHA-256) or files split into several.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.errors import SetupError, WrongData
from adjudge.messages import Message

MAGIC = b"GGUF"
F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8
BLOCKS = {
    F32: (1, 4),
    F16: (1, 2),
    Q4_0: (32, 18),
    Q4_1: (32, 20),
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    Q8_0: (32, 34),
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    20: (32, 18),  # IQ4_NL
    23: (256, 136),  # IQ4_XS
    30: (1, 2),  # BF16
}
"""Tensor type → weights in a block, bytes in a block."""
UINT32, STRING, ARRAY = 4, 8, 9
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    UINT32: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_CONTROL, _USER_DEFINED = 3, 4
_MOST_ENTRIES = 100_000
_MOST_ITEMS = 4_000_000
_SHORTEST = 24


class Tensor(NamedTuple):
    """One matrix or vector, and its place after the header."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def size(self) -> int | None:
        """Bytes; None for a type that is not in the table."""
        if self.kind not in BLOCKS:
            return None
        weights, length = BLOCKS[self.kind]
        return math.prod(self.shape) // weights * length


@dataclass(frozen=True, slots=True)
class Field:
    """One entry of the metadata, with the bytes it has in the file."""

    key: str
    value: Any
    raw: bytes


@dataclass(frozen=True)
class Header:
    """The contents of a GGUF file except the weights."""

    path: Path
    version: int
    fields: tuple[Field, ...]
    tensors: tuple[Tensor, ...]
    data_start: int

    @property
    def metadata(self) -> Mapping[str, Any]:
        return {field.key: field.value for field in self.fields}

    @property
    def kind(self) -> str:
        """The type that the file declares, such as ``adapter``; by default ``model``."""
        return str(self.metadata.get("general.type", "model"))

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def alignment(self) -> int:
        """Number of bytes that tensor offsets are multiples of."""
        return _alignment(self.fields)

    @property
    def layers(self) -> int:
        """Number of blocks of the model."""
        return self._of_architecture("block_count")

    @property
    def context_length(self) -> int:
        """Maximum number of tokens that the model was made for."""
        return self._of_architecture("context_length")

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of the chat template, if the file has one."""
        template = self.metadata.get("tokenizer.chat_template")
        return template if isinstance(template, str) else None

    @property
    def special_tokens(self) -> dict[str, int]:
        """Tokens that mean more than their letters (control and user-defined ones) → id."""
        metadata = self.metadata
        tokens, kinds = (
            metadata.get("tokenizer.ggml.tokens", ()),
            metadata.get("tokenizer.ggml.token_type", ()),
        )
        pairs = enumerate(zip(tokens, kinds, strict=False))
        return {
            token: number for number, (token, kind) in pairs if kind in (_CONTROL, _USER_DEFINED)
        }

    def _of_architecture(self, key: str) -> int:
        value = self.metadata.get(f"{self.architecture}.{key}")
        if not isinstance(value, int):
            raise _unusable(self.path, Message("its {name} is missing", name=key.replace("_", " ")))
        return value


def read_header(path: Path) -> Header:
    """Read the header of a file; raise a SetupError that says what is wrong with it."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size < _SHORTEST:
                raise WrongData("it is too short")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).header(path)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except struct.error as error:
        raise _unusable(path, Message("its header is cut off or damaged")) from error
    except ValueError as error:
        raise _unusable(path, str(error)) from error


def _unusable(path: Path, why: str) -> SetupError:
    return SetupError("{path} cannot be used as a GGUF file: {why}", path=path, why=why)


class _Reader:
    """Reads the header.

    Counts and lengths are checked against the file's size before they are used.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def header(self, path: Path) -> Header:
        if self._take(4) != MAGIC:
            raise WrongData("it does not begin with GGUF")
        version = self._number("I")
        if version not in (2, 3):
            raise WrongData("its version is {version}, not 2 or 3", version=version)
        tensor_count, field_count = self._count("Q", _MOST_ENTRIES), self._count("Q", _MOST_ENTRIES)
        fields = tuple(self._field() for _ in range(field_count))
        tensors = tuple(self._tensor() for _ in range(tensor_count))
        alignment = _alignment(fields)
        data_start = -(-self._at // alignment) * alignment
        _check_tensors(tensors, alignment, len(self._data) - data_start)
        return Header(path, version, fields, tensors, data_start)

    def _field(self) -> Field:
        start = self._at
        key = self._name()
        value = self._value(self._number("I"))
        return Field(key, value, self._data[start : self._at])

    def _tensor(self) -> Tensor:
        name = self._name()
        shape = tuple(self._number("Q") for _ in range(self._count("I", 4)))
        return Tensor(name, shape, self._number("I"), self._number("Q"))

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._bytes().decode(errors="replace")
        if kind == ARRAY:
            return self._array()
        return self._number(_code(kind))

    def _array(self) -> tuple[Any, ...]:
        kind, count = self._number("I"), self._count("Q", _MOST_ITEMS)
        if kind == STRING:
            return tuple(self._bytes().decode(errors="replace") for _ in range(count))
        form = f"<{count}{_code(kind)}"
        items = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return items

    def _number(self, code: str) -> Any:
        (number,) = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += struct.calcsize(code)
        return number

    def _count(self, code: str, most: int) -> int:
        count = int(self._number(code))
        if count > most:
            raise WrongData(
                "its header is damaged: it gives a count of {count}, but at most {most} are "
                "possible",
                count=count,
                most=most,
            )
        return count

    def _name(self) -> str:
        try:
            return self._bytes().decode()
        except UnicodeDecodeError as error:
            raise WrongData("its header is damaged: a name is not UTF-8") from error

    def _bytes(self) -> bytes:
        return self._take(self._number("Q"))

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise WrongData("its header is cut off or damaged")
        taken = self._data[self._at : end]
        self._at = end
        return taken


def _code(kind: int) -> str:
    if kind not in _NUMBERS:  # an array inside an array is not among them: no loader reads those
        raise WrongData("its header is damaged: unknown type of value {kind}", kind=kind)
    return _NUMBERS[kind]


def _alignment(fields: tuple[Field, ...]) -> int:
    alignment = next((field.value for field in fields if field.key == "general.alignment"), 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise WrongData(
            "its header is damaged: the alignment is {found!r}, not a power of two", found=alignment
        )
    return alignment


def _check_tensors(tensors: tuple[Tensor, ...], alignment: int, room: int) -> None:
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise WrongData("its header is damaged: two tensors have the same name")
    for tensor in tensors:
        weights, _ = BLOCKS.get(tensor.kind, (1, 0))
        if tensor.offset % alignment or (tensor.shape and tensor.shape[0] % weights):
            raise WrongData(
                "its header is damaged: tensor {name} is not aligned",
                name=tensor.name,
            )
        if tensor.offset + (tensor.size or 0) > room:
            raise WrongData("it is cut off: tensor {name} is beyond its end", name=tensor.name)
