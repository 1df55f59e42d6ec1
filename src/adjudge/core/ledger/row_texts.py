"""The texts of a row as Python reads them: what SQLite makes of JSON ends at a NUL character, and
is no text where it has half a surrogate pair.
"""

from __future__ import annotations

import json
import operator
import sqlite3
from collections.abc import Callable, Iterator, Mapping

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.ledger.columns import TEXT_FITS, read_number

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
    """Every text in an object, or in what it has under a name."""
    found: JsonValue = json.loads(kept)
    if name is not None:
        found = found.get(name) if isinstance(found, dict) else None
    ahead = [found]
    while ahead:
        match ahead.pop():
            case str(text):
                yield text
            case list(several):
                ahead += several
            case dict(named):
                ahead += named.values()


def add_text_functions(connection: sqlite3.Connection) -> None:
    connection.create_function(TEXT_FITS, 4, _fits, deterministic=True)


def _fits(sign: str, value: str | float, kept: str | None, name: str | None) -> bool | None:
    """Whether one of the texts compares to the value: as a number, where that is one."""
    if kept is None:
        return None
    for text in texts_in(kept, name):
        own = text.casefold() if isinstance(value, str) else read_number(text)
        if own is not None and _SIGNS[sign](own, value):
            return True
    return False
