"""An eval file, carried out: every judge over every row. Every command that judges goes through
here, and loops over the events of its run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from adjudge.core.aio import event_loop
from adjudge.core.data.dataset import STDIN, BadRow, OddRows
from adjudge.core.data.sources.open import hold_stdin
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light import light_dataclass
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.estimate import CostEstimate
from adjudge.core.engine.run import Run, open_run
from adjudge.core.engine.schedule import DeferredItems
from adjudge.core.engine.session import Call, OpenedSession, OpenRun, session
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import Budget, caller
from adjudge.core.gateway.open import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import RunError, SetupError
from adjudge.features.batches.settings import BatchNews, BatchSettings
from adjudge.messages import Message
from adjudge.runs.build import instances, judges, open_entry, reads_traces, with_criteria
from adjudge.runs.eval_file import BudgetEntry, EvalFile
from adjudge.runs.ready_judge import ReadyJudge

_QUICKLY_COUNTED = 100_000_000
"""Bytes of a file whose rows are counted before they are judged."""
_TRACES_QUICKLY_COUNTED = 4_000_000
"""The same of traces, which have to be put together."""


@light_dataclass(frozen=True)
class JudgeStarted:
    """A judge begins with the first row."""

    judge: str


@light_dataclass(frozen=True)
class JudgmentDone:
    """A judgment is there: its votes are in the ledger, and it follows in a moment."""

    judge: str
    number: int
    """The place of the judgment among the judge's, from 0."""
    result: Result
    row: int
    """The place of its row among those that were read, from 0: a row has a judgment for each
    criteria.
    """
    spent: Spent | None = None
    """By the whole run so far; None where none is kept."""
    failed_calls: int = 0
    """Requests so far that brought no reply, tries that were repeated included."""
    lost: Spent = Spent()
    """Estimate of what requests so far took whose replies did not arrive."""


@light_dataclass(frozen=True)
class ColumnsChosen:
    """Which columns the rows of a RAG assistant were taken from."""

    columns: Mapping[str, str]


@light_dataclass(frozen=True)
class VoteCast:
    """A model was asked and answered, or failed to; a judgment may take many."""

    vote: Vote


@light_dataclass(frozen=True)
class Stopping:
    """Somebody interrupted the run: nothing more is sent, and what is under way is waited for."""


@light_dataclass(frozen=True)
class RowsReadable:
    """The data can be read. Nothing was asked and no folder was made before the next event."""


@light_dataclass(frozen=True)
class RowsEnded:
    """All rows have passed all judges."""


@light_dataclass(frozen=True)
class Called:
    """A model was called, where these events are asked for."""

    call: Call


Event = (
    RowsReadable
    | RowsEnded
    | JudgeStarted
    | JudgmentDone
    | VoteCast
    | Called
    | OddRows
    | ColumnsChosen
    | Stopping
    | BatchNews
)
"""What happens in a run, in the order it happens: a row that no judge can judge, rows that hold
nothing and are passed over, and rows whose judged text is empty, which are judged as they stand,
are reported as they were read.
"""


Listen = Callable[[Event], None]
Kept = Callable[[], JsonObject]
"""Facts about a run that its folder is to keep."""


def limits_of_run(given: Budget | None, own: BudgetEntry) -> Budget:
    """The limits that were given, and the file's where none was."""
    names = ("max_usd", "max_calls", "max_tokens")
    chosen = {name: getattr(given, name, None) for name in names}
    return Budget(
        **{name: getattr(own, name) if chosen[name] is None else chosen[name] for name in names}
    )


def _nobody(event: Event) -> None:
    pass


def _ignore(rows: OddRows) -> None:
    """It is reported when it is judged."""


@light_dataclass(frozen=True)
class EvalRun:
    """An eval file with its judges made, ready to be carried out."""

    file: EvalFile
    judges: tuple[ReadyJudge, ...]
    folder: Path | None
    """Where it is kept; None where it is not."""
    limit: int | None = None
    facts: JsonObject = field(default_factory=dict)
    prices: PriceTable = field(default_factory=PriceTable.load)

    @classmethod
    def of(
        cls,
        file: EvalFile,
        *,
        cache: bool = True,
        api_key: str | None = None,
        folder: Path | None = None,
        limit: int | None = None,
        facts: JsonObject | None = None,
        prices: PriceTable | None = None,
        dry_run: bool = False,
    ) -> EvalRun:
        """``cache``: whether replies are taken from the user's cache, and kept there. ``api_key``:
        of the file's one model. ``prices``: by default those of ``PriceTable.load()``. ``dry_run``:
        it will only be estimated, so keys may be missing.
        """
        file, table = with_criteria(file), prices or PriceTable.load()
        opened = partial(open_entry, cache=cache, api_key=api_key, prices=table, dry_run=dry_run)
        made = judges(file, opened, table)
        if file.data.path == STDIN:
            hold_stdin()
        return cls(file, tuple(made), folder or file.run_folder, limit, facts or {}, table)

    @contextmanager
    def execute(
        self,
        *,
        budget: Budget | None = None,
        fork_of: Path | None = None,
        retry_failed: bool = False,
        kept: Kept = dict,
        batch: BatchSettings | None = None,
        calls: bool = False,
    ) -> Iterator[Iterator[Event]]:
        """Judge: what happens, as it happens. BudgetSpent or RunStopped is raised where it ends
        before the end; whoever leaves before that cancels the run.

        ``kept``: further facts about the run, asked for when it begins and when all its events
        were handled. ``batch``: ask in providers' batches. ``calls``: yield ``Called``, too.
        """
        limits = limits_of_run(budget, self.file.budget)
        run = (
            Run(self.folder, fork_of, retry_failed, {**self.facts, **kept()}, batch is not None)
            if self.folder
            else None
        )
        if batch and run is None:
            raise SetupError("batches are kept in a run: say where, with --run FOLDER")
        if batch:
            self.check_batches(batch)

        async def work(outbox: event_loop.Outbox[Event]) -> None:
            on_call = (lambda call: outbox.put(Called(call))) if calls else session().on_call
            with OpenedSession(replace(session(), on_call=on_call)):
                await self._execute(run, limits, outbox, kept, batch)

        with event_loop.stream(work) as events:
            yield events

    def estimate(
        self, listen: Listen = _nobody, *, fork_of: Path | None = None, retry_failed: bool = False
    ) -> CostEstimate:
        """What is left of it would take; nothing is asked.

        ``listen`` is called with the rows that could not be judged.
        """
        from adjudge.runs.known import (
            KnownVotes,
        )  # reads run folders: not loaded by those who judge

        begun = self.folder is not None and holds_run(self.folder)
        answered = self.folder if begun or fork_of is None else fork_of
        known = KnownVotes(answered, retry_failed=retry_failed) if answered else None
        passes = [
            self._items(ready, _nobody if number else listen)
            for number, ready in enumerate(self.judges)
        ]
        found = [
            ready.judge.estimate((item for _, item in items), known, self.prices)
            for ready, items in zip(self.judges, passes, strict=True)
        ]
        return sum(found[1:], start=found[0])

    @cached_property
    def configuration(self) -> dict[str, JsonObject]:
        """Label → what decides the verdicts of that judge."""
        return {ready.label: ready.judge.configuration(ready.criteria) for ready in self.judges}

    def keeping_rows(self) -> EvalRun:
        """The same with no lower limit than the rows that the folder holds: those behind it would
        be gone from the run.
        """
        limit = self.limit or self.file.data.limit
        if limit is None or self.file.rows or self.folder is None or not holds_run(self.folder):
            return self
        from adjudge.runs.folder import reading  # not loaded by those who judge

        each = {
            ready.label: (len(ready.criteria) or 1) * ready.results_per_row
            for ready in self.judges
            if ready.per != "turn"
        }
        with reading(self.folder) as ledger:
            held = ledger.execute(
                "SELECT judge, max(number) + 1 FROM judgments GROUP BY judge"
            ).fetchall()
        rows = max((-(-count // each[judge]) for judge, count in held if judge in each), default=0)
        return replace(self, limit=rows) if rows > limit else self

    def check_batches(self, settings: BatchSettings) -> None:
        """Refuse batches where none of the models has them, before there is a run."""
        from adjudge.features.batches.backend import (
            batchable,
        )  # not loaded by those who ask at once

        batchable(self._models(), settings)

    def _models(self) -> list[OpenModel]:
        return [model for ready in self.judges for model in ready.judge.panel.values()]

    def first_row(self) -> Instance | None:
        """The first that will be judged; None where there is none, or reading it would take it
        away.
        """
        if self.file.data.path == STDIN and not self.file.rows:
            return None
        return next(iter(instances(self.file, _ignore, 1)), None)

    def total(self) -> int | None:
        """How many judgments there will be; None where counting would take long, or cannot be done
        twice.
        """
        source = self.file.source
        most = _TRACES_QUICKLY_COUNTED if reads_traces(self.file) else _QUICKLY_COUNTED
        if any(ready.per == "turn" for ready in self.judges):
            return None  # rows have as many turns as they have
        if self.file.rows:
            return len(self.file.rows) * self.judgments_per_row
        try:
            if (
                self.file.data.path == STDIN
                or isinstance(source, ObjectFile)
                or not source.is_file()
                or source.stat().st_size > most
            ):
                return None
            rows = sum(1 for _ in instances(self.file, _ignore, self.limit))
        except (OSError, RunError):
            return None  # what is wrong with the rows is said when judging gets there
        return rows * self.judgments_per_row

    @property
    def judgments_per_row(self) -> int:
        return sum((len(ready.criteria) or 1) * ready.results_per_row for ready in self.judges)

    async def _execute(
        self,
        run: Run | None,
        budget: Budget,
        outbox: event_loop.Outbox[Event],
        kept: Kept,
        batch: BatchSettings | None,
    ) -> None:
        first, listen = self.judges[0], outbox.put
        rows = _begun(self._items(first, listen))
        listen(RowsReadable())
        await outbox.drained()
        limits = None if budget == Budget() else budget
        judges = self.configuration if run or limits else {}
        async with (
            open_run(run, judges, limits, self.prices) as under_way,
            _stopped_gently(listen, kept=run is not None),
        ):
            try:
                if under_way and batch:
                    await self._judge_in_batches(batch, rows, under_way, listen)
                else:
                    for ready in self.judges:
                        listen(JudgeStarted(ready.name))
                        await self._judge(
                            ready,
                            rows if ready is first else self._items(ready, _nobody),
                            under_way,
                            listen,
                        )
                listen(RowsEnded())
            finally:
                if run and under_way:
                    await outbox.drained()
                    facts = kept()
                    if not facts.items() <= run.facts.items():  # else they are there since it began
                        await under_way.ledger.note_all(facts)

    async def _judge_in_batches(
        self,
        settings: BatchSettings,
        first: Iterator[tuple[int, object]] | None,
        run: OpenRun,
        listen: Listen,
    ) -> None:
        """The rows pass again and again, until all have their answers; each time those of all
        judges are sent together.

        ``first``: the rows of the first judge, of which the first one is read.
        """
        from adjudge.features.batches.backend import (
            Batches,
        )  # not loaded by those who ask at once

        batches = Batches(settings, self._models(), run, run.ledger.path.parent, listen)
        left = [(ready, DeferredItems()) for ready in self.judges]
        for ready in self.judges:
            listen(JudgeStarted(ready.name))
        with OpenedSession(replace(session(), backend=batches)):
            try:
                await batches.begin()
                while left:
                    batches.begin_pass()
                    for ready, deferred in left:
                        await self._judge(
                            ready, first or self._items(ready, _nobody), run, listen, deferred
                        )
                        first = None
                    left = [(ready, deferred) for ready, deferred in left if deferred.left]
                    if left:
                        await batches.next_round()
            except asyncio.CancelledError:  # interrupted twice
                await batches.cancel()
                raise
            finally:
                batches.discard()

    async def _judge(
        self,
        ready: ReadyJudge,
        rows: Iterator[tuple[int, object]],
        run: OpenRun | None,
        listen: Listen,
        deferred: DeferredItems | None = None,
    ) -> None:
        under_way: dict[int, int] = {}
        """Judgment → row, while it is judged."""
        if deferred:
            deferred.begin(under_way.pop)

        def items() -> Iterator[object]:
            for number, (row, item) in enumerate(rows):
                if not deferred or not deferred.is_done(number):
                    under_way[number] = row
                yield item

        open_budget = run.open_budget if run else caller().budget

        def on_result(number: int, result: Result) -> None:
            account = open_budget.account if open_budget else Account()
            listen(
                JudgmentDone(
                    ready.name,
                    number,
                    result,
                    under_way.pop(number),
                    run.open_budget.spent if run else None,
                    account.failed,
                    account.lost,
                )
            )

        cast = lambda vote: listen(VoteCast(vote))  # noqa: E731
        await ready.judge.judge_stream(
            items(),
            on_result,
            run=run,
            criteria=ready.criteria,
            label=ready.label,
            on_vote=cast,
            deferred=deferred,
        )

    def _items(self, ready: ReadyJudge, listen: Listen) -> Iterator[tuple[int, object]]:
        """(row, what the judge takes) of all that can be judged."""
        rows = instances(self.file, listen, self.limit)
        for row, instance in enumerate(rows):
            if row == 0 and ready.columns:
                listen(
                    ColumnsChosen(
                        ready.columns(instance, dict(self.file.data.columns), self.file.source)
                    )
                )
            for item in self._judgeable(ready, instance, listen):
                yield row, item

    def _judgeable(self, ready: ReadyJudge, instance: Instance, listen: Listen) -> Iterator[object]:
        try:
            items = ready.items(instance)
        except SetupError as error:
            return self._skip(instance, error, listen)
        for item in items:
            try:
                ready.judge.check(item)
            except SetupError as error:
                self._skip(instance, error, listen)
            else:
                yield item

    def _skip(self, instance: Instance, error: SetupError, listen: Listen) -> None:
        """Tell of what cannot be judged; what was typed, or is to stop the run, raises."""
        if self.file.rows and not self.file.data.path:
            raise error
        row = BadRow(str(instance.metadata.get("place", instance.id)), str(error))
        if self.file.on_bad_row == "stop":
            raise RunError(str(row)) from error
        listen(row)


@asynccontextmanager
async def _stopped_gently(listen: Listen, *, kept: bool) -> AsyncIterator[None]:
    """The first interrupt is reported, and ends also a run that is not kept at a good place."""
    open_budget = None if kept else caller().budget

    def stop() -> None:
        listen(Stopping())
        if open_budget is not None:
            open_budget.stop(Message("interrupted by Ctrl-C"))

    with event_loop.stoppable(stop):
        yield


def _begun(rows: Iterator[tuple[int, object]]) -> Iterator[tuple[int, object]]:
    """The same rows, with the first one read."""
    return chain([first], rows) if (first := next(rows, None)) else rows
