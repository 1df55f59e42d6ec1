"""What is compared in the comparisons of a run: the same two systems whichever side they stand on,
or more of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudge.core.domain.record import JudgmentRecord, place_names
from adjudge.messages import Message
from adjudge.stats.refusal import Refusal

_SYSTEMS = (
    "SELECT json_extract(result, '$.systems'), json_array_length(result, "
    "'$.per_system_results'), min(number) FROM judgments "
    "WHERE judge = ? GROUP BY 1, 2 ORDER BY 3"
)


@dataclass(frozen=True)
class Contestants:
    """The systems over all rows of a judge."""

    names: tuple[str, ...] = ()
    """What they are called, the one whose win rate is told first; by their places where rows do not
    name the same ones.
    """
    by_name: bool = False
    """Whether each row's own names tell which is which."""
    count: int = 0
    """How many there are in all."""

    @classmethod
    def of(cls, rows: Iterable[tuple[str, ...]]) -> Contestants:
        """Of the names of each row, in the order of its responses."""
        orders = list(dict.fromkeys(rows))
        known = {name for order in orders for name in order}
        told_apart = all(len(set(order)) == len(order) for order in orders)
        if orders and told_apart and (len(orders) == 1 or len(known) == 2):
            return cls(orders[0], by_name=True, count=len(known))
        return cls(place_names(max(map(len, orders), default=2)), count=len(known))

    @classmethod
    def of_records(cls, records: Iterable[JudgmentRecord]) -> Contestants:
        """Of judgments that are there."""
        return cls.of(map(systems_of, records))

    @classmethod
    def of_judge(cls, ledger: sqlite3.Connection, judge: str) -> Contestants:
        """Of all judgments of a judge, without reading their texts."""
        found = (
            (json.loads(named) if named else None, count)
            for named, count, _ in ledger.execute(_SYSTEMS, (judge,))
            if count
        )
        return cls.of(
            tuple(map(str, named)) if named and len(named) == count else place_names(count)
            for named, count in found
        )

    def own(self, record: JudgmentRecord) -> Sequence[str]:
        """What the responses of one judgment are called, in their order."""
        own = systems_of(record)
        return own if self.by_name else place_names(len(own))

    @property
    def refusal(self) -> Refusal | None:
        """Of several systems no one has a win rate: it would be that of a place, or hang on who
        else was there.
        """
        if self.count <= 2:
            return None
        return Refusal(
            "several_systems",
            Message(
                "{count} systems are compared, and a win rate is of two: 'adjudge rank' ranks them",
                count=self.count,
            ),
        )


def systems_of(record: JudgmentRecord) -> tuple[str, ...]:
    """What the compared responses of a judgment are called."""
    return record.systems or place_names(2)


def system_at(systems: Sequence[str], place: int) -> str:
    """What the response at a place is called."""
    return systems[place] if place < len(systems) else place_names(place + 1)[place]
