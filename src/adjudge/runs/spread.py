"""An eval file over a Ray cluster: its rows to workers, what they were answered into the run's folder."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from adjudge.aio import event_loop
from adjudge.domain.instance import Instance
from adjudge.engine.backends.ray.cluster import Spread, check_address
from adjudge.engine.backends.ray.limiter import SharedLimits
from adjudge.engine.run import check_prices
from adjudge.errors import HALTS, RunError, SetupError
from adjudge.gateway.layers.budget import Budget, OpenBudget
from adjudge.gateway.layers.limit import Rate, limits_of
from adjudge.gateway.prices import PriceTable
from adjudge.ledger.file import holds_run
from adjudge.ledger.stores.merge import spent_so_far
from adjudge.ledger.stores.segments import BEGUN, SegmentStore
from adjudge.runs.eval_file import BudgetEntry, EvalFile
from adjudge.runs.execute import PARTITIONS, EvalRun, limits_of_run
from adjudge.runs.folder import run_info
from adjudge.runs.partition import (
    Partition,
    PartitionJudge,
    Session,
    WorkerSettings,
    merge_partitions,
    models_of,
    partitions,
    refuse_newer,
)

_ROWS = 256
"""That a worker is given at once, and judged again by another where it dies."""
Chunk = list[tuple[int, Instance]]


@dataclass(frozen=True)
class Cluster:
    """Where a run is spread."""

    where: str
    """``ray``: RAY_ADDRESS, or workers on this machine; or ``ray://HOST:PORT``."""
    workers: int | None = None
    """By default one per CPU of the cluster."""


def spread(made: EvalRun, cluster: Cluster, *, budget: Budget | None, cache: bool, on_part: Callable[[Partition], None]) -> None:
    """Have the workers answer all that is not answered yet, then make the run's ledger of it.

    A run that was merged and is complete has nothing left for them. Raises what ended the workers before the end; what they were
    answered until then is in the ledger too.
    """
    folder = made.folder
    if folder is None:
        raise SetupError("a run on a cluster is kept: say where, with --run FOLDER")
    check_address(cluster.where)
    store = SegmentStore((folder / PARTITIONS).absolute())
    if not (store.folder / BEGUN).exists() and holds_run(folder):
        refuse_unfinished(folder)
        return
    if holds_run(folder):
        refuse_newer(folder)
    _spread(made, store, cluster, limits_of_run(budget, made.file.budget), cache, on_part)
    merge_partitions(store, folder)
    store.clear()


def adopt_partitions(folder: Path) -> None:
    """Have a run on one machine know what workers were answered whose driver was killed before it could merge that."""
    store = SegmentStore(folder / PARTITIONS)
    if (store.folder / BEGUN).exists() and not holds_run(folder):
        merge_partitions(store, folder, complete=False)


def _spread(
    made: EvalRun, store: SegmentStore, cluster: Cluster, budget: Budget, cache: bool, on_part: Callable[[Partition], None]
) -> None:
    file = replace(made.file, budget=BudgetEntry(), path=made.file.path.absolute())
    judged = PartitionJudge(file, store, WorkerSettings(cache=cache))  # what is wrong is said before there are workers
    store.begin({"judges": judged.configuration})
    _, started = store.begun_with()
    check_prices(budget, PriceTable.load(), *judged.configuration.values())
    work = Spread(partial(_worker, file, str(store.folder), started, cache, budget), _rates(made), _left(budget, store))
    try:
        work.over(cluster.where, cluster.workers, partial(_routed, file, made.limit), on_part)
    except (*HALTS, RunError):
        assert made.folder is not None
        merge_partitions(store, made.folder, complete=False)
        raise


def refuse_unfinished(folder: Path) -> None:
    """What was begun here and is not complete has answers that workers would not know of."""
    if run_info(folder).state != "complete":
        raise RunError(f"{folder} was begun on one machine: resume it without --on, or use another folder")


def _rates(made: EvalRun) -> dict[str, Rate]:
    limited = [(model.identity, limits_of(model)) for model in models_of(made)]
    return {name: one.rate for name, one in limited if one}


def _left(budget: Budget, store: SegmentStore) -> Budget | None:
    """What all workers together may still spend."""
    if budget == Budget():
        return None
    spent = OpenBudget(account=spent_so_far(store)).spent
    limits = ((budget.max_usd, spent.usd), (budget.max_calls, spent.calls), (budget.max_tokens, spent.tokens))
    usd, calls, tokens = (None if limit is None else max(0, limit - used) for limit, used in limits)
    return Budget(usd, None if calls is None else int(calls), None if tokens is None else int(tokens))


def _routed(file: EvalFile, limit: int | None, workers: int) -> Iterator[tuple[int, Chunk]]:
    """Rows that show the same go to the same worker, which asks about them once."""
    waiting: list[Chunk] = [[] for _ in range(workers)]
    for chunk in partitions(file, _ROWS, limit):
        for number, instance in chunk:
            slot = int(instance.identity[:8], 16) % workers
            waiting[slot].append((number, instance))
            if len(waiting[slot]) >= _ROWS:
                yield slot, waiting[slot]
                waiting[slot] = []
    yield from ((slot, rows) for slot, rows in enumerate(waiting) if rows)


def _worker(
    file: EvalFile, folder: str, started: float, cache: bool, budget: Budget, number: int, limits: SharedLimits
) -> _Worker:
    """In a worker's process."""
    store = SegmentStore(folder)
    if not (store.folder / BEGUN).exists() or store.begun_with()[1] != started:
        raise SetupError(f"a worker does not see {folder}: the run's folder must be one that all machines of the cluster mount")
    nothing = Budget(*(None if limit is None else 0 for limit in (budget.max_usd, budget.max_calls, budget.max_tokens)))
    own = None if budget == Budget() else nothing
    settings = WorkerSettings(budget=own, writer=f"ray-{number}", cache=cache, limits=limits)
    return _Worker(PartitionJudge(file, store, settings))


class _Worker:
    """Keeps its session open from one chunk to the next."""

    def __init__(self, judge: PartitionJudge) -> None:
        self._judge = judge
        self._jobs: asyncio.Queue[tuple[Chunk, Future[Partition]]] = asyncio.Queue()
        self._session: Session | None = None
        self._failure: BaseException | None = None
        self._loop = event_loop.home_loop()
        threading.Thread(target=self._run, name="adjudge worker", daemon=True).start()

    def judge(self, chunk: Chunk) -> Partition:
        """Judge a chunk; all of it is in the store when this returns."""
        done: Future[Partition] = Future()
        self._loop.call_soon_threadsafe(self._put, chunk, done)
        return done.result()

    def stop(self, reason: str) -> None:
        """Send nothing more."""
        self._loop.call_soon_threadsafe(self._halt, reason)

    def _put(self, chunk: Chunk, done: Future[Partition]) -> None:
        if self._failure is not None:
            done.set_exception(self._failure)
        else:
            self._jobs.put_nowait((chunk, done))

    def _halt(self, reason: str) -> None:
        if self._session is not None:
            self._session.run.open_budget.stop(reason)

    def _run(self) -> None:
        try:
            event_loop.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        while not self._jobs.empty():
            self._jobs.get_nowait()[1].set_exception(error)

    async def _serve(self) -> None:
        async with self._judge.opened() as session:
            self._session = session
            while True:
                chunk, done = await self._jobs.get()
                try:
                    done.set_result(await session.judge(chunk))
                except BaseException as error:
                    done.set_exception(error)
                    raise
