"""Results as rows of a file: one row a judgment, and CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """A .csv file, or JSONL under any other name."""
    found = list(rows)
    if path.suffix.lower() != ".csv":
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        path.write_text(lines, encoding="utf-8", errors="backslashreplace")
        return
    columns = list(dict.fromkeys(name for row in found for name in row))
    with path.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([cell(row.get(name)) for name in columns] for row in found)


def cell(value: object) -> str:
    """A value as a spreadsheet may show it: what it would run as a formula begins with an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
