"""Batches that another key has sent: whether the one that asks now may read them."""

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
    """Tells whether batches under way are of the account that asks now."""

    def __init__(self, book: BatchBook, sender: Sender) -> None:
        self._book, self._sender = book, sender

    async def recognise(self, batch: Batch) -> None:
        """Have what another key sent taken for ours, where the provider says that it is. Where the
        user does, it is looked for, and stays the other key's until it is found.
        """
        api = self._book.api_of(batch)
        if api.account == batch.account:
            return
        if batch.asked and not await self._is_of_this_account(batch, api):
            if self._book.settings.orphans is None:
                raise self._of_another_key(batch)
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
        """Whether the provider gives the batch to the key that asks now, or says that both keys are
        of one account.
        """
        try:
            for id in [batch.remote_id] if batch.remote_id else candidates_of(batch):
                if await api.gives(id):
                    return True
            named = (
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
                "whether the batch {id} can be read with the key that asks now cannot be "
                "told, since {provider_name} does not answer ({error}): resume the run later",
                id=batch.id,
                provider_name=batch.provider,
                error=error,
            ) from None
        return named or (
            batch.state is BatchState.INTENDED
            and account_of_key(api.endpoint) == batch.organisation != ""
        )

    def _of_another_key(self, batch: Batch) -> RunError:
        return RunError(
            "the batch {remote_id} was sent to {provider_name} with another key or command, "
            "and the one that asks now cannot read it: resume with the one that began the "
            "run, or with another key of the same account; if this is one, 'adjudge resume "
            "RUN --batch adopt' takes your word for it; 'adjudge resume RUN --batch "
            "resubmit' asks again what was sent, and pays twice",
            remote_id=batch.remote_id or batch.id,
            provider_name=batch.provider,
        )
