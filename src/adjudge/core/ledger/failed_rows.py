"""Judgments without a verdict by their reason, and the ballots to ask again for one reason."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from adjudge.core.ledger.rows import KEY_BYTES
from adjudge.core.reading.json_begin import begin_object
from adjudge.messages import abridge

_LOST = "FROM judgments WHERE status IN ('failed', 'abstained')"
"""Judgments without a verdict that asking again may change."""
_QUERY = f"SELECT number, substr(result, 1, 100000), ballots {_LOST}"
_OF_A_JUDGE = f"{_QUERY} AND judge = ? ORDER BY number LIMIT ?"
Rows = Callable[[str, Sequence[object]], Iterable[tuple[Any, ...]]]


def failed_rows(rows: Rows, judge: str, most: int) -> Iterator[tuple[int, str]]:
    """Yield the number from 0 and the reason of a judge's judgments without a verdict."""
    for number, result, _ in rows(_OF_A_JUDGE, (judge, most)):
        yield number, _reason(result)


def count_failed(connection: sqlite3.Connection, judge: str) -> int:
    """Return the number of a judge's judgments without a verdict."""
    query = f"SELECT count(*) {_LOST} AND judge = ?"
    (count,) = connection.execute(query, (judge,)).fetchone()
    return int(count)


def ballots_failed_for(rows: Rows, reason: str) -> frozenset[bytes]:
    """Return the ballots of the judgments that have no verdict for this reason.

    ``reason``: as stored, or as reports print it for several rows (``abridge``).
    """
    return frozenset(
        ballots[place : place + KEY_BYTES]
        for _, result, ballots in rows(_QUERY, ())
        if reason in (text := _reason(result), abridge(text))
        for place in range(0, len(ballots), KEY_BYTES)
    )


def _reason(result: str) -> str:
    # read by Python: SQLite cannot decode half a surrogate pair
    return str(begin_object(result).get("reason") or "")
