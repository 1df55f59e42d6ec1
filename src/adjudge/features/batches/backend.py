"""Backend that parks requests for batches.

The first pass over the rows writes their requests down, and they are sent together; in the next
pass the replies are there. No row is held in memory meanwhile. Judges handle a reply as if the
model had been asked directly.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.message import Reply, Request
from adjudge.core.engine.session import Deferred, NoRoom, OpenRun, session
from adjudge.core.gateway.layers.account import with_counts
from adjudge.core.gateway.layers.limit import with_token_limit
from adjudge.core.gateway.model import Model
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.ledger.pending import BATCHES, Batch, BatchState
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.prompts.renderer import wordings
from adjudge.errors import BatchesOpen, BudgetSpent, RunError, RunStopped, SetupError
from adjudge.features.batches.book import BatchBook, reserved_by
from adjudge.features.batches.collector import reply_from
from adjudge.features.batches.keys import KeyCheck
from adjudge.features.batches.ledger import BatchBallot, BatchTable, RequestState
from adjudge.features.batches.providers.api import BatchApi, error_from
from adjudge.features.batches.providers.lookup import APIS, batch_api
from adjudge.features.batches.request_file import (
    RequestFile,
    custom_id,
    digest_of,
    is_id,
    remove_files,
)
from adjudge.features.batches.sender import Sender
from adjudge.features.batches.settings import BatchNews, BatchSettings, Tell
from adjudge.features.batches.supervisor import Watcher
from adjudge.messages import Message
from adjudge.version import __version__

# Batches in which a request may go without an answer before it is sent alone, and before it counts
# as failed.
_LIVE_AFTER, _MOST_ATTEMPTS = 3, 4
_SECONDS_TO_CANCEL = 8.0


@dataclass(frozen=True)
class InBatches:
    """Sends requests through providers' batch APIs, for ``execute(plan, batch=…)``."""

    settings: BatchSettings

    def check(self, models: Sequence[OpenModel], explaining: OpenModel | None) -> None:
        """Raise a SetupError if the models do not support these batches, or if one would be asked
        directly although nothing may be, before a run is created.
        """
        batchable(models, self.settings)
        if explaining and _asks_only_in_batches(self.settings):
            raise SetupError(
                "explain asks {model} directly, which --batch-only and --batch-command exclude: "
                "leave explain out, and run 'adjudge explain RUN -m {model}' afterwards",
                model=explaining.name,
            )

    def open(self, models: Sequence[OpenModel], run: OpenRun, folder: Path, tell: Tell) -> Batches:
        """Return the batches of a run."""
        return Batches(self.settings, models, run, folder, tell)


class Batches:
    """The batches of a run, as a backend of the engine."""

    def __init__(
        self,
        settings: BatchSettings,
        models: Iterable[OpenModel],
        run: OpenRun,
        folder: Path,
        tell: Tell,
    ) -> None:
        self._settings = settings
        self._models = batchable(models, settings)
        self._table = BatchTable(run.ledger)
        self._budget = run.open_budget
        # a request that does not fit must not end the run: other rows may need no request
        self._budget.puts_off = True
        self._folder = folder.absolute() / BATCHES
        self._tell = tell
        self._book = BatchBook(
            settings, self._models, self._table, self._budget, self._folder, tell
        )
        self._sender = Sender(self._book)
        self._watcher = Watcher(self._book, self._sender)
        self._files: dict[str, RequestFile] = {}
        self._planned: set[tuple[bytes, bytes]] = set()
        self._sending = asyncio.Lock()
        """One batch at a time is on its way, so that a kill leaves no more than
        one open question.
        """
        self._wording = content_hash(__version__, *map(wordings, LANGUAGES))
        self._worded_before = bool(self._table.wordings() - {self._wording})
        """Whether another version sent some batches: what it worded otherwise is not asked again in
        today's words.
        """
        self._only = _asks_only_in_batches(settings)
        """Whether nothing is asked one by one; where a command answers, there may be no server to
        ask.
        """
        self._no_room: BudgetSpent | None = None
        self._spent: BudgetSpent | None = None
        """The limit that what was collected has passed: it is read, and nothing more is asked."""
        self._live = False

    # -- the backend -------------------------------------------------------------------

    async def complete(self, request: Request, model: Model) -> Reply:
        """Return the reply from a batch, or from the model if the request cannot be batched.

        A request without a reply yet is parked and raises Deferred. One that does not fit the
        budget does not stop the others.
        """
        try:
            return await self._complete(request, model)
        except BudgetSpent as spent:
            self._budget.raise_if_halted()
            self._no_room = spent
            raise NoRoom from None

    async def _complete(self, request: Request, model: Model) -> Reply:
        partial = session().partial
        if (
            partial is None
            or not isinstance(model, OpenModel)
            or model.identity not in self._models
            or model.has_reply(request)
        ):
            return await model.complete(request)
        key = partial.key, digest_of(request)
        ballot = self._table.find(*key)
        # a batch of another version may have asked the same ballot in other words
        if ballot is None and self._worded_before and not partial.vote:
            ballot = self._table.find_alone(partial.key)
        if ballot is None:
            if partial.vote and not self._only:  # a repair
                return await model.complete(request)
            await self._park(key, request, model, 1)
        elif ballot.state is RequestState.ANSWERED:
            return self._reply(ballot, request, model)
        elif ballot.state is not RequestState.SENT:
            return await self._retry(ballot, request, model)
        raise Deferred

    def kept(self, ballot: bytes) -> None:
        """Forget the replies to this ballot, because its vote is stored."""
        self._table.consumed(ballot)

    def _reply(self, ballot: BatchBallot, request: Request, model: OpenModel) -> Reply:
        _, api = self._models[model.identity]
        reply = with_counts(
            model.name,
            request,
            api.provider.note_ignored(request, reply_from(json.loads(ballot.reply or "{}"))),
        )
        reply = replace(reply, usage=reply.usage.in_batch())
        self._budget.sizes.learn(model.name, request, reply.usage)
        model.keep(request, reply)
        return reply

    async def _retry(self, ballot: BatchBallot, request: Request, model: OpenModel) -> Reply:
        """Handle a request without a reply: raise its error, park it again, or send it directly."""
        _, api = self._models[model.identity]
        error = error_from(json.loads(ballot.reply or "{}"), api.endpoint)
        if ballot.attempt >= _MOST_ATTEMPTS:
            raise error
        if ballot.state is RequestState.FAILED and not api.provider.learns_from(request, error):
            raise error
        if not self._only and (self._live or ballot.attempt >= _LIVE_AFTER):
            return await model.complete(request)
        await self._park((ballot.ballot, ballot.request), request, model, ballot.attempt + 1)
        raise Deferred

    async def _park(
        self, key: tuple[bytes, bytes], request: Request, model: OpenModel, attempt: int
    ) -> None:
        """Write the request to a batch file once; skip it for now if it does not fit the budget."""
        if key in self._planned:
            return
        if model.capabilities.writes_cache:
            self._budget.sizes.cache_writers.add(model.name)
        try:
            reserved = self._budget.set_aside(model.name, request)
        except BudgetSpent as spent:
            self._no_room = self._no_room or spent
            return
        self._planned.add(key)
        _, api = self._models[model.identity]
        line = api.line(custom_id(*key, attempt), with_token_limit(request, self._budget.budget))
        file = self._files.get(model.identity)
        if file is not None and not file.fits(line):
            await self._send(model.identity, file)
            file = self._files.get(model.identity)
        if file is None:
            file = self._files[model.identity] = RequestFile(
                self._folder, api, self._most_requests(model.identity, api)
            )
        file.add(*key, attempt, line, reserved)
        if file.full:
            await self._send(model.identity, file)

    def _most_requests(self, identity: str, api: BatchApi) -> int:
        taken = self._book.most_taken.get(identity, api.most_requests)
        most = min(api.most_requests, taken, self._settings.most_requests or api.most_requests)
        # halve the size after each rejection for too much waiting
        return max(1, most >> self._book.rejections)

    async def _send(self, identity: str, file: RequestFile) -> None:
        """Store the batch in the ledger, then send it. Do nothing if another task has sent it."""
        if self._files.get(identity) is not file:
            return  # another task has sent it already
        del self._files[identity]
        _, api = self._models[identity]
        batch = Batch(
            id=file.id,
            provider=api.provider_name,
            model=identity,
            account=api.account,
            state=BatchState.INTENDED,
            created=time.time(),
            request_sha=file.close(),
            more={
                "requests": len(file.ballots),
                "reserved": astuple(file.reserved),
                "wording": self._wording,
                "asked": 0,
            },
        )
        async with self._sending:
            await self._table.intend(batch, file.ballots)
            self._planned.difference_update(
                (ballot.ballot, ballot.request) for ballot in file.ballots
            )
            await self._sender.submit(batch)

    # -- rounds ------------------------------------------------------------------------

    async def begin(self) -> None:
        """Continue the batches of an earlier process: find the ones it may have sent, and collect
        the finished ones.
        """
        if self._folder.is_symlink():
            raise RunError(
                "{folder} is a symbolic link, which adjudge never creates: copy what it points "
                "to, or delete it",
                folder=self._folder,
            )
        await self._table.forget_failures()
        for batch in self._table.under_way():
            self._book.api_of(batch)
            self._budget.set_aside_again(reserved_by(batch))
        keys = KeyCheck(self._book, self._sender)
        for batch in self._table.under_way():
            await keys.recognise(batch)
        self._remove_strays()
        for batch in self._table.under_way():
            await self._bring_forward(batch)
        for _, api in self._models.values():
            if api.note:
                self._tell(BatchNews("note", api.provider_name, text=api.note))

    def _remove_strays(self) -> None:
        """Remove files of batches that are not in the ledger."""
        ids = self._table.ids()
        for path in self._folder.glob("*") if self._folder.is_dir() else ():
            if is_id(id := path.name.partition(".")[0]) and id not in ids:
                remove_files(self._folder, id)

    def begin_pass(self) -> None:
        """Start a pass over the rows. A few remaining retries are sent directly instead of in a
        batch.
        """
        self._no_room, self._book.put_back = None, False
        again = self._table.waiting(RequestState.RETRY)
        self._live = 0 < again < self._settings.live_below and not self._only and not self._spent
        if self._live:
            self._tell(BatchNews("live", requests=again))

    async def next_round(self) -> None:
        """Send the parked requests and collect the replies.

        Raises BatchesOpen if the run is detached, and BudgetSpent if nothing more may be sent.
        """
        if self._spent:
            self._budget.halt(self._spent)
            raise self._spent
        for identity, file in list(self._files.items()):
            await self._send(identity, file)
        if not self._table.under_way():
            self._stop_without_progress()
        if self._book.rejections:
            await self._pause(_jitter(self._settings.poll))
        await self._wait()

    def _stop_without_progress(self) -> None:
        if self._book.put_back:
            return
        if self._no_room:
            self._budget.halt(self._no_room)
            raise self._no_room
        if not self._table.waiting(RequestState.RETRY) and not self._book.rejections:
            raise RunError(
                "rows are waiting for answers, but no batch contains them: resume the run"
            )

    async def _wait(self) -> None:
        """Poll the batches until all have ended; cancel them if the budget is exceeded."""
        wait, limit = self._settings.poll, None
        while await self._look():
            if limit is None and (limit := self._budget.over()):
                await self._watcher.cancel_all()
            if self._settings.detach:
                raise BatchesOpen(_under_way_text(self._table.under_way()))
            pause = _jitter(wait)
            self._tell(_waiting(self._table.under_way(), pause))
            await self._pause(pause)
            wait = min(wait * 2, self._settings.poll_most)
        if limit or (limit := self._budget.over()):
            self._spent = self._budget.spent_error(limit)

    async def _look(self) -> bool:
        """Check all batches once; return True if some are still under way."""
        for batch in self._table.under_way():
            await self._bring_forward(batch)
        return bool(self._table.under_way())

    async def _bring_forward(self, batch: Batch) -> None:
        if batch.state is BatchState.INTENDED:
            await self._sender.submit(batch)
        else:
            await self._watcher.look(batch)

    async def _pause(self, seconds: float) -> None:
        """Sleep.

        The first interrupt stops the run after a grace period and leaves the batches running; a
        second interrupt within that period cancels them.
        """
        try:
            await self._budget.pause(seconds)
        except RunStopped:
            self._tell(BatchNews("stopping", seconds=self._settings.grace))
            await asyncio.sleep(self._settings.grace)
            raise RunStopped(_under_way_text(self._table.under_way())) from None

    async def cancel(self) -> None:
        """Ask the providers to cancel the batches, in the short time before the process ends."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._watcher.cancel_all(), _SECONDS_TO_CANCEL)

    def discard(self) -> None:
        """Discard requests that were written but not sent; they will be planned again."""
        for file in self._files.values():
            file.discard()
        self._files.clear()


def _asks_only_in_batches(settings: BatchSettings) -> bool:
    return settings.batch_only or settings.command is not None


def _waiting(under_way: Sequence[Batch], seconds: float) -> BatchNews:
    done = sum(int(batch.more.get("done", 0)) for batch in under_way)
    requests = sum(batch.requests for batch in under_way)
    return BatchNews(
        "waiting", batches=len(under_way), requests=requests, done=done, seconds=seconds
    )


def _under_way_text(under_way: Sequence[Batch]) -> Message:
    return Message(
        "batches under way: {count}, with {requests} requests; they continue at the provider",
        count=len(under_way),
        requests=sum(batch.requests for batch in under_way),
    )


def _jitter(seconds: float) -> float:
    """Vary a pause a little, so that many runs do not poll at the same moment."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311


def batchable(
    models: Iterable[OpenModel], settings: BatchSettings
) -> Mapping[str, tuple[OpenModel, BatchApi]]:
    """Map each identity to its model and batch API, leaving out models without one.

    Raise a SetupError if no model has one, or if a model lacks one while ``batch_only`` is set.
    """
    every = {model.identity: model for model in models}
    apis = {
        # No provider's batches take typed questions.
        identity: None
        if model.capabilities.decisions
        else batch_api(model, settings.api, settings.command)
        for identity, model in every.items()
    }
    deciding = [model.name for model in every.values() if model.capabilities.decisions]
    if deciding and (settings.batch_only or len(deciding) == len(every)):
        raise SetupError(
            "{deciding} is a decision model, which batches do not support: leave --batch out",
            deciding=", ".join(deciding),
        )
    without = [every[identity].name for identity, api in apis.items() if api is None]
    if without and (settings.batch_only or len(without) == len(every)):
        raise SetupError(
            "adjudge knows no batch API of {without}: leave --batch out, or name its server's "
            "batch API with --batch-api ({apis})",
            without=", ".join(without),
            apis=", ".join(APIS),
        )
    return {identity: (every[identity], api) for identity, api in apis.items() if api is not None}
