"""CSV files that exporters wrote."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from adjudge.core.data.cells import text_of

_LONGEST_CELL = 100_000_000


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a file that ``write_rows`` wrote, every text as it was before."""
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        columns = [text_of(name) for name in next(reader, [])]
        for row in reader:
            yield {name: text_of(value) for name, value in zip(columns, row, strict=True)}
