"""Choose the events to judge by a hash of their id, so that every run and every judge takes the
same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.errors import SetupError
from adjudge.features.traffic.source import TrafficEvent

_WHOLE = 1 << 64


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """The reason why an event is judged."""

    weight: float
    """The number of events that it represents: one divided by its chance to be taken."""
    stratum: str
    is_uniform: bool
    """True if it would be in a sample that draws all events alike."""


@dataclass(frozen=True)
class Sampling:
    """The rule that chooses events. Every event has a known chance above 0."""

    share: float = 1.0
    by: str | None = None
    """The column whose values are strata: each is sampled by itself."""
    at_least: int = 0
    """Events of a stratum to take each day before any is left out."""
    always: tuple[tuple[str, str], ...] = ()
    """(Column, value) of events that are all taken."""
    seed: str = "0"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SetupError(
                "the share of events to judge must be above 0 and at most 1, not {share}",
                share=self.share,
            )

    def stratum_of(self, row: JsonObject) -> str:
        """Return the group that an event belongs to."""
        for column, value in self.always:
            if _cell(row.get(column)) == value:
                return f"{column}={value}"
        return _cell(row.get(self.by)) if self.by else ""

    def choose(self, event: TrafficEvent, seen: int) -> SampleChoice | None:
        """Return the choice, or None if the event is not judged.

        `seen` is how many events of its stratum came before it today.
        """
        stratum = self.stratum_of(event.row)
        is_uniform = self._draw(event.id) < self.share
        is_certain = seen < self.at_least or any(
            _cell(event.row.get(column)) == value for column, value in self.always
        )
        if is_certain:
            return SampleChoice(1.0, stratum, is_uniform)
        return SampleChoice(1 / self.share, stratum, is_uniform=True) if is_uniform else None

    def _draw(self, id: str) -> float:
        drawn = sha256(f"{self.seed}\0{id}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(drawn[:8], "big") / _WHOLE


def _cell(value: JsonValue) -> str:
    return "" if value is None else str(value)
