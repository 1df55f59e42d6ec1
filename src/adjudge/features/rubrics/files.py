"""Rubrics in files: one for all rows, or one per row, as YAML, JSON, JSONL or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.domain.frozen_mapping import FrozenDict, content_hash
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.reading.values import Place, load_yaml, text_in, unique_keys
from adjudge.errors import SetupError
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.rubric import Rubric
from adjudge.messages import Message

FORMATS = (".yaml", ".yml", ".json", ".jsonl", ".csv")
_ROW_KEYS = ("row", "row_id", "prompt_id")
_RUBRIC_KEYS = ("rubric", "rubrics", "score_rubric")
_CELLS = (
    *("row", "id", "text", "points", "weight", "kind", "levels", "most", "category", "tags"),
    *("required", "evidence", "invert", "group", "group_points", "proposed"),
)
_GROUP_RULES = {"any of": "any_of", "all of": "all_of", "at most one": "at_most_one"}
_BETWEEN = "|"


@dataclass(frozen=True)
class RubricBook:
    """The rubrics of a file."""

    default: Rubric | None = None
    """The rubric of rows that have none of their own."""
    by_row: Mapping[str, Rubric] = field(default_factory=FrozenDict)

    def of(self, row: str | None) -> Rubric | None:
        """Return the rubric with this row id, else the default; None without either."""
        return self.by_row.get(row or "", self.default)

    @property
    def identity(self) -> str:
        """A hash that is equal for equal books."""
        identities = {name: rubric.identity for name, rubric in sorted(self.by_row.items())}
        return str(content_hash(self.default.identity if self.default else None, identities))

    def __iter__(self) -> Iterator[tuple[str, Rubric]]:
        """Yield row and rubric; the rubric for all rows has an empty name."""
        if self.default:
            yield "", self.default
        yield from self.by_row.items()


def as_book(given: object) -> RubricBook:
    """Return a book from a file, a rubric, its data, or a mapping of rows to rubrics."""
    if isinstance(given, RubricBook):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and Path(given).suffix in FORMATS):
        return read_rubrics(Path(given))
    if isinstance(given, Mapping) and "rows" in given:
        return _of_rows(given)
    return RubricBook(parse_rubric(given))


def read_rubrics(path: Path) -> RubricBook:
    """Read a file of rubrics.

    Raise a SetupError that names the file, and the row or the point.
    """
    if path.suffix not in FORMATS:
        raise SetupError(
            "{path}: rubrics can be read from {formats}", path=path, formats=", ".join(FORMATS)
        )
    text = text_in(path)
    try:
        if path.suffix in (".yaml", ".yml"):
            return _of_document(load_yaml(text, Place(str(path))).value)
        if path.suffix == ".json":
            return _of_document(_json(text, Message("the file")))
        if path.suffix == ".jsonl":
            return _of_lines(text)
        return _of_table(text)
    except SetupError as error:
        # Errors of the YAML reader name the file already.
        if str(error).startswith(str(path)):
            raise
        raise SetupError("{path}: {error}", path=path, error=error) from error


def _json(text: str, where: Message) -> object:
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise SetupError("{where} is not JSON: {error}", where=where, error=error) from None


def _of_document(value: object) -> RubricBook:
    if isinstance(value, Mapping) and "rows" in value:
        return _of_rows(value)
    return RubricBook(parse_rubric(value))


def _of_rows(value: JsonObject) -> RubricBook:
    rows = value["rows"]
    if not isinstance(rows, Mapping) or not rows:
        raise SetupError("'rows' must map row ids to rubrics")
    if unknown := next((name for name in value if name not in ("rows", "others")), None):
        raise SetupError("unknown key {name!r}; known: rows, others", name=unknown)
    default_rubric = value.get("others")
    return RubricBook(
        None if default_rubric is None else parse_rubric(default_rubric),
        FrozenDict({str(row): _of_row(str(row), rubric) for row, rubric in rows.items()}),
    )


def _of_row(row: str, value: object) -> Rubric:
    try:
        return parse_rubric(value)
    except SetupError as error:
        raise SetupError("row {row}: {error}", row=row, error=error) from error


def _of_lines(text: str) -> RubricBook:
    """Read lines with a row and its rubric, or with a point each."""
    rubrics: JsonDict = {}
    points: dict[str, list[JsonValue]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = Message("line {number}", number=number)
        record = _json(line, where)
        if not isinstance(record, Mapping):
            raise SetupError("{where}: a line must contain an object", where=where)
        row = next((str(record[name]) for name in _ROW_KEYS if name in record), "")
        key = next((name for name in _RUBRIC_KEYS if name in record), None)
        if key is None:
            point = {name: value for name, value in record.items() if name not in _ROW_KEYS}
            points.setdefault(row, []).append(point)
        elif row in rubrics:
            raise SetupError("{where}: row {row} has two rubrics", where=where, row=row or "–")
        else:
            rubrics[row] = record[key]
    if twice := next((row for row in points if row in rubrics), None):
        raise SetupError(
            "row {row} has both a complete rubric and lines with single points: put the points "
            "into the rubric",
            row=twice or "–",
        )
    return _book({**rubrics, **points})


def _book(rubrics: JsonObject) -> RubricBook:
    if not rubrics:
        raise SetupError("the file contains no points")
    by_row = {row: _of_row(row or "–", value) for row, value in rubrics.items()}
    return RubricBook(by_row.pop("", None), FrozenDict(by_row))


def _of_table(text: str) -> RubricBook:
    """Read a table with a point per line, in the columns ``row, id, text, points, kind, category,
    …``.
    """
    reader = csv.DictReader(io.StringIO(text))
    columns = [name.strip() for name in reader.fieldnames or ()]
    if "text" not in columns:
        raise SetupError(
            "the table has no column 'text'; it has: {found}", found=", ".join(columns)
        )
    if unknown := next((name for name in columns if name not in _CELLS), None):
        raise SetupError(
            "unknown column {name!r}; known: {known}", name=unknown, known=", ".join(_CELLS)
        )
    rows: dict[str, list[JsonValue]] = {}
    groups: dict[tuple[str, str], JsonDict] = {}
    for number, line in enumerate(reader, 2):
        where = Message("line {number}", number=number)
        # DictReader puts surplus cells under the key None, and None in place of missing ones
        if None in line or None in line.values():
            raise SetupError("{where}: it has more or fewer cells than the header", where=where)
        cells = {name.strip(): cell.strip() for name, cell in line.items() if cell.strip()}
        if not cells:  # spreadsheets write blank lines as commas
            continue
        row, group = cells.pop("row", ""), cells.pop("group", "")
        worth = cells.pop("group_points", None)
        point: JsonDict = dict(cells)
        for name in ("levels", "tags"):
            if name in cells:
                point[name] = [part.strip() for part in cells[name].split(_BETWEEN)]
        listed = rows.setdefault(row, [])
        if not group:
            listed.append(point)
            continue
        if (row, group) not in groups:
            rule = next((rule for rule in _GROUP_RULES if group.startswith(f"{rule} ")), None)
            if rule is None:
                raise SetupError(
                    "{where}: a group must begin with {rules} and have a name, such as 'any of "
                    "causes'",
                    where=where,
                    rules=", ".join(_GROUP_RULES),
                )
            group_data: JsonDict = {"id": group, _GROUP_RULES[rule]: []}
            groups[row, group] = group_data | ({"points": worth} if worth else {})
            listed.append(groups[row, group])
        parts = next(value for value in groups[row, group].values() if isinstance(value, list))
        parts.append(point)
    return _book(rows)
