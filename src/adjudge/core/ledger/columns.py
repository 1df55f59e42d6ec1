"""Columns by which judgments are filtered and sorted: their names for users, and the SQL of each.

Users' names and values are bound to the query, never put into its text.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from adjudge.core.domain.record import FLAGS
from adjudge.core.ledger.codec import flag_bit
from adjudge.core.ledger.rows import KEY_BYTES
from adjudge.errors import SetupError

CASEFOLD = "casefolded"
STRIPPED = "stripped"
HAS_VALUE = "has_value"
"""The SQL function that casefolds a text."""
AS_NUMBER = "as_number"
"""The SQL function that reads a text as a number if it is nothing else."""
MATCHES = "matches_pattern"
"""The SQL function that searches a text for a regular expression."""
TEXT_FITS = "text_fits"
"""The SQL function that compares each of the texts of a column to a value."""
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
"""Numbers such as 1,000, which some read as a thousand and others as one."""
Kind = Literal["text", "number", "yes"]
COLUMN_TEXT = "column_text"
"""The SQL function that reads a cell of the data from a stored judgment."""
FIELD, CRITERION, DIMENSION, COLUMN = "field:", "criterion:", "dimension:", "column:"
"""Prefixes of texts of the row, criteria, RAG dimensions and columns of the data whose bare name
means something else.
"""
_PREFIXES = (DIMENSION, CRITERION, FIELD, COLUMN)
LABELLED = "labelled"
PEOPLE = "people"
WORDS = "text"
"""All texts of the row together, for word searches."""
_FIRST_ROWS = 20
_MOST_FIELDS = 1_000


@dataclass(frozen=True)
class KnownColumns:
    """The columns of one judge's judgments, in addition to the common ones."""

    fields: tuple[str, ...] = ()
    """Texts of a row."""
    criteria: tuple[str, ...] = ()
    """Criteria of a judge that alternate, in their order: a row has a judgment by each."""
    dimensions: tuple[str, ...] = ()
    people: Mapping[str, frozenset[int]] | None = None
    """People's agreement with the judge → rows, from 1; None if unknown."""
    find_fields: Callable[[], tuple[str, ...]] = tuple
    """Reads every row for the texts that it has."""
    columns: tuple[str, ...] = ()
    """Columns of the data that are not texts of the row under the same name."""
    find_columns: Callable[[], tuple[str, ...]] = tuple
    """Reads every row for the columns of its data."""

    def with_every_field(self) -> KnownColumns:
        """Return the columns including texts and data that only some rows have."""
        return replace(
            self,
            fields=tuple(dict.fromkeys((*self.fields, *self.find_fields()))),
            columns=tuple(dict.fromkeys((*self.columns, *self.find_columns()))),
        )

    def names(self) -> list[str]:
        """Return all names that a user may write."""
        return [*self._spellings()]

    def written(self, prefix: str, name: str) -> str:
        """Return a name as a user must write it: with its prefix if the bare name means something
        else.
        """
        return (self._spellings().get(name, "") == prefix and name) or f"{prefix}{name}"

    def means_other(self, name: str) -> bool:
        """Return True if the bare name of a column of the data means something else."""
        return name in self.columns and self._spellings().get(name, "") != COLUMN

    def _spellings(self) -> dict[str, str]:
        """Map all names that a user may write to their prefix, which built-in names do not have."""
        common = ["row", *_COMMON, *((LABELLED, PEOPLE) if self.people is not None else ())]
        spellings = dict.fromkeys([*common, *FLAGS], "")
        for prefix, names in zip(
            _PREFIXES, (self.dimensions, self.criteria, self.fields, self.columns), strict=True
        ):
            for name in names:
                # people's names are reserved although they may be unknown for now
                is_taken = name in spellings or name in (LABELLED, PEOPLE)
                spellings[f"{prefix}{name}" if is_taken or name.startswith(_PREFIXES) else name] = (
                    prefix
                )
        return spellings

    def spelling_of(self, name: str) -> str:
        """Return the stored spelling of a name in any case; the name itself if none or several
        match.
        """
        all_names = [
            *(*self.names(), *self.fields, *self.criteria, *self.dimensions, *self.columns),
        ]
        matches = {candidate for candidate in all_names if candidate.casefold() == name.casefold()}
        return next(iter(matches)) if len(matches) == 1 else name


class Column(NamedTuple):
    sql: str
    kind: Kind
    texts: str = ""
    """SQL of an object that may hold several texts, and of the key in it (NULL: all of it)."""
    is_data: bool = False
    """A column of the data: a cell such as "nan" is empty, as in slices."""


@dataclass
class Binder:
    """Binds the values of a query under unique names."""

    prefix: str
    values: dict[str, object] = field(default_factory=dict)

    def bind(self, value: object) -> str:
        name = f"{self.prefix}{len(self.values)}"
        self.values[name] = value
        return f":{name}"


def _from_votes(what: str) -> str:
    """Return an SQL expression that aggregates over all votes of a judgment."""
    # A judgment stores the keys of its votes joined, so a recursive query cuts them apart.
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
    """Return a number written with a point or a comma; None if it is not one, or ambiguous."""
    if not _NUMBER.fullmatch(text) or THOUSANDS.fullmatch(text):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def resolve_column(name: str, known: KnownColumns, binder: Binder) -> Column | None:
    """Return the column of a name; None if there is none."""
    if name == "row":
        return Column(f"number / {len(known.criteria) or 1} + 1", "number")
    if name in _COMMON:
        return _COMMON[name]
    if name in FLAGS:
        return Column(f"flags & {flag_bit(name)}", "yes")
    if known.people is not None and name in (LABELLED, PEOPLE):
        return _of_people(name, known.people, binder)
    finders: tuple[tuple[str, tuple[str, ...], Callable[[str], Column]], ...] = (
        (DIMENSION, known.dimensions, lambda stem: _dimension(stem, binder)),
        (CRITERION, known.criteria, lambda stem: _criterion(stem, known, binder)),
        (FIELD, known.fields, lambda stem: _field(stem, binder)),
        (COLUMN, known.columns, lambda stem: _data_column(stem, binder)),
    )
    candidates = ((name.removeprefix(prefix), names, make) for prefix, names, make in finders)
    return next((make(stem) for stem, names, make in candidates if stem in names), None)


def _of_people(name: str, people: Mapping[str, frozenset[int]], binder: Binder) -> Column:
    row_conditions = {stand: _in_rows(rows, binder) for stand, rows in people.items()}
    if name == LABELLED:
        return Column(" OR ".join(row_conditions.values()) or "0", "yes")
    cases = [
        f"WHEN {condition} THEN {binder.bind(stand)}" for stand, condition in row_conditions.items()
    ]
    return Column(f"CASE {' '.join(cases)} END" if cases else "NULL", "text")


def _in_rows(rows: frozenset[int], binder: Binder) -> str:
    numbers = binder.bind(json.dumps(sorted(row - 1 for row in rows)))
    return f"number IN (SELECT value FROM json_each({numbers}))"  # noqa: S608 - a bound name


def _dimension(name: str, binder: Binder) -> Column:
    return Column(f"json_extract(result, {binder.bind(_path('scores', name))})", "number")


def _field(name: str, binder: Binder) -> Column:
    path = binder.bind(_path(name))
    return Column(f"json_extract(instance, {path})", "text", f"instance, {binder.bind(name)}")


def _data_column(name: str, binder: Binder) -> Column:
    """Return a column of the data. A cell that is also a text of the row is stored once, there."""
    is_text = f"json_type(result, {binder.bind(_path('input', name, 'field'))}) IS NOT NULL"
    return Column(
        f"{COLUMN_TEXT}(json_extract(result, '$.input'), "
        f"CASE WHEN {is_text} THEN instance END, {binder.bind(name)})",
        "text",
        is_data=True,
    )


def _criterion(name: str, known: KnownColumns, binder: Binder) -> Column:
    """Return the column of another criterion's judgment of the same row: its verdict, or its score
    if it has none.
    """
    of_row = len(known.criteria)
    number = f"judgments.number / {of_row} * {of_row} + {known.criteria.index(name)}"
    return Column(
        "(SELECT coalesce(sibling.verdict, sibling.score) FROM judgments AS sibling "  # noqa: S608
        "WHERE sibling.judge = judgments.judge "
        f"AND sibling.number = {number} AND sibling.criterion = {binder.bind(name)})",
        "text",
    )


def _path(*names: str) -> str:
    """Return a path into JSON in ASCII: SQLite compares names as they are written."""
    return "".join(("$", *(f".{json.dumps(name)}" for name in names)))


@dataclass(frozen=True)
class SortKey:
    """A sort key without an index: every judgment is read once."""

    name: str
    """The name as in the address; with a leading "-" the highest come first."""
    sql: str
    values: Mapping[str, object]
    sort: str = ""
    """The order that it stands for, if it is not that of a column."""

    @property
    def order(self) -> str:
        return self.order_by(self.sql)

    def order_by(self, value: str) -> str:
        """Return the ORDER BY terms: numbers, also those in texts, before other texts, and missing
        values last in both directions.
        """
        down = " DESC" if self.name.startswith("-") else ""
        number = (
            f"CASE WHEN {value} GLOB '*[0-9]*' AND {value} NOT GLOB '*[^-+.0-9e]*' "
            f"THEN CAST({value} AS REAL) END"
        )
        return f"{value} IS NULL, {number} IS NULL{down}, {number}{down}, {value}{down}, number"


def sort_key(name: str, known: KnownColumns) -> SortKey:
    """Return the sort key of a column; raise a SetupError if there is no such column.

    A criterion sorts rows by their judgment under that criterion.
    """
    binder, plain = Binder("k"), name.removeprefix("-")
    column = resolve_column(plain, known, binder)
    if column is None:
        known = known.with_every_field()
        column = resolve_column(plain, known, binder)
    if column is None or plain == WORDS:
        raise SetupError(
            "{name!r} is not a column to sort by; the columns are {known}",
            name=plain,
            known=", ".join(
                name_of_column for name_of_column in known.names() if name_of_column != WORDS
            ),
        )
    return SortKey(name, f"({column.sql})", binder.values)


def rows_key(
    sort: Literal["worst", "best"], measures: Mapping[str, float], counts: Sequence[str]
) -> SortKey:
    """Return the sort key for rows that are judged by several criteria, some of whose scores are
    counts.

    Failed rows come first, then abstained ones, then the others by the share of their measures that
    failed: with a score below the middle of the scale, or a count above 0. A count that is never 0,
    such as steps, thus places no row, and no row is first because its count is 0.

    ``measures``: criterion → the middle of its scale.
    """
    binder = Binder("k")
    below = " ".join(
        f"WHEN {binder.bind(name)} THEN score < {binder.bind(middle)}"
        for name, middle in measures.items()
    )
    failed = f"CASE WHEN score IS NOT NULL THEN CASE criterion {below} ELSE score > 0 END END"
    counted = binder.bind(json.dumps([*counts]))
    is_measure = f"criterion NOT IN (SELECT value FROM json_each({counted}))"  # noqa: S608 - bound
    # rows without an id are their texts; equal rows are placed alike
    rows = "OVER (PARTITION BY coalesce(id, instance))"
    worst = (
        f"(-20.0 * max(status = 'failed') {rows} - 10.0 * max(status = 'abstained') {rows}"
        f" - coalesce(avg({failed}) {rows}, 0)"
        f" + 0.001 * coalesce(avg(CASE WHEN {is_measure} THEN score END) {rows}, 1))"
    )
    name = "rows" if sort == "worst" else "-rows"
    return SortKey(name, worst, binder.values, sort)


NUMBERS = ("agreement", "probability", "tokens", "seconds")
"""Columns that a list shows on request."""


def number_columns(names: Collection[str]) -> str:
    """Return the SQL of some of ``NUMBERS``, to append to the columns that a query selects."""
    return "".join(f", {_COMMON[name].sql}" for name in NUMBERS if name in names)


def known_fields(
    connection: sqlite3.Connection, judge: str, rows: int = _FIRST_ROWS
) -> tuple[str, ...]:
    """Return the text fields that a judge's first ``rows`` rows have; all rows if ``rows`` is
    -1.
    """
    query = "SELECT instance FROM judgments WHERE judge = ? ORDER BY number LIMIT ?"
    names = (
        f"SELECT DISTINCT key FROM ({query}) AS row, "  # noqa: S608 - texts of ours
        f"json_each(row.instance) LIMIT {_MOST_FIELDS}"
    )
    keys = connection.execute(names, (judge, rows))
    field_names = (name for (name,) in keys if isinstance(name, str))
    return tuple(
        name for name in field_names if '"' not in name
    )  # SQLite cannot name those in a path


def known_data_columns(
    connection: sqlite3.Connection, judge: str, rows: int = _FIRST_ROWS
) -> tuple[str, ...]:
    """Return the data columns in a judge's first ``rows`` rows, or in all if ``rows`` is -1.

    Columns that are text fields under the same name are left out.
    """
    query = "SELECT id, result FROM judgments WHERE judge = ? ORDER BY number LIMIT ?"
    # a column that names the rows is the built-in id; a cell that is also a text is an object
    names = (
        f"SELECT DISTINCT cell.key FROM ({query}) AS row, "  # noqa: S608 - texts of ours
        "json_each(row.result, '$.input') AS cell WHERE (cell.type <> 'object' "
        "OR json_extract(cell.value, '$.field') IS NOT cell.key) "
        "AND NOT (cell.key = 'id' AND '' || cell.value IS row.id) "
        f"LIMIT {_MOST_FIELDS}"
    )
    keys = connection.execute(names, (judge, rows))
    return tuple(name for (name,) in keys if isinstance(name, str) and '"' not in name)
