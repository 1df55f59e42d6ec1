"""The compared systems of a run: the same two in either order, or more than two."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudge.core.domain.record import JudgmentRecord, place_name, place_names
from adjudge.messages import Message
from adjudge.stats.refusal import Refusal

_SYSTEMS = (
    "SELECT json_extract(result, '$.systems'), json_array_length(result, "
    "'$.per_system_results'), min(number) FROM judgments "
    "WHERE judge = ? GROUP BY 1, 2 ORDER BY 3"
)


@dataclass(frozen=True)
class Contestants:
    """The systems that a judge compares, over all rows."""

    names: tuple[str, ...] = ()
    """Names of the systems, first the one whose win rate is reported. If rows do not name the same
    systems, names of their places.
    """
    by_name: bool = False
    """True if each row names its own systems."""
    count: int = 0
    """Number of different systems."""

    @classmethod
    def of(cls, rows: Iterable[tuple[str, ...]]) -> Contestants:
        """Return the contestants of these rows. Each row lists its systems in the order of its
        responses.
        """
        orders = list(dict.fromkeys(rows))
        names = {name for order in orders for name in order}
        told_apart = all(len(set(order)) == len(order) for order in orders)
        # Two systems are told apart by name even if they swap places; more of them only in one
        # order.
        if orders and told_apart and (len(orders) == 1 or len(names) == 2):
            return cls(orders[0], by_name=True, count=len(names))
        return cls(place_names(max(map(len, orders), default=2)), count=len(names))

    @classmethod
    def of_records(cls, records: Iterable[JudgmentRecord]) -> Contestants:
        """Return the contestants of judgments in memory."""
        return cls.of(map(systems_of, records))

    @classmethod
    def of_judge(cls, ledger: sqlite3.Connection, judge: str) -> Contestants:
        """Return the contestants of a judge, without reading the rows' texts."""
        rows = (
            (json.loads(names_json) if names_json else None, count)
            for names_json, count, _ in ledger.execute(_SYSTEMS, (judge,))
            if count
        )
        return cls.of(
            tuple(map(str, names)) if names and len(names) == count else place_names(count)
            for names, count in rows
        )

    def own(self, record: JudgmentRecord) -> Sequence[str]:
        """Return the names of one judgment's responses, in their order."""
        names = systems_of(record)
        return names if self.by_name else place_names(len(names))

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no win rate with more than two systems, else None.

        It would belong to a position, or depend on the opponents.
        """
        if self.count <= 2:
            return None
        return Refusal(
            "several_systems",
            Message(
                "{count} systems are compared, but a win rate is for two: 'adjudge rank' ranks "
                "them",
                count=self.count,
            ),
        )


def systems_of(record: JudgmentRecord) -> tuple[str, ...]:
    """Return the names of the responses that a judgment compares."""
    return record.systems or place_names(2)


def system_at(systems: Sequence[str], place: int) -> str:
    """Return the name of the response at this position."""
    return systems[place] if place < len(systems) else place_name(place)
