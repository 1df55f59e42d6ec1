"""What is known of batches, and what becomes of one: sent, given up, paid for twice, collected."""

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

NO_ANSWER = Message("the batch brought no answer to this request")


@dataclass(eq=False)
class BatchBook:
    """The batches of a run: where each was sent, and what the ledger, the budget and the user learn
    of it.
    """

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
    """Whether requests of this round were not taken, and are planned again."""

    def api_of(self, batch: Batch) -> BatchApi:
        """Where a batch was sent, which must be where it would be sent now."""
        if not is_id(batch.id):
            raise RunError(
                "the ledger holds a batch that adjudge did not make: {id!r}", id=batch.id
            )
        _, api = self.models.get(batch.model, (None, None))
        if api is None:
            raise RunError(
                "the batch {id} was sent for {model_name}, which this run does not ask in "
                "batches now",
                id=batch.id,
                model_name=batch.model,
            )
        return api

    def check_vouched(self, batch: Batch) -> None:
        """What is not there for a key that only the user vouched for is there for another: it is
        not paid again.
        """
        if self.api_of(batch).account != batch.account:
            raise RunError(
                "the batch {remote_id}, which another key sent to {provider_name}, is not "
                "there for the key that asks now, so that they seem to be of two accounts: "
                "resume with the key that began the run; 'adjudge resume RUN --batch "
                "resubmit' asks again what was sent, and pays twice",
                remote_id=batch.remote_id or batch.id,
                provider_name=batch.provider,
            )

    async def keep_sent(self, batch: Batch, remote: Remote) -> None:
        told = {
            "said": remote.said,
            "candidates": [],
            "organisation": account_of_key(self.api_of(batch).endpoint),
        }
        more = {**batch.more, **told}
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
        """Nothing of it was or will be answered: its ballots are free again, unless ``then`` says
        otherwise.
        """
        rejected = replace(batch, state=BatchState.REJECTED, more={**batch.more, "said": why})
        await self.table.keep(rejected, then or self.table.let_go(batch.id))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)

    async def pay_twice(
        self, batch: Batch, why: str, fitting: Sequence[str] = (), requests: int | None = None
    ) -> Batch:
        """It is sent again, or some of it asked again, and may have been paid before: that is said,
        kept, and counted as if it had been. BudgetSpent where the second time does not fit.
        """
        many = batch.requests if requests is None else requests
        before = part_of(reserved_by(batch), many, batch.requests)
        self.budget.write_off(before, sent_again=batch.state is BatchState.INTENDED)
        self.tell(BatchNews("twice", batch.provider, requests=many, text=why))
        again = batch.with_more(
            twice=list(fitting) or [batch.remote_id or batch.id], again=batch.paid_twice + many
        )
        await self.table.keep_spending(again, self.budget.account.to_dict())
        return again

    async def finish(self, batch: Batch, said: str) -> None:
        why = json.dumps(error_data(Unavailable(NO_ANSWER)))
        done = replace(batch, state=BatchState.COLLECTED, more={**batch.more, "said": said})
        await self.table.keep(done, self.table.unanswered(batch.id, why))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)
        self.tell(BatchNews("collected", batch.provider, requests=batch.requests))

    def path_of(self, batch: Batch) -> Path:
        return self.folder / f"{batch.id}.jsonl"

    def results_of(self, batch: Batch) -> Path:
        found = self.folder / f"{batch.id}.d"
        found.mkdir(parents=True, exist_ok=True)
        return found


def reserved_by(batch: Batch) -> Spent:
    """What was set aside for a batch."""
    amounts: Any = batch.more.get("reserved")
    return Spent(*amounts) if isinstance(amounts, list | tuple) else Spent()


def part_of(amount: Spent, requests: int, of: int) -> Spent:
    """What so many of the requests may have taken, for which ``amount`` was set aside."""
    share = requests / max(1, of)
    unpriced = round(amount.unpriced * share)
    return Spent(requests, round(amount.tokens * share), amount.usd * share, unpriced)


def candidates_of(batch: Batch) -> list[str]:
    """Those at the provider that may be this one."""
    return list(batch.more.get("candidates") or ())


def unusable(error: ModelError) -> ModelUnusable:
    made = ModelUnusable(error.message, provider=error.provider, model=error.model, hint=error.hint)
    made.status = error.status
    return made
