"""Execution of a plan: every judge over every row.

Every command that judges goes through here and loops over the events of its run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adjudge.core.aio import event_loop
from adjudge.core.data.dataset import BadRow, OddRows
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.estimate import CostEstimate, CountedRequests, Known
from adjudge.core.engine.run import RunSettings, check_prices, open_run
from adjudge.core.engine.schedule import DeferredItems
from adjudge.core.engine.session import Backend, Call, OpenedSession, OpenRun, session
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.layers.budget import Budget, caller
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.companions import JudgeWithCriteria, with_companions
from adjudge.core.ledger.file import holds_run
from adjudge.errors import ModelUnusable, RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.earlier_judgments import EarlierJudgments, is_repeated
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.plan import Plan
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.stored_votes import KnownVotes

if TYPE_CHECKING:
    from adjudge.runs.second_opinions import Explaining


@light_dataclass(frozen=True)
class JudgeStarted:
    """A judge begins with its first row."""

    judge: str


@light_dataclass(frozen=True)
class JudgmentDone:
    """A judgment was made. Its votes are in the ledger; the judgment itself is written next."""

    judge: str
    number: int
    """The place of the judgment among the judge's, from 0."""
    result: Result
    row: int
    """The place of its row among those that were read, from 0: a row has a judgment for each
    criteria.
    """
    spent: Spent | None = None
    """The spending of the whole run so far; None if no run is kept."""
    failed_calls: int = 0
    """Requests so far that brought no reply, tries that were repeated included."""
    lost: Spent = Spent()
    """Estimate of what requests so far took whose replies did not arrive."""


@light_dataclass(frozen=True)
class JudgmentRepeated:
    """A row is the same as in an earlier pass, and so is its judgment. Only yielded if ``execute``
    is called with ``repeats=True``; else it is a ``JudgmentDone``.
    """

    record: JudgmentRecord
    spent: Spent
    failed_calls: int = 0
    lost: Spent = Spent()


@light_dataclass(frozen=True)
class ColumnsChosen:
    """The columns that the rows of a RAG assistant were taken from."""

    columns: Mapping[str, str]


@light_dataclass(frozen=True)
class VoteCast:
    """A model answered, or failed to. A judgment may take many votes."""

    vote: Vote


@light_dataclass(frozen=True)
class Stopping:
    """The user interrupted the run: nothing more is sent, but open requests are awaited."""


@light_dataclass(frozen=True)
class RowsReadable:
    """The data can be read. No model is asked and no folder created until this event is handled."""


@light_dataclass(frozen=True)
class RowsEnded:
    """All judges have processed all rows."""


@light_dataclass(frozen=True)
class Called:
    """A model was called. Only yielded if ``execute`` is called with ``calls=True``."""

    call: Call


@light_dataclass(frozen=True)
class OpinionsAsked:
    """The verdicts are in; second opinions are asked for now."""

    model: str


@light_dataclass(frozen=True)
class OpinionsKept:
    """All second opinions are stored with their judgments."""

    failed_calls: int
    lost: Spent
    """Like those of ``JudgmentDone``."""
    stopped: str = ""
    """The reason why no further opinion was asked for; empty if all were."""


class BackendNews:
    """A message from a backend, e.g. that a batch was sent."""

    @property
    def is_always_told(self) -> bool:
        """Return True if even quiet commands print it, because it is about money."""
        return False

    @property
    def message(self) -> Message:
        raise NotImplementedError


Event = (
    RowsReadable
    | RowsEnded
    | JudgeStarted
    | JudgmentDone
    | JudgmentRepeated
    | VoteCast
    | Called
    | OddRows
    | ColumnsChosen
    | Stopping
    | OpinionsAsked
    | OpinionsKept
    | BackendNews
)
"""The events of a run, in order. Odd rows are reported as they are read: rows that no judge can
judge, blank rows, which are skipped, and rows with an empty judged text, which are judged.
"""


Listen = Callable[[Event], None]
Kept = Callable[[], JsonObject]
"""Facts about a run that its folder is to keep."""


class RoundsBackend(Backend, Protocol):
    """A backend whose answers arrive between passes over the rows."""

    async def begin(self) -> None:
        """Load requests that were sent earlier."""

    def begin_pass(self) -> None:
        """Prepare for the next pass over all rows."""

    async def next_round(self) -> None:
        """Send the requests of this pass, and wait for answers."""

    async def cancel(self) -> None:
        """Cancel open batches."""

    def discard(self) -> None:
        """Drop all requests that were not sent."""


class Rounds(Protocol):
    """Asks in rounds instead of immediately, e.g. in providers' batches."""

    def check(self, models: Sequence[OpenModel], explaining: OpenModel | None) -> None:
        """Raise if a model has no batch API, or if the model that explains may not be asked
        directly, before a run is created.
        """

    def open(
        self, models: Sequence[OpenModel], run: OpenRun, folder: Path, tell: Listen
    ) -> RoundsBackend:
        """Return the backend for a run stored in ``folder``."""
        ...


def _ignore(event: Event) -> None:
    """Ignore an event, because the first judge to read the row has already reported it."""


@contextmanager
def execute(
    plan: Plan,
    *,
    fork_of: Path | None = None,
    retry_failed: bool = False,
    retry_reason: str | None = None,
    kept: Kept = dict,
    batch: Rounds | None = None,
    calls: bool = False,
    repeats: bool = False,
) -> Iterator[Iterator[Event]]:
    """Judge all rows, yielding events as they happen. Leaving the block early cancels the run.

    ``kept``: returns facts to store with the run; called at its start and after the last event was
    handled. ``batch``: ask in providers' batches. ``calls``: also yield ``Called``. ``repeats``:
    yield ``JudgmentRepeated``, which takes less time. Raises BudgetSpent or RunStopped if the run
    ends early.
    """
    run = (
        RunSettings(
            plan.folder,
            fork_of,
            retry_failed,
            {**plan.facts, **kept()},
            batch is not None,
            retry_reason=retry_reason,
        )
        if plan.folder
        else None
    )
    if batch and run is None:
        raise SetupError("batches need a run folder: name it with --run FOLDER")
    if batch:
        batch.check(plan.models, plan.writer)
    is_retried = retry_failed or retry_reason is not None
    repeats = repeats and batch is None and not is_retried and is_repeated(plan)

    async def work(outbox: event_loop.Outbox[Event]) -> None:
        on_call = (lambda call: outbox.put(Called(call))) if calls else session().on_call
        with OpenedSession(replace(session(), on_call=on_call)):
            await _execute(plan, run, outbox, kept, batch, repeats=repeats)

    # the events come from another thread; a caller that leaves the block cancels it
    with event_loop.stream(work) as events:
        yield events


def estimate(
    plan: Plan,
    listen: Listen = _ignore,
    *,
    fork_of: Path | None = None,
    retry_failed: bool = False,
    retry_reason: str | None = None,
) -> CostEstimate:
    """Estimate the cost of the remaining answers, without asking any model.

    ``listen`` is called with rows that cannot be judged.
    """
    has_begun = plan.folder is not None and holds_run(plan.folder)
    answered_folder = plan.folder if has_begun or fork_of is None else fork_of
    known_votes = (
        KnownVotes(answered_folder, retry_failed=retry_failed, retry_reason=retry_reason)
        if answered_folder
        else None
    )
    passes = [
        judgeable_rows(plan, ready, _ignore if number else listen)
        for number, ready in enumerate(plan.judges)
    ]
    counted = CountedRequests()
    estimates = []
    for ready, items in zip(plan.judges, passes, strict=True):
        with with_companions(_asked_beside(plan, ready)):
            known = known_votes or Known(counted)
            estimates.append(ready.judge.estimate((item for _, item in items), known, plan.prices))
    if plan.explaining is not None:
        rows = (
            (ready, (item for _, item in judgeable_rows(plan, ready, _ignore)))
            for ready in plan.judges
        )
        estimates.append(plan.explaining.estimate(rows, known_votes, plan.prices))
    return sum(estimates[1:], start=estimates[0])


async def _execute(
    plan: Plan,
    run: RunSettings | None,
    outbox: event_loop.Outbox[Event],
    kept: Kept,
    batch: Rounds | None,
    *,
    repeats: bool,
) -> None:
    first_judge, listen = plan.judges[0], outbox.put
    rows = judgeable_rows(plan, first_judge, listen)
    # unreadable data must raise before a folder is made or a model is asked
    if (first_row := next(rows, None)) is not None:
        rows = chain([first_row], rows)
    listen(RowsReadable())
    # the caller handles RowsReadable before the run's folder is made
    await outbox.drain()
    limits = None if plan.limits == Budget() else plan.limits
    judges = plan.configuration if run or limits else {}
    if plan.explaining is not None:
        if run is None:
            raise SetupError("explain needs a run folder: name it with --run FOLDER")
        check_prices(limits, plan.prices, {"models": {plan.explaining.model.name: None}})
    async with (
        open_run(run, judges, limits, plan.prices) as open_run_or_none,
        _stopped_gently(listen, kept=run is not None),
    ):
        try:
            if open_run_or_none and batch:
                await _judge_in_rounds(plan, batch, rows, open_run_or_none, listen)
            else:
                for ready in plan.judges:
                    listen(JudgeStarted(ready.name))
                    items = rows if ready is first_judge else judgeable_rows(plan, ready, _ignore)
                    with with_companions(_asked_beside(plan, ready)):
                        await _judge(ready, items, open_run_or_none, listen, repeats=repeats)
            listen(RowsEnded())
            if plan.explaining is not None and open_run_or_none:
                await _explain(plan.explaining, open_run_or_none, listen)
        finally:
            if run and open_run_or_none:
                await outbox.drain()
                # the caller has counted every event by now, so these facts are final
                facts = kept()
                if not facts.items() <= run.facts.items():  # else they are there since it began
                    await open_run_or_none.ledger.note_all(facts)


async def _explain(explaining: Explaining, run: OpenRun, listen: Listen) -> None:
    """Ask for second opinions within the same run and budget. They decide nothing, so the run goes
    on without those of a model that cannot be used.
    """
    stopped = ""
    try:
        await explaining.ask(
            run,
            run.ledger.path.parent,
            lambda: listen(OpinionsAsked(explaining.model.name)),
            lambda vote: listen(VoteCast(vote)),
        )
    except ModelUnusable as error:
        stopped = str(error)
    account = run.open_budget.account
    listen(OpinionsKept(account.failed, account.lost, stopped))


def _asked_beside(plan: Plan, ready: ReadyJudge) -> list[JudgeWithCriteria]:
    """Return the judges that judge the same part of a row with the same models; empty for judges
    with their own items.
    """
    if ready.each_row is not None:
        return []
    return [
        (neighbour.judge, neighbour.criteria)
        for neighbour in plan.judges
        if neighbour.per == ready.per
        and neighbour.each_row is None
        and _name_the_same(neighbour.judge.panel.identities, ready.judge.panel.identities)
    ]


def _name_the_same(identities: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Return True if no name means two models, such as one that is served in two places."""
    return all(others.get(name, identity) == identity for name, identity in identities.items())


async def _judge_in_rounds(
    plan: Plan,
    rounds: Rounds,
    begun_rows: Iterator[tuple[int, object]] | None,
    run: OpenRun,
    listen: Listen,
) -> None:
    """Pass over the rows until all have answers. Each round sends the requests of all judges
    together.

    ``begun_rows``: the first judge's rows, of which the first is already read.
    """
    backend = rounds.open(plan.models, run, run.ledger.path.parent, listen)
    open_judges = [(ready, DeferredItems()) for ready in plan.judges]
    for ready in plan.judges:
        listen(JudgeStarted(ready.name))
    with OpenedSession(replace(session(), backend=backend)):
        try:
            await backend.begin()
            while open_judges:
                backend.begin_pass()
                for ready, deferred in open_judges:
                    rows = begun_rows or judgeable_rows(plan, ready, _ignore)
                    await _judge(ready, rows, run, listen, deferred)
                    # only the rows of the first judge were begun
                    begun_rows = None
                open_judges = [
                    (ready, deferred) for ready, deferred in open_judges if deferred.left
                ]
                if open_judges:
                    await backend.next_round()
        except asyncio.CancelledError:  # interrupted twice
            await backend.cancel()
            raise
        finally:
            backend.discard()


async def _judge(
    ready: ReadyJudge,
    rows: Iterator[tuple[int, object]],
    run: OpenRun | None,
    listen: Listen,
    deferred: DeferredItems | None = None,
    *,
    repeats: bool = False,
) -> None:
    under_way: dict[int, int] = {}
    """Judgment → row, while it is judged."""
    earlier = EarlierJudgments(run.ledger, ready) if run and repeats else None
    if earlier:
        deferred = DeferredItems()  # which skips the rows that are judged
    if deferred:
        deferred.begin(under_way.pop)

    def items() -> Iterator[object]:
        for number, (row, judged_item) in enumerate(rows):
            if run and earlier and deferred and (record := earlier.find(number, judged_item)):
                run.open_budget.raise_if_halted()
                deferred.done(number)
                account, spent = run.open_budget.account, run.open_budget.spent
                listen(JudgmentRepeated(record, spent, account.failed, account.lost))
            if not deferred or not deferred.is_done(number):
                under_way[number] = row
            yield judged_item

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


def judgeable_rows(plan: Plan, ready: ReadyJudge, listen: Listen) -> Iterator[tuple[int, object]]:
    """Yield each row's number with each item that the judge makes of it.

    ``listen`` is called with rows that cannot be judged, and with the columns chosen for a RAG
    judge.
    """
    file = plan.file
    for row, instance in enumerate(plan.reader.read(listen, plan.limit)):
        if row == 0 and ready.columns:
            columns = ready.columns(instance, dict(file.data.columns), file.source)
            listen(ColumnsChosen(columns))
        for item in _judgeable(file, ready, instance, listen):
            yield row, item


def _judgeable(
    file: EvalFile, ready: ReadyJudge, instance: Instance, listen: Listen
) -> Iterator[object]:
    try:
        items = ready.items(instance)
    except SetupError as error:
        return _skip(file, instance, error, listen)
    for item in items:
        try:
            ready.judge.check(item)
        except SetupError as error:
            _skip(file, instance, error, listen)
        else:
            yield item


def _skip(file: EvalFile, instance: Instance, error: SetupError, listen: Listen) -> None:
    """Report a row that cannot be judged. Raise instead if it was typed, or with ``on_bad_row:
    stop``.
    """
    if file.rows and not file.data.path:
        raise error
    row = BadRow(str(instance.metadata.get("place", instance.id)), str(error))
    if file.on_bad_row == "stop":
        raise RunError(str(row)) from error
    listen(row)


@asynccontextmanager
async def _stopped_gently(listen: Listen, *, kept: bool) -> AsyncIterator[None]:
    """Report the first interrupt. Without a run folder, also stop the budget, since no ledger
    does.
    """
    open_budget = None if kept else caller().budget

    def stop() -> None:
        listen(Stopping())
        if open_budget is not None:
            open_budget.stop(Message("interrupted by Ctrl-C"))

    with event_loop.stoppable(stop):
        yield
