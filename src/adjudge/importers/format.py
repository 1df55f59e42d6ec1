"""What a reader of a foreign format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adjudge.importers.record import Left, Recorded
from adjudge.importers.source import ForeignFile, Head


@dataclass(frozen=True)
class Format:
    """One foreign format: how it is known by its structure, and how it is read."""

    name: str
    """What ``--as`` calls it."""
    title: str
    written_against: str
    """The version of the tool whose files it was written for."""
    matches: Callable[[Head], bool]
    read: Callable[[ForeignFile, Left], Iterator[Recorded]]
    judged: bool = True
    """Whether the files hold verdicts; of several formats in a folder, those without are companions of the others."""
