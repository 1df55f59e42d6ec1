"""Arrays in one memory-mapped file: the safetensors format, read and written with numpy.

A JSON header gives the place of each array and other metadata.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import SetupError
from adjudge.messages import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
_KINDS = {"F32": "<f4", "F16": "<f2", "I8": "|i1"}
_ALIGNED = 64
_METADATA = "__metadata__"
_LONGEST_HEADER = 16_000_000


@dataclass(frozen=True)
class ArrayLayout:
    """The type (F32, F16 or I8) and the sizes of an array to write."""

    kind: str
    sizes: tuple[int, ...]

    @property
    def length(self) -> int:
        return math.prod(self.sizes) * int(_KINDS[self.kind][-1])


@dataclass(frozen=True)
class Tensors:
    """The arrays of a file, loaded from disk when used, and its metadata."""

    arrays: Mapping[str, Array]
    metadata: Mapping[str, str]


def write_tensors(
    file: BinaryIO,
    layouts: Mapping[str, ArrayLayout],
    metadata: Mapping[str, str],
    arrays: Iterable[Array],
) -> None:
    """Write the header, then every array as it is produced, in the order of ``layouts``."""
    header: JsonDict = {_METADATA: dict(metadata)}
    offset = 0
    for name, layout in layouts.items():
        end = offset + layout.length
        header[name] = {
            "dtype": layout.kind,
            "shape": list(layout.sizes),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    # Padding aligns the arrays for direct use in memory.
    text += b" " * (-(len(text) + 8) % _ALIGNED)
    file.write(len(text).to_bytes(8, "little") + text)
    for (name, layout), array in zip(layouts.items(), arrays, strict=True):
        if array.shape != layout.sizes:
            raise ValueError(
                Message(
                    "{name} has the shape {shape}, not {sizes}",
                    name=name,
                    shape=array.shape,
                    sizes=layout.sizes,
                )
            )
        file.write(array.astype(_KINDS[layout.kind], copy=False).tobytes())


def read_tensors(path: Path) -> Tensors:
    """Map the arrays of a file into memory."""
    import numpy as np

    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + min(length, _LONGEST_HEADER)])
        metadata = header.pop(_METADATA)
        arrays = {name: _array(np, data, 8 + length, entry) for name, entry in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(
            "{path} cannot be read ({error}): run 'adjudge models pull' again",
            path=path,
            error=error,
        ) from error
    return Tensors(arrays, metadata)


def _array(np: Any, data: mmap.mmap, start: int, entry: Mapping[str, Any]) -> Array:
    sizes = tuple(int(size) for size in entry["shape"])
    flat: Array = np.frombuffer(
        data, _KINDS[entry["dtype"]], math.prod(sizes), start + int(entry["data_offsets"][0])
    )
    return flat.reshape(sizes)
