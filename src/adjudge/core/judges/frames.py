"""Data frames in, data frames out: the rows of a frame with the verdicts beside them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from adjudge.core.data.columns import find_column
from adjudge.core.data.sources.opener import table_rows
from adjudge.core.data.sources.row import Row
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Result, Status
from adjudge.core.judges.inputs import Frame
from adjudge.errors import SetupError

F = TypeVar("F", bound=Frame)
R = TypeVar("R", bound=Result)
ADDED = ("verdict", "score", "explanation", "status")
"""The columns that are added."""
_TEXT_OF = {"pandas": "string", "polars": "String"}


async def with_verdicts(
    frame: F,
    columns: Mapping[str, str],
    evaluate: Callable[[list[Row]], Awaitable[Sequence[R | None]]],
    numbers: Sequence[str] = (),
    numbers_of: Callable[[R], Mapping[str, float | None]] = lambda _: {},
) -> F:
    """Return the frame with a verdict, score, explanation and status for each row.

    ``columns``: field → column, for columns without a usual name. ``evaluate`` judges the rows, and
    returns None for one that it leaves out. A row without a verdict has missing values there, and
    its status says so. ``numbers``: further columns, whose values ``numbers_of`` a result returns.
    """
    library = _library_of(frame)
    names = [str(name) for name in cast("Sequence[object]", frame.columns)]
    taken = [name for name in (*ADDED, *numbers) if name in names]
    if taken:
        raise SetupError(
            "the data frame already has a column {name!r}: rename or drop it",
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
    values = [_values_of(result) for result in results]
    further = [{} if result is None else numbers_of(result) for result in results]
    return _appended(
        frame,
        library,
        {name: [row[name] for row in values] for name in ADDED}
        | {name: [row.get(name) for row in further] for name in numbers},
    )


def is_frame(given: object) -> bool:
    """Return True for a data frame of pandas or polars."""
    return _library_name(given) is not None


def _values_of(result: Result | None) -> dict[str, str | float | None]:
    """Return the added columns of a row; of a row that was left out only its status."""
    if result is None:
        return {**dict.fromkeys(ADDED), "status": Status.SKIPPED.value}
    # A random option that stands in for a failed judgment (``on_failure``) is no verdict.
    is_scored = result.status is Status.SCORED
    verdict, explanation = result.verdict if is_scored else None, result.explanation
    return {
        "verdict": None if verdict is None else str(verdict),
        "score": result.score if is_scored else None,
        "explanation": None if explanation is None else str(explanation),
        "status": str(result.status.value),
    }


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


def _library_name(frame: object) -> str | None:
    modules = (kind.__module__.split(".")[0] for kind in type(frame).__mro__)
    return next((name for name in modules if name in _TEXT_OF), None)


def _library_of(frame: object) -> str:
    library = _library_name(frame)
    if library is None:
        raise SetupError(
            "columns= works only with pandas or polars data frames, not with {name}",
            name=type(frame).__name__,
        )
    return library


def _appended(frame: F, library: str, added: Mapping[str, list[Any]]) -> F:
    """Return the frame with the added columns, typed as in its own library."""
    module: Any = sys.modules[library]
    made: Any = frame
    texts = {name for name in ADDED if name != "score"}
    types = {name: _TEXT_OF[library] if name in texts else "Float64" for name in added}
    if library == "pandas":
        values = {name: module.array(cells, dtype=types[name]) for name, cells in added.items()}
        return cast(F, made.assign(**values))
    series = [
        module.Series(name, cells, dtype=getattr(module, types[name]))
        for name, cells in added.items()
    ]
    return cast(F, made.with_columns(series))
