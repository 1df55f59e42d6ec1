"""Store the results of a batch in the ledger, a few hundred at a time. Collecting twice does no
harm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.message import Reply, Usage
from adjudge.core.gateway.layers.account import plausible_usage
from adjudge.core.gateway.layers.budget import OpenBudget
from adjudge.core.ledger.pending import Batch
from adjudge.core.reading.typed_json import read_as
from adjudge.errors import Unavailable
from adjudge.features.batches.ledger import BatchBallot, BatchTable, RequestState
from adjudge.features.batches.providers.api import BatchAnswer, error_data
from adjudge.features.batches.request_file import parsed_id
from adjudge.messages import Message

COMMIT_EVERY = 500
_TWO_ANSWERS = Message("the batch gave two different answers to this request")
Key = tuple[bytes, bytes]
"""A ballot and one of its requests."""


class Collector:
    """Reads results and stores them."""

    def __init__(self, table: BatchTable, budget: OpenBudget) -> None:
        self._table = table
        self._budget = budget

    async def collect(
        self, batch: Batch, model: str, lines: Iterable[BatchAnswer], asked: int
    ) -> set[Key]:
        """Store the outcome of each request, in any order; stored outcomes are not overwritten.
        A request with two different replies is asked again: nobody knows which one is its own.

        Return the keys of the requests with replies, so a repeated reply counts once. ``asked``:
        approximate prompt size in bytes.
        """
        replied: set[Key] = set()
        waiting: dict[Key, BatchBallot] = {}
        for line in lines:
            key = parsed_id(line.id)
            if key is not None and line.reply is not None:
                replied.add(key)
            if (ballot := self._read(batch, model, line, waiting, asked)) is not None:
                waiting[ballot.ballot, ballot.request] = ballot
            if len(waiting) >= COMMIT_EVERY:
                await self._commit(waiting)
        await self._commit(waiting)
        return replied

    def is_of(self, batch: Batch, line: BatchAnswer) -> bool:
        """Return True if a result answers a request of this batch."""
        ballot = self._find_ballot(line)
        return ballot is not None and ballot.batch == batch.id

    def _find_ballot(self, line: BatchAnswer) -> BatchBallot | None:
        key = parsed_id(line.id)
        return self._table.find(*key) if key else None

    def _read(
        self,
        batch: Batch,
        model: str,
        line: BatchAnswer,
        waiting: Mapping[Key, BatchBallot],
        asked: int,
    ) -> BatchBallot | None:
        ballot = self._find_ballot(line)
        if ballot is None:
            return None
        ballot = waiting.get((ballot.ballot, ballot.request), ballot)
        is_own = ballot.batch == batch.id
        if is_own and line.reply is not None and _has_another_reply(ballot, line.reply):
            self._budget.collect(model, plausible_usage(line.reply, asked).in_batch())
            why = json.dumps(error_data(Unavailable(_TWO_ANSWERS)))
            return replace(ballot, state=RequestState.RETRY, reply=why)
        if ballot.state is not RequestState.SENT:
            if ballot.batch != batch.id and line.reply:  # sent twice, and paid for twice
                self._budget.collect(model, plausible_usage(line.reply, asked).in_batch())
            return None
        if line.reply is not None:
            self._budget.collect(model, plausible_usage(line.reply, asked).in_batch())
            return replace(
                ballot, state=RequestState.ANSWERED, reply=json.dumps(_reply_data(line.reply))
            )
        # a result is either a reply or an error
        assert line.error is not None
        if ballot.batch != batch.id:
            return None  # the batch that it is in may answer it yet
        if line.asked:
            self._budget.collect(model, None)
        state = RequestState.RETRY if line.error.retryable else RequestState.FAILED
        return replace(ballot, state=state, reply=json.dumps(error_data(line.error)))

    async def _commit(self, waiting: dict[Key, BatchBallot]) -> None:
        if waiting:
            await self._table.answer(waiting.values(), self._budget.account.to_dict())
            waiting.clear()


def _has_another_reply(ballot: BatchBallot, reply: Reply) -> bool:
    """Return True if the request has a reply, and it is not this one."""
    is_answered = ballot.state is RequestState.ANSWERED
    return is_answered and reply_from(json.loads(ballot.reply or "{}")).text != reply.text


def _reply_data(reply: Reply) -> JsonDict:
    data = {
        "text": reply.text,
        "usage": plain(reply.usage),
        "finish": reply.finish,
        "details": dict(reply.details),
    }
    return data | ({"logprobs": plain(reply.logprobs)} if reply.logprobs else {})


@dataclass(frozen=True)
class _KeptReply:
    """A reply as the ledger stores it."""

    text: str
    usage: Mapping[str, float]
    finish: str
    details: Mapping[str, str]
    logprobs: tuple[Mapping[str, float], ...] | None = None


def reply_from(data: JsonValue) -> Reply:
    stored = read_as(_KeptReply, data)
    return Reply(
        text=stored.text,
        usage=Usage(**stored.usage),  # type: ignore[arg-type]
        finish=stored.finish,
        logprobs=None if stored.logprobs is None else tuple(map(FrozenDict, stored.logprobs)),
        details=FrozenDict(stored.details),
    )
