"""Runs: many judgments under one budget, kept in a ledger if one is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.aio import event_loop
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.cluster import On
from adjudge.core.engine.session import (
    EnclosingRun,
    NoRoom,
    OpenedSession,
    OpenRun,
    PartialAsk,
    session,
)
from adjudge.core.gateway.layers.account import Account
from adjudge.core.gateway.layers.budget import Budget, OpenBudget, caller, calling
from adjudge.core.gateway.layers.limit import ConcurrencyLimit
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.failed_rows import ballots_failed_for
from adjudge.core.ledger.file import FILE
from adjudge.errors import HALTS, SetupError
from adjudge.messages import Message

if TYPE_CHECKING:
    from adjudge.core.ledger.ledger import Ledger

# The facts under which a ledger keeps the account of its run, and how that ended.
_SPENDING, _ENDED = "spending", "ended"
_NO_PRICES = PriceTable({})
Ask = Callable[[Ballot], Coroutine[object, object, Vote]]


@light_dataclass(frozen=True)
class RunSettings:
    """A run's folder, with the options to resume it, ask in batches, or ask from a cluster.

    Example: ``judge.evaluate(texts, run=RunSettings("runs/polite", on="ray"))``
    """

    folder: str | Path
    fork_of: str | Path | None = None
    """Another run whose answers are reused if they still apply."""
    retry_failed: bool = False
    """Ask again if the answer had no verdict. Failed calls are asked again in any case."""
    facts: JsonObject = field(default_factory=dict)
    """Further facts to keep about the run, such as the command that made it."""
    in_batches: bool = False
    """True if it asks through providers' batch APIs, and collects the answers later."""
    on: On | None = None
    """A Ray cluster whose workers ask, such as "ray" or "ray://HOST:PORT"."""
    retry_reason: str | None = None
    """Ask again only the rows that have no verdict for this reason; other failed calls are left."""

    @classmethod
    def of(cls, run: str | Path | RunSettings) -> RunSettings:
        """Return the settings for a folder, or settings as they are; raise a SetupError for
        anything else.
        """
        if isinstance(run, str | Path):
            return cls(run)
        if isinstance(run, RunSettings):
            return run
        raise SetupError("run must be a folder for the run, not {name}", name=type(run).__name__)


@light_dataclass(frozen=True)
class Asker:
    """The parts of a judge that a run needs."""

    label: str
    """The name under which its judgments are filed."""
    ask: Ask
    key: Callable[[Ballot, Mapping[str, str]], bytes]
    """Returns the key of a ballot's vote in a run with these prompt wordings."""
    at_once: Mapping[str, int]
    """Model → ballots that may be under way at once."""
    configuration: Callable[[], JsonObject] = dict
    """Returns what decides its votes, for the record of its own run."""


class LiveVotes:
    """Asks a judge's models and keeps nothing."""

    def __init__(self, judge: Asker) -> None:
        self._judge = judge
        self._shared: dict[bytes, asyncio.Future[Vote]] = {}

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        return [None] * len(ballots)

    def answer(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        return self._judge.ask(ballot)

    async def answer_once(self, ballot: Ballot) -> Vote:
        """Ask once for something that several ballots need first, such as a persona.

        A failed call is not an answer: the next ballot that needs it tries again.
        """
        key = self._key(ballot)
        answer = self._shared.get(key)
        if answer is None or (answer.done() and _has_failed(answer)):
            (vote,) = self.recall([ballot])
            answer = self._shared[key] = asyncio.ensure_future(
                self._as_answer(vote) if vote else self._answer_and_keep(key, ballot)
            )
        # The answer is shared: cancelling one that waits must not cancel it for the others.
        return await asyncio.shield(answer)

    def _key(self, ballot: Ballot) -> bytes:
        return self._judge.key(ballot, {})

    async def _as_answer(self, vote: Vote) -> Vote:
        return vote

    # a ledger needs the key
    async def _answer_and_keep(self, key: bytes, ballot: Ballot) -> Vote:  # noqa: ARG002
        return await self._judge.ask(ballot)

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Do nothing: without a ledger no vote is kept."""

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        pass

    async def finish(self, rows: int) -> None:
        pass


class RecordedVotes(LiveVotes):
    """Asks each question that the ledger has no answer to once, and stores the answer before
    returning it.
    """

    def __init__(self, run: OpenRun, judge: Asker) -> None:
        super().__init__(judge)
        self._run = run
        self._room = {model: ConcurrencyLimit(most) for model, most in judge.at_once.items()}
        self._unfinished: dict[bytes, Vote] = {}

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        return self._recall(ballots, [self._key(ballot) for ballot in ballots])

    def _recall(self, ballots: Sequence[Ballot], keys: Sequence[bytes]) -> list[Vote | None]:
        self._run.open_budget.raise_if_halted()
        only = self._run.retry_only
        votes = self._run.ledger.recall(ballots, keys, failed_calls=only is not None)
        if not any(votes):
            return votes
        self._unfinished |= {
            key: vote for key, vote in zip(keys, votes, strict=True) if vote and vote.unfinished
        }
        return [
            vote if vote and self._is_answer(key, vote) else None
            for key, vote in zip(keys, votes, strict=True)
        ]

    def _key(self, ballot: Ballot) -> bytes:
        return self._judge.key(ballot, self._run.ledger.wordings)

    def _is_answer(self, key: bytes, vote: Vote) -> bool:
        if vote.unfinished or vote.valid:
            return not vote.unfinished
        only = self._run.retry_only
        return not self._run.retry_failed if only is None else key not in only

    async def answer(self, ballot: Ballot) -> Vote:
        """Ask, or wait for another task that asks the same; if that is cancelled, ask in its
        place.
        """
        key, under_way = self._key(ballot), self._run.under_way
        while key in under_way:
            other_ask = under_way[key] = (
                under_way[key] or asyncio.get_running_loop().create_future()
            )
            await asyncio.wait([other_ask])
            if not other_ask.cancelled():
                return other_ask.result()
            await self._run.ledger.flush()  # the cancelled task's answer may be on its way to disk
        # Another task may have asked the same since the last look.
        (stored,) = self._recall([ballot], [key])
        if stored:
            return stored
        under_way[key] = None
        try:
            # The slot is held until the vote is on the disk: a kill then loses no more answers than
            # were under way.
            async with self._room.get(ballot.model) or nullcontext():
                vote = await self._answer_and_keep(key, ballot)
            if promise := under_way[key]:
                promise.set_result(vote)
            return vote
        except Exception as error:
            if promise := under_way[key]:
                promise.set_exception(error)
                # Mark it as retrieved: it is raised here, and possibly nobody else waits for it.
                promise.exception()
            raise
        finally:
            if promise := under_way.pop(key):
                promise.cancel()  # a no-op unless there is neither vote nor error

    async def _answer_and_keep(self, key: bytes, ballot: Ballot) -> Vote:
        """Ask, resuming an unfinished vote; if it is interrupted again, keep the replies paid
        for.
        """
        earlier, now = self._unfinished.pop(key, None), session()
        unfinished = replace(earlier, usage=Usage(), unfinished=False) if earlier else None
        partial = PartialAsk(key, unfinished, run=self._run)
        with OpenedSession(now.asking(partial)):
            try:
                vote = await self._judge.ask(ballot)
            except (*HALTS, NoRoom):
                await self._keep_partial(partial)
                raise
        if partial.is_kept:
            return vote
        partial_usage = await self._keep_partial(partial) if partial.vote else None
        # The partial vote is in the ledger with its usage, which must not count twice.
        await self._run.ledger.keep(
            key, replace(vote, usage=vote.usage - partial_usage) if partial_usage else vote
        )
        if now.backend:
            now.backend.kept(key)
        return vote

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Keep the votes of one request in one commit."""
        rows = [(self._key(vote.ballot), vote) for vote in votes]
        await self._run.ledger.keep_all(rows)

    async def _keep_partial(self, partial: PartialAsk) -> Usage | None:
        """Keep the unfinished vote and return its usage, which no other vote may count again.

        Return None if there is nothing to keep.
        """
        vote = partial.vote
        if vote is None or vote.usage == Usage():  # nothing new was paid for
            return None
        await self._run.ledger.keep(partial.key, replace(vote, unfinished=True))
        return vote.usage

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        """Store the judgment of a row."""
        answers = [self._key(vote.ballot) for vote in result.made_by]
        keys = [self._key(ballot) for ballot in ballots]
        await self._run.ledger.keep_judgment(self._judge.label, number, result, keys, answers)

    async def finish(self, rows: int) -> None:
        await self._run.ledger.finish(self._judge.label, rows)


class PartOfRun(RecordedVotes):
    """Like RecordedVotes, for a judge inside another run: only the enclosing run records
    judgments.
    """

    def __init__(self, outer: EnclosingRun, judge: Asker) -> None:
        super().__init__(outer.run, judge)
        self._collected = outer.keys

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """Return the votes that the ledger holds, and collect the keys for the enclosing
        judgment.
        """
        self._collected += map(self._key, ballots)
        return super().recall(ballots)

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        """Do nothing: the judgment is a part of the enclosing one."""

    async def finish(self, rows: int) -> None:
        pass


def _has_failed(answer: asyncio.Future[Vote]) -> bool:
    return (
        answer.cancelled()
        or answer.exception() is not None
        or answer.result().outcome is Outcome.MODEL_ERROR
    )


RunFolder = str | Path | RunSettings
RunLike = RunFolder | OpenRun


@asynccontextmanager
async def vote_source(
    judge: Asker, run: RunLike | None, budget: Budget | None
) -> AsyncIterator[LiveVotes]:
    """Yield the source of a judge's votes, within ``budget``.

    With ``run``, or inside an enclosing run if neither is given, stored answers are used first.
    """
    outer = session().run if run is None and budget is None else None
    if isinstance(run, OpenRun):
        yield RecordedVotes(run, judge)
    elif outer is not None:
        yield PartOfRun(outer, judge)
    else:
        judges = {judge.label: judge.configuration()} if run is not None or budget else {}
        async with open_run(run, judges, budget) as under_way:
            yield RecordedVotes(under_way, judge) if under_way else LiveVotes(judge)


@asynccontextmanager
async def open_run(
    run: RunFolder | None,
    judges: Mapping[str, JsonObject],
    budget: Budget | None,
    prices: PriceTable | None = None,
) -> AsyncIterator[OpenRun | None]:
    """Open a run: kept in the folder ``run`` if there is one; else its spending is only counted,
    and None is yielded.

    ``judges``: label → configuration, needed only with a run or a budget. ``prices``: by default
    those of ``PriceTable.load()``.
    """
    if budget is not None and not isinstance(budget, Budget):
        raise SetupError(
            "budget must name a limit, such as adjudge.Budget(max_calls=100), not {budget!r}",
            budget=budget,
        )
    if run is not None:
        async with open_recorded_run(RunSettings.of(run), judges, budget, prices) as under_way:
            yield under_way
        return
    open_budget = None
    if budget is not None:
        open_budget = OpenBudget(budget, prices)
        check_prices(budget, open_budget.prices, *judges.values())
    elif caller().budget is None:  # else the enclosing run counts it
        open_budget = OpenBudget(prices=_NO_PRICES)
    with calling(open_budget):
        yield None


@asynccontextmanager
async def everything_in(
    run: RunFolder | None,
    judges: Mapping[str, JsonObject],
    budget: Budget | None,
    prices: PriceTable | None = None,
) -> AsyncIterator[OpenRun | None]:
    """Like open_run, but records every call made inside the block, by any judge."""
    async with open_run(run, judges, budget, prices) as under_way:
        if under_way is None:
            yield None
            return
        with OpenedSession(replace(session(), run=EnclosingRun(under_way, []))):
            yield under_way


@asynccontextmanager
async def open_recorded_run(
    run: RunSettings,
    judges: Mapping[str, JsonObject],
    budget: Budget | None,
    prices: PriceTable | None = None,
) -> AsyncIterator[OpenRun]:
    """Open a run to judge in; its ledger records how it ended."""
    # Imported here, so judging without a run does not load the ledger.
    from adjudge.core.ledger.ledger import Ledger
    from adjudge.core.ledger.pending import refuse_to_fork, refuse_under_way

    folder, source_folder = Path(run.folder), Path(run.fork_of) if run.fork_of else None
    table = prices or PriceTable.load()
    check_prices(budget, table, *judges.values())
    is_new = not (folder / FILE).exists()
    if source_folder and is_new:
        refuse_to_fork(source_folder)
    ledger = Ledger(folder, {"judges": dict(judges)}, fork_of=source_folder, facts=run.facts)
    try:
        if not run.in_batches:
            refuse_under_way(ledger, folder)
        settings = replace(run, facts={}) if is_new else run  # a new ledger has the facts already
        async with record_run(ledger, settings, budget, table) as under_way:
            yield under_way
    finally:
        ledger.close()


@asynccontextmanager
async def record_run(
    ledger: Ledger, run: RunSettings, budget: Budget | None, prices: PriceTable
) -> AsyncIterator[OpenRun]:
    """Like ``open_recorded_run``, with a ledger that is already open, wherever it stores its
    rows.
    """
    stopped = Message("stopped early: answers so far are in {folder}", folder=run.folder)
    open_budget = OpenBudget(
        budget, prices, _load_account(ledger), lambda account: ledger.note(_SPENDING, account)
    )
    ended = None
    with calling(open_budget):
        changed = {} if ledger.is_new else {**run.facts, _ENDED: ended}
        for name, fact in changed.items():
            ledger.note_soon(
                name, fact
            )  # written with the first spending, before a request is sent
        try:
            with event_loop.stoppable(lambda: open_budget.stop(stopped)):
                yield OpenRun(
                    ledger,
                    open_budget,
                    retry_failed=run.retry_failed,
                    retry_only=None
                    if run.retry_reason is None
                    else ballots_failed_for(ledger.rows, run.retry_reason),
                )
            ended = "complete"
        except HALTS as halt:
            ended = str(halt)
            raise
        finally:
            ledger.note_soon(_SPENDING, open_budget.close())
            if ended:
                await ledger.note_all({_ENDED: ended})  # in one commit with the last judgments


def _load_account(ledger: Ledger) -> Account:
    """Return the account of earlier spending; if it is missing, it is computed from the stored
    votes.
    """
    stored = ledger.fact(_SPENDING)
    account = Account.of(stored) if stored else Account(ledger.usage_by_model())
    account.write_off()
    return account


def check_prices(budget: Budget | None, prices: PriceTable, *configurations: JsonObject) -> None:
    """Raise a SetupError if there is a limit in dollars and a price is unknown."""
    if budget is None or budget.max_usd is None:
        return
    models_by_judge = [
        models
        for configuration in configurations
        if isinstance(models := configuration.get("models"), Mapping)
    ]
    models = dict.fromkeys(model for judge_models in models_by_judge for model in judge_models)
    if unknown := [model for model in models if prices.of(model) is None]:
        raise SetupError(
            "no price for model {unknown}, so max_usd cannot be enforced: give the price in a "
            "file (--prices, ADJUDGE_PRICES), or limit calls or tokens instead",
            unknown=", ".join(unknown),
        )
