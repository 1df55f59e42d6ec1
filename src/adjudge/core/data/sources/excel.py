"""Rows of a sheet of an Excel workbook; needs openpyxl."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime, time
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from adjudge.core.aio import event_loop
from adjudge.core.data.sources.row import Origin, OtherSheets, Row, Rows, is_blank, unique_names
from adjudge.core.data.sources.workbook_limits import SharedTexts, check_workbook
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import RunStopped, SetupError, WrongData
from adjudge.messages import Message, reason_of


def open_workbook(
    path: Path | ObjectFile, sheet: str | None, header_row: int | None
) -> tuple[Origin, Rows]:
    """Open a sheet: the named one, or the first visible one; raise WrongData if it is missing.

    Its rows are read on demand.
    """
    book, formulas, opened = _load(path)
    visible = [
        worksheet.title for worksheet in book.worksheets if worksheet.sheet_state == "visible"
    ]
    if not visible and sheet is None:
        opened.close()
        return Origin(str(path), path.name), iter(())
    if sheet is None:
        title = visible[0]
    else:
        folded_name = sheet.strip().casefold()
        titles = (str(worksheet.title) for worksheet in book.worksheets)
        title = next((name for name in titles if name.strip().casefold() == folded_name), None)
    if title is None:
        opened.close()
        raise WrongData(
            "{path} has no sheet {sheet!r}; it has: {sheets}",
            path=path,
            sheet=sheet,
            sheets=", ".join(str(worksheet.title) for worksheet in book.worksheets),
        )
    if cell := formulas.get(book[title]._worksheet_path):
        opened.close()
        raise WrongData(
            "{path}, sheet {sheet!r}: cell {cell} is a formula without a stored value. "
            "Open the file and save it in a spreadsheet program, or save the table as CSV",
            path=path,
            sheet=title,
            cell=cell,
        )
    other_titles = tuple(name for name in visible if name != title)
    name = str(path)
    if other_titles or sheet is not None:
        name = Message("{path}, sheet {sheet!r}", path=path, sheet=title)
    unsaid = OtherSheets(str(path), title, other_titles) if other_titles and sheet is None else None
    return Origin(name, path.name, other_sheets=unsaid), _read(
        path, book[title], header_row, opened
    )


# Errors that openpyxl, its XML parser and ZIP archives raise about a file that is not a whole
# workbook.
_DAMAGED = (
    *(BadZipFile, zlib.error, EOFError, ExpatError),
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError),
    ValueError,
)


def _load(path: Path | ObjectFile) -> tuple[Any, dict[str, str], ExitStack]:
    """Return the workbook, its formulas without a value by part, and the resources to close."""
    try:
        import openpyxl  # noqa: F401
        from openpyxl.reader.excel import ExcelReader
        from openpyxl.utils.exceptions import InvalidFileException
        from openpyxl.xml.constants import SHARED_STRINGS
    except ImportError as error:
        raise SetupError(
            "{name}: to read Excel workbooks, pip install 'adjudge[excel]', or save the "
            "table as CSV in UTF-8",
            name=path,
        ) from error

    class Reader(ExcelReader):  # type: ignore[misc]
        """Reads a workbook whose texts stay on the disk."""

        def read_strings(self) -> None:
            part = self.package.find(SHARED_STRINGS)
            if part is not None:
                with self.archive.open(part.PartName[1:]) as texts:
                    self.shared_strings = SharedTexts(texts)
                opened.callback(self.shared_strings.close)

    try:
        with ExitStack() as opened:
            file = opened.enter_context(path.open("rb"))
            formulas = check_workbook(file, str(path))
            reader = Reader(file, read_only=True, data_only=True, keep_links=False)
            reader.read()
            return reader.wb, formulas, opened.pop_all()
    except (RunStopped, WrongData):
        raise
    except (InvalidFileException, *_DAMAGED) as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        raise WrongData(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error


def _unreadable(path: Path | ObjectFile, error: Exception) -> WrongData:
    if isinstance(error, BadZipFile | ExpatError | SyntaxError):  # those say what is wrong
        return WrongData(
            "{name} cannot be read as an Excel workbook: {said}",
            name=path,
            said=" ".join(str(error).split()),
        )
    return WrongData(
        "{name} cannot be read as an Excel workbook: it is damaged, or was not written by a "
        "spreadsheet program. Save the table as CSV",
        name=path,
    )


def _read(path: Path | ObjectFile, sheet: Any, header_row: int | None, opened: ExitStack) -> Rows:
    with opened:
        sheet.reset_dimensions()  # what some programs write there is wrong
        yield from _rows(_cells(path, sheet), header_row)


def _cells(path: Path | ObjectFile, sheet: Any) -> Iterator[tuple[object, ...]]:
    """Yield the values of each row. Only errors of openpyxl are about the file."""
    rows = sheet.iter_rows(values_only=True)
    while True:
        event_loop.raise_if_interrupted(2)  # the first one lets what is under way end
        # Level 2: the first interrupt lets requests under way end.
        try:
            values = next(rows, None)
        except _DAMAGED as error:
            raise _unreadable(path, error) from error
        if values is None:
            return
        yield values


def _rows(rows: Iterator[tuple[object, ...]], header_row: int | None) -> Rows:
    header: list[str] = []
    for number, cells in enumerate(rows, 1):
        values = _without_end(cells)
        if number < (header_row or 1):
            continue
        if not header:
            header = unique_names(
                [
                    str(cell or "").strip() or f"column {place}"
                    for place, cell in enumerate(values, 1)
                ]
            )
            continue
        if not values:  # a sheet may have a million of them
            yield Row(number, {})
            continue
        names = [*header, *(f"column {place}" for place in range(len(header) + 1, len(values) + 1))]
        padded = [
            *("" if cell is None else _as_day(cell) for cell in values),
            *[""] * (len(names) - len(values)),
        ]
        yield Row(number, dict(zip(names, padded, strict=True)))


def _as_day(cell: object) -> object:
    """Return the date of a midnight: Excel has no dates without a time."""
    is_midnight = isinstance(cell, datetime) and cell.time() == time()
    return cell.date() if is_midnight and isinstance(cell, datetime) else cell


def _without_end(cells: Sequence[object]) -> list[object]:
    """Drop empty cells at the end: a sheet is wider than its table."""
    values = [None if isinstance(cell, str) and is_blank(cell) else cell for cell in cells]
    while values and values[-1] is None:
        values.pop()
    return values
