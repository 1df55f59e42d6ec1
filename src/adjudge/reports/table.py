"""Results as rows of a file: one row per judgment, and CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from adjudge.data.cells import cell, text_of
from adjudge.errors import RunError, SetupError
from adjudge.reports.files import text_file

_LONGEST_CELL = 100_000_000


def check_writable(path: Path | None) -> None:
    """Before anything is paid for, not after."""
    if path is None:
        return
    folder = path.absolute().parent
    try:
        if path.is_dir() or not folder.is_dir():
            raise SetupError(f"{path} cannot be written: it is a folder, or its folder does not exist")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise SetupError(f"{path} cannot be written: it is read-only, or its folder is")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror or error}") from error


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """A .csv file, or JSONL under any other name."""
    found = list(rows)
    if path.suffix.lower() != ".csv":
        with text_file(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        return
    columns = list(dict.fromkeys(name for row in found for name in row))
    with text_file(path, "utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow([cell(name) for name in columns])
        writer.writerows([cell(row.get(name)) for name in columns] for row in found)


def read_rows(path: str | Path) -> Iterator[dict[str, str]]:
    """The rows of a .csv file that ``write_rows`` wrote, every text as it was before."""
    csv.field_size_limit(_LONGEST_CELL)
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        columns = [text_of(name) for name in next(reader, [])]
        for row in reader:
            if len(row) != len(columns):
                raise RunError(f"{path}, line {reader.line_num}: the row has another number of cells than there are columns")
            yield {name: text_of(value) for name, value in zip(columns, row, strict=True)}
