"""Rows of any source, and reports about rows that cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import WrongData
from adjudge.messages import Message, join, plural

# White space, including no-break spaces, and invisible characters.
_NOTHING = re.compile("[\\s\u00ad\u200b-\u200f\u2060\ufeff]*")


Cells: TypeAlias = Mapping[str, object]
"""The values of a user's row by column, of any types."""


def is_blank(text: str) -> bool:
    """Return True if a reader sees nothing in ``text``."""
    return _NOTHING.fullmatch(text) is not None


class Row(NamedTuple):
    """A raw row."""

    number: int
    """Its first line, or its place among the rows; from 1."""
    cells: Cells | Instance
    """Its values by column, or an instance from the caller."""
    nth: int = 1
    """Place among the rows that begin on its line: JSON is often written on a single one."""


@light_dataclass(frozen=True)
class BadRow:
    """A row that cannot be judged."""

    where: str
    reason: str

    def __str__(self) -> str:
        return join(": ", (self.where, self.reason))


@light_dataclass(frozen=True)
class SomeRows:
    """A report about rows of a source with a common property."""

    source: str
    count: int
    unit: str
    """Unit of ``first``: rows, or lines of the file."""
    first: tuple[int, ...]
    """Numbers of the first few."""

    @property
    def places(self) -> str:
        """Numbers of the first few, as a text."""
        return ", ".join(map(str, self.first)) + (", …" if self.count > len(self.first) else "")

    def _message(self, what: Message) -> Message:
        """Return a message with the source and the places."""
        where = (
            plural("line {places}", "lines {places}", self.count, places=self.places)
            if self.unit == "line"
            else plural("row {places}", "rows {places}", self.count, places=self.places)
        )
        return join("", (self.source, ": ", what, " (", where, ")"))


class BlankRows(SomeRows):
    """Rows without any content, as spreadsheets leave them after a table. They are skipped."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._message(
            plural("{count} blank row was skipped", "{count} blank rows were skipped", self.count)
        )


class EmptyAnswers(SomeRows):
    """Rows whose judged text is empty, though other columns are not. They are judged."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._message(
            plural(
                "{count} answer is empty and was judged anyway",
                "{count} answers are empty and were judged anyway",
                self.count,
            )
        )


class PlaceholderAnswers(EmptyAnswers):
    """Rows whose judged text is a mark that programs write for a missing value. They are judged."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._message(
            plural(
                "{count} answer is only NaN, None, N/A or similar, and was judged as a text",
                "{count} answers are only NaN, None, N/A or similar, and were judged as texts",
                self.count,
            )
        )


@light_dataclass(frozen=True)
class LabelsShown:
    """A report that the column taken for the reference repeats a few short values, as labels do.

    A judge that sees labels copies them.
    """

    source: str
    column: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return Message(
            "{source}: judges see the column {column!r} as the reference answer, but it contains "
            "only {values}. If these are labels, the judge would copy them: leave them out with "
            "--column reference= (columns: {{reference: ''}})",
            source=self.source,
            column=self.column,
            values=", ".join(map(repr, self.values)),
        )

    @property
    def in_program(self) -> Message:
        """The report for rows that a program holds."""
        return Message(
            "the column {column!r} is read as the reference answer, but contains only {values}. "
            "If these are labels, the judge would copy them: leave the column out",
            column=self.column,
            values=", ".join(map(repr, self.values)),
        )


@light_dataclass(frozen=True)
class OtherSheets:
    """A report that a workbook has several sheets and none was named."""

    source: str
    sheet: str
    """The sheet that is read, which is the first."""
    others: tuple[str, ...]

    def __str__(self) -> str:
        return Message(
            "{source}: the sheet {sheet!r} is read; there are also {others} (--sheet NAME)",
            source=self.source,
            sheet=self.sheet,
            others=", ".join(map(repr, self.others)),
        )


MOST_COLUMNS = 16_384
"""Excel's limit. Columns are matched by their names, which takes time."""


def unique_names(names: Iterable[str]) -> list[str]:
    """Return column names; a repeated name gets a number, so that no value hides another."""
    header: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for name in names:
        counts[name] += 1
        free = name
        while free in header:
            free = f"{name} ({counts[name]})"
            counts[name] += free in header
        header[free] = None
    return list(header)


@light_dataclass(frozen=True)
class Origin:
    """Origin of rows, for messages and names."""

    name: str
    """Name in errors: the path, or a description."""
    short: str = ""
    """Prefix of the number in the names of rows without an id."""
    unit: str = "row"
    """Unit of the numbers: rows, or the lines they begin on."""
    other_sheets: OtherSheets | None = None

    def place(self, number: int, nth: int = 1) -> str:
        """Return the name of a row without an id; ``nth``: its number among those on its line."""
        return f"{self.short}:{number}{_nth(nth)}" if self.short else f"row {number}{_nth(nth)}"

    def where(self, number: int, nth: int = 1) -> str:
        """Return the place of a row, for errors."""
        at = f"{number}{_nth(nth)}"
        unit = (
            Message("line {line}", line=at) if self.unit == "line" else Message("row {row}", row=at)
        )
        return join(", ", (self.name, unit))

    def bad(self, number: int, reason: str, nth: int = 1) -> BadRow:
        """Return the report of a bad row."""
        return BadRow(self.where(number, nth), reason)

    def wrong(self, number: int, reason: str) -> WrongData:
        """Return the error for a source that cannot be read any further."""
        return WrongData("{where}: {reason}", where=self.where(number), reason=reason)


def _nth(nth: int) -> str:
    return "" if nth == 1 else f" ({nth})"


class FileFormat(NamedTuple):
    """Details for reading a file that does not show them itself."""

    format: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    """Sheet of a workbook; by default the first visible one."""
    header_row: int | None = None
    """Number of the row with column names, from 1; by default the first that is not blank."""


AS_SHOWN = FileFormat()
"""Detect everything by the file's name and its first bytes."""
Rows = Iterator[Row | BadRow]
