"""The judgments of one row, where a judge has several criteria: they lie side by side."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.record import Flag
from adjudge.core.ledger.codec import flags_in

MOST_CRITERIA = 64
"""Judgments on each side of one that are looked through for others of its row."""


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
    """The judgments of one row by all criteria of the judge, in their order: neighbours of the same
    id, or without one of the same text, each by another criterion.

    ``order``: the judge's criteria where they are known: one that does not come later is the next
    row's.
    """
    query = (
        "SELECT CASE WHEN id IS NULL THEN CAST(coalesce(json_extract(instance, '$.response'), "
        "instance) AS BLOB) END, number, id, criterion, status, score, verdict, flags "
        "FROM judgments WHERE judge = ? AND number BETWEEN ? AND ? ORDER BY number"
    )
    reach = len(order) - 1 if order else MOST_CRITERIA
    places = {name: place for place, name in enumerate(order)}
    texts: bytes | None = None
    found: list[RowJudgment] = []
    for own, *rest, flags in connection.execute(query, (judge, index - reach, index + reach)):
        one = replace(RowJudgment(judge, *rest), flags=flags_in(flags))
        if found and (
            (one.id, own) != (found[-1].id, texts)
            or one.criterion in {each.criterion for each in found}
            or places.get(one.criterion, 0) < places.get(found[-1].criterion, 0)
        ):
            if one.index > index:
                break
            found = []
        texts = own
        found.append(one)
    return found if any(one.index == index for one in found) else []


def come_together(connection: sqlite3.Connection, judge: str, order: Sequence[str]) -> bool:
    """Whether the criteria of a judge come in turns, row by row, by its first judgments."""
    return any(
        len(row_group(connection, judge, index, order)) > 1 for index in range(2 * len(order))
    )


def are_in_turn(connection: sqlite3.Connection, judge: str, order: Sequence[str]) -> bool:
    """Whether every row has a judgment by each criterion, in their order, so that rows can be
    counted: by the first and the last judgments, since what is missing between moves the last.
    """
    query = "SELECT number, criterion FROM judgments WHERE judge = ? ORDER BY number {} LIMIT ?"
    most = 2 * len(order)
    ends = [connection.execute(query.format(end), (judge, most)) for end in ("ASC", "DESC")]
    return len(order) > 1 and all(
        criterion == order[number % len(order)] for rows in ends for number, criterion in rows
    )


def count_rows_of(connection: sqlite3.Connection, judge: str, per_row: int) -> int:
    """How many rows a judge judged, where each has so many judgments."""
    query = "SELECT count(DISTINCT number / ?) FROM judgments WHERE judge = ?"
    (count,) = connection.execute(query, (per_row, judge)).fetchone()
    return int(count)
