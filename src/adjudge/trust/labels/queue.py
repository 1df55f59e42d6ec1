"""Select the rows of a run to label, in order.

The permutation of rows is drawn once: a row's lot is a hash of the seed and its identity, so that
rows added later leave the order of the others unchanged. Rows are kept in a temporary file, so that
memory does not grow with them.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.label import Design
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.slices import value_in
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.runs.folder import reading
from adjudge.runs.traffic_rows import COLUMN, is_of_sample
from adjudge.trust.labels.rows_of_draws import row_key
from adjudge.trust.labels.scales import JudgedScale
from adjudge.trust.labels.weighting import (
    MOST_KINDS,
    WeightedQueue,
    Weighting,
    dispute,
    doubt,
    quotas,
    signal,
    turn,
)

LookedFor = Literal["disagreement", "low-confidence", "failed", "suspicious", "conflicts"]
ChosenQueue = LookedFor | Literal["listed"]
Queue = Literal["random", "learn"] | WeightedQueue | ChosenQueue
QUEUES: tuple[Queue, ...] = ("random", *get_args(WeightedQueue), "learn", *get_args(LookedFor))
"""Those that a run has of itself; the rows of ``listed`` somebody names."""
FIRST = 50
"""Rows that are drawn among all of them before any verdict is topped up."""
FLOOR = 15
"""Labels that each verdict gets, where it has so many rows."""
# The same where a scale has many verdicts: neighbours are taken together until they have as many.
_FLOOR_OF_MANY = 5
_MANY = 4
FAILED = ""
"""The verdict of rows that have none."""
_TABLE = (
    "CREATE TABLE rows (identity TEXT NOT NULL, lot TEXT PRIMARY KEY, judge TEXT NOT NULL, "
    "number INTEGER NOT NULL, id TEXT, "
    "verdict TEXT NOT NULL, dispute REAL NOT NULL, doubt REAL NOT NULL, "
    "signal REAL, kind TEXT NOT NULL, sampled INTEGER NOT NULL)"
)
# Of the rows, about how many are drawn more often: the greatest doubts, and no row without any.
_DOUBTFUL = 1 / 3
_ADD = (
    "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (lot) DO UPDATE SET "
    "dispute = max(dispute, excluded.dispute) + (verdict <> excluded.verdict), doubt = "
    "max(doubt, excluded.doubt), sampled = max(sampled, excluded.sampled)"
)
# Queue → which rows, and in which order.
_CHOSEN: Mapping[Queue, tuple[str, str]] = {
    "disagreement": ("dispute > 0", "dispute DESC, lot"),
    "low-confidence": ("doubt > 0", "doubt DESC, lot"),
    "failed": ("verdict = ''", "lot"),
    "suspicious": (
        "verdict = '' OR dispute > 0 OR doubt > 0",
        "verdict = '' DESC, dispute + doubt DESC, lot",
    ),
}


class QueuedRow(NamedTuple):
    """A row to be labelled."""

    identity: str
    id: str | None
    judge: str
    number: int
    """The number of the judgment that has its text in the ledger."""
    design: Design
    chance: float | None = None
    """The row's chance to be drawn, if chances differ."""


def is_drawn(queue: Queue) -> bool:
    """Return True if a queue draws all its rows at random, so that their labels count."""
    return queue not in (*get_args(LookedFor), "learn", "listed")


class RowIndex:
    """The distinct rows of a run for one criterion. Rows with equal content count once."""

    def __init__(self, table: sqlite3.Connection, seed: int, keys: Sequence[array[int]]) -> None:
        self._table = table
        self._seed = seed
        self.keys = keys
        """The keys of the rows of each judge, in their order, copies of one text included."""

    def count(self) -> int:
        """Return the number of distinct rows."""
        return int(self._table.execute("SELECT count(*) FROM rows").fetchone()[0])

    def plan(self, queue: Queue, count: int) -> list[QueuedRow]:
        """Return about ``count`` rows to label, in order. Fewer if the run does not have enough."""
        if queue == "learn":
            return self._plan_learning(count)
        if queue != "random":
            which, order = _CHOSEN[queue]
            return self._rows("chosen", f"WHERE {which} ORDER BY {order} LIMIT ?", (count,))
        # The first rows are drawn among all rows. Then rare verdicts are topped up, mixed with as
        # many random rows, so that a row's place does not tell its verdict.
        first_rows = self._draw_random(min(count, FIRST))
        if count < FIRST:
            return first_rows
        topped = self._top_up(first_rows)
        mixed = {
            row.identity: row for row in (*topped, *self._draw_random(len(topped), len(first_rows)))
        }
        tail = sorted(mixed.values(), key=lambda row: _lot(f"{self._seed} tail", row.identity))
        identities = {row.identity for row in (*first_rows, *tail)}
        missing = max(0, count - len(identities))
        further = [
            row
            for row in self._draw_random(missing + len(topped), len(first_rows) + len(topped))
            if row.identity not in identities
        ]
        return [*first_rows, *tail, *further[:missing]]

    def _plan_learning(self, count: int) -> list[QueuedRow]:
        """Return rows drawn at random and rows that teach most, in pairs.

        The drawn rows are the first of the permutation, so those labelled so far are a random
        sample. The others are marked as chosen: they are for learning, not for corrections. They
        are taken from each verdict in turn, greatest doubt first.
        """
        drawn = self._draw_random((count + 1) // 2)
        identities = {row.identity for row in drawn}
        ranked = (
            "WHERE verdict <> '' ORDER BY row_number() OVER "
            "(PARTITION BY verdict ORDER BY doubt DESC, lot), lot LIMIT ?"
        )
        teaching = [
            row for row in self._rows("chosen", ranked, (count,)) if row.identity not in identities
        ][: count - len(drawn)]
        pairs = zip_longest(drawn, teaching)
        # Either may come first, so that a row's place does not tell whether it was drawn.
        mixed = (
            sorted(filter(None, pair), key=lambda row: _lot(f"{self._seed} pair", row.identity))
            for pair in pairs
        )
        return [row for pair in mixed for row in pair]

    def weighting(self, queue: WeightedQueue, by: str) -> Weighting:
        """Return the basis of the chances in a first draw: a column, or the doubt that a third of
        the rows exceed.
        """
        if queue == "random-stratified":
            return Weighting(queue, by)
        (rows,) = self._table.execute("SELECT count(signal) FROM rows WHERE sampled").fetchone()
        limit = self._table.execute(
            "SELECT signal FROM rows WHERE sampled AND signal IS NOT NULL ORDER BY signal DESC "
            "LIMIT 1 OFFSET ?",
            (int(rows * _DOUBTFUL),),
        ).fetchone()
        return Weighting(queue, repr(round(float(limit[0]), 6)) if limit else "0.0")

    def draw(self, weighting: Weighting, count: int) -> list[QueuedRow]:
        """Return about ``count`` rows, as many of each kind as its chance requires."""
        if weighting.queue != "random-stratified":
            above, below = (weighting.kind_of_signal(end) for end in (math.inf, -math.inf))
            self._table.execute(
                "UPDATE rows SET kind = CASE WHEN signal IS NULL THEN '' WHEN signal > ? THEN ? "
                "ELSE ? END",
                (float(weighting.by), above, below),
            )
        counts = self._table.execute(
            "SELECT verdict, kind, count(*) FROM rows WHERE sampled GROUP BY 1, 2"
        )
        rows = {(verdict, kind): int(number) for verdict, kind, number in counts}
        _check_kinds({kind for _, kind in rows}, weighting)
        turns: list[tuple[float, QueuedRow]] = []
        for (verdict, kind), quota in quotas(rows, weighting.queue, count).items():
            which = "WHERE sampled AND verdict = ? AND kind = ? ORDER BY lot LIMIT ?"
            rows_of_kind = self._rows("random_weighted", which, (verdict, kind, quota))
            chance = quota / rows[verdict, kind]
            turns += [
                (turn(self._seed, row.identity, rank, quota), row._replace(chance=chance))
                for rank, row in enumerate(rows_of_kind)
            ]
        return [row for _, row in sorted(turns, key=lambda turn_and_row: turn_and_row[0])]

    def rows(self, identities: Iterable[str]) -> list[QueuedRow]:
        """Return those rows with these identities that the run has."""
        return [
            row
            for identity in identities
            for row in self._rows("chosen", "WHERE lot = ?", (self._lot(identity),))
        ]

    def _top_up(self, first_rows: list[QueuedRow]) -> list[QueuedRow]:
        """Return further rows for verdicts that were rarely drawn, following the same
        permutation.
        """
        counts = self._table.execute(
            "SELECT verdict, count(*) FROM rows WHERE sampled GROUP BY verdict ORDER BY verdict"
        ).fetchall()
        floor = (
            FLOOR
            if len([verdict for verdict, _ in counts if verdict != FAILED]) < _MANY
            else _FLOOR_OF_MANY
        )
        drawn = Counter(self._verdict(row.identity) for row in first_rows)
        further: list[QueuedRow] = []
        for verdict, _ in counts:
            missing = floor - drawn[verdict]
            if missing > 0:
                which = "WHERE sampled AND verdict = ? ORDER BY lot LIMIT ? OFFSET ?"
                further += self._rows(
                    "random_within_verdict", which, (verdict, missing, drawn[verdict])
                )
        return further

    def _verdict(self, identity: str) -> str:
        (verdict,) = self._table.execute(
            "SELECT verdict FROM rows WHERE lot = ?", (self._lot(identity),)
        ).fetchone()
        return str(verdict)

    def _lot(self, identity: str) -> str:
        return _lot(str(self._seed), identity)

    def _draw_random(self, count: int, offset: int = 0) -> list[QueuedRow]:
        return self._rows("random", "WHERE sampled ORDER BY lot LIMIT ? OFFSET ?", (count, offset))

    def _rows(self, design: Design, which: str, values: tuple[object, ...]) -> list[QueuedRow]:
        # constant texts
        query = f"SELECT identity, id, judge, number FROM rows {which}"  # noqa: S608
        return [
            QueuedRow(identity, id, judge, number, design)
            for identity, id, judge, number in self._table.execute(query, values)
        ]


@contextmanager
def row_index(
    folder: str | Path, judged: JudgedScale, seed: int = 0, *, queue: Queue = "random", by: str = ""
) -> Iterator[RowIndex]:
    """Index the rows of a run for ``queue``. ``by``: the column whose values are drawn
    separately.
    """
    # the table is a file that is gone with the process
    with closing(sqlite3.connect("")) as table, reading(folder) as ledger:
        table.execute("PRAGMA cache_size = -65536")
        table.execute(_TABLE)
        keys: list[array[int]] = []
        for judge in judged.judges:
            own_criterion = criterion_of_rows(ledger, judge, judged.name)
            if queue == "random" and own_criterion and not judged.scale.compares:
                judged_rows = _plain_rows(ledger, judge, own_criterion)
            else:
                judged_rows = _full_rows(ledger, judge, judged.name, own_criterion, queue, by)
            keys_of_judge = array("Q")
            keys.append(keys_of_judge)
            table.executemany(
                _ADD,
                (
                    (row.identity, _lot(str(seed), row.identity), judge, *row[1:])
                    for row in _collect_keys(judged_rows, keys_of_judge)
                ),
            )
        table.execute("CREATE INDEX by_verdict ON rows (verdict, lot) WHERE sampled")
        yield RowIndex(table, seed, keys)


def _collect_keys(rows: Iterable[_Row], keys: array[int]) -> Iterator[_Row]:
    for row in rows:
        keys.append(row_key(row.identity))
        yield row


class _Row(NamedTuple):
    """The properties of a judgment that the draw needs."""

    identity: str
    number: int
    id: str | None
    verdict: str
    dispute: float
    doubt: float
    signal: float | None
    kind: str
    sampled: bool

    @classmethod
    def of(cls, record: JudgmentRecord, verdict: str, queue: Queue, by: str) -> _Row:
        decided = verdict != FAILED
        return cls(
            record.identity,
            record.index,
            record.id,
            verdict,
            dispute(record),
            doubt(record),
            signal(record, queue) if decided else None,
            value_in(record, by) if by and decided else "",
            is_of_sample(record),
        )


def _full_rows(
    ledger: sqlite3.Connection,
    judge: str,
    criterion: str,
    own_criterion: str | None,
    queue: Queue,
    by: str,
) -> Iterator[_Row]:
    votes = queue in ("learn", "low-confidence", "suspicious", "random-uncertain")
    for record in records(
        ledger, judge=judge, votes=votes, criterion=own_criterion, trajectory=False
    ):
        if (verdict := verdict_of(record, criterion)) is not None:
            yield _Row.of(record, verdict, queue, by)


def _plain_rows(ledger: sqlite3.Connection, judge: str, criterion: str) -> Iterator[_Row]:
    """Like ``_full_rows``, but reading only columns of the ledger, for draws that need just the
    verdict.

    This takes a fifth of the time for a million rows.
    """
    query = (
        "SELECT number, id, instance, status, verdict, instr(result, :traffic) FROM judgments "
        "WHERE judge = :judge AND criterion = :criterion ORDER BY number"
    )
    values = {"judge": judge, "criterion": criterion, "traffic": f'"{COLUMN}"'}
    full = partial(records, ledger, judge=judge, trajectory=False)
    for number, id, instance, status, verdict, traffic in ledger.execute(query, values):
        decided = (verdict or "scored") if status == "scored" else FAILED
        sampled = not traffic or all(map(is_of_sample, full(index=number)))
        try:
            identity = identity_of(json.loads(instance))
        except (TypeError, ValueError, AttributeError):
            identity = next(full(index=number)).identity  # or what is wrong with the row
        yield _Row(identity, number, id, decided, 0.0, 0.0, None, "", sampled)


def listed_rows(
    folder: str | Path, judged: JudgedScale, judge: str, numbers: Iterable[int]
) -> list[QueuedRow]:
    """Return a judge's judgments with these numbers, from 0, for this criterion. Equal texts appear
    once.
    """
    rows: dict[str, QueuedRow] = {}
    with reading(folder) as ledger:
        for number in numbers:
            for record in records(ledger, judge=judge, index=number, trajectory=False):
                if verdict_of(record, judged.name) is not None:
                    queued = QueuedRow(record.identity, record.id, judge, number, "chosen")
                    rows.setdefault(record.identity, queued)
    return [*rows.values()]


def _check_kinds(kinds: Collection[str], weighting: Weighting) -> None:
    if not weighting.by or weighting.queue != "random-stratified":
        return
    if not any(kinds):
        raise SetupError(
            "no row has a value in column {column!r}: check the name",
            column=weighting.by,
        )
    if len(kinds) > MOST_KINDS:
        raise SetupError(
            "column {column!r} has {count} values; rows can be drawn by at most {most}: name "
            "another column, or leave --by out",
            column=weighting.by,
            count=len(kinds),
            most=MOST_KINDS,
        )


def criterion_of_rows(ledger: sqlite3.Connection, judge: str, criterion: str) -> str | None:
    """Return the criterion if the judge's rows are stored under it, so that other rows can be
    skipped.

    None if they are not, e.g. for dimensions of one answer.
    """
    query = (
        "SELECT 1 FROM (SELECT criterion FROM judgments WHERE judge = ? ORDER BY number LIMIT 64) "
        "WHERE criterion = ? LIMIT 1"
    )
    return criterion if ledger.execute(query, (judge, criterion)).fetchone() else None


def verdict_of(result: JudgmentRecord, criterion: str) -> str | None:
    """Return the verdict on ``criterion``; FAILED without one, None if the judgment is on another
    criterion.
    """
    scores = result.detail.dimension_scores or {}
    if criterion in scores:
        return FAILED if scores[criterion] is None else str(scores[criterion])
    if result.criterion != criterion:
        return None
    if not result.scored:
        return FAILED
    return "scored" if result.choice is None else str(result.choice)


def _lot(seed: str, identity: str) -> str:
    return hashlib.sha256(f"{seed}:{identity}".encode()).hexdigest()[:32]
