"""The judgments of one row, if a judge has several criteria: they are stored next to each other."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.record import Flag
from adjudge.core.ledger.codec import flags_in

MOST_CRITERIA = 64
"""Judgments on each side of one that are searched for others of its row."""


@dataclass(frozen=True)
class RowJudgment:
    """A judgment of a row by one criterion, without texts."""

    judge: str
    index: int
    id: str | None
    criterion: str
    status: str
    score: float | None
    verdict: str | None
    flags: tuple[Flag, ...] = ()

    @property
    def row(self) -> int:
        return self.index + 1


def row_group(
    connection: sqlite3.Connection, judge: str, index: int, order: Sequence[str] = ()
) -> list[RowJudgment]:
    """Return the judgments of one row by all criteria of the judge, in their order.

    They are neighbours with the same id, or without an id the same text, each by another criterion.
    ``order``: the judge's criteria, if known: a criterion that does not come later begins the next
    row.
    """
    query = (
        "SELECT CASE WHEN id IS NULL THEN CAST(coalesce(json_extract(instance, '$.response'), "
        "instance) AS BLOB) END, number, id, criterion, status, score, verdict, flags "
        "FROM judgments WHERE judge = ? AND number BETWEEN ? AND ? ORDER BY number"
    )
    reach = len(order) - 1 if order else MOST_CRITERIA
    places = {name: place for place, name in enumerate(order)}
    group_text: bytes | None = None
    group: list[RowJudgment] = []
    for text, *columns, flags in connection.execute(query, (judge, index - reach, index + reach)):
        judgment = replace(RowJudgment(judge, *columns), flags=flags_in(flags))
        if group and (
            (judgment.id, text) != (group[-1].id, group_text)
            or judgment.criterion in {member.criterion for member in group}
            or places.get(judgment.criterion, 0) < places.get(group[-1].criterion, 0)
        ):
            if judgment.index > index:
                break
            group = []
        group_text = text
        group.append(judgment)
    return group if any(judgment.index == index for judgment in group) else []


def come_together(connection: sqlite3.Connection, judge: str, order: Sequence[str]) -> bool:
    """Return True if the judge's first judgments alternate between its criteria, row by row."""
    return any(
        len(row_group(connection, judge, index, order)) > 1 for index in range(2 * len(order))
    )


def are_in_turn(connection: sqlite3.Connection, judge: str, order: Sequence[str]) -> bool:
    """Return True if every row has a judgment by each criterion, in order, so that rows can be
    counted.
    """
    query = "SELECT number, criterion FROM judgments WHERE judge = ? ORDER BY number {} LIMIT ?"
    # The ends are enough: a judgment missing in between would shift the last ones.
    most = 2 * len(order)
    ends = [connection.execute(query.format(end), (judge, most)) for end in ("ASC", "DESC")]
    return len(order) > 1 and all(
        criterion == order[number % len(order)] for rows in ends for number, criterion in rows
    )


def count_rows_of(connection: sqlite3.Connection, judge: str, per_row: int) -> int:
    """Return the number of rows that a judge judged, with ``per_row`` judgments each."""
    query = "SELECT count(DISTINCT number / ?) FROM judgments WHERE judge = ?"
    (count,) = connection.execute(query, (per_row, judge)).fetchone()
    return int(count)
