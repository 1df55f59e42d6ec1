"""Rows of a Parquet file; needs pyarrow."""

from __future__ import annotations

from pathlib import Path

from adjudge.data.sources.open import arrow_rows
from adjudge.data.sources.row import Origin, Row, Rows
from adjudge.errors import RunError, SetupError

_AT_ONCE = 1000


def parquet_rows(path: Path, origin: Origin) -> Rows:
    """Every row, a thousand in memory at once."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise SetupError(f"{origin.name}: to read Parquet, pip install 'adjudge[parquet]'") from error
    try:
        with path.open("rb") as file:
            batches = ParquetFile(file).iter_batches(batch_size=_AT_ONCE)
            for number, cells in enumerate((cells for batch in batches for cells in arrow_rows(batch)), 1):
                yield Row(number, cells)
    except pyarrow.ArrowException as error:
        raise RunError(f"{origin.name} cannot be read as Parquet: {' '.join(str(error).split())}") from error
