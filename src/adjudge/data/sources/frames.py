"""Rows of data frames, by what they can do, and of whatever else can be gone through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adjudge.data.sources.row import Origin, Row, Rows
from adjudge.domain.instance import Instance


def is_frame(source: object) -> bool:
    """Whether this is a data frame of pandas, polars or their like."""
    return hasattr(source, "columns") and (hasattr(source, "itertuples") or hasattr(source, "iter_rows"))


def is_table(source: object) -> bool:
    """Whether this is a data frame, or a data set of rows such as those of Hugging Face and of Arrow."""
    return is_frame(source) or (hasattr(source, "column_names") and not isinstance(source, Mapping))


def table_rows(table: Any) -> Iterator[Row]:
    """The rows of a data frame or a data set, one after the other."""
    if is_frame(table):
        yield from frame_rows(table)
        return
    rows = table.to_pylist() if hasattr(table, "to_pylist") else table
    for number, cells in enumerate(rows, 1):
        yield Row(number, cells)


def frame_rows(frame: Any) -> Iterator[Row]:
    """Every row, one after the other: no copy of the frame is made."""
    names = [str(name) for name in frame.columns]
    rows = frame.itertuples(index=False, name=None) if hasattr(frame, "itertuples") else frame.iter_rows()
    for number, values in enumerate(rows, 1):
        yield Row(number, dict(zip(names, values, strict=True)))


def item_rows(items: Iterable[object], field: str, origin: Origin) -> Rows:
    """Texts, mappings of columns and instances; a text is the ``field``."""
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            place = origin.place(number)
            yield Row(number, Instance({field: item}, place, {"place": place}))
        elif isinstance(item, Mapping | Instance):
            yield Row(number, item)
        else:
            yield origin.bad(number, f"must be a text, keys with values or an Instance, not {type(item).__name__}")
