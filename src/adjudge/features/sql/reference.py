"""Read a reference query's text for the order of its result, its LIMIT and its constants."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass

_TOKEN = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>'(?:[^']|'')*'?)
    | (?P<name>"(?:[^"]|"")*"? | `[^`]*`? | \[[^\]]*\]?)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIONS = ("ASC", "DESC", "NULLS", "FIRST", "LAST")
_COMPOUNDS = ("UNION", "INTERSECT", "EXCEPT")
_MOST_LITERALS = 50


@light_dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


@light_dataclass(frozen=True, kw_only=True)
class ReferenceQuery:
    """A reference query, with the parts that decide what of its result can be compared."""

    sql: str
    ordered: bool
    """True if the whole result has an ORDER BY, so that the order of the rows counts."""
    terms: tuple[str, ...] = ()
    """The terms of that ORDER BY, without their directions."""
    insert_at: int | None = None
    """Where further columns can be added to the SELECT; None if they would change its rows."""
    limit: tuple[int | None, int] | None = None
    """Count and offset; a count of None is not a plain number."""
    unlimited: str = ""
    """The query without its LIMIT."""
    nested_limit: bool = False
    """True if a subquery has a LIMIT, so that ties in it may decide which rows there are."""

    @classmethod
    def of(cls, sql: str) -> ReferenceQuery:
        """Read the text of a query."""
        text = without_end(sql)
        tokens = _tokens(text)
        outer = [token for token in tokens if token.depth == 0]
        words = [token.word for token in outer]
        order = next(
            (
                place
                for place in range(len(words) - 1)
                if words[place : place + 2] == ["ORDER", "BY"]
            ),
            None,
        )
        limit = words.index("LIMIT") if "LIMIT" in words else None
        end_of_order = outer[limit].start if limit is not None else len(text)
        return cls(
            sql=text,
            ordered=order is not None,
            terms=() if order is None else _terms(text, tokens, outer[order + 1].end, end_of_order),
            insert_at=_insertion(outer, words),
            limit=None if limit is None else _limit(outer[limit + 1 :]),
            unlimited=text[:end_of_order],
            nested_limit=any(token.depth and token.word == "LIMIT" for token in tokens),
        )

    def to_json(self) -> JsonDict:
        return asdict(self)


def without_end(sql: str) -> str:
    """Return a query without the semicolons and comments after it."""
    tokens = _tokens(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return sql[: tokens[-1].end].strip() if tokens else ""


def _tokens(text: str) -> list[_Token]:
    """Return the tokens without comments, each with its depth in parentheses."""
    depth = 0
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "comment":
            continue
        depth -= match[0] == ")"
        tokens.append(_Token(kind, match[0], match.start(), match.end(), depth))
        depth += match[0] == "("
    return tokens


def _terms(text: str, tokens: Sequence[_Token], start: int, end: int) -> tuple[str, ...]:
    """Return the terms between two places, without their directions."""
    inside = [token for token in tokens if start <= token.start < end]
    groups: list[list[_Token]] = [[]]
    for token in inside:
        if token.depth == 0 and token.text == ",":
            groups.append([])
        else:
            groups[-1].append(token)
    terms = []
    for group in groups:
        while group and group[-1].word in _DIRECTIONS:
            group.pop()
        if group:
            terms.append(text[group[0].start : group[-1].end])
    return tuple(terms)


def _insertion(outer: Sequence[_Token], words: Sequence[str]) -> int | None:
    """Return the place before the FROM of a plain SELECT; None for others."""
    if "SELECT" not in words or any(word in words for word in _COMPOUNDS):
        return None
    select = words.index("SELECT")
    rest = words[select:]
    if "FROM" not in rest or rest[1:2] == ["DISTINCT"]:
        return None
    return outer[select + rest.index("FROM")].start


def _limit(tokens: Sequence[_Token]) -> tuple[int | None, int]:
    """Return count and offset after LIMIT; a count of None if they are not plain numbers."""
    match [token.text.upper() for token in tokens]:
        case [count] if count.isdecimal():
            return int(count), 0
        case [count, "OFFSET", offset] if count.isdecimal() and offset.isdecimal():
            return int(count), int(offset)
        case [offset, ",", count] if count.isdecimal() and offset.isdecimal():
            return int(count), int(offset)
    return None, 0


def literals_of(*queries: str) -> list[float | str]:
    """Return the numbers and texts in the queries: changed copies put them into cells."""
    found: dict[float | str, None] = {}
    for query in queries:
        for token in _tokens(query):
            if token.kind == "number":
                number = float(token.text)
                if math.isinf(number):  # JSON has no place for it
                    continue
                found[int(number) if number.is_integer() else number] = None
            elif token.kind == "text":
                found[token.text.strip("'").replace("''", "'")] = None
    return list(found)[:_MOST_LITERALS]
