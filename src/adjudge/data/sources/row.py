"""What every source gives: rows, and what is said of those that are none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from adjudge.domain.instance import Instance
from adjudge.domain.light import light_dataclass
from adjudge.errors import WrongData

_NOTHING = re.compile("[\\s\u00ad\u200b-\u200f\u2060\ufeff]*")
"""White space, no-break spaces among it, and characters that are not seen at all."""


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing in ``text``."""
    return _NOTHING.fullmatch(text) is not None


class Row(NamedTuple):
    """One row, not yet looked at."""

    number: int
    """The line it begins on, or which row it is; from 1."""
    cells: Mapping[str, object] | Instance
    """Its values by column; or an instance, where the caller made one."""
    nth: int = 1
    """Of those that begin on its line: JSON is often written on a single one."""


@light_dataclass(frozen=True)
class BadRow:
    """A row that cannot be judged."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


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

    def _told(self, one: str, several: str) -> str:
        words, unit = (one, self.unit) if self.count == 1 else (several, f"{self.unit}s")
        return f"{self.source}: {self.count} {words} ({unit} {self.places})"


class BlankRows(SomeRows):
    """The rows of a source that hold nothing at all, as spreadsheets leave them behind a table.

    They are passed over.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self._told("blank row was skipped", "blank rows were skipped")


class EmptyAnswers(SomeRows):
    """The rows whose judged text is empty, though something else is there.

    They are judged: an empty answer is one.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return self._told(
            "answer is empty, and judged as it stands",
            "answers are empty, and judged as they stand",
        )


def numbered(names: Iterable[str]) -> list[str]:
    """The names of columns; one that stands twice gets a number, so that no value hides another."""
    header: list[str] = []
    for name in names:
        count = 1 + sum(known == name or known.startswith(f"{name} (") for known in header)
        header.append(name if name not in header else f"{name} ({count})")
    return header


@light_dataclass(frozen=True)
class Origin:
    """Where rows come from, as people are told."""

    name: str
    """In errors: the path, or what else it is."""
    short: str = ""
    """Before the number in the names of rows that have none."""
    unit: str = "row"
    """What is counted: rows, or the lines they begin on."""

    def place(self, number: int, nth: int = 1) -> str:
        """What a row is called that has no name of its own; ``nth``: of those on its line."""
        return f"{self.short}:{number}{_nth(nth)}" if self.short else f"row {number}{_nth(nth)}"

    def where(self, number: int, nth: int = 1) -> str:
        """Where a row stands, for errors."""
        return f"{self.name}, {self.unit} {number}{_nth(nth)}"

    def bad(self, number: int, reason: str, nth: int = 1) -> BadRow:
        """What is wrong with a row."""
        return BadRow(self.where(number, nth), reason)

    def wrong(self, number: int, reason: str) -> WrongData:
        """What to raise when nothing after a row can be read either."""
        return WrongData("{where}: {reason}", where=self.where(number), reason=reason)


def _nth(nth: int) -> str:
    return "" if nth == 1 else f" ({nth})"


Rows = Iterator[Row | BadRow]
