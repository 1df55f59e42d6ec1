"""Watch batches that were sent, collect those that have ended, and cancel the others."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Literal

from adjudge.core.ledger.pending import Batch, BatchState
from adjudge.errors import BudgetSpent, ModelError, ModelUnusable, RunError
from adjudge.features.batches.book import BatchBook, candidates_of, unusable
from adjudge.features.batches.collector import Collector, Key
from adjudge.features.batches.providers.api import BatchApi, Phase, Remote
from adjudge.features.batches.sender import Sender
from adjudge.features.batches.settings import BatchNews
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge")
_GONE = 404
_MOST_REJECTIONS = 8
# How often a provider must say that a batch is not there, or give results that are not whole,
# before that is believed.
_BELIEVED = 3


class Watcher:
    """Polls a run's batches until all have ended."""

    def __init__(self, book: BatchBook, sender: Sender) -> None:
        self._book, self._sender = book, sender
        self._collector = Collector(book.table, book.budget)

    async def look(self, batch: Batch) -> bool:
        """Check a batch and collect it if it has ended; return True if it needs no more polling."""
        api = self._book.api_of(batch)
        try:
            return await self._advance(batch, api)
        except (BudgetSpent, ModelUnusable):
            raise
        except ModelError as error:
            if error.retryable:
                _LOG.info("%s; looking again later", error)
                return False
            if error.status != _GONE:
                raise unusable(error) from None
            return await self._not_found(batch)

    async def _not_found(self, batch: Batch) -> bool:
        """Handle a batch that is reported missing; return True once the report is believed.

        A single report may be a gateway's mistake, and sending the batch again would pay twice.
        """
        self._book.check_account(batch)
        if not self._once_more(batch, "not_found"):
            again = await self._book.pay_twice(
                batch, Message("{remote_id} no longer exists there", remote_id=batch.remote_id)
            )
            await self._book.finish(again, "gone")
            return True
        await self._book.table.keep(_count_once_more(batch, "not_found"))
        return False

    def _once_more(self, batch: Batch, what: str) -> bool:
        return int(batch.more.get(what, 0)) + 1 < _BELIEVED

    async def _advance(self, batch: Batch, api: BatchApi) -> bool:
        remote = await (
            api.look(batch.remote_id) if batch.remote_id else self._identify(batch, api)
        )
        if remote is None:
            return not candidates_of(batch)
        batch = replace(
            batch,
            remote_id=remote.id,
            counts=remote.counts,
            more={**batch.more, "said": remote.said, "done": remote.done},
        )
        if remote.phase is Phase.WAITING:
            await self._book.table.keep(batch)
            return False
        if remote.phase is Phase.REJECTED:
            await self._handle_rejection(batch, remote)
            return True
        return await self._collect(batch, remote, api)

    async def _identify(self, batch: Batch, api: BatchApi) -> Remote | None:
        """Identify the batch among its candidates by their results; None if that is not possible
        yet.

        If no candidate is left, the batch is looked for once more or sent.
        """
        candidates = candidates_of(batch)
        afresh = replace(batch, state=BatchState.INTENDED).with_more(candidates=[], unread={})
        if self._book.settings.orphans == "resubmit":
            also = Message("there is also {candidates}", candidates=", ".join(candidates))
            await self._sender.submit(
                (await self._book.pay_twice(afresh, also, candidates)).with_more(asked=0)
            )
            return None
        remaining, unread = [], dict(batch.more.get("unread") or {})
        for id in candidates:
            state = await self._candidate(batch, id, api)
            if isinstance(state, Remote):
                return state
            if state != "other":
                remaining.append(id)
            unread[id] = unread.get(id, 0) + 1 if state == "unread" else 0
        if not remaining:
            _LOG.warning(
                Message(
                    "no batch at {name} matches {batch}: looking for it once more",
                    name=batch.provider,
                    batch=batch.id,
                )
            )
            excluded = [*(batch.more.get("others") or ()), *candidates]
            await self._sender.submit(afresh.with_more(others=excluded))
            return None
        await self._book.table.keep(
            replace(batch, more={**batch.more, "candidates": remaining, "unread": unread})
        )
        if lost := [id for id in remaining if unread[id] >= _BELIEVED]:
            raise self._cannot_tell(
                batch,
                ", ".join(lost),
                Message("neither the state nor the results of the batch can be read"),
            )
        return None

    async def _candidate(
        self, batch: Batch, id: str, api: BatchApi
    ) -> Remote | Literal["waiting", "unread", "other"]:
        """Return a candidate if it is this batch, otherwise its state."""
        try:
            remote = await api.look(id)
            if remote.phase is Phase.WAITING:
                return "waiting"
            is_ours = (
                await self._is_ours(batch, remote, api) if remote.phase is Phase.ENDED else False
            )
        except ModelError as error:
            if error.retryable:
                return "waiting"
            if error.status != _GONE:
                raise self._cannot_tell(batch, id, str(error)) from None
            is_ours = None
        return "unread" if is_ours is None else remote if is_ours else "other"

    def _cannot_tell(self, batch: Batch, remote_id: str, why: str) -> RunError:
        return RunError(
            "cannot tell whether {remote_id} at {provider_name} is the batch that was being sent "
            "when the run ended ({why}): resume the run later, or send the batch again with "
            "'adjudge resume RUN --batch resubmit', and perhaps pay twice",
            remote_id=remote_id,
            provider_name=batch.provider,
            why=why,
        )

    async def _is_ours(self, batch: Batch, remote: Remote, api: BatchApi) -> bool | None:
        """Return True if the results belong to this batch; None if they cannot be read."""
        paths = await api.fetch(remote, self._book.results_of(batch))
        unknown = None if remote.answered else False
        is_ours = next(
            (self._collector.is_of(batch, line) for path in paths for line in api.lines(path)),
            unknown,
        )
        if not is_ours:
            _remove(paths)
        return is_ours

    async def _handle_rejection(self, batch: Batch, remote: Remote) -> None:
        await self._book.give_up(batch, remote.reason or remote.said)
        self._book.rejections += 1
        if not remote.too_many or self._book.rejections >= _MOST_REJECTIONS:
            model = self._book.models[batch.model][0]
            raise ModelUnusable(
                "the batch was rejected: {reason}",
                model=model.name,
                reason=remote.reason or remote.said,
            )
        _LOG.info("%s has too much waiting: the next batches are smaller", batch.provider)

    async def _collect(self, batch: Batch, remote: Remote, api: BatchApi) -> bool:
        """Collect the results; return True when the batch is finished.

        Incomplete results are fetched again first; requests whose replies are still missing are
        then sent again.
        """
        model, paths = (
            self._book.models[batch.model][0],
            await api.fetch(remote, self._book.results_of(batch)),
        )
        # counts that a prompt of this size cannot have are estimated instead
        size = self._book.path_of(batch).stat().st_size if self._book.path_of(batch).exists() else 0
        prompt_bytes, replied = size // max(1, batch.requests), set[Key]()
        for path in paths:
            replied |= await self._collector.collect(
                batch, model.name, api.lines(path), prompt_bytes
            )
        replies, answered = len(replied), min(remote.answered, batch.requests)
        if replies < answered:
            _remove(paths)
            if self._once_more(batch, "not_whole"):
                _LOG.info(
                    "%s replies of %s can be read: fetching them again later", replies, answered
                )
                await self._book.table.keep(_count_once_more(batch, "not_whole"))
                return False
            batch = await self._ask_lost_again(batch, replies, answered)
        self._book.rejections = 0
        await self._book.finish(batch, remote.said)
        return True

    async def _ask_lost_again(self, batch: Batch, replies: int, answered: int) -> Batch:
        """Allow lost replies to be requested again; if all are lost, only with ``resubmit``."""
        missing = Message(
            "replies are missing from the results of {remote_id}", remote_id=batch.remote_id
        )
        if replies or self._book.settings.orphans == "resubmit":
            return await self._book.pay_twice(batch, missing, requests=answered - replies)
        raise RunError(
            "{provider_name} says that {answered} requests of the batch {remote_id} are "
            "answered, but its results contain no reply: resume the run later, or ask and pay "
            "for them again with 'adjudge resume RUN --batch resubmit'",
            provider_name=batch.provider,
            answered=answered,
            remote_id=batch.remote_id,
        )

    async def cancel_all(self) -> int:
        """Ask the providers to cancel all open batches; return how many there were.

        Replies given until then can be collected.
        """
        open_batches = [
            batch
            for batch in self._book.table.under_way()
            if batch.state is BatchState.OPEN and batch.remote_id
        ]
        for batch in open_batches:
            try:
                await self._book.api_of(batch).cancel(str(batch.remote_id))
            except ModelError as error:
                _LOG.warning(
                    Message(
                        "the batch {batch} could not be cancelled: {error}",
                        batch=batch.remote_id,
                        error=error,
                    )
                )
            else:
                await self._book.table.keep(replace(batch, state=BatchState.CANCELLING))
        if open_batches:
            self._book.tell(BatchNews("cancelled", batches=len(open_batches)))
        return len(open_batches)


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _count_once_more(batch: Batch, what: str) -> Batch:
    """Return the batch with the counter for an event increased by one."""
    return replace(batch, more={**batch.more, what: int(batch.more.get(what, 0)) + 1})
