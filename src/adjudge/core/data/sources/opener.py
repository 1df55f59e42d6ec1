"""Any source of rows → its rows. The only place that checks which kind of source it is."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from adjudge.core.data.sources.delimited import delimited_rows
from adjudge.core.data.sources.json_rows import document_rows, is_lines, line_rows
from adjudge.core.data.sources.parquet import arrow_rows, parquet_rows
from adjudge.core.data.sources.row import AS_SHOWN, FileFormat, Origin, Row, Rows, unique_names
from adjudge.core.data.sources.text import open_text
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.core.domain.instance import Instance, answer_text
from adjudge.core.reading.objects import ObjectFile, location_of
from adjudge.errors import WrongData
from adjudge.messages import Message, reason_of


def is_frame(source: object) -> bool:
    """Return True for a data frame of pandas, polars or the like."""
    return hasattr(source, "columns") and (
        hasattr(source, "itertuples") or hasattr(source, "iter_rows")
    )


def is_table(source: object) -> bool:
    """Return True for a data frame, or a data set with rows, such as one from Hugging Face or
    Arrow.
    """
    return is_frame(source) or (hasattr(source, "column_names") and not isinstance(source, Mapping))


def table_rows(table: Any) -> Iterator[Row]:
    """Yield the rows of a data frame or data set."""
    if is_frame(table):
        yield from frame_rows(table)
        return
    if hasattr(table, "to_pylist"):
        table = arrow_rows(table)
    for number, cells in enumerate(table, 1):
        yield Row(number, cells)


def frame_rows(frame: Any) -> Iterator[Row]:
    """Yield the rows of a data frame, without copying it."""
    names = unique_names(str(name) for name in frame.columns)
    rows = (
        frame.itertuples(index=False, name=None)
        if hasattr(frame, "itertuples")
        else frame.iter_rows()
    )
    for number, values in enumerate(rows, 1):
        yield Row(number, dict(zip(names, values, strict=True)))


def item_rows(items: Iterable[object], field: str, origin: Origin) -> Rows:
    """Yield texts, mappings of columns and instances as rows; a text is the ``field``.

    A Row keeps its number, and anything else is a BadRow.
    """
    for number, item in enumerate(items, 1):
        if isinstance(item, Row):
            yield item
        elif (text := answer_text(item)) is not None:
            place = origin.place(number)
            yield Row(number, Instance({field: text}, place, {"place": place}))
        elif isinstance(item, Mapping | Instance):
            yield Row(number, item)
        else:
            yield origin.bad(
                number,
                Message(
                    "must be a string, a mapping or an Instance, not {name}",
                    name=type(item).__name__,
                ),
            )


FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx")
STDIN = "-"
_FORMAT_OF = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
ROW_FILES = tuple(_FORMAT_OF)
"""Endings of files with rows."""

_SAVE_TABLE = Message("save the table as .xlsx, or as CSV in UTF-8")
_SAVE_TEXT = Message("save its text as .txt, or its table as CSV in UTF-8")
_WORD = (Message("a Word document"), _SAVE_TEXT)
_SLIDES = (Message("a presentation"), _SAVE_TEXT)
# Endings of files that are not supported, their kind, and a way to convert them.
_UNREAD = {
    ".xls": (Message("an old Excel workbook"), _SAVE_TABLE),
    ".xlsb": (Message("a binary Excel workbook"), _SAVE_TABLE),
    ".ods": (Message("an OpenDocument spreadsheet"), _SAVE_TABLE),
    ".pdf": (Message("a PDF document"), _SAVE_TEXT),
    ".doc": _WORD,
    ".docx": _WORD,
    ".odt": (Message("an OpenDocument text"), _SAVE_TEXT),
    ".rtf": (Message("a formatted text (RTF)"), _SAVE_TEXT),
    ".ppt": _SLIDES,
    ".pptx": _SLIDES,
}
_OTHER_DATA_FILES = (".feather", ".arrow", ".gz", ".zip", *_UNREAD)
DATA_FILES = (*ROW_FILES, *_UNREAD)
"""Endings of files that hold rows, including those that must be converted first."""
# Binary formats.
_TABLES = ("parquet", "xlsx")
_LONGEST_PATH = 4096

Source = str | Path | ObjectFile | Iterable[Any]
"""A path or an address, ``-`` for standard input, a data frame, or any iterable of texts, mappings
or instances.
"""


def open_source(
    source: Source, how: FileFormat = AS_SHOWN, field: str = "response"
) -> tuple[Origin, Rows]:
    """Return the origin of the rows, and the raw rows. A bare text is the ``field``.

    Steps of an agent's trace are not rows: the first one raises a WrongData.
    """
    if how.format is not None and how.format not in FORMATS:
        raise WrongData(
            "unknown format {format!r}; known: {formats}",
            format=how.format,
            formats=", ".join(FORMATS),
        )
    origin, rows = _open_any(source, how, field)
    return origin, _without_traces(rows, origin)


def _without_traces(rows: Rows, origin: Origin) -> Rows:
    for row in rows:
        if (
            isinstance(row, Row)
            and isinstance(row.cells, Mapping)
            and row.cells
            and (trace := trace_of(row.cells))
        ):
            raise WrongData(refusal_of(origin.name, trace))
        yield row


def _open_any(source: Source, how: FileFormat, field: str) -> tuple[Origin, Rows]:
    if isinstance(source, str):
        source = location_of(source, Path())
    if isinstance(source, Path | ObjectFile):
        return _open_file(source, how)
    if is_table(source):
        return Origin(Message("the data frame")), table_rows(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        origin = Origin(Message("the data"))
        return origin, item_rows(source, field, origin)
    raise WrongData(
        "rows must come from a path, a data frame or a list, not from {name}",
        name=type(source).__name__,
    )


def is_data_file(text: str) -> bool:
    """Return True if a text is the path of an existing data file."""
    if len(text) > _LONGEST_PATH or not text.lower().endswith((*ROW_FILES, *_OTHER_DATA_FILES)):
        return False
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _open_file(path: Path | ObjectFile, how: FileFormat) -> tuple[Origin, Rows]:
    if str(path) == STDIN:
        origin = Origin(Message("standard input"), "stdin", "line")
        return origin, _stdin_rows(origin, how)
    ending = path.suffix.lower()
    kind = how.format or _FORMAT_OF.get(ending)
    if how.format is None:
        refuse_document(path)
    if kind is None:
        raise WrongData(
            "the format of {path} is unknown: its name must end in one of {endings}, or the "
            "format must be given, such as format='csv'",
            path=path,
            endings=", ".join(ROW_FILES),
        )
    if kind == "xlsx":
        from adjudge.core.data.sources.excel import open_workbook

        return open_workbook(path, how.sheet, how.header_row)
    if (how.sheet, how.header_row) != (None, None):
        raise WrongData(
            "{path} is not an Excel workbook: leave --sheet and --header-row out", path=path
        )
    origin = Origin(str(path), path.name, "row" if kind in _TABLES else "line")
    return origin, _file_rows(path, origin, kind, how.encoding)


def refuse_document(path: Path | ObjectFile) -> None:
    """Raise WrongData if the file's ending is that of a document, such as PDF, or an old Excel
    file.
    """
    if (advice := _UNREAD.get(path.suffix.lower())) is not None:
        kind, way = advice
        raise WrongData("{path} is {kind}: {way}", path=path, kind=kind, way=way)


def _file_rows(path: Path | ObjectFile, origin: Origin, format: str, encoding: str | None) -> Rows:
    try:
        if format == "parquet":
            # pyarrow is heavy: loaded for Parquet files only.

            yield from parquet_rows(path, origin)
            return
        with path.open("rb") as file:
            yield from _text_rows(file, origin, format, encoding)
    except OSError as error:
        raise WrongData(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error


def _stdin_rows(origin: Origin, how: FileFormat) -> Rows:
    if how.format in _TABLES:
        raise WrongData(
            "{format} cannot be read from standard input: save it to a file", format=how.format
        )
    if isinstance(sys.stdin, _Held):
        sys.stdin.seek(0)
    yield from _text_rows(sys.stdin.buffer, origin, how.format, how.encoding)


class _Held(io.TextIOWrapper):
    """Standard input, copied to a file that is deleted with the process."""


def hold_stdin() -> None:
    """Read standard input to its end now.

    A run must not wait for it while replies arrive, and may read it several times.
    """
    if not isinstance(sys.stdin, _Held):
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - becomes standard input
        shutil.copyfileobj(sys.stdin.buffer, copy)
        sys.stdin = _Held(copy)


def _text_rows(file: BinaryIO, origin: Origin, format: str | None, encoding: str | None) -> Rows:
    text = open_text(file, origin, encoding)
    kind = format or ("json" if text.head.lstrip()[:1] in ("[", "{") else "csv")
    if kind == "jsonl" or (kind == "json" and is_lines(text.head)):
        return line_rows(text)
    if kind == "json":
        return document_rows(text)
    return delimited_rows(text, "\t" if kind == "tsv" else ",")
