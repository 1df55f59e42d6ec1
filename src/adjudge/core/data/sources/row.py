"""What every source gives: rows, and what is said of those that are none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import WrongData
from adjudge.messages import Message, join, plural

_NOTHING = re.compile("[\\s\u00ad\u200b-\u200f\u2060\ufeff]*")
"""White space, no-break spaces among it, and characters that are not seen at all."""


Cells: TypeAlias = Mapping[str, object]
"""A row of somebody's: its values by column, of whatever types its file or its maker has."""


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing in ``text``."""
    return _NOTHING.fullmatch(text) is not None


class Row(NamedTuple):
    """One row, not yet looked at."""

    number: int
    """The line it begins on, or which row it is; from 1."""
    cells: Cells | Instance
    """Its values by column; or an instance, where the caller made one."""
    nth: int = 1
    """Of those that begin on its line: JSON is often written on a single one."""


@light_dataclass(frozen=True)
class BadRow:
    """A row that cannot be judged."""

    where: str
    reason: str

    def __str__(self) -> str:
        return join(": ", (self.where, self.reason))


@light_dataclass(frozen=True)
class SomeRows:
    """Rows of a source that have something in common."""

    source: str
    count: int
    unit: str
    """What ``first`` counts: rows, or lines of the file."""
    first: tuple[int, ...]
    """Where the first of them stand."""

    @property
    def places(self) -> str:
        """Where they stand, the first few of them."""
        return ", ".join(map(str, self.first)) + (", …" if self.count > len(self.first) else "")

    def _message(self, what: Message) -> Message:
        """``what`` of which source, and where."""
        where = (
            plural("line {places}", "lines {places}", self.count, places=self.places)
            if self.unit == "line"
            else plural("row {places}", "rows {places}", self.count, places=self.places)
        )
        return join("", (self.source, ": ", what, " (", where, ")"))


class BlankRows(SomeRows):
    """The rows of a source that hold nothing at all, as spreadsheets leave them behind a table.

    They are passed over.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self._message(
            plural("{count} blank row was skipped", "{count} blank rows were skipped", self.count)
        )


class EmptyAnswers(SomeRows):
    """The rows whose judged text is empty, though something else is there.

    They are judged: an empty answer is one.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self._message(
            plural(
                "{count} answer is empty, and judged as it stands",
                "{count} answers are empty, and judged as they stand",
                self.count,
            )
        )


@light_dataclass(frozen=True)
class OtherSheets:
    """A workbook has several sheets, and nobody said which to read."""

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
"""Those of Excel. Columns are found by comparing their names, which takes time."""


def numbered(names: Iterable[str]) -> list[str]:
    """The names of columns; one that stands twice gets a number, so that no value hides another."""
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
    """Where rows come from, as people are told."""

    name: str
    """In errors: the path, or what else it is."""
    short: str = ""
    """Before the number in the names of rows that have none."""
    unit: str = "row"
    """What is counted: rows, or the lines they begin on."""
    other_sheets: OtherSheets | None = None

    def place(self, number: int, nth: int = 1) -> str:
        """What a row is called that has no name of its own; ``nth``: of those on its line."""
        return f"{self.short}:{number}{_nth(nth)}" if self.short else f"row {number}{_nth(nth)}"

    def where(self, number: int, nth: int = 1) -> str:
        """Where a row stands, for errors."""
        at = f"{number}{_nth(nth)}"
        unit = (
            Message("line {line}", line=at) if self.unit == "line" else Message("row {row}", row=at)
        )
        return join(", ", (self.name, unit))

    def bad(self, number: int, reason: str, nth: int = 1) -> BadRow:
        """What is wrong with a row."""
        return BadRow(self.where(number, nth), reason)

    def wrong(self, number: int, reason: str) -> WrongData:
        """What to raise when nothing after a row can be read either."""
        return WrongData("{where}: {reason}", where=self.where(number), reason=reason)


def _nth(nth: int) -> str:
    return "" if nth == 1 else f" ({nth})"


class FileFormat(NamedTuple):
    """How a file is read, where it does not show that itself."""

    format: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    """Of a workbook; by default the first that is shown."""
    header_row: int | None = None
    """The row of a sheet that names the columns, from 1; by default the first that holds
    something.
    """


AS_SHOWN = FileFormat()
"""By the name of the file and its first bytes."""
Rows = Iterator[Row | BadRow]
