"""Data frames in, data frames out: the rows of a frame with the verdicts beside them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from adjudge.core.data.columns import find_column
from adjudge.core.data.sources.opener import table_rows
from adjudge.core.data.sources.row import Row
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Result
from adjudge.core.judges.inputs import Frame
from adjudge.errors import SetupError

F = TypeVar("F", bound=Frame)
ADDED = ("verdict", "score", "explanation", "status")
"""The columns that are added."""
_TEXT_OF = {"pandas": "string", "polars": "String"}


async def with_verdicts(
    frame: F,
    columns: Mapping[str, str],
    evaluate: Callable[[list[Row]], Awaitable[Sequence[Result]]],
) -> F:
    """Return the frame with a verdict, score, explanation and status for each row.

    ``columns``: field → column, for columns without a usual name. ``evaluate`` judges the rows. A
    row without a verdict has missing values there, and its status says so.
    """
    library = _library_of(frame)
    names = [str(name) for name in cast("Sequence[object]", frame.columns)]
    taken = [name for name in ADDED if name in names]
    if taken:
        raise SetupError(
            "the data frame already has a column {name!r}: rename it, or leave it out",
            name=taken[0],
        )
    for field, column in columns.items():
        if find_column(names, column) is None:
            raise SetupError(
                "the data frame has no column {column!r} (needed for {field}); it has: {names}",
                column=column,
                field=field,
                names=", ".join(names),
            )
    rows = [_with_fields(row, columns) for row in table_rows(frame)]
    results = await evaluate(rows) if rows else []
    return _appended(
        frame,
        library,
        {
            "verdict": [None if each.verdict is None else str(each.verdict) for each in results],
            "score": [each.score for each in results],
            "explanation": [
                None if each.explanation is None else str(each.explanation) for each in results
            ],
            "status": [str(each.status.value) for each in results],
        },
    )


def _with_fields(row: Row, columns: Mapping[str, str]) -> Row:
    """Return the row with its columns renamed to fields, as ``columns`` maps them."""
    if isinstance(row.cells, Instance) or not columns:
        return row
    sources = {field: find_column(row.cells, column) or column for field, column in columns.items()}
    cells = {
        name: cell
        for name, cell in row.cells.items()
        if name not in sources.values() and name not in columns
    }
    named = {field: row.cells[name] for field, name in sources.items()}
    return row._replace(cells={**named, **cells})


def _library_of(frame: object) -> str:
    modules = (kind.__module__.split(".")[0] for kind in type(frame).__mro__)
    library = next((name for name in modules if name in _TEXT_OF), None)
    if library is None:
        raise SetupError(
            "columns= is for data frames of pandas or polars, not for {name}",
            name=type(frame).__name__,
        )
    return library


def _appended(frame: F, library: str, added: Mapping[str, list[Any]]) -> F:
    """Return the frame with the added columns, typed as in its own library."""
    module: Any = sys.modules[library]
    made: Any = frame
    types = {name: "Float64" if name == "score" else _TEXT_OF[library] for name in added}
    if library == "pandas":
        values = {name: module.array(cells, dtype=types[name]) for name, cells in added.items()}
        return cast(F, made.assign(**values))
    series = [
        module.Series(name, cells, dtype=getattr(module, types[name]))
        for name, cells in added.items()
    ]
    return cast(F, made.with_columns(series))
