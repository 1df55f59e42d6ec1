"""Judgments as rows of a file: one row per judgment, and CSV that is safe to open in a
spreadsheet.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from adjudge.core.data.cells import cell
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of, render
from adjudge.runs.exporters.files import STDOUT, text_file

if TYPE_CHECKING:
    from _csv import Writer as CsvWriter

_ANSWERED = ("response", "contexts", "tool_call")
"""Fields that a target fills."""
_OF_ANSWERS = {"system", "latency"}
"""Columns that a row gets with a target's answer."""


def check_writable(path: Path | ObjectFile | None) -> None:
    """Raise a SetupError if ``path`` cannot be written, before money is spent. None is accepted."""
    if path is None or path == STDOUT:
        return
    try:
        if isinstance(path, ObjectFile):
            path.check()
            return
        folder = path.absolute().parent
        if path.is_dir() or not folder.is_dir():
            raise SetupError(
                "{path} cannot be written: it is a folder, or its folder does not exist", path=path
            )
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise SetupError(
                "{path} cannot be written: it is read-only, or its folder is", path=path
            )
    except OSError as error:
        raise SetupError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error


def write_judgments(path: Path, judgments: Iterable[JudgmentRecord], language: str = "en") -> None:
    """Write judgments as CSV in ``language`` if the name ends in .csv, else as JSONL."""
    if path.suffix.lower() == ".csv":
        write_rows(path, (localized(flat(record), language) for record in judgments))
    else:
        write_rows(path, (record.to_dict() for record in judgments))


def localized(row: JsonDict, language: str) -> JsonDict:
    """Return a flat row with its sentences (reason, explanation, notes) in ``language``, for
    people. Columns and texts of the data stay as they are.
    """
    if language == "en":
        return row
    return {
        name: [render(each, language) for each in value]
        if isinstance(value, list) and any(isinstance(each, Message) for each in value)
        else render(value, language)
        if isinstance(value, Message)
        else value
        for name, value in row.items()
    }


def flat(record: JudgmentRecord) -> JsonDict:
    """Flatten a judgment to one level: the input columns, then the result."""
    result_columns: JsonDict = {
        "judge": record.judge,
        "row": record.row,
        "id": record.id,
        **record.columns(),
    }
    input_columns = {
        **record.input,
        **{
            name: value
            for name, value in record.fields.items()
            if _is_made(name, record.input) or not _stands_in(value, record.input)
        },
    }
    # An id is ours and the row's at once. Any other name of ours means something else in the input,
    # also on rows on which the values are equal: a human's verdict next to the judge's.
    return {
        _free(name, result_columns, input_columns): value
        for name, value in input_columns.items()
        if name != "id" or result_columns["id"] != value
    } | result_columns


def _free(name: str, result_columns: Collection[str], input_columns: Collection[str]) -> str:
    """Return a name for an input column that clashes neither with our columns nor with other input
    columns.
    """
    candidate = name
    while candidate in result_columns or (candidate != name and candidate in input_columns):
        candidate = f"input_{candidate}"
    return candidate


def _is_made(field: str, row: JsonObject) -> bool:
    """Return True if a field was answered by a target or taken from messages, not read from a cell.

    Its text may still equal a cell: a right answer equals the expected one.
    """
    has_messages = any(
        isinstance(value, list) and any(isinstance(message, Mapping) for message in value)
        for value in row.values()
    )
    return has_messages or (field in _ANSWERED and row.keys() >= _OF_ANSWERS)


def _stands_in(value: object, row: JsonObject) -> bool:
    """Return True if a field's text, or each of its texts, is in some column of the row."""
    if isinstance(value, str):
        # a number of JSON, Excel or Parquet is a text in the field
        return value in row.values() or any(
            type(number) in (int, float) and str(number) == value for number in row.values()
        )
    texts = list(value) if isinstance(value, list | tuple) else [value]
    return bool(row) and (texts in row.values() or all(text in row.values() for text in texts))


def write_rows(path: Path, rows: Iterable[JsonObject]) -> None:
    """Write rows as CSV if the name ends in .csv, else as JSONL, streaming them."""
    if path.suffix.lower() != ".csv":
        with text_file(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    with text_file(path, "utf-8-sig") as file:
        write_csv(file, rows)


def write_csv(
    file: TextIO, rows: Iterable[JsonObject], delimiter: str = ",", line_end: str = "\r\n"
) -> int:
    """Write all rows, with the union of their columns, and return their number.

    Rows are buffered in a temporary file until all columns are known, which is much faster than
    reading a run twice.
    """
    columns: dict[str, None] = {}
    count = first_width = 0
    writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end)
    with tempfile.TemporaryFile(
        "w+", encoding="utf-8", errors="surrogatepass", newline=""
    ) as waiting:
        body_writer = csv.writer(waiting, delimiter=delimiter, lineterminator=line_end)
        for row in rows:
            if not row.keys() <= columns.keys():
                columns |= dict.fromkeys(row)
            body_writer.writerow([cell(row.get(name)) for name in columns])
            first_width = first_width or len(columns)
            count += 1
        waiting.seek(0)
        writer.writerow([cell(name) for name in columns])
        # no row brought a new column, so the rows need no filling
        if len(columns) == first_width:
            shutil.copyfileobj(waiting, file)
        else:
            _copy_filled(csv.reader(waiting, delimiter=delimiter), writer, len(columns))
    return count


def _copy_filled(rows: Iterator[list[str]], writer: CsvWriter, width: int) -> None:
    """Copy rows, padding those written before later columns appeared."""
    old_limit = csv.field_size_limit(sys.maxsize)  # of the process; cells may be of any length
    try:
        for cells in rows:
            writer.writerow(cells + [cell(None)] * (width - len(cells)))
    finally:
        csv.field_size_limit(old_limit)
