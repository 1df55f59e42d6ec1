"""What judgments are filtered and sorted by: the names that people write, and the SQL of each.

Names and values that people write are bound to the query, never put into its text.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from adjudge.core.domain.record import FLAGS
from adjudge.core.ledger.codec import flag_bit
from adjudge.core.ledger.rows import KEY_BYTES
from adjudge.errors import SetupError

CASEFOLD = "casefolded"
"""The SQL function that makes letters of one case."""
AS_NUMBER = "as_number"
"""The SQL function that reads a text that is a number, and nothing else, as one."""
MATCHES = "matches_pattern"
"""The SQL function that says whether a regular expression is found in a text."""
TEXT_FITS = "text_fits"
"""The SQL function that compares each of the texts of a column to a value."""
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
"""What some read as a thousand and others as one."""
Kind = Literal["text", "number", "yes"]
FIELD, CRITERION, DIMENSION = "field:", "criterion:", "dimension:"
"""What stands before the name of a text of the row, a criterion or a RAG dimension where the name
alone means something else.
"""
LABELLED = "labelled"
PEOPLE = "people"
WORDS = "text"
"""Every text of the row at once, in which words are looked for."""
_FIRST_ROWS = 20
_MOST_FIELDS = 1_000


@dataclass(frozen=True)
class KnownColumns:
    """What the judgments of one judge have beside what all have."""

    fields: tuple[str, ...] = ()
    """Texts of a row."""
    criteria: tuple[str, ...] = ()
    """Of a judge whose criteria come in turns, in their order: a row has a judgment by each."""
    dimensions: tuple[str, ...] = ()
    people: Mapping[str, frozenset[int]] | None = None
    """Whether people agree with the judge → rows, from 1; None where that is not known."""
    find_fields: Callable[[], tuple[str, ...]] = tuple
    """Reads every row for the texts that it has."""

    def with_every_field(self) -> KnownColumns:
        """The same with the texts that only some rows have."""
        return replace(self, fields=tuple(dict.fromkeys((*self.fields, *self.find_fields()))))

    def names(self) -> list[str]:
        """Every name that may be written, as it is written."""
        own = [
            *((DIMENSION, name) for name in self.dimensions),
            *((CRITERION, name) for name in self.criteria),
            *((FIELD, name) for name in self.fields),
        ]
        common = ["row", *_COMMON, *((LABELLED, PEOPLE) if self.people is not None else ())]
        found = dict.fromkeys([*common, *FLAGS])
        for before, name in own:
            found[f"{before}{name}" if name in found else name] = None
        return [*found]

    def spelled(self, name: str) -> str:
        """The name as it is spelled, where it was written with other capital letters."""
        known = [*self.names(), *self.fields, *self.criteria, *self.dimensions]
        alike = {one for one in known if one.casefold() == name.casefold()}
        return next(iter(alike)) if len(alike) == 1 else name


class Column(NamedTuple):
    sql: str
    kind: Kind
    texts: str = ""
    """Where the texts are, of which there may be several: an object, and under which name (NULL:
    all of it).
    """


@dataclass
class Binder:
    """Gives every value that a query is given a name of its own."""

    prefix: str
    values: dict[str, object] = field(default_factory=dict)

    def bind(self, value: object) -> str:
        name = f"{self.prefix}{len(self.values)}"
        self.values[name] = value
        return f":{name}"


def _from_votes(what: str) -> str:
    """Something of all votes on a judgment, which names them by keys one behind the other."""
    return (
        f"(SELECT {what} FROM (WITH RECURSIVE place(byte) AS (SELECT 1 UNION ALL "  # noqa: S608
        f"SELECT byte + {KEY_BYTES} FROM place "
        f"WHERE byte + {KEY_BYTES} < length(judgments.ballots)) "
        "SELECT byte FROM place) JOIN votes AS vote "
        f"ON vote.ballot = substr(judgments.ballots, byte, {KEY_BYTES}))"
    )


_COMMON: Mapping[str, Column] = {
    WORDS: Column("instance", "text", "instance, NULL"),
    "id": Column("id", "text"),
    "status": Column("status", "text"),
    "verdict": Column("verdict", "text"),
    "criterion": Column("criterion", "text"),
    "score": Column("score", "number"),
    "agreement": Column("json_extract(result, '$.agreement')", "number"),
    "votes": Column("json_extract(result, '$.votes_valid')", "number"),
    "probability": Column(
        _from_votes(
            "avg((SELECT value FROM json_each(vote.more, '$.distribution') "
            "WHERE key = judgments.verdict))"
        ),
        "number",
    ),
    "tokens": Column(_from_votes("sum(vote.prompt_tokens + vote.completion_tokens)"), "number"),
    "seconds": Column(_from_votes("sum(vote.latency)"), "number"),
    "explanation": Column(
        "json_extract(result, '$.explanation')",
        "text",
        "result, CASE WHEN json_type(result, '$.explanations') IS NULL "
        "THEN 'explanation' ELSE 'explanations' END",
    ),
    "reason": Column("json_extract(result, '$.reason')", "text", "result, 'reason'"),
    "rule": Column("json_extract(result, '$.composite.rule')", "text"),
}


def read_number(text: str) -> float | None:
    """A number with a point or a comma; None of what is none, or could be two."""
    if not _NUMBER.fullmatch(text) or THOUSANDS.fullmatch(text):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def resolve_column(name: str, known: KnownColumns, binder: Binder) -> Column | None:
    """What a name stands for; None where it stands for nothing."""
    if name == "row":
        return Column(f"number / {len(known.criteria) or 1} + 1", "number")
    if name in _COMMON:
        return _COMMON[name]
    if name in FLAGS:
        return Column(f"flags & {flag_bit(name)}", "yes")
    if known.people is not None and name in (LABELLED, PEOPLE):
        return _of_people(name, known.people, binder)
    finders: tuple[tuple[str, tuple[str, ...], Callable[[str], Column]], ...] = (
        (DIMENSION, known.dimensions, lambda own: _dimension(own, binder)),
        (CRITERION, known.criteria, lambda own: _criterion(own, known, binder)),
        (FIELD, known.fields, lambda own: _field(own, binder)),
    )
    found = ((name.removeprefix(before), names, make) for before, names, make in finders)
    return next((make(own) for own, names, make in found if own in names), None)


def _of_people(name: str, people: Mapping[str, frozenset[int]], binder: Binder) -> Column:
    among = {stand: _among(rows, binder) for stand, rows in people.items()}
    if name == LABELLED:
        return Column(" OR ".join(among.values()) or "0", "yes")
    cases = [f"WHEN {each} THEN {binder.bind(stand)}" for stand, each in among.items()]
    return Column(f"CASE {' '.join(cases)} END" if cases else "NULL", "text")


def _among(rows: frozenset[int], binder: Binder) -> str:
    numbers = binder.bind(json.dumps(sorted(row - 1 for row in rows)))
    return f"number IN (SELECT value FROM json_each({numbers}))"  # noqa: S608 - a bound name


def _dimension(name: str, binder: Binder) -> Column:
    return Column(f"json_extract(result, {binder.bind(_path('scores', name))})", "number")


def _field(name: str, binder: Binder) -> Column:
    path = binder.bind(_path(name))
    return Column(f"json_extract(instance, {path})", "text", f"instance, {binder.bind(name)}")


def _criterion(name: str, known: KnownColumns, binder: Binder) -> Column:
    """What another criterion says of the same row: its verdict, or its score where it has none."""
    of_row = len(known.criteria)
    number = f"judgments.number / {of_row} * {of_row} + {known.criteria.index(name)}"
    return Column(
        "(SELECT coalesce(beside.verdict, beside.score) FROM judgments AS beside "  # noqa: S608
        "WHERE beside.judge = judgments.judge "
        f"AND beside.number = {number} AND beside.criterion = {binder.bind(name)})",
        "text",
    )


def _path(*names: str) -> str:
    """Into JSON that was written in ASCII: SQLite compares names as they are written."""
    return "".join(("$", *(f".{json.dumps(name)}" for name in names)))


@dataclass(frozen=True)
class SortKey:
    """By what no index holds: every judgment is looked at, once."""

    name: str
    """As the address has it: behind "-" the highest first."""
    sql: str
    values: Mapping[str, object]

    @property
    def order(self) -> str:
        return self.order_by(self.sql)

    def order_by(self, value: str) -> str:
        """Numbers as numbers, also those that are texts, before other texts; judgments without a
        value come last, whichever end is first.
        """
        down = " DESC" if self.name.startswith("-") else ""
        number = (
            f"CASE WHEN {value} GLOB '*[0-9]*' AND {value} NOT GLOB '*[^-+.0-9e]*' "
            f"THEN CAST({value} AS REAL) END"
        )
        return f"{value} IS NULL, {number} IS NULL{down}, {number}{down}, {value}{down}, number"


def sort_key(name: str, known: KnownColumns) -> SortKey:
    """The key of a column. By a criterion, a row stands where its judgment by that one stands."""
    binder, plain = Binder("k"), name.removeprefix("-")
    column = resolve_column(plain, known, binder)
    if column is None:
        known = known.with_every_field()
        column = resolve_column(plain, known, binder)
    if column is None or plain == WORDS:
        raise SetupError(
            "{name!r} is not a column to sort by; there are {known}",
            name=plain,
            known=", ".join(one for one in known.names() if one != WORDS),
        )
    return SortKey(name, f"({column.sql})", binder.values)


NUMBERS = ("agreement", "probability", "tokens", "seconds")
"""Columns that a list shows when somebody wants them."""


def number_columns(names: Collection[str]) -> str:
    """The SQL of some of these, behind what is selected already."""
    return "".join(f", {_COMMON[name].sql}" for name in NUMBERS if name in names)


def known_fields(
    connection: sqlite3.Connection, judge: str, rows: int = _FIRST_ROWS
) -> tuple[str, ...]:
    """The names of the texts of a judge's first rows; of all of them, where ``rows`` is -1."""
    query = "SELECT instance FROM judgments WHERE judge = ? ORDER BY number LIMIT ?"
    names = (
        f"SELECT DISTINCT key FROM ({query}) AS row, "  # noqa: S608 - texts of ours
        f"json_each(row.instance) LIMIT {_MOST_FIELDS}"
    )
    found = connection.execute(names, (judge, rows))
    named = (name for (name,) in found if isinstance(name, str))
    return tuple(name for name in named if '"' not in name)  # SQLite cannot name those in a path
