"""Rows of a CSV or JSONL file as instances, streamed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from adjudge.domain.instance import NUMBERED, Instance, PairwiseInstance
from adjudge.errors import RunError

ALIASES = {
    "response": ("response", "answer", "output", "actual_output", "completion", "prediction", "text", "Assistant Answer"),
    "user_input": ("user_input", "question", "input", "query", "prompt", "instruction", "Current User Question"),
    "reference": ("reference", "ground_truth", "expected_output", "expected", "reference_answer", "target"),
    "contexts": ("contexts", "retrieved_contexts", "context", "retrieval_context", "documents", "Fragment Texts"),
    "history": ("history", "conversation_history", "chat_history", "conversation", "dialogue", "Conversation History"),
}
"""How other tools call our fields; the first that a file has is taken."""
ROW_FILES = (".csv", ".tsv", ".jsonl", ".ndjson")
_JSON_LINES = (".jsonl", ".ndjson")
_ID_COLUMNS = ("id", "ID", "row_id")
_LONGEST_CELL = 100_000_000


def read_instances(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    needed: Sequence[str] = ("response",),
) -> Iterator[Instance]:
    """One instance a row. ``columns`` says which column is which field; the rest is found by the usual names.

    ``needed``: the fields that every row must have.
    """
    return islice(_instances(Path(path), dict(columns or {}), needed), limit)


def field_names(path: str | Path) -> set[str]:
    """The fields that at least one row has something in, by the names of the columns and by ours."""
    rows = (row for _, row in _rows(Path(path)))
    filled = {column for row in rows for column, value in row.items() if value not in (None, "", [])}
    return filled | {field for field, names in ALIASES.items() if filled & set(names)}


def read_comparisons(
    path: str | Path, responses: Sequence[str] = (), columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Iterator[Instance]:
    """One comparison a row. ``responses``: the columns that hold them; else a list, or columns that are numbered."""
    return islice(_comparisons(Path(path), list(responses), dict(columns or {})), limit)


def _comparisons(path: Path, responses: list[str], columns: dict[str, str]) -> Iterator[Instance]:
    found = False
    for number, row in _rows(path):
        found = True
        for column in (*responses, *columns.values()):
            if column not in row:
                raise RunError(f"{path} has no column {column!r}; it has: {', '.join(row)}")
        yield _comparison(row, responses, columns, f"{path.name}:{number}")
    if not found:
        raise RunError(f"{path} has no rows")


def _comparison(row: Mapping[str, object], responses: list[str], columns: Mapping[str, str], where: str) -> Instance:
    texts = {name: value for name, cell in row.items() if (value := _text(cell)) is not None}
    own = {field: texts[column] for field, column in columns.items() if column in texts}
    beside = {field: texts[name] for field, names in ALIASES.items() if field != "response" for name in names if name in texts}
    compared = _responses(texts, responses)
    instance = PairwiseInstance({**beside, **own, **compared} or {"response": ""}, id=_name(row, where))
    if isinstance(instance.value("response") or "", str):
        raise RunError(f"{where}: no two responses found; name their columns with --column. It has: {', '.join(row)}")
    return instance


def _responses(texts: Mapping[str, str | list[str]], named: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """The columns named, else a list, else columns that are numbered."""
    if named:
        return {"response": [str(texts.get(name, "")) for name in named]}
    for name in ("response", "responses"):
        if isinstance(texts.get(name), list):
            return {"response": texts[name]}
    return {name: value for name, value in texts.items() if NUMBERED.fullmatch(name)}


def _instances(path: Path, columns: dict[str, str], needed: Sequence[str]) -> Iterator[Instance]:
    chosen: dict[str, str] = {}
    for number, row in _rows(path):
        if not chosen:
            chosen = choose_columns(list(row), columns, path, needed)
        yield _instance(row, chosen, f"{path.name}:{number}", needed)
    if not chosen:
        raise RunError(f"{path} has no rows")


def choose_columns(found: list[str], wanted: Mapping[str, str], path: Path, needed: Sequence[str]) -> dict[str, str]:
    """Field → column. The needed ones must be there; the other fields are taken where they are."""
    for field, column in wanted.items():
        if column not in found:
            raise RunError(f"{path} has no column {column!r} (wanted as {field}); it has: {', '.join(found)}")
    chosen = dict(wanted)
    for field, names in ALIASES.items():
        known = [name for name in names if name in found]
        if known:
            chosen.setdefault(field, known[0])
    for field in needed:
        if field in found:
            chosen.setdefault(field, field)
        if field not in chosen:
            raise RunError(f"{path} has no {field} column; name one with --column. It has: {', '.join(found)}")
    return chosen


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    """(line, row) of each row."""
    suffix = path.suffix.lower()
    if suffix not in ROW_FILES:
        raise RunError(f"{path} is neither CSV nor JSONL: its name must end in one of {', '.join(ROW_FILES)}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _jsonl(file, path) if suffix in _JSON_LINES else _csv(file, path, suffix)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8 and try again") from error


def _csv(file: Iterable[str], path: Path, suffix: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ",", strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise RunError(f"{path}, line {reader.line_num}: the row has not as many cells as there are columns")
            yield reader.line_num, row
    except csv.Error as error:
        raise RunError(f"{path}, line {reader.line_num}: {error}") from error


def _jsonl(file: Iterable[str], path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise RunError(f"{path}, line {number} is not a JSON object")
        yield number, row


def _instance(row: Mapping[str, object], chosen: Mapping[str, str], where: str, needed: Sequence[str]) -> Instance:
    fields = {field: _text(row.get(column)) for field, column in chosen.items()}
    given = {field: value for field, value in fields.items() if value is not None}
    for field in needed:
        if field not in given:
            raise RunError(f"{where}: the row has no {chosen[field]!r}")
    return Instance(fields=given, id=_name(row, where), metadata={"row": row})


def _name(row: Mapping[str, object], where: str) -> str:
    """What the row calls itself, else where it stands."""
    return next((str(row[column]) for column in _ID_COLUMNS if row.get(column) not in (None, "")), where)


def _text(value: object) -> str | list[str] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value]
    return json.dumps(value, ensure_ascii=False)
