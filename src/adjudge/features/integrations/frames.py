"""Results and runs as data frames: one row per judgment, with the columns of the CSV export.

A judgment without a score has a missing value, never a number. Nested values are written as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.multi_results import (
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaPairwiseInstanceResult,
)
from adjudge.core.domain.results import Result
from adjudge.errors import SetupError
from adjudge.runs.exporters.export import column_types, flat_rows, typed_row
from adjudge.runs.exporters.table import flat

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Many = MultiCriteriaDirectInstanceResult | MultiCriteriaPairwiseInstanceResult
Judged = str | Path | Result | Many | Iterable[Result | Many]
"""A run folder, or what a judge returned."""
_PANDAS = {"bool_": "boolean", "int64": "Int64", "float64": "Float64", "string": "string"}
_POLARS = {"bool_": "Boolean", "int64": "Int64", "float64": "Float64", "string": "String"}


def rows_of(judged: Judged) -> list[JsonDict]:
    """Return one dict per judgment, all with the same keys."""
    return _table(judged)[1]


def to_pandas(judged: Judged) -> pandas.DataFrame:
    """Return a pandas frame with nullable columns; needs pandas."""
    types, rows = _table(judged)
    pandas_module = _library("pandas")
    return pandas_module.DataFrame(
        {
            name: pandas_module.array([row[name] for row in rows], dtype=_PANDAS[kind])
            for name, kind in types.items()
        }
    )


def to_polars(judged: Judged) -> polars.DataFrame:
    """Return the rows as a polars frame; needs polars."""
    types, rows = _table(judged)
    polars_module = _library("polars")
    return polars_module.DataFrame(
        rows, schema={name: vars(polars_module)[_POLARS[kind]] for name, kind in types.items()}
    )


def to_arrow(judged: Judged) -> pyarrow.Table:
    """Return the rows as an Arrow table; needs pyarrow."""
    types, rows = _table(judged)
    arrow = _library("pyarrow")
    schema = arrow.schema([(name, vars(arrow)[kind]()) for name, kind in types.items()])
    return arrow.Table.from_pylist(rows, schema=schema)


def _table(judged: Judged) -> tuple[Mapping[str, str], list[JsonDict]]:
    """Return (column → type, rows)."""
    rows = list(flat_rows(judged)) if isinstance(judged, str | Path) else list(_flat(judged))
    types = column_types(rows)
    return types, [typed_row(row, types) for row in rows]


def _flat(judged: Result | Many | Iterable[Result | Many]) -> Iterator[JsonDict]:
    for number, item in enumerate([judged] if isinstance(judged, Result | Many) else judged, 1):
        for result in _results(item):
            yield flat(result.record(result.criteria.name, number - 1))


def _results(item: Result | Many) -> Iterable[Result]:
    if isinstance(item, MultiCriteriaDirectInstanceResult):
        return [item_result.result for item_result in item.item_results]
    return item.results if isinstance(item, MultiCriteriaPairwiseInstanceResult) else [item]


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SetupError("{name} is not installed: pip install {name}", name=name) from error
