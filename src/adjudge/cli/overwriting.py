"""Nothing is written over what is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from adjudge.errors import SetupError


def refuse_overwriting(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """A SetupError where an output is one of the inputs, also by another path or through a link."""
    read = [path for path in inputs if os.path.isfile(path)]  # noqa: PTH113 - or too long a text
    for output in outputs:
        for path in read:
            if output.is_file() and output.samefile(path):
                raise SetupError(
                    "{output} is read by this command and would be overwritten: name another file",
                    output=output,
                )
