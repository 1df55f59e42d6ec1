"""Several plain processes, on one machine or many, share a run by leased ranges of its rows in Postgres."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from adjudge.aio import event_loop
from adjudge.domain.instance import Instance
from adjudge.errors import RunError, SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.ledger.file import holds_run
from adjudge.ledger.stores.postgres import LEASE_SECONDS, PostgresStore
from adjudge.ledger.stores.store import Span
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.execute import EvalRun, limits_of_run
from adjudge.runs.partition import PartitionJudge, Session, merge_partitions, partitions
from adjudge.runs.spread import Tell, refuse_unfinished

_ROWS = 256
"""Of a range."""
_LOOK_AGAIN = 1.0
"""Seconds, where all that is left is in others' hands."""


def judge_together(made: EvalRun, url: str, *, share: int, budget: Budget | None, cache: bool, tell: Tell) -> None:
    """Judge ranges until none is left, whoever judged the others; then make the run's ledger of all of them.

    ``share``: how many processes do so at once; each keeps to its part of the file's rate limits.
    """
    folder = made.folder
    if folder is None:
        raise SetupError("a run on a cluster is kept: say where, with --run FOLDER")
    if limits_of_run(budget, made.file.budget) != Budget():
        raise SetupError(
            "processes that share a run by Postgres do not know what the others spend: leave the budget out, or use --on ray"
        )
    if holds_run(folder):
        refuse_unfinished(folder)
        return
    store = PostgresStore(url)
    holder = uuid4().hex
    judge = PartitionJudge(made.file, store, share=share, writer=f"postgres-{holder[:12]}", cache=cache)
    store.begin({"judges": judge.configuration})
    store.offer([Span(rows[0][0], rows[-1][0]) for rows in partitions(made.file, _ROWS, made.limit)])
    rows = _Ranges(made.file, made.limit)
    try:
        with _holding(url, holder):
            event_loop.run(_judge(judge, store, holder, rows, tell))
    finally:
        store.give_back(holder)
    merge_partitions(store, folder)


async def _judge(judge: PartitionJudge, store: PostgresStore, holder: str, rows: _Ranges, tell: Tell) -> None:
    async with judge.opened() as session:
        while span := await _next(session, store, holder):
            tell(await session.judge(rows.of(span)))
            store.done(span)


async def _next(session: Session, store: PostgresStore, holder: str) -> Span | None:
    """The next range; None when all are judged. Those of a process that died are free when its lease has run out."""
    while True:
        if (span := store.take(holder)) or not store.left():
            return span
        await session.run.open_budget.pause(_LOOK_AGAIN)


class _Ranges:
    """The rows of a range. They come in order, so that the data is read once; a range that was given up is read again."""

    def __init__(self, file: EvalFile, limit: int | None) -> None:
        self._file, self._limit = file, limit
        self._chunks: Iterator[list[tuple[int, Instance]]] = iter(())
        self._next = -1

    def of(self, span: Span) -> list[tuple[int, Instance]]:
        """The rows from the first to the last."""
        if self._next < 0 or span.first < self._next:
            self._chunks, self._next = partitions(self._file, _ROWS, self._limit), 0
        for chunk in self._chunks:
            self._next = chunk[-1][0] + 1
            if chunk[0][0] == span.first:
                return chunk
        raise RunError(f"rows {span.first + 1} to {span.last + 1} are not in the data: all processes must read the same rows")


@contextmanager
def _holding(url: str, holder: str) -> Iterator[None]:
    """While this holds, the lease of ``holder`` does not run out."""
    ended = threading.Event()
    store = PostgresStore(url)

    def hold() -> None:
        while not ended.wait(LEASE_SECONDS / 3):
            store.hold(holder)

    threading.Thread(target=hold, name="adjudge lease", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
