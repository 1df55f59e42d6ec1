"""Rows of a sheet of an Excel workbook; needs openpyxl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from adjudge.data.sources.row import Origin, OtherSheets, Row, Rows, is_blank, numbered
from adjudge.errors import SetupError, WrongData
from adjudge.messages import Message, reason_of
from adjudge.reading.objects import ObjectFile


def open_workbook(
    path: Path | ObjectFile, sheet: str | None, header_row: int | None
) -> tuple[Origin, Rows]:
    """The sheet that was named, or the first that is shown, and its rows by the names in the
    header, read as they are asked for.
    """
    book = _load(path)
    shown = [one.title for one in book.worksheets if one.sheet_state == "visible"]
    if not shown and sheet is None:
        book.close()
        return Origin(str(path), path.name), iter(())
    title = shown[0] if sheet is None else _find_sheet(path, book, sheet)
    others = tuple(name for name in shown if name != title)
    name = str(path)
    if others or sheet is not None:
        name = Message("{path}, sheet {sheet!r}", path=path, sheet=title)
    unsaid = OtherSheets(str(path), title, others) if others and sheet is None else None
    return Origin(name, path.name, other_sheets=unsaid), _read(book, title, header_row)


def _load(path: Path | ObjectFile) -> Any:
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise SetupError(
            "{name}: to read Excel workbooks, pip install 'adjudge[excel]', or save the "
            "table as CSV in UTF-8",
            name=path,
        ) from error
    try:
        return load_workbook(BytesIO(path.read_bytes()), read_only=True, data_only=True)
    except (InvalidFileException, BadZipFile, KeyError, ValueError) as error:
        raise WrongData(
            "{name} cannot be read as an Excel workbook: {said}",
            name=path,
            said=" ".join(str(error).split()),
        ) from error
    except OSError as error:
        raise WrongData(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error


def _find_sheet(path: Path | ObjectFile, book: Any, sheet: str) -> str:
    titles = [str(one.title) for one in book.worksheets]
    for title in titles:
        if title.strip().casefold() == sheet.strip().casefold():
            return title
    book.close()
    raise WrongData(
        "{path} has no sheet {sheet!r}; it has: {sheets}",
        path=path,
        sheet=sheet,
        sheets=", ".join(titles),
    )


def _read(book: Any, title: str, header_row: int | None) -> Rows:
    try:
        sheet = book[title]
        sheet.reset_dimensions()  # what some programs write there is wrong
        yield from _rows(sheet.iter_rows(values_only=True), header_row)
    finally:
        book.close()


def _rows(rows: Iterator[tuple[object, ...]], header_row: int | None) -> Rows:
    header: list[str] = []
    for number, cells in enumerate(rows, 1):
        values = _without_end(cells)
        if number < (header_row or 1):
            continue
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
