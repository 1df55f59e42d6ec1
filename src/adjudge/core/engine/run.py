"""A run: many judgments under one budget, kept in a ledger where one is wanted."""

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
from adjudge.core.ledger.file import FILE
from adjudge.errors import HALTS, SetupError
from adjudge.messages import Message

if TYPE_CHECKING:
    from adjudge.core.ledger.ledger import Ledger

_SPENDING, _ENDED = "spending", "ended"
"""The facts under which a ledger keeps the account of its run, and how that ended."""
_NO_PRICES = PriceTable({})
Ask = Callable[[Ballot], Coroutine[object, object, Vote]]


@light_dataclass(frozen=True)
class RunSettings:
    """Where a run is kept, how it is resumed, and which cluster asks.

    ``judge.evaluate(texts, run=RunSettings("runs/polite", on="ray"))``
    """

    folder: str | Path
    fork_of: str | Path | None = None
    """Another run whose answers are reused where they still apply."""
    retry_failed: bool = False
    """Ask again where the answer had no verdict. Calls that failed are asked again in any case."""
    facts: JsonObject = field(default_factory=dict)
    """What else to keep about the run, such as the command that made it."""
    in_batches: bool = False
    """Whether it asks through providers' batch APIs, and collects what it sent."""
    on: On | None = None
    """A Ray cluster whose workers ask, such as "ray" or "ray://HOST:PORT"."""

    @classmethod
    def of(cls, run: str | Path | RunSettings) -> RunSettings:
        """A folder, or a whole Run."""
        if isinstance(run, str | Path):
            return cls(run)
        if isinstance(run, RunSettings):
            return run
        raise SetupError("run is a folder to keep the run in, not {name}", name=type(run).__name__)


@light_dataclass(frozen=True)
class Asker:
    """A judge, as a run sees it."""

    label: str
    """What its judgments are filed under."""
    ask: Ask
    key: Callable[[Ballot, Mapping[str, str]], bytes]
    """What a ballot's vote is found by, in a run whose prompts were worded so."""
    at_once: Mapping[str, int]
    """Model → ballots that may be under way at once."""
    configuration: Callable[[], JsonObject] = dict
    """What decides its votes, for the record of a run of its own."""


class LiveVotes:
    """Asks a judge's models; nothing is kept."""

    def __init__(self, judge: Asker) -> None:
        self._judge = judge
        self._shared: dict[bytes, asyncio.Future[Vote]] = {}

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        return [None] * len(ballots)

    def answer(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        return self._judge.ask(ballot)

    async def answer_once(self, ballot: Ballot) -> Vote:
        """Ask what other ballots need before they can be asked, such as a persona: once for all of
        them.

        A call that failed is not an answer: the next one that needs it tries again.
        """
        key = self._key(ballot)
        known = self._shared.get(key)
        if known is None or (known.done() and _failed(known)):
            (vote,) = self.recall([ballot])
            known = self._shared[key] = asyncio.ensure_future(
                self._answered(vote) if vote else self._answer_and_keep(key, ballot)
            )
        return await asyncio.shield(known)

    def _key(self, ballot: Ballot) -> bytes:
        return self._judge.key(ballot, {})

    async def _answered(self, vote: Vote) -> Vote:
        return vote

    # a ledger needs the key
    async def _answer_and_keep(self, key: bytes, ballot: Ballot) -> Vote:  # noqa: ARG002
        return await self._judge.ask(ballot)

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Without a ledger there is nothing to keep."""

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        pass

    async def finish(self, rows: int) -> None:
        pass


class RecordedVotes(LiveVotes):
    """Asks what the ledger does not know, each question once, and keeps every answer before anybody
    sees it.
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
        votes = self._run.ledger.recall(ballots, keys)
        if not any(votes):
            return votes
        self._unfinished |= {
            key: vote for key, vote in zip(keys, votes, strict=True) if vote and vote.unfinished
        }
        return [vote if vote and self._is_answer(vote) else None for vote in votes]

    def _key(self, ballot: Ballot) -> bytes:
        return self._judge.key(ballot, self._run.ledger.wordings)

    def _is_answer(self, vote: Vote) -> bool:
        return not vote.unfinished and (vote.valid or not self._run.retry_failed)

    async def answer(self, ballot: Ballot) -> Vote:
        """Ask, or wait for who is asking the same; should they be cancelled, ask in their place."""
        key, under_way = self._key(ballot), self._run.under_way
        while key in under_way:
            asked = under_way[key] = under_way[key] or asyncio.get_running_loop().create_future()
            await asyncio.wait([asked])
            if not asked.cancelled():
                return asked.result()
            await self._run.ledger.flush()  # an answer of theirs may be on its way to the disk
        (known,) = self._recall(
            [ballot], [key]
        )  # since it was looked for, somebody may have asked the same
        if known:
            return known
        under_way[key] = None
        try:
            # the place is held until the vote is on the disk: whoever kills us loses no more than
            # was under way
            async with self._room.get(ballot.model) or nullcontext():
                vote = await self._answer_and_keep(key, ballot)
            if promise := under_way[key]:
                promise.set_result(vote)
            return vote
        except Exception as error:
            if promise := under_way[key]:
                promise.set_exception(error)
                promise.exception()  # it is raised here, also when nobody else waits any more
            raise
        finally:
            if promise := under_way.pop(key):
                promise.cancel()  # where there is neither

    async def _answer_and_keep(self, key: bytes, ballot: Ballot) -> Vote:
        """Ask, from where it was cut short; where it is cut short again, the replies that were paid
        for are kept.
        """
        earlier, now = self._unfinished.pop(key, None), session()
        begun = replace(earlier, usage=Usage(), unfinished=False) if earlier else None
        partial = PartialAsk(key, begun, run=self._run)
        with OpenedSession(now.asking(partial)):
            try:
                vote = await self._judge.ask(ballot)
            except (*HALTS, NoRoom):
                await self._keep_partial(partial)
                raise
        if partial.is_kept:
            return vote
        kept = await self._keep_partial(partial) if partial.vote else None
        await self._run.ledger.keep(key, replace(vote, usage=vote.usage - kept) if kept else vote)
        if now.backend:
            now.backend.kept(key)
        return vote

    async def keep_group(self, votes: Sequence[Vote]) -> None:
        """Keep the votes that one request brought, in one commit."""
        rows = [(self._key(vote.ballot), vote) for vote in votes]
        await self._run.ledger.keep_all(rows)

    async def _keep_partial(self, partial: PartialAsk) -> Usage | None:
        """What was kept, which no other vote is to count again."""
        vote = partial.vote
        if vote is None or vote.usage == Usage():  # else it is in the ledger already
            return None
        await self._run.ledger.keep(partial.key, replace(vote, unfinished=True))
        return vote.usage

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        """Keep what came of a row."""
        answers = [self._key(vote.ballot) for vote in result.made_by]
        keys = [self._key(one) for one in ballots]
        await self._run.ledger.keep_judgment(self._judge.label, number, result, keys, answers)

    async def finish(self, rows: int) -> None:
        await self._run.ledger.finish(self._judge.label, rows)


class PartOfRun(RecordedVotes):
    """The same for one of many who ask in a run.

    What is judged in the end is for the run to say.
    """

    def __init__(self, outer: EnclosingRun, judge: Asker) -> None:
        super().__init__(outer.run, judge)
        self._collected = outer.keys

    def recall(self, ballots: Sequence[Ballot]) -> list[Vote | None]:
        """The votes that the ledger holds already."""
        self._collected += map(self._key, ballots)
        return super().recall(ballots)

    async def keep_judgment(self, number: int, result: Result, ballots: Sequence[Ballot]) -> None:
        """It is a part of what is judged."""

    async def finish(self, rows: int) -> None:
        pass


def _failed(asked: asyncio.Future[Vote]) -> bool:
    return (
        asked.cancelled()
        or asked.exception() is not None
        or asked.result().outcome is Outcome.MODEL_ERROR
    )


RunFolder = str | Path | RunSettings
RunLike = RunFolder | OpenRun


@asynccontextmanager
async def vote_source(
    judge: Asker, run: RunLike | None, budget: Budget | None
) -> AsyncIterator[LiveVotes]:
    """Who answers a judge's ballots: with ``run``, or one that encloses it, the ledger first,
    within ``budget``.
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
    """Where every run begins, of a command or a program: kept where ``run`` says, else only
    counted.

    ``judges``: label → configuration; it need not be known where neither a run nor a budget is
    given. ``prices``: by default those of ``PriceTable.load()``.
    """
    if budget is not None and not isinstance(budget, Budget):
        raise SetupError(
            "budget says which limit it is, such as adjudge.Budget(max_calls=100), not {budget!r}",
            budget=budget,
        )
    if run is not None:
        async with opened(RunSettings.of(run), judges, budget, prices) as under_way:
            yield under_way
        return
    open_budget = None
    if budget is not None:
        open_budget = OpenBudget(budget, prices)
        check_prices(budget, open_budget.prices, *judges.values())
    elif caller().budget is None:  # else it belongs to the run around it
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
    """The same for many who ask: all that is asked inside, by whomever, is kept in the run."""
    async with open_run(run, judges, budget, prices) as under_way:
        if under_way is None:
            yield None
            return
        with OpenedSession(replace(session(), run=EnclosingRun(under_way, []))):
            yield under_way


@asynccontextmanager
async def opened(
    run: RunSettings,
    judges: Mapping[str, JsonObject],
    budget: Budget | None,
    prices: PriceTable | None = None,
) -> AsyncIterator[OpenRun]:
    """A run to judge in; how it ended is in its ledger."""
    # not loaded by what is kept nowhere
    from adjudge.core.ledger.ledger import Ledger
    from adjudge.core.ledger.pending import refuse_to_fork, refuse_under_way

    folder, other = Path(run.folder), Path(run.fork_of) if run.fork_of else None
    table = prices or PriceTable.load()
    check_prices(budget, table, *judges.values())
    is_new = not (folder / FILE).exists()
    if other and is_new:
        refuse_to_fork(other)
    ledger = Ledger(folder, {"judges": dict(judges)}, fork_of=other, facts=run.facts)
    try:
        if not run.in_batches:
            refuse_under_way(ledger, folder)
        own = replace(run, facts={}) if is_new else run  # the ledger was made with them
        async with recorded(ledger, own, budget, table) as under_way:
            yield under_way
    finally:
        ledger.close()


@asynccontextmanager
async def recorded(
    ledger: Ledger, run: RunSettings, budget: Budget | None, prices: PriceTable
) -> AsyncIterator[OpenRun]:
    """The same with a ledger that is open, wherever it keeps what it is given."""
    stopped = Message("stopped early: answers so far are in {folder}", folder=run.folder)
    open_budget = OpenBudget(
        budget, prices, _account(ledger), lambda account: ledger.note(_SPENDING, account)
    )
    ended = None
    with calling(open_budget):
        changed = {} if ledger.is_new else {**run.facts, _ENDED: ended}
        for name, fact in changed.items():
            ledger.note_soon(name, fact)  # on the disk with what is spent, before that is sent
        try:
            with event_loop.stoppable(lambda: open_budget.stop(stopped)):
                yield OpenRun(ledger, open_budget, retry_failed=run.retry_failed)
            ended = "complete"
        except HALTS as halt:
            ended = str(halt)
            raise
        finally:
            ledger.note_soon(_SPENDING, open_budget.close())
            if ended:
                await ledger.note_all({_ENDED: ended})  # in one commit with the last judgments


def _account(ledger: Ledger) -> Account:
    """What was spent before, whoever killed that; where damage took the account, what the votes
    took.
    """
    kept = ledger.fact(_SPENDING)
    account = Account.of(kept) if kept else Account(ledger.used())
    account.write_off()
    return account


def check_prices(budget: Budget | None, prices: PriceTable, *configurations: JsonObject) -> None:
    """A limit in dollars holds only where every price is known."""
    if budget is None or budget.max_usd is None:
        return
    asked = [models for one in configurations if isinstance(models := one.get("models"), Mapping)]
    models = dict.fromkeys(model for each in asked for model in each)
    if unknown := [model for model in models if prices.of(model) is None]:
        raise SetupError(
            "the price of {unknown} is not known, so max_usd cannot hold: give the price in "
            "a file (--prices, ADJUDGE_PRICES), or limit calls or tokens instead",
            unknown=", ".join(unknown),
        )
