"""Check whether the current key may read batches that another key sent."""

from __future__ import annotations

from dataclasses import replace

from adjudge.core.gateway.http import account_of_key
from adjudge.core.ledger.pending import Batch, BatchState
from adjudge.errors import ModelError, RunError
from adjudge.features.batches.book import BatchBook, candidates_of, unusable
from adjudge.features.batches.providers.api import BatchApi
from adjudge.features.batches.sender import Sender
from adjudge.messages import Message

_WRONG_KEY = 401


class KeyCheck:
    """Checks whether the batches under way belong to the current account."""

    def __init__(self, book: BatchBook, sender: Sender) -> None:
        self._book, self._sender = book, sender

    async def recognise(self, batch: Batch) -> None:
        """Take over a batch sent with another key, if the provider confirms that the account is the
        same.

        Otherwise the ``orphans`` setting decides: ``adopt`` keeps it under the other key until it
        is found, ``resubmit`` sends it again, and without a setting a RunError is raised.
        """
        api = self._book.api_of(batch)
        if api.account == batch.account:
            return
        if batch.asked and not await self._is_of_this_account(batch, api):
            if self._book.settings.orphans is None:
                raise self._another_key_error(batch)
            if self._book.settings.orphans == "adopt":
                return
            if batch.state is not BatchState.INTENDED:
                again = await self._book.pay_twice(
                    batch,
                    Message(
                        "{remote_id} was sent with another key",
                        remote_id=batch.remote_id or batch.id,
                    ),
                )
                await self._book.finish(again, Message("left behind"))
                return
        await self._book.table.keep(replace(batch, account=api.account))

    async def _is_of_this_account(self, batch: Batch, api: BatchApi) -> bool:
        """Return True if the current key can read the batch, or both keys belong to one
        organisation.
        """
        try:
            for id in [batch.remote_id] if batch.remote_id else candidates_of(batch):
                if await api.has_batch(id):
                    return True
            is_listed = (
                batch.state is BatchState.INTENDED
                and bool(await self._sender.listed(batch, api))
                and api.marks
            )
        except ModelError as error:
            if error.status == _WRONG_KEY:
                raise unusable(error) from None
            if not error.retryable:
                return False
            raise RunError(
                "cannot tell whether the current key can read the batch {id}, because "
                "{provider_name} does not answer ({error}): resume the run later",
                id=batch.id,
                provider_name=batch.provider,
                error=error,
            ) from None
        return is_listed or (
            batch.state is BatchState.INTENDED
            and account_of_key(api.endpoint) == batch.organisation != ""
        )

    def _another_key_error(self, batch: Batch) -> RunError:
        return RunError(
            "the batch {remote_id} was sent to {provider_name} with another key or command, and "
            "the current one cannot read it: resume with the one that started the run, or with "
            "another key of the same account; if this is one, confirm it with 'adjudge resume "
            "RUN --batch adopt'; 'adjudge resume RUN --batch resubmit' sends the requests again, "
            "and pays twice",
            remote_id=batch.remote_id or batch.id,
            provider_name=batch.provider,
        )
