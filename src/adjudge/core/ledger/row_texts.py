"""Texts of a row as Python reads them.

SQLite cuts JSON texts at a NUL character, and cannot decode half a surrogate pair.
"""

from __future__ import annotations

import json
import operator
import sqlite3
from collections.abc import Callable, Iterator, Mapping

from adjudge.core.domain.json_types import JsonValue, object_in
from adjudge.core.ledger.columns import COLUMN_TEXT, TEXT_FITS, read_number
from adjudge.core.ledger.rows import input_from

_SIGNS: Mapping[str, Callable[[str | float, str | float], bool]] = {
    "~": lambda text, words: str(words) in str(text),
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def texts_in(kept: str, name: str | None) -> Iterator[str]:
    """Yield every text in an object, or in its value under a name."""
    value: JsonValue = json.loads(kept)
    if name is not None:
        value = value.get(name) if isinstance(value, dict) else None
    stack = [value]
    while stack:
        match stack.pop():
            case str(text):
                yield text
            case list(members):
                stack += members
            case dict(by_name):
                stack += by_name.values()


def add_text_functions(connection: sqlite3.Connection) -> None:
    connection.create_function(TEXT_FITS, 4, _fits, deterministic=True)
    connection.create_function(COLUMN_TEXT, 3, _cell_text, deterministic=True)


def cell_text(value: JsonValue) -> str | None:
    """Return a cell of the data as a text; None if it is empty."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # SQLite cannot hold half a surrogate pair
    return text.encode("utf-8", "replace").decode()


def _cell_text(kept: str | None, instance: str | None, name: str) -> str | None:
    if kept is None:
        return None
    cells = object_in(json.loads(kept))
    fields = object_in(json.loads(instance)) if instance else {}
    return cell_text(input_from({name: cells.get(name)}, fields).get(name))


def _fits(sign: str, value: str | float, kept: str | None, name: str | None) -> bool | None:
    """Return True if one of the texts compares to the value; as a number if the value is one."""
    if kept is None:
        return None
    for text in texts_in(kept, name):
        if sign == "==":
            if text.strip() == value:
                return True
            continue
        own = text.strip() if sign == "=" else text
        cell = own.casefold() if isinstance(value, str) else read_number(text)
        if cell is not None and _SIGNS[sign](cell, value):
            return True
    return False
