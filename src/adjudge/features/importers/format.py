"""What a reader of a foreign format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adjudge.features.importers.record import ImportLog, RecordedRow
from adjudge.features.importers.source import ForeignFile, Head


@dataclass(frozen=True)
class Format:
    """One foreign format: how it is known by its structure, and how it is read."""

    name: str
    title: str
    written_against: str
    """The version of the tool whose files it was written for."""
    matches: Callable[[Head], bool]
    read: Callable[[ForeignFile, ImportLog], Iterator[RecordedRow]]
    join: Callable[[Sequence[ForeignFile], ImportLog], Iterator[RecordedRow]] | None = None
    """How several files are read at once, where verdicts lie beside the rows
    that they are about.
    """

    def read_all(self, files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
        """The rows of all files: joined where the format joins them, else of one after the
        other.
        """
        if self.join is not None:
            yield from self.join(files, log)
            return
        for file in files:
            yield from self.read(file, log)
