"""What every store of a shared run does, and the records that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from adjudge.core.domain.json_types import JsonDict, JsonObject

Values = tuple[object, ...]


class RowRange(NamedTuple):
    """Rows of the data, from the first to the last, both counted from 0 and included."""

    first: int
    last: int

    def meets(self, other: RowRange) -> bool:
        """Whether they have a row in common."""
        return self.first <= other.last and other.first <= self.last


class StoredVote(NamedTuple):
    """A vote as a ledger has it, with its checksum."""

    values: Values


class StoredJudgment(NamedTuple):
    row: int
    nth: int
    """A row has a judgment for each criterion and turn: which one this is, from 0."""
    at: float
    """When it was made: of two, the later counts."""
    values: Values
    """As a ledger has it, with its checksum; its number is given when all rows are there."""


class AccountRecord(NamedTuple):
    """What one session has spent so far; its last one counts."""

    session: str
    account: JsonDict


Record = StoredVote | StoredJudgment | AccountRecord


class WriterSession(NamedTuple):
    """One process, from when it opens the store until it ends."""

    writer: str
    """Who writes; a worker that is started anew under the same name finds what it wrote."""
    id: str


def is_new(writer: str, seen: set[str]) -> bool:
    """Whether a reader is yet to be given what the writer wrote; it is taken down that it is given
    now.
    """
    mark = f"all of {writer}"
    new = bool(writer) and mark not in seen
    seen.add(mark)
    return new


class Store(Protocol):
    """A place that many processes append to at once.

    What ``append`` returned from outlives all of them.
    """

    @property
    def name(self) -> str:
        """What people are told that it is."""
        ...

    def begin(self, configuration: JsonObject) -> JsonObject:
        """The configuration that the store was begun with; OtherConfiguration where this one cannot
        go on with it.
        """
        ...

    def append(self, session: WriterSession, span: RowRange, records: Sequence[Record]) -> None:
        """Keep records about these rows: all of them or, where the process dies before this
        returns, maybe none.
        """
        ...

    def votes(self, span: RowRange, writer: str, seen: set[str]) -> Iterator[Values]:
        """The votes about rows of ``span``, and those that ``writer`` wrote before this reader
        began; "" is nobody. ``seen``: what this reader was given before, for the store to add to.
        """
        ...

    def records(self) -> Iterator[Record]:
        """Everything, the oldest first."""
        ...

    def begun_with(self) -> tuple[JsonObject, float]:
        """The configuration, and when the store was made. A RunError where there is none."""
        ...
