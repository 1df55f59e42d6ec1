"""What a reader of a foreign format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adjudge.importers.record import Left, Recorded
from adjudge.importers.source import ForeignFile, Head


@dataclass(frozen=True)
class Format:
    """One foreign format: how it is known by its structure, and how it is read."""

    name: str
    title: str
    written_against: str
    """The version of the tool whose files it was written for."""
    matches: Callable[[Head], bool]
    read: Callable[[ForeignFile, Left], Iterator[Recorded]]
    judged: bool = True
    """Whether the files hold verdicts; of several formats in a folder, those without are companions
    of the others.
    """
    join: Callable[[Sequence[ForeignFile], Left], Iterator[Recorded]] | None = None
    """How several files are read at once, where verdicts lie beside the rows
    that they are about.
    """

    def read_all(self, files: Sequence[ForeignFile], left: Left) -> Iterator[Recorded]:
        """The records of all files: joined where the format joins them, else of one after the
        other.
        """
        if self.join is not None:
            yield from self.join(files, left)
            return
        for file in files:
            yield from self.read(file, left)
