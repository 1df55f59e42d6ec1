"""Batches on their way: sent once, found again after a kill, looked after, collected, cancelled."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from adjudge.engine.backends.batch.collect import Collector, Key
from adjudge.engine.backends.batch.request_file import is_id, is_whole, remove_files
from adjudge.engine.backends.batch.settings import BatchNews, BatchSettings, Tell
from adjudge.errors import ModelError, ModelUnusable, RunError, Unavailable, Unreachable
from adjudge.gateway.batches.api import BatchApi, Phase, Remote, error_data
from adjudge.gateway.layers.account import Spent
from adjudge.gateway.layers.budget import OpenBudget
from adjudge.gateway.layers.retry import wait_before_retry
from adjudge.gateway.open import OpenModel
from adjudge.ledger.batches import Batch, BatchState, BatchTable, RequestState, Statement
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge")
_TRIES = 7
_NOT_TAKEN = (409, 429)
"""What says for sure that nothing was created."""
_TOO_LARGE, _GONE, _WRONG_KEY = 413, 404, 401
_FIRST_SEARCH, _LONGEST_SEARCH = 1.0, 15.0
"""Seconds before a list is asked for again, which double."""
_TOO_LARGE_FOR_GOOGLE = "payload size exceeds"
_SKEW = 600.0
"""Seconds by which a batch may seem older than it is, when the provider's clock is compared with
ours.
"""
_TWO_DAYS = 172_800.0
_MOST_REJECTIONS = 8
_BELIEVED = 3
"""How often a provider must say that a batch is not there, or give results that are not whole,
before that is believed.
"""
NO_ANSWER = Message("the batch brought no answer to this request")


@dataclass(eq=False)
class Post:
    """Everything that goes to a provider's batch API and comes from it."""

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

    def __post_init__(self) -> None:
        self._collector = Collector(self.table, self.budget)

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

    # -- another key than the one that sent it ---------------------------------------

    async def recognise(self, batch: Batch) -> None:
        """Have what another key sent taken for ours, where the provider says that it is. Where the
        user does, it is looked for, and stays the other key's until it is found.
        """
        api = self.api_of(batch)
        if api.account == batch.account:
            return
        if batch.asked and not await self._is_of_this_account(batch, api):
            if self.settings.orphans is None:
                raise self._of_another_key(batch)
            if self.settings.orphans == "adopt":
                return
            if batch.state is not BatchState.INTENDED:
                again = await self._twice(
                    batch,
                    Message(
                        "{remote_id} was sent with another key",
                        remote_id=batch.remote_id or batch.id,
                    ),
                )
                await self._finish(again, Message("left behind"))
                return
        await self.table.keep(replace(batch, account=api.account))

    async def _is_of_this_account(self, batch: Batch, api: BatchApi) -> bool:
        """Whether the provider gives the batch to the key that asks now, or says that both keys are
        of one account.
        """
        try:
            for id in [batch.remote_id] if batch.remote_id else self._candidates(batch):
                if await api.gives(id):
                    return True
            named = (
                batch.state is BatchState.INTENDED
                and bool(await self._listed(batch, api))
                and api.marks
            )
        except ModelError as error:
            if error.status == _WRONG_KEY:
                raise _unusable(error) from None
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
            batch.state is BatchState.INTENDED and api.organisation == batch.organisation != ""
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

    def _check_vouched(self, batch: Batch) -> None:
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

    # -- sending -------------------------------------------------------------------

    async def submit(self, batch: Batch) -> None:
        """Send a batch that is in the ledger.

        Where it may have arrived, it is looked for before it is sent again.
        """
        for attempt in range(_TRIES):
            try:
                missing = await self._missing(batch) if batch.asked else batch
                if missing:
                    batch = missing
                    await self._create(batch)
                return
            except ModelError as error:
                if _is_too_large(error):
                    await self._take_apart(batch, error)
                    return
                if not error.retryable:
                    await self._give_up(batch, str(error))
                    raise _unusable(error) from None
                batch = await self._after(batch, error)
                _LOG.info("%s; sending the batch again", error)
                await self.budget.pause(wait_before_retry(error, attempt))
        raise RunError(
            "the batch {id} could not be sent, since {provider_name} does not answer: "
            "resume the run later",
            id=batch.id,
            provider_name=batch.provider,
        )

    async def _create(self, batch: Batch) -> None:
        """The ledger knows when the provider is asked to: whoever is killed before that has nothing
        to look for.
        """
        api, path = self.api_of(batch), self._path(batch)
        if not is_whole(path, batch.request_sha):
            await self._give_up(batch, Message("its requests are gone from the run's folder"))
            return
        uploaded = await api.upload(path)
        asked = await self.table.asked(batch.with_more(organisation=api.organisation))
        await self._sent(asked, await api.create(batch.id, path, uploaded))

    async def _after(self, batch: Batch, error: ModelError) -> Batch:
        """As the ledger has it after an attempt; what surely did not arrive is not looked for."""
        known = next(one for one in self.table.under_way() if one.id == batch.id)
        if known.asked == batch.asked or not (
            error.status in _NOT_TAKEN or isinstance(error, Unreachable)
        ):
            return known
        again = known.with_more(asked=batch.asked)
        await self.table.keep(again)
        return again

    async def _sent(self, batch: Batch, remote: Remote) -> None:
        told = {
            "said": remote.said,
            "candidates": [],
            "organisation": self.api_of(batch).organisation,
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

    async def _take_apart(self, batch: Batch, error: ModelError) -> None:
        """The provider takes no batch so large: its requests are planned again in halves. One alone
        has failed.
        """
        self.put_back = True
        if batch.requests < 2:
            failed = self.table.unanswered(
                batch.id, json.dumps(error_data(error)), RequestState.FAILED
            )
            await self._give_up(batch, str(error), failed)
            return
        half = self.most_taken[batch.model] = (batch.requests + 1) // 2
        size = self._path(batch).stat().st_size / 1e6
        why = Message(
            "{provider_name} takes no batch of {requests} requests and {size:.1f} MB: sent "
            "again with {half} at most",
            provider_name=batch.provider,
            requests=batch.requests,
            size=size,
            half=half,
        )
        _LOG.warning(why)
        await self._give_up(batch, why)

    async def _give_up(self, batch: Batch, why: str, then: Statement | None = None) -> None:
        """Nothing of it was or will be answered: its ballots are free again, unless ``then`` says
        otherwise.
        """
        rejected = replace(batch, state=BatchState.REJECTED, more={**batch.more, "said": why})
        await self.table.keep(rejected, then or self.table.let_go(batch.id))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)

    # -- after a kill ----------------------------------------------------------------

    async def _missing(self, batch: Batch) -> Batch | None:
        """The batch, where it is not at the provider. A list may be late: it is asked for again
        until it has had its time.

        What was not listed by then may be there all the same: that is said.
        """
        api, pause = self.api_of(batch), _FIRST_SEARCH
        while True:
            try:
                found = await self._listed(batch, api)
            except ModelError as error:
                if error.retryable:
                    raise
                return await self._not_told(batch, error)
            if found and api.marks:
                await self._sent(batch, found[0])
                return None
            if found:
                return await self._choose(batch, [one.id for one in found])
            if not api.lists_late:
                return batch
            left = min(self.settings.search, batch.asked + self.settings.search - time.time())
            if left <= 0 or self.settings.orphans == "resubmit":
                self._check_vouched(batch)
                return await self._twice(
                    batch,
                    Message(
                        "{provider_name} may have taken it before, and does not list it",
                        provider_name=batch.provider,
                    ),
                )
            if pause == _FIRST_SEARCH:
                self.tell(
                    BatchNews("searching", batch.provider, requests=batch.requests, seconds=left)
                )
            await self.budget.pause(min(pause, left))
            pause = min(pause * 2, _LONGEST_SEARCH)

    async def _listed(self, batch: Batch, api: BatchApi) -> list[Remote]:
        """Those that the provider lists and that may be this one; with names of
        ours, that are it.
        """
        remotes = await api.sent(batch.id, self._path(batch), batch.created - _TWO_DAYS)
        if api.marks:
            return remotes
        known = self.table.remote_ids() | set(batch.more.get("others") or ())
        since = (
            batch.created - _TWO_DAYS
            if api.clock_ahead is None
            else batch.created + api.clock_ahead - _SKEW
        )
        recent = [one for one in remotes if one.created is None or one.created >= since]
        return [
            one for one in recent if one.id not in known and one.requests in (None, batch.requests)
        ]

    async def _not_told(self, batch: Batch, error: ModelError) -> Batch:
        """The provider does not say which batches there are: the user decides whether it is sent
        again.
        """
        if self.settings.orphans == "resubmit":
            return await self._twice(
                batch,
                Message(
                    "{provider_name} may have taken it before, and does not list its batches",
                    provider_name=batch.provider,
                ),
            )
        raise RunError(
            "whether the batch {id} has arrived at {provider_name} cannot be told, since "
            "its list of batches is refused ({error}): use a key that may read it, or send "
            "the batch again with 'adjudge resume RUN --batch resubmit', and perhaps pay "
            "twice",
            id=batch.id,
            provider_name=batch.provider,
            error=error,
        )

    async def _twice(
        self, batch: Batch, why: str, fitting: Sequence[str] = (), requests: int | None = None
    ) -> Batch:
        """It is sent again, or some of it asked again, and may have been paid before: that is said,
        and kept.
        """
        many = batch.requests if requests is None else requests
        self.tell(BatchNews("twice", batch.provider, requests=many, text=why))
        again = batch.with_more(
            twice=list(fitting) or [batch.remote_id or batch.id], again=batch.paid_twice + many
        )
        await self.table.keep(again)
        return again

    async def _choose(self, batch: Batch, fitting: list[str]) -> Batch | None:
        """Among batches without a name of ours: one is taken for ours until its results tell,
        several are asked about.
        """
        if self.settings.orphans == "resubmit":
            return await self._twice(
                batch, Message("there is also {fitting}", fitting=", ".join(fitting)), fitting
            )
        if len(fitting) > 1 and self.settings.orphans is None:
            raise RunError(
                "{count} batches at {provider_name} may be the one that was about to be "
                "sent when the run ended ({fitting}): 'adjudge resume RUN --batch adopt' "
                "waits for them and takes the one whose results fit, 'adjudge resume RUN "
                "--batch resubmit' sends it again, and may pay twice",
                count=len(fitting),
                provider_name=batch.provider,
                fitting=", ".join(fitting),
            )
        await self.table.keep(
            replace(batch, state=BatchState.OPEN, more={**batch.more, "candidates": fitting})
        )
        return None

    # -- looking ---------------------------------------------------------------------

    async def look(self, batch: Batch) -> bool:
        """See how far a batch is, and collect it where it has ended. Whether it has."""
        api = self.api_of(batch)
        try:
            return await self._looked_at(batch, api)
        except ModelUnusable:
            raise
        except ModelError as error:
            if error.retryable:
                _LOG.info("%s; looking again later", error)
                return False
            if error.status != _GONE:
                raise _unusable(error) from None
            return await self._not_found(batch)

    async def _not_found(self, batch: Batch) -> bool:
        """Said once, that may be a gateway's mistake, and what was answered would be paid for
        twice. Whether it is believed.
        """
        self._check_vouched(batch)
        if not self._once_more(batch, "not_found"):
            again = await self._twice(
                batch, Message("{remote_id} is gone from there", remote_id=batch.remote_id)
            )
            await self._finish(again, "gone")
            return True
        await self.table.keep(_counted(batch, "not_found"))
        return False

    def _once_more(self, batch: Batch, what: str) -> bool:
        return int(batch.more.get(what, 0)) + 1 < _BELIEVED

    async def _looked_at(self, batch: Batch, api: BatchApi) -> bool:
        remote = await (api.look(batch.remote_id) if batch.remote_id else self._among(batch, api))
        if remote is None:
            return not self._candidates(batch)
        batch = replace(batch, remote_id=remote.id, counts=remote.counts, more=_told(batch, remote))
        if remote.phase is Phase.WAITING:
            await self.table.keep(batch)
            return False
        if remote.phase is Phase.REJECTED:
            await self._rejected(batch, remote)
            return True
        return await self._collect(batch, remote, api)

    def _candidates(self, batch: Batch) -> list[str]:
        return list(batch.more.get("candidates") or ())

    async def _among(self, batch: Batch, api: BatchApi) -> Remote | None:
        """The one of several whose results are ours; None as long as none has ended that is.

        With none left it is sent.
        """
        candidates = self._candidates(batch)
        afresh = replace(batch, state=BatchState.INTENDED).with_more(candidates=[], unread={})
        if self.settings.orphans == "resubmit":
            also = Message("there is also {candidates}", candidates=", ".join(candidates))
            await self.submit((await self._twice(afresh, also, candidates)).with_more(asked=0))
            return None
        left, unread = [], dict(batch.more.get("unread") or {})
        for id in candidates:
            found = await self._candidate(batch, id, api)
            if isinstance(found, Remote):
                return found
            if found != "other":
                left.append(id)
            unread[id] = unread.get(id, 0) + 1 if found == "unread" else 0
        if not left:
            _LOG.warning(
                Message(
                    "no batch at {name} turned out to be {batch}: it is looked for once more",
                    name=batch.provider,
                    batch=batch.id,
                )
            )
            others = [*(batch.more.get("others") or ()), *candidates]
            await self.submit(afresh.with_more(others=others))
            return None
        await self.table.keep(
            replace(batch, more={**batch.more, "candidates": left, "unread": unread})
        )
        if lost := [id for id in left if unread[id] >= _BELIEVED]:
            raise self._cannot_tell(
                batch, ", ".join(lost), Message("neither its state nor its results can be read")
            )
        return None

    async def _candidate(
        self, batch: Batch, id: str, api: BatchApi
    ) -> Remote | Literal["waiting", "unread", "other"]:
        """A batch that is ours; else what is known of it."""
        try:
            remote = await api.look(id)
            if remote.phase is Phase.WAITING:
                return "waiting"
            ours = await self._is_ours(batch, remote, api) if remote.phase is Phase.ENDED else False
        except ModelError as error:
            if error.retryable:
                return "waiting"
            if error.status != _GONE:
                raise self._cannot_tell(batch, id, str(error)) from None
            ours = None
        return "unread" if ours is None else remote if ours else "other"

    def _cannot_tell(self, batch: Batch, remote_id: str, why: str) -> RunError:
        return RunError(
            "whether {remote_id} at {provider_name} is the batch that was about to be sent "
            "when the run ended cannot be told ({why}): resume the run later, or send the "
            "batch again with 'adjudge resume RUN --batch resubmit', and perhaps pay twice",
            remote_id=remote_id,
            provider_name=batch.provider,
            why=why,
        )

    async def _is_ours(self, batch: Batch, remote: Remote, api: BatchApi) -> bool | None:
        """None where its results cannot be read."""
        paths = await api.fetch(remote, self._results(batch))
        unknown = None if remote.answered else False
        ours = next(
            (self._collector.is_of(batch, line) for path in paths for line in api.lines(path)),
            unknown,
        )
        if not ours:
            _remove(paths)
        return ours

    async def _rejected(self, batch: Batch, remote: Remote) -> None:
        await self._give_up(batch, remote.reason or remote.said)
        self.rejections += 1
        if not remote.too_many or self.rejections >= _MOST_REJECTIONS:
            model = self.models[batch.model][0]
            raise ModelUnusable(
                "the batch was rejected: {reason}",
                model=model.name,
                reason=remote.reason or remote.said,
            )
        _LOG.info("%s has too much waiting: the next batches are smaller", batch.provider)

    async def _collect(self, batch: Batch, remote: Remote, api: BatchApi) -> bool:
        """Whether all of it is there: results that are not whole are fetched again before anything
        is asked again.
        """
        model, paths = self.models[batch.model][0], await api.fetch(remote, self._results(batch))
        size = self._path(batch).stat().st_size if self._path(batch).exists() else 0
        asked, found = size // max(1, batch.requests), set[Key]()
        for path in paths:
            found |= await self._collector.collect(batch, model.name, api.lines(path), asked)
        replies, answered = len(found), min(remote.answered, batch.requests)
        if replies < answered:
            _remove(paths)
            if self._once_more(batch, "not_whole"):
                _LOG.info(
                    "%s replies of %s can be read: fetching them again later", replies, answered
                )
                await self.table.keep(_counted(batch, "not_whole"))
                return False
            batch = await self._unreadable(batch, replies, answered)
        self.rejections = 0
        await self._finish(batch, remote.said)
        return True

    async def _unreadable(self, batch: Batch, replies: int, answered: int) -> Batch:
        """Some replies are lost: they are asked again. Where it is all of them, only if the user
        wants to pay twice.
        """
        missing = Message(
            "replies are missing from the results of {remote_id}", remote_id=batch.remote_id
        )
        if replies or self.settings.orphans == "resubmit":
            return await self._twice(batch, missing, requests=answered - replies)
        raise RunError(
            "{provider_name} says that {answered} requests of the batch {remote_id} are "
            "answered, and its results hold no reply: resume the run later, or have them "
            "asked and paid for again with 'adjudge resume RUN --batch resubmit'",
            provider_name=batch.provider,
            answered=answered,
            remote_id=batch.remote_id,
        )

    async def _finish(self, batch: Batch, said: str) -> None:
        why = json.dumps(error_data(Unavailable(NO_ANSWER)))
        done = replace(batch, state=BatchState.COLLECTED, more={**batch.more, "said": said})
        await self.table.keep(done, self.table.unanswered(batch.id, why))
        self.budget.give_back(reserved_by(batch))
        remove_files(self.folder, batch.id)
        self.tell(BatchNews("collected", batch.provider, requests=batch.requests))

    # -- ending ----------------------------------------------------------------------

    async def cancel_all(self) -> int:
        """Have the provider stop; what it has answered by then can be collected.

        Says how many there were.
        """
        found = [
            batch
            for batch in self.table.under_way()
            if batch.state is BatchState.OPEN and batch.remote_id
        ]
        for batch in found:
            try:
                await self.api_of(batch).cancel(str(batch.remote_id))
            except ModelError as error:
                _LOG.warning(
                    Message(
                        "the batch {batch} could not be cancelled: {error}",
                        batch=batch.remote_id,
                        error=error,
                    )
                )
            else:
                await self.table.keep(replace(batch, state=BatchState.CANCELLING))
        if found:
            self.tell(BatchNews("cancelled", batches=len(found)))
        return len(found)

    def _path(self, batch: Batch) -> Path:
        return self.folder / f"{batch.id}.jsonl"

    def _results(self, batch: Batch) -> Path:
        found = self.folder / f"{batch.id}.d"
        found.mkdir(parents=True, exist_ok=True)
        return found


def _is_too_large(error: ModelError) -> bool:
    return error.status == _TOO_LARGE or (
        error.status == 400 and _TOO_LARGE_FOR_GOOGLE in error.message
    )


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _counted(batch: Batch, what: str) -> Batch:
    """With what happened to it counted once more."""
    return replace(batch, more={**batch.more, what: int(batch.more.get(what, 0)) + 1})


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
