"""What every source gives: rows, and what is said of those that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adjudge.domain.instance import Instance
from adjudge.errors import RunError


class Row(NamedTuple):
    """One row, not yet looked at."""

    number: int
    """The line it begins on, or which row it is; from 1."""
    cells: Mapping[str, object] | Instance
    """Its values by column; or an instance, where the caller made one."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be judged."""

    where: str
    """The file and the line."""
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, as people are told."""

    name: str
    """In errors: the path, or what else it is."""
    short: str = ""
    """Before the number in the names of rows that have none."""
    unit: str = "row"
    """What is counted: rows, or the lines they begin on."""

    def place(self, number: int) -> str:
        """What a row is called that has no name of its own."""
        return f"{self.short}:{number}" if self.short else f"row {number}"

    def where(self, number: int) -> str:
        """Where a row stands, for errors."""
        return f"{self.name}, {self.unit} {number}"

    def bad(self, number: int, reason: str) -> BadRow:
        """What is wrong with a row."""
        return BadRow(self.where(number), reason)

    def wrong(self, number: int, reason: str) -> RunError:
        """What to raise when nothing after a row can be read either."""
        return RunError(f"{self.where(number)}: {reason}")


Rows = Iterator[Row | BadRow]
