"""A run on a cluster: begun in its folder, judged by workers, and merged into an ordinary
ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from adjudge.core.aio import event_loop, threads
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.engine.cluster import Cluster
from adjudge.core.engine.run import check_prices
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import holds_run
from adjudge.errors import HALTS, RunError, SetupError
from adjudge.features.scale.limiter import SharedLimits, left_of, nothing_of, rates_of
from adjudge.features.scale.ray.cluster import Hearing, Spread
from adjudge.features.scale.ray.connection import check_address, check_installed, connected
from adjudge.features.scale.ray.place import forget_facts, keep_facts, store_of
from adjudge.features.scale.ray.worker import Opened, Worker
from adjudge.features.scale.stores.merger import merge, refuse_newer, spent_so_far
from adjudge.features.scale.stores.segments import SegmentStore

C = TypeVar("C")
D = TypeVar("D")
N = TypeVar("N")
Open = Callable[[SegmentStore, str, Budget | None, SharedLimits], Opened[C, D, N]]
"""(store, writer, what this worker may spend at first, limits) → a session, in
a worker's process.
"""


@dataclass(frozen=True)
class ClusterRun(Generic[C, D, N]):
    """A run that workers judge."""

    folder: Path
    cluster: Cluster
    judges: Mapping[str, JsonObject]
    models: Iterable[OpenModel]
    open: Open[C, D, N]
    """A function of a module, or a partial of one."""
    chunks: Callable[[int], Iterator[tuple[int, C]]]
    """Number of workers → (worker, chunk) pairs."""
    budget: Budget
    facts: JsonObject
    prices: PriceTable

    @property
    def store(self) -> SegmentStore:
        """The store that the workers write to."""
        return SegmentStore(store_of(self.cluster, self.folder))

    async def judge(self, hearing: Hearing[D, N]) -> None:
        """Have the workers answer everything that is open, then merge it into the run's ledger.

        An error that ends the workers early is raised; all answers until then are in the ledger.
        The first interrupt stops them gently, the second at once.
        """
        check_installed(check_address(self.cluster.where))
        with event_loop.stoppable(hearing.stop.gently.set):
            driver = threads.started(lambda: self._judge(hearing), "adjudge driver")
            try:
                await asyncio.wrap_future(driver)
            except asyncio.CancelledError:
                hearing.stop.at_once.set()
                raise

    def clear(self) -> None:
        """Delete the store, since its content is in the run's ledger."""
        self.store.clear()
        forget_facts(self.folder)

    def _judge(self, hearing: Hearing[D, N]) -> None:
        self._check()
        with connected(
            self.cluster.where
        ) as most:  # what cannot be reached leaves no folder behind
            store = self._begin_store()
            _, started = store.begun_with()
            make = partial(_worker, self.open, store.name, started, self.budget)
            remaining = left_of(self.budget, spent_so_far(store), self.prices)
            work = Spread(make, rates_of(self.models), remaining, self.budget)
            count = self.cluster.workers or most
            try:
                work.over(count, most, self.chunks(count), hearing)
            except (*HALTS, RunError):
                merge(store, self.folder, {**self.facts, "ended": None})
                raise
        merge(store, self.folder, {**self.facts, "ended": "complete"})

    def _check(self) -> None:
        if holds_run(self.folder):
            refuse_newer(self.folder)
        check_prices(self.budget, self.prices, *self.judges.values())
        if self.store.is_begun:
            self._begin_store()

    def _begin_store(self) -> SegmentStore:
        store = self.store
        store.begin({"judges": dict(self.judges)})
        keep_facts(self.folder, self.facts)
        return store


def _worker(
    open: Open[C, D, N],
    location: str,
    started: float,
    budget: Budget,
    number: int,
    limits: SharedLimits,
) -> Worker[C, D, N]:
    store = SegmentStore(location)
    if not store.is_begun or store.begun_with()[1] != started:
        raise SetupError(
            "a worker cannot access {location}: put the run folder where all machines of the "
            "cluster can access it, or name such a place with --store",
            location=location,
        )
    return Worker(partial(open, store, f"ray-{number}", nothing_of(budget), limits))
