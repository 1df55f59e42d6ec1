"""A guard against writing over files that are read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import SetupError


def refuse_overwriting(
    outputs: Iterable[Path | ObjectFile], inputs: Iterable[Path | ObjectFile]
) -> None:
    """Raise if an output is also an input, even by another path or through a link."""
    read = list(inputs)
    for output in outputs:
        for path in read:
            if _is_same(output, path):
                raise SetupError(
                    "{output} is read by this command and would be overwritten: name another file",
                    output=output,
                )


def _is_same(output: Path | ObjectFile, path: Path | ObjectFile) -> bool:
    if isinstance(output, ObjectFile) or isinstance(path, ObjectFile):
        return output == path
    is_file = os.path.isfile(path)  # noqa: PTH113 - or too long a text
    return is_file and output.is_file() and output.samefile(path)
