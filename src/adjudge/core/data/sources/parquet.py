"""Rows of a Parquet file, which needs pyarrow, and of an Arrow table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudge.core.data.sources.row import Origin, Row, Rows, unique_names
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import SetupError, WrongData

_AT_ONCE = 1000


def parquet_rows(path: Path | ObjectFile, origin: Origin) -> Rows:
    """Yield every row, with at most a thousand in memory."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise SetupError(
            "{name}: to read Parquet, pip install 'adjudge[parquet]'", name=origin.name
        ) from error
    try:
        with path.open("rb") as file:
            parquet = ParquetFile(file)
            whole = _whole_numbers(parquet)
            batches = parquet.iter_batches(batch_size=_AT_ONCE)
            for number, cells in enumerate(
                (cells for batch in batches for cells in arrow_rows(batch)), 1
            ):
                for name in whole:
                    cells[name] = _as_integer(cells[name])
                yield Row(number, cells)
    except pyarrow.ArrowException as error:
        raise WrongData(
            "{name} cannot be read as Parquet: {said}",
            name=origin.name,
            said=" ".join(str(error).split()),
        ) from error


def _whole_numbers(parquet: Any) -> list[str]:
    """Return the columns of floats that are integers, some of them missing.

    pandas has no missing integers: it writes the column 1, 2, None as 1.0, 2.0, None.
    """
    from pyarrow.types import is_floating

    schema = parquet.schema_arrow
    floats = [field.name for field in schema if is_floating(field.type)]
    whole = dict.fromkeys((name for name in floats if schema.names.count(name) == 1), False)
    for name in [*whole]:
        for batch in parquet.iter_batches(columns=[name]):
            values = batch.column(0).to_pylist()
            if any(value is not None and isinstance(_as_integer(value), float) for value in values):
                del whole[name]
                break
            whole[name] = whole[name] or None in values
    return [name for name, has_missing in whole.items() if has_missing]


def _as_integer(value: Any) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def arrow_rows(table: Any) -> Iterator[dict[str, object]]:
    """Yield the rows of an Arrow table or batch, with a few in memory."""
    names = unique_names(
        table.column_names if hasattr(table, "column_names") else table.schema.names
    )
    for start in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(start, _AT_ONCE)
        for values in zip(*(column.to_pylist() for column in part.columns), strict=True):
            yield dict(zip(names, values, strict=True))
