"""State changes of batches: sent, given up, paid twice, collected."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adjudge.core.gateway.http import account_of_key
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.ledger.pending import Batch, BatchState
from adjudge.errors import ModelError, ModelUnusable, RunError, Unavailable
from adjudge.features.batches.ledger import BatchTable, Statement
from adjudge.features.batches.providers.api import BatchApi, Remote, error_data
from adjudge.features.batches.request_file import is_id, remove_files
from adjudge.features.batches.settings import BatchNews, BatchSettings, Tell
from adjudge.messages import Message

NO_ANSWER = Message("the batch returned no answer for this request")


@dataclass(eq=False)
class BatchBook:
    """Keeps track of a run's batches, and updates the ledger, the budget and the user."""

    settings: BatchSettings
    models: Mapping[str, tuple[OpenModel, BatchApi]]
    table: BatchTable
    budget: OpenBudget
    folder: Path
    tell: Tell
    rejections: int = 0
    """How often in a row a provider had too much of ours waiting."""
    most_taken: dict[str, int] = field(default_factory=dict)
    """Requests in one batch, for models whose provider took no larger one."""
    put_back: bool = False
    """True if the provider rejected requests of this round, which are planned again."""

    def api_of(self, batch: Batch) -> BatchApi:
        """Return the API for a batch; raise a RunError if the run no longer batches its model."""
        if not is_id(batch.id):
            raise RunError(
                "the ledger contains a batch that adjudge did not create: {id!r}", id=batch.id
            )
        _, api = self.models.get(batch.model, (None, None))
        if api is None:
            raise RunError(
                "the batch {id} was sent for {model_name}, which this run no longer asks in "
                "batches",
                id=batch.id,
                model_name=batch.model,
            )
        return api

    def check_account(self, batch: Batch) -> None:
        """Raise a RunError if the batch was sent with another key.

        It may exist for that key although this one cannot see it, and would be paid for twice.
        """
        if self.api_of(batch).account != batch.account:
            raise RunError(
                "the batch {remote_id} was sent to {provider_name} with another key and is not "
                "visible to the current one, so the two seem to belong to different accounts: "
                "resume with the key that started the run; 'adjudge resume RUN --batch resubmit' "
                "sends the requests again, and pays twice",
                remote_id=batch.remote_id or batch.id,
                provider_name=batch.provider,
            )

    async def store_sent(self, batch: Batch, remote: Remote) -> None:
        news = {
            "said": remote.said,
            "candidates": [],
            "organisation": account_of_key(self.api_of(batch).endpoint),
        }
        more = {**batch.more, **news}
        open_now = replace(
            batch,
            state=BatchState.OPEN,
            remote_id=remote.id,
            expires=remote.expires,
            counts=remote.counts,
            more=more,
        )
        await self.table.keep(open_now)
        self.tell(BatchNews("sent", batch.provider, requests=batch.requests))

    async def give_up(self, batch: Batch, why: str, then: Statement | None = None) -> None:
        """Mark a batch as rejected, with none of its requests answered.

        Its ballots can be sent again, unless ``then`` does something else with them.
        """
        rejected = replace(batch, state=BatchState.REJECTED, more={**batch.more, "said": why})
        await self.table.keep(rejected, then or self.table.let_go(batch.id))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)

    async def pay_twice(
        self, batch: Batch, why: str, fitting: Sequence[str] = (), requests: int | None = None
    ) -> Batch:
        """Record that a batch, or part of it, is sent again although it may have been paid for.

        The repetition is reported, stored, and counted as paid. Raise BudgetSpent if the second
        payment does not fit.
        """
        many = batch.requests if requests is None else requests
        earlier_spending = part_of(reserved_by(batch), many, batch.requests)
        self.budget.write_off(earlier_spending, sent_again=batch.state is BatchState.INTENDED)
        self.tell(BatchNews("twice", batch.provider, requests=many, text=why))
        again = batch.with_more(
            twice=list(fitting) or [batch.remote_id or batch.id], again=batch.paid_twice + many
        )
        await self.table.keep_spending(again, self.budget.account.to_dict())
        return again

    async def finish(self, batch: Batch, said: str) -> None:
        """Mark a batch as collected; unanswered requests will be sent again."""
        why = json.dumps(error_data(Unavailable(NO_ANSWER)))
        done = replace(batch, state=BatchState.COLLECTED, more={**batch.more, "said": said})
        await self.table.keep(done, self.table.unanswered(batch.id, why))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)
        self.tell(BatchNews("collected", batch.provider, requests=batch.requests))

    def path_of(self, batch: Batch) -> Path:
        return self.folder / f"{batch.id}.jsonl"

    def results_of(self, batch: Batch) -> Path:
        results_folder = self.folder / f"{batch.id}.d"
        results_folder.mkdir(parents=True, exist_ok=True)
        return results_folder


def reserved_by(batch: Batch) -> Spent:
    """Return the amount reserved for a batch."""
    amounts: Any = batch.more.get("reserved")
    return Spent(*amounts) if isinstance(amounts, list | tuple) else Spent()


def part_of(amount: Spent, requests: int, of: int) -> Spent:
    """Return the share of ``amount`` that this many of its requests may have used."""
    share = requests / max(1, of)
    unpriced = round(amount.unpriced * share)
    return Spent(requests, round(amount.tokens * share), amount.usd * share, unpriced)


def candidates_of(batch: Batch) -> list[str]:
    """Return the provider's ids of the batches that may be this one."""
    return list(batch.more.get("candidates") or ())


def unusable(error: ModelError) -> ModelUnusable:
    error_unusable = ModelUnusable(
        error.message, provider=error.provider, model=error.model, hint=error.hint
    )
    error_unusable.status = error.status
    return error_unusable
