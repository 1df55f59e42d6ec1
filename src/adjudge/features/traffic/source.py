"""The interface of sources of traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import RunError


class SourceAway(RunError):
    """Raised if a source does not answer now; it is asked again in the next round."""


@dataclass(frozen=True, slots=True)
class TrafficEvent:
    """One event of production: a row to judge, or a part of one."""

    id: str
    """The source's id: events of the same id are the same event."""
    row: JsonObject
    at: str = ""
    """When it happened, as the source says it."""
    trace: str = ""
    """The trace that it is a part of: it is judged when that is whole."""
    is_root: bool = False
    """True if the trace has ended with it."""
    format: str = "otlp"
    """The format of the trace that it is part of."""


@dataclass(frozen=True, slots=True)
class TrafficBatch:
    """The events after a place in the source."""

    events: Sequence[TrafficEvent]
    cursor: JsonObject
    """The place behind them; JSON, since it is kept."""
    bad: Sequence[str] = ()
    """Errors, each with its place."""
    more: bool = False
    """True if there is more to read at once."""


class TrafficSource(Protocol):
    """A source of events that is read from a cursor onwards.

    The same cursor gives the same events, and possibly later ones.
    """

    @property
    def name(self) -> str:
        """The key under which its cursor is stored."""
        ...

    def read(self, cursor: JsonObject) -> TrafficBatch:
        """Return the events after ``cursor``; an empty cursor is the beginning."""
        ...
