"""Judge a judge's own items on a Ray cluster: ``RunSettings(folder, on="ray")``."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result
from adjudge.core.engine.cluster import Cluster, ClusterTask
from adjudge.core.engine.run import RunSettings, record_run
from adjudge.core.engine.session import OpenRun
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import FILE, connect, holds_run, read_meta
from adjudge.errors import RunError, SetupError
from adjudge.features.scale.limiter import SharedLimits, keep_to
from adjudge.features.scale.ray.cluster import Hearing
from adjudge.features.scale.ray.place import store_of
from adjudge.features.scale.ray.run import ClusterRun
from adjudge.features.scale.ray.worker import Opened
from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.features.scale.stores.shared_ledger import SharedLedger
from adjudge.features.scale.stores.store import RowRange

# Items of one chunk.
_ITEMS = 64
I = TypeVar("I")  # noqa: E741
R = TypeVar("R", bound=Result)
I_contra = TypeVar("I_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True, bound=Result)
Chunk = list[tuple[int, I]]
"""Items with their places among all of them."""
NumberedResults = list[tuple[int, R]]


class ClusterJudge(Protocol[I_contra, R_co]):
    """A judge, as a cluster uses it."""

    @property
    def panel(self) -> Mapping[str, OpenModel]: ...

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return everything that decides what is asked and how it is pooled."""
        ...

    async def judge_stream(
        self,
        items: Iterable[I_contra],
        on_result: Callable[[int, R_co], None],
        *,
        run: OpenRun | None = None,
        criteria: Sequence[Criteria] = (),
        label: str | None = None,
    ) -> None:
        """Call ``on_result`` with every item's place and result."""
        ...


class _OfInstance(Protocol):
    """An instance with its criteria."""

    @property
    def instance(self) -> Instance: ...


async def judge_on(
    cluster: Cluster,
    judge: ClusterJudge[I, R],
    items: Sequence[I],
    wanted: ClusterTask,
    told: Callable[[int, R], None],
) -> None:
    """Have the cluster's workers judge the items, and merge the answers into the run's ledger.

    ``told`` is called with each item's place and result as they arrive, in a separate thread.
    """
    folder, prices = Path(wanted.run.folder), PriceTable.load()
    is_retried = wanted.run.retry_failed or wanted.run.retry_reason is not None
    if wanted.run.fork_of is not None or is_retried:
        raise SetupError(
            "on= cannot reuse the answers of another run, nor ask failed ones again: leave out "
            "that option, or on="
        )
    if not SegmentStore(store_of(cluster, folder)).is_begun and holds_run(folder):
        _refuse_unfinished(folder)
        return
    _check_sendable(judge, items)
    work = ClusterRun[Chunk[I], NumberedResults[R], NumberedResults[R]](
        folder,
        cluster,
        {wanted.label: judge.configuration(wanted.criteria)},
        list(judge.panel.values()),
        partial(_open, judge, wanted.label, tuple(wanted.criteria), prices),
        partial(_route, items),
        wanted.budget or Budget(),
        wanted.run.facts,
        prices,
    )
    heard = _Heard(told)
    await work.judge(Hearing(heard.hear, heard.hear))
    work.clear()


class _Heard(Generic[R]):
    """Passes each result on once, even if a restarted worker judged it again."""

    def __init__(self, told: Callable[[int, R], None]) -> None:
        self._told = told
        self._seen: set[int] = set()

    # whoever it was
    def hear(self, worker: int, results: NumberedResults[R]) -> None:  # noqa: ARG002
        for number, result in results:
            if number not in self._seen:
                self._seen.add(number)
                self._told(number, result)


def _refuse_unfinished(folder: Path) -> None:
    """Raise a RunError for a run that was begun on one machine and is not complete."""
    # Workers would not know its answers.
    with connect(folder / FILE, writable=False) as connection:
        ended = read_meta(connection).get("ended")
    if ended != "complete":
        raise RunError(
            "{folder} was started on one machine: resume it without on=, or use another folder",
            folder=folder,
        )


def _check_sendable(judge: object, items: Sequence[object]) -> None:
    """Raise a SetupError if the judge or its items cannot be pickled."""
    try:
        pickle.dumps((judge, items[:1]))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise SetupError("the judge cannot be sent to the workers: {error}", error=error) from error


def _route(items: Sequence[I], workers: int) -> Iterator[tuple[int, Chunk[I]]]:
    """Yield chunks for workers; equal items go to the same worker, which asks about them once."""
    waiting: list[Chunk[I]] = [[] for _ in range(workers)]
    for number, item in enumerate(items):
        slot = int(_instance(item).identity[:8], 16) % workers
        waiting[slot].append((number, item))
        if len(waiting[slot]) >= _ITEMS:
            yield slot, waiting[slot]
            waiting[slot] = []
    yield from ((slot, chunk) for slot, chunk in enumerate(waiting) if chunk)


def _instance(item: object) -> Instance:
    return item if isinstance(item, Instance) else cast("_OfInstance", item).instance


def _open(
    judge: ClusterJudge[I, R],
    label: str,
    criteria: tuple[Criteria, ...],
    prices: PriceTable,
    store: SegmentStore,
    writer: str,
    budget: Budget | None,
    limits: SharedLimits,
) -> Opened[Chunk[I], NumberedResults[R], NumberedResults[R]]:
    keep_to(limits, judge.panel.values())
    configuration = {"judges": {label: judge.configuration(criteria)}}

    @asynccontextmanager
    async def opened() -> AsyncIterator[_Session[I, R]]:
        ledger = SharedLedger(store, writer, configuration)
        try:
            async with record_run(ledger, RunSettings(store.name), budget, prices) as run:
                run.open_budget.share(limits.more, limits.whole)
                yield _Session(judge, label, criteria, ledger, run)
        finally:
            ledger.close()

    return opened()


class _Session(Generic[I, R]):
    """Judges chunks of items one after the other."""

    def __init__(
        self,
        judge: ClusterJudge[I, R],
        label: str,
        criteria: tuple[Criteria, ...],
        ledger: SharedLedger,
        run: OpenRun,
    ):
        self._judge, self._label, self._criteria, self._ledger = judge, label, criteria, ledger
        self.run = run
        self._results: NumberedResults[R] = []

    async def judge(self, chunk: Chunk[I], /) -> NumberedResults[R]:
        """Judge a chunk and return the results that were not reported before.

        All answers are in the store when this returns.
        """
        numbers = [number for number, _ in chunk]
        self._results = []

        def on_result(place: int, result: R) -> None:
            self._results.append((numbers[place], result))

        await self._ledger.begin(RowRange(min(numbers), max(numbers)))
        self._ledger.place([(number, 0) for number in numbers])
        items = (item for _, item in chunk)
        await self._judge.judge_stream(
            items, on_result, run=self.run, criteria=self._criteria, label=self._label
        )
        await self._ledger.flush()
        return self.news()

    def news(self) -> NumberedResults[R]:
        """Return the results that were not reported before."""
        fresh, self._results = self._results, []
        return fresh
