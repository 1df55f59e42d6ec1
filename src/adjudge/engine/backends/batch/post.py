"""Batches on their way: sent once, found again after a kill, looked after, collected, cancelled."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjudge.engine.backends.batch.collect import Collector
from adjudge.engine.backends.batch.request_file import is_id, is_whole, remove_files
from adjudge.engine.backends.batch.settings import BatchNews, BatchSettings, Tell
from adjudge.errors import ModelError, ModelUnusable, RunError, Unavailable
from adjudge.gateway.batches.api import BatchApi, Phase, Remote, error_data
from adjudge.gateway.layers.account import Spent
from adjudge.gateway.layers.budget import OpenBudget
from adjudge.gateway.layers.retry import wait_before_retry
from adjudge.gateway.open import OpenModel
from adjudge.ledger.batches import Batch, BatchTable, State

_LOG = logging.getLogger("adjudge")
_TRIES = 7
_NOT_TAKEN = (409, 429)
"""What says for sure that nothing was created."""
_SKEW = 600.0
"""Seconds by which the provider's clock may be behind ours."""
_TWO_DAYS = 172_800.0
_MOST_REJECTIONS = 8
NO_ANSWER = "the batch brought no answer to this request"


class Post:
    """Everything that goes to a provider's batch API and comes from it."""

    def __init__(
        self,
        settings: BatchSettings,
        models: Mapping[str, tuple[OpenModel, BatchApi]],
        table: BatchTable,
        budget: OpenBudget,
        folder: Path,
        tell: Tell,
    ) -> None:
        self._settings = settings
        self._models = models
        self._table = table
        self._budget = budget
        self._folder = folder
        self._tell = tell
        self._collector = Collector(table, budget)
        self.rejections = 0
        """How often in a row a provider had too much of ours waiting."""

    def api_of(self, batch: Batch) -> BatchApi:
        """Where a batch was sent, which must be where it would be sent now."""
        if not is_id(batch.id):
            raise RunError(f"the ledger holds a batch that adjudge did not make: {batch.id!r}")
        _, api = self._models.get(batch.model, (None, None))
        if api is None:
            raise RunError(f"the batch {batch.id} was sent for {batch.model}, which this run does not ask in batches now")
        if api.account != batch.account:
            raise RunError(
                f"the batch {batch.id} was sent to {batch.provider} with another key, address or command, and only that can read "
                f"it: resume with the one that began the run, or cancel the batch there and delete {self._folder.parent}"
            )
        return api

    # -- sending -------------------------------------------------------------------

    async def submit(self, batch: Batch, *, maybe_there: bool = False) -> None:
        """Send a batch that is in the ledger. Where it may have arrived, it is looked for before it is sent again."""
        for attempt in range(_TRIES):
            try:
                missing = await self._missing(batch) if maybe_there else batch
                if missing:
                    await self._create(missing)
                return
            except ModelError as error:
                if not error.retryable:
                    await self._give_up(batch, str(error))
                    raise _unusable(error) from None
                maybe_there = maybe_there or error.status not in _NOT_TAKEN
                _LOG.info("%s; sending the batch again", error)
                await self._budget.pause(wait_before_retry(error, attempt))
        raise RunError(f"the batch {batch.id} could not be sent, since {batch.provider} does not answer: resume the run later")

    async def _create(self, batch: Batch) -> None:
        api, path = self.api_of(batch), self._path(batch)
        if is_whole(path, batch.request_sha):
            await self._sent(batch, await api.create(batch.id, path))
        else:
            await self._give_up(batch, "its requests are gone from the run's folder")

    async def _sent(self, batch: Batch, remote: Remote) -> None:
        more = {**batch.more, "said": remote.said, "candidates": []}
        open_now = replace(batch, state=State.OPEN, remote_id=remote.id, expires=remote.expires, counts=remote.counts, more=more)
        await self._table.keep(open_now)
        self._tell(BatchNews("sent", batch.provider, requests=batch.requests))

    async def _give_up(self, batch: Batch, why: str) -> None:
        """Nothing of it was or will be answered: its ballots are free again."""
        rejected = replace(batch, state=State.REJECTED, more={**batch.more, "said": why})
        await self._table.keep(rejected, self._table.let_go(batch.id))
        self._budget.give_back(reserved_by(batch))
        remove_files(self._folder, batch.id)

    # -- after a kill ----------------------------------------------------------------

    async def _missing(self, batch: Batch) -> Batch | None:
        """The batch, where it is not at the provider yet. Where that cannot be told, the user is asked."""
        api = self.api_of(batch)
        since = batch.created - (_TWO_DAYS if api.marks else _SKEW)
        remotes = await api.sent(batch.id, self._path(batch), since)
        if api.marks:
            if remotes:
                await self._sent(batch, remotes[0])
            return None if remotes else batch
        known = self._table.remote_ids()
        fitting = [one.id for one in remotes if one.id not in known and one.requests in (None, batch.requests)]
        return await self._choose(batch, fitting) if fitting else batch

    async def _choose(self, batch: Batch, fitting: list[str]) -> Batch | None:
        """Among batches without a name of ours: one is taken for ours until its results tell, several are asked about."""
        if self._settings.orphans == "resubmit":
            self._tell(BatchNews("twice", batch.provider, len(fitting), batch.requests, text=", ".join(fitting)))
            again = replace(batch, more={**batch.more, "twice": fitting})
            await self._table.keep(again)
            return again
        if len(fitting) > 1 and self._settings.orphans is None:
            raise RunError(
                f"{len(fitting)} batches at {batch.provider} may be the one that was about to be sent when the run ended "
                f"({', '.join(fitting)}): 'adjudge resume RUN --batch adopt' waits for them and takes the one whose results fit, "
                "'adjudge resume RUN --batch resubmit' sends it again, and may pay twice"
            )
        await self._table.keep(replace(batch, state=State.OPEN, more={**batch.more, "candidates": fitting}))
        return None

    # -- looking ---------------------------------------------------------------------

    async def look(self, batch: Batch) -> bool:
        """See how far a batch is, and collect it where it has ended. Whether it has."""
        api = self.api_of(batch)
        try:
            remote = await (api.look(batch.remote_id) if batch.remote_id else self._among(batch, api))
        except ModelError as error:
            if error.retryable:
                _LOG.info("%s; looking again later", error)
                return False
            if error.status != 404:
                raise _unusable(error) from None
            _LOG.warning("the batch %s is gone from %s: its requests are asked again", batch.remote_id, batch.provider)
            await self._finish(batch, "gone")
            return True
        if remote is None:
            return not self._candidates(batch)
        batch = replace(batch, remote_id=remote.id, counts=remote.counts, more=_told(batch, remote))
        if remote.phase is Phase.WAITING:
            await self._table.keep(batch)
            return False
        await (self._rejected(batch, remote) if remote.phase is Phase.REJECTED else self._collect(batch, remote, api))
        return True

    def _candidates(self, batch: Batch) -> list[str]:
        return list(batch.more.get("candidates") or ())

    async def _among(self, batch: Batch, api: BatchApi) -> Remote | None:
        """The one of several whose results are ours; None as long as none has ended that is. With none left it is sent."""
        left = []
        for id in self._candidates(batch):
            remote = await api.look(id)
            if remote.phase is Phase.WAITING:
                left.append(id)
            elif remote.phase is Phase.ENDED and await self._is_ours(batch, remote, api):
                return remote
        if not left:
            _LOG.warning("no batch at %s turned out to be %s: it is sent again", batch.provider, batch.id)
            await self.submit(replace(batch, state=State.INTENDED, more={**batch.more, "candidates": []}))
        elif left != self._candidates(batch):
            await self._table.keep(replace(batch, more={**batch.more, "candidates": left}))
        return None

    async def _is_ours(self, batch: Batch, remote: Remote, api: BatchApi) -> bool:
        paths = await api.fetch(remote, self._results(batch))
        ours = next((self._collector.is_of(batch, line) for path in paths for line in api.lines(path)), False)
        if not ours:
            for path in paths:
                path.unlink(missing_ok=True)
        return ours

    async def _rejected(self, batch: Batch, remote: Remote) -> None:
        await self._give_up(batch, remote.reason or remote.said)
        self.rejections += 1
        if not remote.too_many or self.rejections >= _MOST_REJECTIONS:
            model = self._models[batch.model][0]
            raise ModelUnusable(f"the batch was rejected: {remote.reason or remote.said}", model=model.name)
        _LOG.info("%s has too much waiting: the next batches are smaller", batch.provider)

    async def _collect(self, batch: Batch, remote: Remote, api: BatchApi) -> None:
        model = self._models[batch.model][0]
        for path in await api.fetch(remote, self._results(batch)):
            await self._collector.collect(batch, model.name, api.lines(path))
        self.rejections = 0
        await self._finish(batch, remote.said)

    async def _finish(self, batch: Batch, said: str) -> None:
        why = json.dumps(error_data(Unavailable(NO_ANSWER)))
        done = replace(batch, state=State.COLLECTED, more={**batch.more, "said": said})
        await self._table.keep(done, self._table.unanswered(batch.id, why))
        self._budget.give_back(reserved_by(batch))
        remove_files(self._folder, batch.id)
        self._tell(BatchNews("collected", batch.provider, requests=batch.requests))

    # -- ending ----------------------------------------------------------------------

    async def cancel_all(self) -> int:
        """Have the provider stop; what it has answered by then can be collected. Says how many there were."""
        found = [batch for batch in self._table.under_way() if batch.state is State.OPEN and batch.remote_id]
        for batch in found:
            try:
                await self.api_of(batch).cancel(str(batch.remote_id))
            except ModelError as error:
                _LOG.warning("the batch %s could not be cancelled: %s", batch.remote_id, error)
            else:
                await self._table.keep(replace(batch, state=State.CANCELLING))
        if found:
            self._tell(BatchNews("cancelled", batches=len(found)))
        return len(found)

    def _path(self, batch: Batch) -> Path:
        return self._folder / f"{batch.id}.jsonl"

    def _results(self, batch: Batch) -> Path:
        found = self._folder / f"{batch.id}.d"
        found.mkdir(parents=True, exist_ok=True)
        return found


def _told(batch: Batch, remote: Remote) -> dict[str, Any]:
    return {**batch.more, "said": remote.said, "done": remote.done}


def jittered(seconds: float) -> float:
    """About as long, so that many runs do not look at the same moment."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311


def reserved_by(batch: Batch) -> Spent:
    """What was set aside for a batch."""
    amounts: Any = batch.more.get("reserved")
    return Spent(*amounts) if isinstance(amounts, list | tuple) else Spent()


def _unusable(error: ModelError) -> ModelUnusable:
    made = ModelUnusable(error.message, provider=error.provider, model=error.model, hint=error.hint)
    made.status = error.status
    return made
