"""Judge a part of a data set in one of many processes, and merge the results of all into one run.

``judge_partition`` is for Ray, Spark, Beam, a pool of processes or a job array. It depends on none
of them.
"""

from __future__ import annotations

import logging
import os
import platform
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from adjudge.core.aio import event_loop
from adjudge.core.data.dataset import OddRows
from adjudge.core.data.sources.row import BadRow, Origin, Row
from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.core.engine.run import RunSettings, check_prices, record_run
from adjudge.core.engine.session import OpenRun
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import FILE
from adjudge.errors import NothingToJudge, SetupError
from adjudge.features.scale.limiter import SharedLimits, keep_to
from adjudge.features.scale.stores.merger import MergeSummary, merge, refuse_newer
from adjudge.features.scale.stores.segments import SegmentStore
from adjudge.features.scale.stores.shared_ledger import Buffer, SharedLedger
from adjudge.features.scale.stores.store import RowRange, Store
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.eval_file import BudgetEntry, EvalFile, with_models
from adjudge.runs.execute import Event, JudgmentDone, Listen, VoteCast, judgeable_rows
from adjudge.runs.plan import Plan, limits_of, resolve
from adjudge.runs.project import ModelEntry, find_project
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.report_facts import KEPT
from adjudge.runs.row_reader import RowReader
from adjudge.runs.trusted_folders import open_eval, trusting

# Rows that are held in memory, and judged by one judge after the other.
_ROWS_AT_ONCE = 1000
# Largest integer of a database.
_MOST = 2**63 - 1
_UNNAMED = re.compile(r"[^A-Za-z0-9_.-]+")
_GIVEN = Origin("the data")
_LOG = logging.getLogger("adjudge")
M = TypeVar("M", bound=ModelEntry)
Numbered = tuple[int, Instance | Mapping[str, object]]
"""A row with its place in the whole data set, from 0."""


@dataclass(frozen=True)
class Partition:
    rows: int
    judgments: int
    unscored: int
    """Judgments without a score."""
    asked: int
    """Votes that were asked for; what the store knew was not."""
    spent: Spent
    bad_rows: tuple[BadRow, ...]
    """Rows that cannot be judged."""


@dataclass(frozen=True)
class Progress:
    """Progress of a partition or of a whole run."""

    judgments: int = 0
    unscored: int = 0
    asked: int = 0
    spent: Spent = Spent()
    """Spending of the process since it opened the store."""


def judge_partition(
    rows: Iterable[Numbered],
    eval_file: str | Path | EvalFile,
    store: str | Path | Store,
    *,
    budget: Budget | None = None,
    share: int = 1,
    writer: str | None = None,
    buffer: Buffer | None = None,
    cache: bool = True,
    trust: bool = False,
) -> Partition:
    """Judge some rows by all judges of an eval file. All answers are in ``store`` when this returns
    or raises.

    ``rows``: (number, row) pairs: the number is the row's place in the whole data set, from 0, and
    the row is a mapping of columns or an Instance.
    ``store``: a folder that all processes see, a bucket (``s3://bucket/prefix``), or
    ``postgresql://host/database#NAME``. Rows that are judged again after a crash, in any process
    and partition, are only asked about if the store has no answer.
    ``budget`` limits this partition alone.
    ``share``: how many partitions run at once; each keeps to its part of the file's rate limits.
    ``writer`` names the worker.
    ``buffer``: how many answers may wait to be written; they are lost, and asked again, if the
    process is killed.
    ``trust``: allow the eval file more than one of an untrusted folder may do.
    """
    settings = WorkerSettings(
        budget=budget, share=share, writer=writer, buffer=buffer, cache=cache, trust=trust
    )
    worker = PartitionJudge(eval_file, store, settings)
    return event_loop.run(worker.judge(rows))


def merge_partitions(
    store: str | Path | Store, folder: str | Path, *, complete: bool = True
) -> MergeSummary:
    """Merge the answers of all partitions into one ordinary run folder.

    Reports, exports and ``adjudge view`` can read it. ``complete`` is True if all rows were judged.
    The store stays unchanged.
    """
    place, opened = Path(folder), opened_store(store)
    if (place / FILE).exists():
        refuse_newer(place, opened)
    return merge(opened, place, {"ended": "complete" if complete else None})


def partitions(
    eval_file: str | Path | EvalFile,
    rows: int = 1000,
    limit: int | None = None,
    tell: Callable[[OddRows], None] | None = None,
    *,
    trust: bool = False,
) -> Iterator[list[tuple[int, Instance]]]:
    """Yield numbered rows of an eval file's own data in chunks, for engines that bring no rows.

    ``tell`` is called with rows that cannot be judged or are odd; by default they are logged as
    warnings.
    """
    file = eval_file_of(eval_file, trust=trust, typed=("run", "outputs"))
    yield from numbered_chunks(RowReader(file), rows, limit, tell or _log)


def numbered_chunks(
    reader: RowReader, rows: int, limit: int | None, tell: Callable[[OddRows], None]
) -> Iterator[list[tuple[int, Instance]]]:
    """Yield chunks of numbered rows."""
    numbered = enumerate(reader.read(tell, limit))
    while chunk := list(islice(numbered, rows)):
        yield chunk


def eval_file_of(
    file: str | Path | EvalFile, *, trust: bool, typed: Sequence[str] = (), is_limited: bool = True
) -> EvalFile:
    """Open an eval file with its project's defaults.

    Unless it is trusted (by ``trust``, ``adjudge trust`` or ADJUDGE_TRUST), it is refused if it
    does
    more than a file in a restricted folder may.
    """
    if isinstance(file, EvalFile):
        return file
    with trusting() if trust else nullcontext():
        return open_eval(file, find_project(), typed=typed, is_limited=is_limited, use_env=False)


STORES: Parts[Callable[[str], Store]] = Parts("stores")
"""Stores by the scheme of their address."""


def opened_store(store: str | Path | Store) -> Store:
    """Open a store; an open one is returned unchanged.

    The store is a folder of segments, or the address of a bucket, of Postgres or of a plugin's
    store.
    """
    if not isinstance(store, str | Path):
        return store
    scheme = urlsplit(store).scheme if isinstance(store, str) and "://" in store else ""
    part = STORES.find(scheme) if scheme else None
    if part is None:
        return SegmentStore(store)
    with part.blame_package():
        return STORES[scheme](str(store))


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Settings of one of many processes; see ``judge_partition``."""

    budget: Budget | None = None
    share: int = 1
    writer: str | None = None
    buffer: Buffer | None = None
    cache: bool = True
    limits: SharedLimits | None = None
    trust: bool = False
    prices: PriceTable | None = None


class PartitionJudge:
    """The judges of an eval file, made once per process for many partitions."""

    def __init__(
        self, eval_file: str | Path | EvalFile, store: str | Path | Store, settings: WorkerSettings
    ) -> None:
        if settings.share < 1:
            raise SetupError(
                "share must be at least 1 (the number of partitions judged at once), not {share}",
                share=settings.share,
            )
        opened = partial(
            eval_file_of, eval_file, trust=settings.trust, typed=("data", "run", "outputs")
        )
        file = _share_rates(opened(), settings.share)
        # With several partitions at once, a file's budget would be spent several times.
        if settings.budget is None and file.budget != BudgetEntry():
            raise SetupError(
                "{path} limits the spending of the whole run, but a partition does not know what "
                "the others spend: give this partition its own limit, such as "
                "budget=Budget(max_calls=100), or use --on ray, which shares one budget",
                path=file.path,
            )
        if settings.budget is None and (limited := opened(is_limited=False)).has_default_limit:
            settings = replace(settings, budget=limits_of(None, limited.budget))
        self.plan = resolve(
            replace(file, budget=BudgetEntry()), cache=settings.cache, prices=settings.prices
        )
        self.store = opened_store(store)
        self._settings = settings
        if settings.limits:
            keep_to(settings.limits, models_of(self.plan))

    async def judge(self, rows: Iterable[Numbered]) -> Partition:
        """Judge the rows; all answers are in the store when this returns or raises."""
        async with self.opened() as session:
            return await session.judge(rows)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenPartitionJudge]:
        """Open the store for any number of partitions."""
        plan = self.plan
        check_prices(self._settings.budget, plan.prices, *plan.configuration.values())
        writer, buffer = self._settings.writer, self._settings.buffer
        configuration = {"judges": plan.configuration, **report_facts(plan.file)}
        ledger = SharedLedger(
            self.store,
            writer or _own_name(),
            configuration,
            buffer,
            started_anew=writer is not None,
        )
        try:
            async with record_run(
                ledger, RunSettings(self.store.name), self._settings.budget, plan.prices
            ) as run:
                if limits := self._settings.limits:
                    run.open_budget.share(limits.more, limits.whole)
                yield OpenPartitionJudge(plan, ledger, run)
        finally:
            ledger.close()


def report_facts(file: EvalFile) -> JsonDict:
    """Return the settings of an eval file that its report needs: which rows belong together, and
    the column that names them.
    """
    settings = nonempty(cluster=file.gates.cluster, id=file.data.name_column)
    return {KEPT: settings} if settings else {}


class OpenPartitionJudge:
    """Judges partitions one after the other, and reuses the answers about all of them."""

    def __init__(self, plan: Plan, ledger: SharedLedger, run: OpenRun) -> None:
        self.plan = plan
        self._ledger = ledger
        self.run = run
        self._told = _Tally()

    def news(self) -> Progress:
        """Return the progress of the current partition."""
        return self._told.progress(self.run.open_budget.spent)

    async def judge(self, rows: Iterable[Numbered], /) -> Partition:
        """Judge the rows; all answers are in the store when this returns."""
        tally = self._told = _Tally()
        for chunk in _chunks(rows):
            await self._judge_chunk(chunk, tally)
        await self._ledger.flush()
        return tally.result(self.run.open_budget.spent)

    async def _judge_chunk(self, chunk: Sequence[Numbered], tally: _Tally) -> None:
        numbers, rows = self._instances(chunk, tally)
        tally.rows += len(rows)
        if not rows:
            return
        await self._ledger.begin(RowRange(min(numbers), max(numbers)))
        first_judge, *other_judges = self.plan.judges
        chunk_plan = self.plan.over(replace(self.plan.file, rows=rows))
        await self._judge_with(first_judge, chunk_plan, numbers, tally)
        for ready in other_judges:
            await self._judge_with(ready, chunk_plan, numbers, tally.count_further_judge)

    async def _judge_with(
        self, ready: ReadyJudge, plan: Plan, numbers: Sequence[int], told: Listen
    ) -> None:
        """Judge the rows of ``plan`` by one judge, each at its place in the whole data set."""
        run, places = self.run, list[tuple[int, int]]()

        def items() -> Iterator[object]:
            for row, item in judgeable_rows(plan, ready, told):
                number = numbers[row]
                places.append(
                    (number, places[-1][1] + 1 if places and places[-1][0] == number else 0)
                )
                yield item

        def on_result(number: int, result: Result) -> None:
            told(
                JudgmentDone(
                    ready.name,
                    number,
                    result,
                    places[number][0],
                    run.open_budget.spent,
                    run.open_budget.account.failed,
                )
            )

        self._ledger.place(places)
        cast = lambda vote: told(VoteCast(vote))  # noqa: E731
        await ready.judge.judge_stream(
            items(), on_result, run=run, criteria=ready.criteria, label=ready.label, on_vote=cast
        )

    def _instances(
        self, chunk: Sequence[Numbered], told: _Tally
    ) -> tuple[list[int], tuple[Instance, ...]]:
        """Return the rows' numbers and Instances; given Instances are unchanged."""
        if all(isinstance(row, Instance) for _, row in chunk):
            return [number for number, _ in chunk], tuple(
                row for _, row in chunk if isinstance(row, Instance)
            )
        number_of = {_GIVEN.place(number + 1): number for number, _ in chunk}
        source = [Row(number + 1, row) for number, row in chunk]
        try:
            instances = tuple(self.plan.reader.read(told, source=source))
        except NothingToJudge:  # others may have rows that can be judged
            return [], ()
        return [number_of[str(instance.metadata["place"])] for instance in instances], instances


class _Tally:
    def __init__(self) -> None:
        self.rows = self._judgments = self._unscored = self._asked = 0
        self._bad: list[BadRow] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, BadRow):
            self._bad.append(event)
        self.count_further_judge(event)

    def count_further_judge(self, event: Event) -> None:
        """Count an event of a further judge."""
        # A bad row is counted once, by the first judge's event.
        if isinstance(event, JudgmentDone):
            self._judgments += 1
            self._unscored += event.result.status is not Status.SCORED
        elif isinstance(event, VoteCast):
            self._asked += 1

    def progress(self, spent: Spent) -> Progress:
        return Progress(self._judgments, self._unscored, self._asked, spent)

    def result(self, spent: Spent) -> Partition:
        return Partition(
            self.rows, self._judgments, self._unscored, self._asked, spent, tuple(self._bad)
        )


def _chunks(rows: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, _ROWS_AT_ONCE)):
        _check_numbered(chunk)
        yield chunk


def _check_numbered(chunk: Sequence[Numbered]) -> None:
    """Raise a SetupError for invalid rows, before any model is asked about them."""
    # The rows come from any engine, so nothing about them is certain.
    numbers: set[int] = set()
    kinds: set[bool] = set()
    for pair in chunk:
        match pair:
            case (int() as number, Instance() | Mapping() as row) if (
                0 <= number <= _MOST and number not in numbers
            ):
                numbers.add(number)
                kinds.add(isinstance(row, Instance))
            case (int() as number, Instance() | Mapping()):
                why = (
                    Message("it is used twice")
                    if number in numbers
                    else Message("row numbers must be from 0 to 2⁶³ - 1")
                )
                raise SetupError(
                    "{number} is not a valid row number ({why}): a row's number is its unique "
                    "position in the whole data set",
                    number=number,
                    why=why,
                )
            case _:
                raise SetupError(
                    "rows must be (number, row) pairs, such as (0, {{'response': '…'}}), in "
                    "which the row is a mapping of columns or an Instance, not {pair}",
                    pair=repr(pair)[:100],
                )
    if len(kinds) > 1:
        raise SetupError(
            "the rows of a partition must be either all mappings of columns or all Instances"
        )


def _share_rates(file: EvalFile, share: int) -> EvalFile:
    """Return the file with this process's part of its rate limits."""
    if share == 1:
        return file

    def part(entry: M) -> M:
        requests, tokens = entry.requests_per_minute, entry.tokens_per_minute
        return replace(
            entry,
            requests_per_minute=requests and requests / share,
            tokens_per_minute=tokens and tokens / share,
        )

    return replace(
        file,
        models=tuple(map(part, file.models)),
        judges=tuple(with_models(judge, part) for judge in file.judges),
    )


def models_of(plan: Plan) -> list[OpenModel]:
    """Return every model that the judges ask, once."""
    return list({id(model): model for model in plan.models}.values())


def told_elsewhere(odd: OddRows) -> None:
    """Ignore odd rows, since they were reported when the rows were first read."""


def _log(odd: OddRows) -> None:
    _LOG.warning(odd)


def _own_name() -> str:
    host = _UNNAMED.sub("-", platform.node())[:40] or "worker"
    return f"{host}-{os.getpid()}"
