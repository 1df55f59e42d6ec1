"""Rows that are not a table, such as agents' traces: which forms there are, and what reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.instance import Instance
from adjudge.core.reading.types import Schema, Word
from adjudge.core.reading.values import Place
from adjudge.plugins import Parts

OnBadRow = Callable[[BadRow], None] | None
"""Called with each row that cannot be read; without it the first one raises a WrongData."""


@dataclass(frozen=True)
class RowSource:
    """Reads the rows of files and folders of one form."""

    formats: tuple[str, ...]
    """What may stand after ``as`` in an eval file."""
    holds: Callable[[Path], bool]
    """Return True if a path holds such rows, by its structure."""
    read: Callable[[Path, str | None, Sequence[str], OnBadRow], Iterator[Instance]]
    """Yield the rows of a path: in this format, or in the one that it shows itself. Each must have
    the fields that are named.
    """


SOURCES: Parts[RowSource] = Parts("sources")


class FormatType:
    """The name of a format that a source reads: one of ours, or of an installed package."""

    def read(self, value: object, place: Place) -> str:
        own = self._formats(SOURCES.ours)
        # installed packages are looked through only if the name is not ours
        return Word(own if value in own else self._formats(SOURCES)).read(value, place)

    def schema(self) -> Schema:
        return Word(self._formats(SOURCES)).schema()

    def _formats(self, names: Sequence[str] | Parts[RowSource]) -> list[str]:
        return [format for name in names for format in SOURCES[name].formats]


def source_of(path: Path, format: str | None) -> RowSource | None:
    """Return the source that reads ``format``; without one, that of ours which knows the structure
    of ``path``.
    """
    if format is None:
        return next((one for name in SOURCES.ours if (one := SOURCES[name]).holds(path)), None)
    return next(one for one in map(SOURCES.__getitem__, SOURCES) if format in one.formats)
