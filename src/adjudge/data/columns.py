"""Which column is which field, and what a cell says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adjudge.data.sources.row import is_blank
from adjudge.errors import RunError

ALIASES = {
    "response": ("response", "answer", "output", "actual_output", "completion", "prediction", "text", "Assistant Answer"),
    "user_input": ("user_input", "question", "input", "query", "prompt", "instruction", "Current User Question"),
    "reference": ("reference", "ground_truth", "expected_output", "expected", "reference_answer", "target"),
    "contexts": ("contexts", "retrieved_contexts", "context", "retrieval_context", "documents", "Fragment Texts"),
    "history": ("history", "conversation_history", "chat_history", "conversation", "dialogue", "Conversation History"),
}
"""How other tools call our fields; the first that a file has is taken."""
ID_COLUMNS = ("id", "ID", "row_id")
_MISSING = ("NAType", "NaTType")


class Columns:
    """Field → column. What was once chosen stays: a field does not change its column from one row to the next."""

    def __init__(self, wanted: Mapping[str, str], needed: Sequence[str], id: str | None) -> None:
        self._wanted = dict(wanted)
        self._needed = tuple(needed)
        self._ids = ID_COLUMNS if id is None else (id,)
        self._seen: set[str] = set()
        self.chosen: dict[str, str] = dict(wanted)

    def see(self, found: Iterable[str]) -> None:
        """Take the columns that were not there before for fields that have none yet."""
        self._seen.update(found)
        for field, names in ALIASES.items():
            known = [name for name in names if name in self._seen]
            if known:
                self.chosen.setdefault(field, known[0])
        for field in self._needed:
            if field in self._seen:
                self.chosen.setdefault(field, field)

    def require(self, found: Sequence[str], name: str) -> None:
        """Say so when a column that was named, or a field that is needed, is not in the data at all."""
        has = f"it has: {', '.join(found)}"
        for field, column in self._wanted.items():
            if column not in found:
                raise RunError(f"{name} has no column {column!r} (wanted as {field}); {has}")
        if self._ids != ID_COLUMNS and self._ids[0] not in found:
            raise RunError(f"{name} has no column {self._ids[0]!r} (wanted as id); {has}")
        for field in self._needed:
            if field not in self.chosen:
                raise RunError(f"{name} has no {field} column; name one with columns or --column. I{has[1:]}")

    def fields(self, cells: Mapping[str, object]) -> dict[str, str | list[str]]:
        """The row's texts by field. A ValueError says which is missing."""
        if not cells.keys() <= self._seen:
            self.see(cells)
        given = {field: text for field, column in self.chosen.items() if (text := text_of(cells.get(column), column)) is not None}
        for field in self._needed:
            if field not in given:
                raise ValueError(f"the row has no {self.chosen.get(field, field)!r}; it has: {', '.join(cells)}")
        return given

    def name(self, cells: Mapping[str, object]) -> str | None:
        """What the row calls itself."""
        for column in self._ids:
            value = cells.get(column)
            if value is not None and value != "":
                return str(value)
        return None


def choose_columns(found: Sequence[str], wanted: Mapping[str, str], name: object, needed: Sequence[str]) -> dict[str, str]:
    """Field → column. The needed ones must be there; the other fields are taken where they are."""
    columns = Columns(wanted, needed, None)
    columns.see(found)
    columns.require(found, str(name))
    return columns.chosen


def text_of(value: object, column: str) -> str | list[str] | None:
    """A cell as a text, or as a list of texts; None where there is nothing in it. A ValueError says what is in it instead."""
    if value is None or isinstance(value, str):
        return value
    value = _plain(value)
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str) else _written(item, column) for item in value]
    return None if _is_missing(value) else _written(value, column)


def is_blank_row(cells: Mapping[str, object]) -> bool:
    """Whether there is nothing in any cell: no text but white space, no number, no list with something in it."""
    return all(_is_blank_cell(value) for value in cells.values())


def _is_blank_cell(value: object) -> bool:
    value = value if isinstance(value, str) else _plain(value)
    if isinstance(value, str):
        return is_blank(value)
    if isinstance(value, list | tuple):
        return all(_is_blank_cell(item) for item in value)
    return value == {} if isinstance(value, Mapping) else _is_missing(value)


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy, series of polars: as Python's own."""
    for name in ("tolist", "to_list"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _is_missing(value: object) -> bool:
    """How data frames say that there is nothing."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING  # noqa: PLR0124


def _written(value: object, column: str) -> str:
    if isinstance(value, bytes | bytearray):
        raise ValueError(f"column {column!r} holds bytes, not text")
    if not isinstance(value, dict | list | bool | int | float | str | None):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)
