"""Which rows of a run to label, and in which order.

The permutation of rows is drawn once: a row's lot is a hash of the seed and its identity, so that
rows which are added later keep the others in their order. The rows lie in a temporary file, so that
memory does not grow with them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from adjudge.domain.label import Design
from adjudge.domain.rag_record import RagDetail
from adjudge.domain.record import JudgmentRecord
from adjudge.labels.scales import JudgedScale
from adjudge.ledger.records import records
from adjudge.runs.folder import reading

Queue = Literal["random", "disagreement", "low-confidence", "failed", "conflicts"]
QUEUES: tuple[Queue, ...] = get_args(Queue)
FIRST = 50
"""Rows that are drawn among all of them before any verdict is topped up."""
FLOOR = 15
"""Labels that each verdict gets, where it has so many rows."""
_FLOOR_OF_MANY = 5
"""The same where a scale has many verdicts: neighbours are taken together until
they have as many.
"""
_MANY = 4
FAILED = ""
"""The verdict of rows that have none."""
_TABLE = (
    "CREATE TABLE rows (identity TEXT PRIMARY KEY, lot TEXT NOT NULL, judge TEXT NOT NULL, "
    "number INTEGER NOT NULL, id TEXT, "
    "verdict TEXT NOT NULL, dispute REAL NOT NULL, doubt REAL NOT NULL)"
)
_ADD = (
    "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (identity) DO UPDATE SET "
    "dispute = max(dispute, excluded.dispute) + (verdict <> excluded.verdict), doubt = "
    "max(doubt, excluded.doubt)"
)
_CHOSEN: Mapping[Queue, tuple[str, str]] = {
    "disagreement": ("dispute > 0", "dispute DESC, lot"),
    "low-confidence": ("doubt > 0", "doubt DESC, lot"),
    "failed": ("verdict = ''", "lot"),
}
"""Queue → which rows, and in which order."""


class QueuedRow(NamedTuple):
    """A row that is to be labelled."""

    identity: str
    id: str | None
    judge: str
    number: int
    """Where its text is in the ledger."""
    design: Design


class RowIndex:
    """The rows of a run under one criterion, each once, however often its content is there."""

    def __init__(self, table: sqlite3.Connection, seed: int) -> None:
        self._table = table
        self._seed = seed

    def count(self) -> int:
        """How many rows there are."""
        return int(self._table.execute("SELECT count(*) FROM rows").fetchone()[0])

    def plan(self, queue: Queue, count: int) -> list[QueuedRow]:
        """About ``count`` rows to label, in their order."""
        if queue != "random":
            which, order = _CHOSEN[queue]
            return self._rows("chosen", f"WHERE {which} ORDER BY {order} LIMIT ?", (count,))
        first = self._drawn(min(count, FIRST))
        if count < FIRST:
            return first
        topped = self._topped_up(first)
        mixed = {row.identity: row for row in (*topped, *self._drawn(len(topped), len(first)))}
        tail = sorted(mixed.values(), key=lambda row: _lot(f"{self._seed} tail", row.identity))
        known = {row.identity for row in (*first, *tail)}
        missing = max(0, count - len(known))
        further = [
            row
            for row in self._drawn(missing + len(topped), len(first) + len(topped))
            if row.identity not in known
        ]
        return [*first, *tail, *further[:missing]]

    def rows(self, identities: Iterable[str]) -> list[QueuedRow]:
        """These rows, as far as the run has them: what annotators differ on."""
        return [
            row for one in identities for row in self._rows("chosen", "WHERE identity = ?", (one,))
        ]

    def _topped_up(self, first: list[QueuedRow]) -> list[QueuedRow]:
        """Further rows of the verdicts that were seldom drawn, by the same permutation."""
        counts = self._table.execute(
            "SELECT verdict, count(*) FROM rows GROUP BY verdict ORDER BY verdict"
        ).fetchall()
        floor = (
            FLOOR
            if len([verdict for verdict, _ in counts if verdict != FAILED]) < _MANY
            else _FLOOR_OF_MANY
        )
        drawn = Counter(self._verdict(row.identity) for row in first)
        found: list[QueuedRow] = []
        for verdict, _ in counts:
            missing = floor - drawn[verdict]
            if missing > 0:
                which = "WHERE verdict = ? ORDER BY lot LIMIT ? OFFSET ?"
                found += self._rows(
                    "random_within_verdict", which, (verdict, missing, drawn[verdict])
                )
        return found

    def _verdict(self, identity: str) -> str:
        (verdict,) = self._table.execute(
            "SELECT verdict FROM rows WHERE identity = ?", (identity,)
        ).fetchone()
        return str(verdict)

    def _drawn(self, count: int, after: int = 0) -> list[QueuedRow]:
        return self._rows("random", "ORDER BY lot LIMIT ? OFFSET ?", (count, after))

    def _rows(self, design: Design, which: str, values: tuple[object, ...]) -> list[QueuedRow]:
        # constant texts
        query = f"SELECT identity, id, judge, number FROM rows {which}"  # noqa: S608
        return [
            QueuedRow(identity, id, judge, number, design)
            for identity, id, judge, number in self._table.execute(query, values)
        ]


@contextmanager
def row_index(
    folder: str | Path, judged: JudgedScale, seed: int = 0, *, votes: bool = False
) -> Iterator[RowIndex]:
    """The rows of a run. ``votes``: look into each vote, for how sure it is."""
    with (
        closing(sqlite3.connect("")) as table,
        reading(folder) as ledger,
    ):  # a file that is gone with the process
        table.execute(_TABLE)
        for judge in judged.judges:
            named = criterion_of_rows(ledger, judge, judged.name)
            for result in records(
                ledger, judge=judge, votes=votes, criterion=named, trajectory=False
            ):
                if (verdict := verdict_of(result, judged.name)) is not None:
                    identity = result.identity
                    place = (judge, result.index, result.id)
                    values = (
                        identity,
                        _lot(str(seed), identity),
                        *place,
                        verdict,
                        _dispute(result),
                        _doubt(result),
                    )
                    table.execute(_ADD, values)
        table.execute("CREATE INDEX by_lot ON rows (lot)")
        table.execute("CREATE INDEX by_verdict ON rows (verdict, lot)")
        yield RowIndex(table, seed)


def criterion_of_rows(ledger: sqlite3.Connection, judge: str, criterion: str) -> str | None:
    """The criterion, where rows of the judge are filed under it, so that those of its other
    measures need not be read; None where they are not (dimensions of one answer).
    """
    query = (
        "SELECT 1 FROM (SELECT criterion FROM judgments WHERE judge = ? ORDER BY number LIMIT 64) "
        "WHERE criterion = ? LIMIT 1"
    )
    return criterion if ledger.execute(query, (judge, criterion)).fetchone() else None


def verdict_of(result: JudgmentRecord, criterion: str) -> str | None:
    """What was decided on ``criterion``; FAILED where nothing was, None where the judgment is about
    something else.
    """
    scores = result.detail.scores if isinstance(result.detail, RagDetail) else {}
    if criterion in scores:
        return FAILED if scores[criterion] is None else str(scores[criterion])
    if result.criterion != criterion:
        return None
    if not result.scored:
        return FAILED
    return "scored" if result.choice is None else str(result.choice)


def _lot(seed: str, identity: str) -> str:
    return hashlib.sha256(f"{seed}:{identity}".encode()).hexdigest()[:32]


def _dispute(result: JudgmentRecord) -> float:
    """How much the votes on a row contradict each other: a split, an order that changes the
    verdict, a tie, a divided panel.
    """
    bias = result.positional_bias
    flipped = bias is not None and bool(bias.detected)
    divided = len(set(result.model_scores.values())) > 1
    return _doubt_of_share(result.agreement) + flipped + divided + result.tie


def _doubt(result: JudgmentRecord) -> float:
    """How unsure the votes are: by the probability of their verdicts where there is one, else by
    how many agree.
    """
    read = [vote for vote in result.votes or () if vote.distribution is not None]
    doubts = [_doubt_of_share(vote.probability) for vote in read]
    return max(doubts or [_doubt_of_share(result.agreement)]) + result.low_confidence


def _doubt_of_share(share: float | None) -> float:
    return 0.0 if share is None else 1 - share
