"""Rows of an Excel workbook's first sheet; needs openpyxl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from adjudge.data.sources.row import Origin, Row, Rows, is_blank, numbered
from adjudge.errors import SetupError, WrongData


def excel_rows(path: Path, origin: Origin) -> Rows:
    """Every row by the names in the first one, read as they are asked for."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise SetupError(
            "{name}: to read Excel workbooks, pip install 'adjudge[excel]', or save the "
            "table as CSV in UTF-8",
            name=origin.name,
        ) from error
    with path.open("rb") as file:
        try:
            book = load_workbook(file, read_only=True, data_only=True)
        except (InvalidFileException, BadZipFile, KeyError, ValueError, OSError) as error:
            raise WrongData(
                "{name} cannot be read as an Excel workbook: {said}",
                name=origin.name,
                said=" ".join(str(error).split()),
            ) from error
        try:
            yield from _rows(_cells(book))
        finally:
            book.close()


def _cells(book: Any) -> Iterator[tuple[object, ...]]:
    """The values of the first sheet that is shown, row by row."""
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if sheets:
        sheets[0].reset_dimensions()  # what some programs write there is wrong
        yield from sheets[0].iter_rows(values_only=True)


def _rows(rows: Iterator[tuple[object, ...]]) -> Rows:
    header: list[str] = []
    for number, cells in enumerate(rows, 1):
        values = _without_end(cells)
        if not header:
            header = numbered(
                [
                    str(cell or "").strip() or f"column {place}"
                    for place, cell in enumerate(values, 1)
                ]
            )
            continue
        names = [*header, *(f"column {place}" for place in range(len(header) + 1, len(values) + 1))]
        padded = [
            *("" if cell is None else cell for cell in values),
            *[""] * (len(names) - len(values)),
        ]
        yield Row(number, dict(zip(names, padded, strict=True)) if values else {})


def _without_end(cells: Sequence[object]) -> list[object]:
    """The cells up to the last that holds something: a sheet is wider than its table."""
    values = [None if isinstance(cell, str) and is_blank(cell) else cell for cell in cells]
    while values and values[-1] is None:
        values.pop()
    return values
