"""Sources of rows that are not a table, such as agents' traces."""

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
    """Reads rows from files and folders in one family of formats."""

    formats: tuple[str, ...]
    """The values of ``as`` in an eval file that it reads."""
    holds: Callable[[Path], bool]
    """Return True if a path holds such rows, by its structure."""
    read: Callable[[Path, str | None, Sequence[str], OnBadRow], Iterator[Instance]]
    """Yield the rows of a path: in this format, or in the one that it shows itself. Each must have
    the fields that are named.
    """


SOURCES: Parts[RowSource] = Parts("sources")


class FormatType:
    """The name of a row format, built-in or from an installed package."""

    def read(self, value: object, place: Place) -> str:
        built_in = self._formats(SOURCES.ours)
        # installed packages are looked through only if the name is not ours
        return Word(built_in if value in built_in else self._formats(SOURCES)).read(value, place)

    def schema(self) -> Schema:
        return Word(self._formats(SOURCES)).schema()

    def _formats(self, names: Sequence[str] | Parts[RowSource]) -> list[str]:
        return [format for name in names for format in SOURCES[name].formats]


def source_of(path: Path, format: str | None) -> RowSource | None:
    """Return the source that reads ``format``. If it is None, return the built-in source that
    recognises ``path``, if any.
    """
    if format is None:
        return next(
            (source for name in SOURCES.ours if (source := SOURCES[name]).holds(path)), None
        )
    return next(source for source in map(SOURCES.__getitem__, SOURCES) if format in source.formats)
