"""Send each batch once. A batch that may have arrived before a kill is looked up first."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace

from adjudge.core.gateway.http import account_of_key, clock_ahead
from adjudge.core.gateway.layers.retry import wait_before_retry
from adjudge.core.ledger.pending import Batch, BatchState
from adjudge.errors import BudgetSpent, ModelError, RunError, Unreachable
from adjudge.features.batches.book import BatchBook, unusable
from adjudge.features.batches.ledger import RequestState
from adjudge.features.batches.providers.api import BatchApi, Remote, error_data
from adjudge.features.batches.request_file import is_whole
from adjudge.features.batches.settings import BatchNews
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge")
_TRIES = 7
# What says for sure that nothing was created.
_NOT_TAKEN = (409, 429)
_TOO_LARGE = 413
# Seconds before a list is asked for again, which double.
_FIRST_SEARCH, _LONGEST_SEARCH = 1.0, 15.0
_TOO_LARGE_FOR_GOOGLE = "payload size exceeds"
# Seconds by which a batch may seem older than it is, when the provider's clock is compared with
# ours.
_SKEW = 600.0
_TWO_DAYS = 172_800.0


class Sender:
    """Sends batches, and finds those that were already sent."""

    def __init__(self, book: BatchBook) -> None:
        self._book = book

    async def submit(self, batch: Batch) -> None:
        """Send a batch that is in the ledger.

        If it may have arrived, look it up before sending it again.
        """
        for attempt in range(_TRIES):
            try:
                missing = await self._find_or_return(batch) if batch.asked else batch
                if missing:
                    batch = missing
                    await self._create(batch)
                return
            except BudgetSpent:
                raise  # the batch stays as it is, for a resume with a larger budget
            except ModelError as error:
                if _is_too_large(error):
                    await self._halve(batch, error)
                    return
                if not error.retryable:
                    await self._book.give_up(batch, str(error))
                    raise unusable(error) from None
                batch = await self._after(batch, error)
                _LOG.info("%s; sending the batch again", error)
                await self._book.budget.pause(wait_before_retry(error, attempt))
        raise RunError(
            "the batch {id} could not be sent, because {provider_name} does not answer: resume "
            "the run later",
            id=batch.id,
            provider_name=batch.provider,
        )

    async def _create(self, batch: Batch) -> None:
        """Upload and create a batch; give it up if its request file is missing or has changed."""
        api, path = self._book.api_of(batch), self._book.path_of(batch)
        if not is_whole(path, batch.request_sha):
            await self._book.give_up(
                batch, Message("its requests are missing from the run's folder")
            )
            return
        uploaded = await api.upload(path)
        # stored first: after a kill before this line there is nothing to look for
        stored = await self._book.table.asked(
            batch.with_more(organisation=account_of_key(api.endpoint))
        )
        await self._book.store_sent(stored, await api.create(batch.id, path, uploaded))

    async def _after(self, batch: Batch, error: ModelError) -> Batch:
        """Return the batch as the ledger has it after a failed attempt.

        If it certainly did not arrive, reset its time of sending, so that it is not looked up.
        """
        stored = next(entry for entry in self._book.table.under_way() if entry.id == batch.id)
        if stored.asked == batch.asked or not (
            error.status in _NOT_TAKEN or isinstance(error, Unreachable)
        ):
            return stored
        again = stored.with_more(asked=batch.asked)
        await self._book.table.keep(again)
        return again

    async def _halve(self, batch: Batch, error: ModelError) -> None:
        """Give up a batch that is too large, so its requests are planned again in smaller batches.

        A single request fails.
        """
        self._book.put_back = True
        if batch.requests < 2:
            failed = self._book.table.unanswered(
                batch.id, json.dumps(error_data(error)), RequestState.FAILED
            )
            await self._book.give_up(batch, str(error), failed)
            return
        half = self._book.most_taken[batch.model] = (batch.requests + 1) // 2
        size = self._book.path_of(batch).stat().st_size / 1e6
        why = Message(
            "{provider_name} rejected a batch of {requests} requests and {size:.1f} MB: sending "
            "it again with at most {half}",
            provider_name=batch.provider,
            requests=batch.requests,
            size=size,
            half=half,
        )
        _LOG.warning(why)
        await self._book.give_up(batch, why)

    async def _find_or_return(self, batch: Batch) -> Batch | None:
        """Look for a batch at the provider; return it if it has to be sent.

        The provider's list may lag behind, so it is read repeatedly for a while. A batch that is
        still not listed may exist anyway, so it is reported as possibly paid twice.
        """
        api, pause = self._book.api_of(batch), _FIRST_SEARCH
        while True:
            try:
                remotes = await self.listed(batch, api)
            except ModelError as error:
                if error.retryable:
                    raise
                return await self._resolve_unlisted(batch, error)
            if remotes and api.marks:
                await self._book.store_sent(batch, remotes[0])
                return None
            if remotes:
                return await self._choose(batch, [remote.id for remote in remotes])
            if not api.lists_late:
                return batch
            remaining = min(
                self._book.settings.search, batch.asked + self._book.settings.search - time.time()
            )
            if remaining <= 0 or self._book.settings.orphans == "resubmit":
                self._book.check_account(batch)
                return await self._book.pay_twice(
                    batch,
                    Message(
                        "{provider_name} may have accepted it before, but does not list it",
                        provider_name=batch.provider,
                    ),
                )
            if pause == _FIRST_SEARCH:
                self._book.tell(
                    BatchNews(
                        "searching", batch.provider, requests=batch.requests, seconds=remaining
                    )
                )
            await self._book.budget.pause(min(pause, remaining))
            pause = min(pause * 2, _LONGEST_SEARCH)

    async def listed(self, batch: Batch, api: BatchApi) -> list[Remote]:
        """Return the provider's batches that may be this one; exactly this one if it stores our
        names.
        """
        remotes = await api.sent(batch.id, self._book.path_of(batch), batch.created - _TWO_DAYS)
        if api.marks:
            return remotes
        known_ids = self._book.table.remote_ids() | set(batch.more.get("others") or ())
        ahead = clock_ahead(api.endpoint)
        since = batch.created - _TWO_DAYS if ahead is None else batch.created + ahead - _SKEW
        recent = [remote for remote in remotes if remote.created is None or remote.created >= since]
        return [
            remote
            for remote in recent
            if remote.id not in known_ids and remote.requests in (None, batch.requests)
        ]

    async def _resolve_unlisted(self, batch: Batch, error: ModelError) -> Batch:
        """Send again only if the user has chosen ``resubmit``, since the provider refuses its
        list of batches.
        """
        if self._book.settings.orphans == "resubmit":
            return await self._book.pay_twice(
                batch,
                Message(
                    "{provider_name} may have accepted it before, but does not list its batches",
                    provider_name=batch.provider,
                ),
            )
        raise RunError(
            "cannot tell whether the batch {id} has arrived at {provider_name}, because its list "
            "of batches is refused ({error}): use a key that may read it, or send the batch "
            "again with 'adjudge resume RUN --batch resubmit', and perhaps pay twice",
            id=batch.id,
            provider_name=batch.provider,
            error=error,
        )

    async def _choose(self, batch: Batch, fitting: list[str]) -> Batch | None:
        """Choose among batches without our name.

        Candidates are kept until their results identify the batch. If there are several, the user
        must have decided what to do.
        """
        if self._book.settings.orphans == "resubmit":
            return await self._book.pay_twice(
                batch, Message("there is also {fitting}", fitting=", ".join(fitting)), fitting
            )
        if len(fitting) > 1 and self._book.settings.orphans is None:
            raise RunError(
                "{count} batches at {provider_name} may be the one that was being sent when the "
                "run ended ({fitting}): 'adjudge resume RUN --batch adopt' waits for them and "
                "takes the one whose results fit, 'adjudge resume RUN --batch resubmit' sends it "
                "again, and may pay twice",
                count=len(fitting),
                provider_name=batch.provider,
                fitting=", ".join(fitting),
            )
        await self._book.table.keep(
            replace(batch, state=BatchState.OPEN, more={**batch.more, "candidates": fitting})
        )
        return None


def _is_too_large(error: ModelError) -> bool:
    return error.status == _TOO_LARGE or (
        error.status == 400 and _TOO_LARGE_FOR_GOOGLE in error.message
    )
