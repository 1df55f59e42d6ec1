"""The interface of stores of a shared run, and their records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.ledger.file import refuse_other
from adjudge.messages import Message
from adjudge.runs.report_facts import KEPT

Values = tuple[object, ...]


class RowRange(NamedTuple):
    """Rows of the data from ``first`` to ``last``, both counted from 0 and included."""

    first: int
    last: int

    def meets(self, other: RowRange) -> bool:
        """Return True if the ranges have a row in common."""
        return self.first <= other.last and other.first <= self.last


class StoredVote(NamedTuple):
    """A vote as in a ledger, with its checksum."""

    values: Values


class StoredJudgment(NamedTuple):
    row: int
    nth: int
    """A row has a judgment for each criterion and turn: which one this is, from 0."""
    at: float
    """When it was made: of two, the later counts."""
    values: Values
    """The columns as in a ledger, with the checksum; the number is set when all rows are there."""


class AccountRecord(NamedTuple):
    """A session's spending so far; its last record counts."""

    session: str
    account: JsonDict


Record = StoredVote | StoredJudgment | AccountRecord


class WriterSession(NamedTuple):
    """One process, from opening the store until its end."""

    writer: str
    """The writer's name; a worker that is restarted under the same name finds what it wrote."""
    id: str


def is_new(writer: str, seen: set[str]) -> bool:
    """Return True the first time a reader asks for a writer's records, and remember it."""
    mark = f"all of {writer}"
    new = bool(writer) and mark not in seen
    seen.add(mark)
    return new


class Store(Protocol):
    """A place that many processes append to at once.

    Appended records outlive all of them.
    """

    @property
    def name(self) -> str:
        """The name for messages."""
        ...

    def begin(self, configuration: JsonObject) -> JsonObject:
        """Return the configuration that the store was begun with; raise OtherConfiguration if this
        one differs.
        """
        ...

    def append(self, session: WriterSession, span: RowRange, records: Sequence[Record]) -> None:
        """Store records about these rows: all of them or, if the process dies before this returns,
        possibly none.
        """
        ...

    def votes(self, span: RowRange, writer: str, seen: set[str]) -> Iterator[Values]:
        """Yield the votes about rows of ``span``, and those that ``writer`` wrote before this
        reader began.

        An empty writer has none. ``seen`` is what this reader got before; the store adds to it.
        """
        ...

    def records(self) -> Iterator[Record]:
        """Yield all records, oldest first."""
        ...

    def begun_with(self) -> tuple[JsonObject, float]:
        """Return the configuration, and when the store was made; raise a RunError if there
        is none.
        """
        ...


def refuse_other_judges(
    name: str, known: JsonObject, configuration: JsonObject, otherwise: Message
) -> None:
    """Raise an OtherConfiguration if a store begun with ``known`` has other judges. Settings of the
    report may differ: the first ones count.
    """
    refuse_other(name, without_report(known), without_report(configuration), otherwise)


def without_report(configuration: JsonObject) -> JsonDict:
    """Return the configuration of a store without the settings of its report."""
    return {key: value for key, value in configuration.items() if key != KEPT}
