"""The interface of a reader of a foreign format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adjudge.features.importers.record import ImportLog, RecordedRow
from adjudge.features.importers.source import ForeignFile, Head


@dataclass(frozen=True)
class Format:
    """A foreign format, recognised by its structure, and its reader."""

    name: str
    title: str
    written_against: str
    """The version of the tool whose files it was written for."""
    matches: Callable[[Head], bool]
    read: Callable[[ForeignFile, ImportLog], Iterator[RecordedRow]]
    join: Callable[[Sequence[ForeignFile], ImportLog], Iterator[RecordedRow]] | None = None
    """Reads several files at once, if verdicts are in other files than their rows."""

    def read_all(self, files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
        """Yield the rows of all files, joined if the format joins files."""
        if self.join is not None:
            yield from self.join(files, log)
            return
        for file in files:
            yield from self.read(file, log)
