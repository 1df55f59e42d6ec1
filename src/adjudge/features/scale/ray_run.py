"""Run an eval file on a Ray cluster: its rows go to workers, their answers into the run's
folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from adjudge.core.aio import event_loop
from adjudge.core.domain.instance import Instance
from adjudge.core.engine.cluster import Cluster
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError, SetupError
from adjudge.features.scale.limiter import SharedLimits
from adjudge.features.scale.partition import (
    Partition,
    PartitionJudge,
    Progress,
    WorkerSettings,
    models_of,
    numbered_chunks,
    told_elsewhere,
)
from adjudge.features.scale.ray.cluster import Hearing
from adjudge.features.scale.ray.place import store_of
from adjudge.features.scale.ray.run import ClusterRun
from adjudge.features.scale.ray.worker import Opened
from adjudge.features.scale.stores.merger import is_newer, merge
from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.runs.eval_file import BudgetEntry, EvalFile
from adjudge.runs.execute import Stopping
from adjudge.runs.folder import run_info
from adjudge.runs.partitions import PARTITIONS, kept_facts
from adjudge.runs.plan import Plan

# Rows of one chunk; another worker judges them again if this one dies.
_ROWS = 256
Chunk = list[tuple[int, Instance]]
Work = ClusterRun[Chunk, Partition, Progress]
Rows = Callable[[], Iterable[tuple[int, Instance]]]
"""Rows with their places among all of them."""
Tell = Callable[[Partition | Progress | Stopping], None]
"""Called with finished partitions, with the progress of all workers, and when the user interrupts.
"""


def spread(plan: Plan, cluster: Cluster, *, cache: bool, tell: Tell) -> None:
    """Have the workers answer everything that is open, then merge it into the run's ledger.

    A merged and complete run is left alone. An error that ends the workers early is raised; all
    answers until then are in the ledger.
    """
    if work := work_for(plan, cluster, cache=cache):
        judge_chunks(work, tell)
        work.clear()


def judge_chunks(work: Work, tell: Tell) -> None:
    """Have the workers judge and report their progress."""
    tally = WorkerTally(tell)
    hearing = Hearing(tally.done, tally.news)
    with event_loop.stopping_told(lambda: tell(Stopping())):
        event_loop.run(work.judge(hearing))


def adopt_partitions(folder: Path) -> None:
    """Merge answers of workers whose driver was killed before it could merge them."""
    store = SegmentStore(folder / PARTITIONS)
    if not store.is_begun or (holds_run(folder) and is_newer(folder)):
        return
    merge(store, folder, {**(kept_facts(folder) or {}), "ended": None})


def work_for(plan: Plan, cluster: Cluster, *, cache: bool, rows: Rows | None = None) -> Work | None:
    """Return the work for the workers; None if the run is complete.

    ``rows`` replaces the file's own rows.
    """
    folder = plan.folder
    if folder is None:
        raise SetupError("a run on a cluster needs a run folder: name it with --run FOLDER")
    store = SegmentStore(store_of(cluster, folder))
    if not store.is_begun and holds_run(folder):
        refuse_unfinished(folder)
        return None
    file = replace(plan.file, budget=BudgetEntry(), path=plan.file.path.absolute())
    settings = WorkerSettings(cache=cache, prices=plan.prices)
    return ClusterRun(
        folder,
        cluster,
        plan.configuration,
        models_of(plan),
        partial(_open_worker, file, settings),
        partial(
            _route,
            rows or (lambda: chain.from_iterable(_chunks(plan))),
        ),
        plan.limits,
        plan.facts,
        plan.prices,
    )


def _chunks(plan: Plan) -> Iterator[list[tuple[int, Instance]]]:
    return numbered_chunks(plan.reader, _ROWS, plan.limit, told_elsewhere)


def refuse_unfinished(folder: Path) -> None:
    """Raise a RunError for a run that was begun on one machine and is not complete."""
    # Workers would not know its answers.
    if run_info(folder).state != "complete":
        raise RunError(
            "{folder} was started on one machine: resume it without --on, or use another folder",
            folder=folder,
        )


def _route(rows: Rows, workers: int) -> Iterator[tuple[int, Chunk]]:
    """Yield chunks for workers; equal rows go to the same worker, which asks about them once."""
    waiting: list[Chunk] = [[] for _ in range(workers)]
    for number, instance in rows():
        slot = int(instance.identity[:8], 16) % workers
        waiting[slot].append((number, instance))
        if len(waiting[slot]) >= _ROWS:
            yield slot, waiting[slot]
            waiting[slot] = []
    yield from ((slot, chunk) for slot, chunk in enumerate(waiting) if chunk)


def _open_worker(
    file: EvalFile,
    settings: WorkerSettings,
    store: SegmentStore,
    writer: str,
    budget: Budget | None,
    limits: SharedLimits,
) -> Opened[Chunk, Partition, Progress]:
    worker_settings = replace(settings, budget=budget, writer=writer, limits=limits)
    return PartitionJudge(file, store, worker_settings).opened()


@dataclass
class _Report:
    """The last report of one worker."""

    now: Progress = Progress()
    spent: Spent = Spent()
    before: Spent = Spent()
    """Spending of processes of this worker that died."""


class WorkerTally:
    """Adds up finished chunks and the progress of current ones over all workers."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._done = Counter[str]()
        self._workers: dict[int, _Report] = {}

    def done(self, worker: int, part: Partition) -> None:
        """Count a finished chunk."""
        self._done.update(judgments=part.judgments, unscored=part.unscored, asked=part.asked)
        self._hear(worker, Progress(spent=part.spent))
        self._tell(part)
        self._tell(self._sum())

    def news(self, worker: int, progress: Progress) -> None:
        self._hear(worker, progress)
        self._tell(self._sum())

    def _hear(self, worker: int, progress: Progress) -> None:
        report = self._workers.setdefault(worker, _Report())
        # The worker was restarted, so its own counts began at zero.
        if progress.spent.calls < report.spent.calls:  # it was started anew
            report.before += report.spent
        report.now, report.spent = progress, progress.spent

    def _sum(self) -> Progress:
        now = [report.now for report in self._workers.values()]
        spent = sum((report.before + report.spent for report in self._workers.values()), Spent())
        return Progress(
            self._done["judgments"] + sum(progress.judgments for progress in now),
            self._done["unscored"] + sum(progress.unscored for progress in now),
            self._done["asked"] + sum(progress.asked for progress in now),
            spent,
        )
