"""Match regular expressions in queries.

The texts of some rows are collected first and then matched at once, by a process that is stopped if
it takes too long: a list is never shortened because of that.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from adjudge.core.ledger.columns import MATCHES
from adjudge.core.ledger.conditions import PATTERN_FLAGS, Condition, WrongCondition, cannot_tell
from adjudge.core.ledger.row_texts import texts_in
from adjudge.core.reading.patterns import CannotMatch, which_match

# Characters of text that are collected before matching.
_AT_ONCE = 1_000_000
# An expression, and the hash of a text.
_Text = tuple[str, bytes]


class TextMatcher:
    """Runs the queries of one list, and matches their regular expressions outside SQLite."""

    def __init__(self, connection: sqlite3.Connection, condition: Condition | None) -> None:
        self._connection = connection
        self._condition = condition if condition and condition.patterns else None
        self._known: dict[_Text, bool] = {}
        self._open: dict[_Text, str] = {}
        self._characters = 0
        self._failure: WrongCondition | None = None
        if self._condition:
            connection.create_function(MATCHES, 2, self._matches)
            connection.create_function(MATCHES, 3, self._matches_any)

    @property
    def has_patterns(self) -> bool:
        return self._condition is not None

    def rows(self, query: str, values: Mapping[str, object]) -> Iterable[Any]:
        """Return the rows of a query; raise a WrongCondition if an expression could not be
        matched.
        """
        if not self._condition:
            return self._connection.execute(query, values)
        self._known.clear()
        # Each pass may meet texts that are not matched yet; they are matched and the query
        # repeated.
        while True:
            result_rows = self._connection.execute(query, values).fetchall()
            was_open = bool(self._open)
            self._match_open()
            if self._failure:
                raise self._failure
            if not was_open:
                return result_rows

    def _matches(self, pattern: str, value: object) -> bool | None:
        if value is None or self._failure:
            return None
        text = str(value)
        text_key = pattern, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if text_key not in self._known and text_key not in self._open:
            self._open[text_key] = text
            self._characters += len(text)
            if self._characters > _AT_ONCE:
                self._match_open()
        return self._known.get(text_key)

    def _matches_any(self, pattern: str, kept: str | None, name: str | None) -> bool | None:
        if kept is None:
            return None
        outcomes = {self._matches(pattern, text) for text in texts_in(kept, name)}
        return True if True in outcomes else None if None in outcomes else False

    def _match_open(self) -> None:
        for pattern in {pattern for pattern, _ in self._open}:
            texts = {
                text_key: text for text_key, text in self._open.items() if text_key[0] == pattern
            }
            try:
                outcomes = which_match(pattern, PATTERN_FLAGS, [*texts.values()])
            except CannotMatch as error:
                self._fail(pattern, error)
                break
            self._known.update(zip(texts, outcomes, strict=True))
        self._open.clear()
        self._characters = 0

    def _fail(self, pattern: str, error: CannotMatch) -> None:
        if self._condition:
            self._failure = WrongCondition(*self._condition.patterns[pattern], cannot_tell(error))
