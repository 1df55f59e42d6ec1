"""Share a run among plain processes, on one machine or many, by leased ranges of rows in
Postgres.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import monotonic
from uuid import uuid4

from adjudge.core.aio import event_loop
from adjudge.core.domain.instance import Instance
from adjudge.core.engine.run import check_prices
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.ledger.file import holds_run
from adjudge.errors import HALTS, RunError, SetupError
from adjudge.features.scale.limiter import nothing_of, rates_of
from adjudge.features.scale.partition import (
    OpenPartitionJudge,
    PartitionJudge,
    WorkerSettings,
    models_of,
    numbered_chunks,
    told_elsewhere,
)
from adjudge.features.scale.postgres_limits import PostgresLimits
from adjudge.features.scale.ray.place import forget_facts, keep_facts
from adjudge.features.scale.ray_run import Tell, WorkerTally
from adjudge.features.scale.stores.merger import merge, refuse_newer
from adjudge.features.scale.stores.postgres import LEASE_SECONDS, PostgresStore
from adjudge.features.scale.stores.store import RowRange
from adjudge.messages import Message
from adjudge.runs.eval_file import BudgetEntry
from adjudge.runs.execute import Stopping
from adjudge.runs.folder import run_info
from adjudge.runs.plan import Plan

_ROWS = 256
# Seconds between looks if all remaining ranges are held by others.
_LOOK_AGAIN = 1.0
# Seconds after which a connection that broke off is made anew, before others take this process for
# dead.
_SIGN_OF_LIFE = 3.0
# Seconds after which it is told how far this process is.
_NEWS = 0.5
_LOST = Message(
    "stopped, because this process did not respond for too long and others took over its rows"
)


def judge_together(plan: Plan, url: str, *, share: int, cache: bool, tell: Tell) -> None:
    """Judge ranges until none is left, then make the run's ledger from those of all processes.

    ``share`` is about the number of processes; it decides in which parts rates and budget are
    handed out. An error that ends this process early is raised; all answers until then are in the
    ledger.
    """
    folder = plan.folder
    if folder is None:
        raise SetupError("a run on a cluster needs a run folder: name it with --run FOLDER")
    if holds_run(folder) and run_info(folder).state == "complete":
        return
    if holds_run(folder):
        refuse_newer(folder)
    worker = _Worker(plan, url, share, cache)
    worker.begin()  # what another eval file was answered is not merged into this one's folder
    keep_facts(folder, plan.facts)
    try:
        worker.judge(tell)
    except (*HALTS, RunError):
        merge(worker.store, folder, {**plan.facts, "ended": None})
        raise
    merge(worker.store, folder, {**plan.facts, "ended": "complete"})
    forget_facts(folder)


class _Worker:
    """This process, one of several that share a run."""

    def __init__(self, plan: Plan, url: str, share: int, cache: bool) -> None:
        self._plan, self._url, self._holder = plan, url, uuid4().hex
        budget = plan.limits
        self.store = PostgresStore(url)
        models = models_of(plan)
        self._limits = PostgresLimits(
            url, self._holder, rates_of(models), budget, share, plan.prices
        )
        self._writer = f"postgres-{self._holder[:12]}"
        file = replace(plan.file, budget=BudgetEntry())
        settings = WorkerSettings(
            budget=nothing_of(budget),
            writer=self._writer,
            cache=cache,
            limits=self._limits,
            prices=plan.prices,
        )
        self._judge = PartitionJudge(file, self.store, settings)
        check_prices(budget, plan.prices, *plan.configuration.values())
        self._spent = Spent()

    def begin(self) -> None:
        """Raise OtherConfiguration if the run of that name is a different one."""
        self.store.begin({"judges": self._plan.configuration})

    def judge(self, tell: Tell) -> None:
        """Judge ranges until none is left."""
        plan, store = self._plan, self.store
        store.offer(
            [
                _describe_range(rows)
                for rows in numbered_chunks(plan.reader, _ROWS, plan.limit, told_elsewhere)
            ]
        )
        store.join(self._holder, self._writer)
        with event_loop.stopping_told(lambda: tell(Stopping())):
            try:
                event_loop.run(self._serve(_Ranges(plan), WorkerTally(tell)))
            finally:
                store.give_back(self._holder)
                self._limits.settle(self._spent)

    async def _serve(self, rows: _Ranges, tally: WorkerTally) -> None:
        async with self._judge.opened() as session:
            loop, news_task = (
                asyncio.get_running_loop(),
                asyncio.create_task(_tell_news(session, tally)),
            )
            lost = partial(loop.call_soon_threadsafe, session.run.open_budget.stop, _LOST)
            try:
                with _holding(self._url, self._holder, lost):
                    while span := await self._next(session):
                        tally.done(0, await session.judge(rows.of(span)))
                        self.store.done(span)
            finally:
                news_task.cancel()
                self._spent = session.run.open_budget.spent

    async def _next(self, session: OpenPartitionJudge) -> RowRange | None:
        """Return the next range; None if all are judged."""
        while True:
            # Ranges of a process that died become free when its connection is gone.
            if (span := self.store.take(self._holder)) or not self.store.left():
                return span
            await session.run.open_budget.pause(_LOOK_AGAIN)


def _describe_range(rows: Sequence[tuple[int, Instance]]) -> tuple[RowRange, str]:
    """Return a range and a hash of its rows."""
    identities = "".join(instance.identity for _, instance in rows)
    return RowRange(rows[0][0], rows[-1][0]), sha256(identities.encode()).hexdigest()[:16]


async def _tell_news(session: OpenPartitionJudge, tally: WorkerTally) -> None:
    while True:
        await asyncio.sleep(_NEWS)
        tally.news(0, session.news())


class _Ranges:
    """Reads the rows of ranges.

    Ranges come in order, so the data is read once; a range that another worker abandoned is read
    again.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._chunks: Iterator[list[tuple[int, Instance]]] = iter(())
        self._next = -1

    def of(self, span: RowRange) -> list[tuple[int, Instance]]:
        """Return the rows of a range; raise a RunError if the data does not have them."""
        if self._next < 0 or span.first < self._next:
            plan = self._plan
            self._chunks = numbered_chunks(plan.reader, _ROWS, plan.limit, told_elsewhere)
            self._next = 0
        for chunk in self._chunks:
            self._next = chunk[-1][0] + 1
            if chunk[0][0] == span.first:
                return chunk
        raise RunError(
            "rows {first} to {last} are not in the data: all processes must read the same rows",
            first=span.first + 1,
            last=span.last + 1,
        )


@contextmanager
def _holding(url: str, holder: str, lost: Callable[[], object]) -> Iterator[None]:
    """Show others inside the block that ``holder`` is alive.

    Call ``lost`` if its lease has run out.
    """
    ended = threading.Event()
    store = PostgresStore(url)
    store.guard(holder)

    def hold() -> None:
        last_hold = monotonic()
        while not ended.wait(_SIGN_OF_LIFE):
            with suppress(
                RunError
            ):  # the server is away: the next time tells whether the lease outlived that
                store.guard(holder)
                if monotonic() - last_hold < LEASE_SECONDS / 3:
                    continue
                if not store.hold(holder):
                    lost()
                    return
                last_hold = monotonic()

    threading.Thread(target=hold, name="adjudge lease", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
