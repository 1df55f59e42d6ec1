"""What came of a batch, into the ledger: by the ballot, a few hundred at a time, twice without
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
from adjudge.features.batches.ledger import BatchBallot, BatchTable, RequestState
from adjudge.features.batches.providers.api import BatchAnswer, error_data
from adjudge.features.batches.request_file import parsed_id

COMMIT_EVERY = 500
Key = tuple[bytes, bytes]
"""A ballot and one of its requests."""


class Collector:
    """Reads results and keeps them."""

    def __init__(self, table: BatchTable, budget: OpenBudget) -> None:
        self._table = table
        self._budget = budget

    async def collect(
        self, batch: Batch, model: str, lines: Iterable[BatchAnswer], asked: int
    ) -> set[Key]:
        """Keep what came of each request, in any order; what is known already stays. Says which of
        ours have replies: one that stands there twice is not a reply to another.

        ``asked``: about how many bytes a prompt of the batch has.
        """
        replied: set[Key] = set()
        waiting: dict[Key, BatchBallot] = {}
        for line in lines:
            key = parsed_id(line.id)
            if key is not None and line.reply is not None:
                replied.add(key)
            if (found := self._read(batch, model, line, waiting, asked)) is not None:
                waiting[found.ballot, found.request] = found
            if len(waiting) >= COMMIT_EVERY:
                await self._commit(waiting)
        await self._commit(waiting)
        return replied

    def is_of(self, batch: Batch, line: BatchAnswer) -> bool:
        """Whether a result answers a request of this batch."""
        known = self._known(line)
        return known is not None and known.batch == batch.id

    def _known(self, line: BatchAnswer) -> BatchBallot | None:
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
        known = self._known(line)
        if known is None or (known.ballot, known.request) in waiting:
            return None
        if known.state is not RequestState.SENT:
            if known.batch != batch.id and line.reply:  # sent twice, and paid for twice
                self._budget.collect(model, plausible_usage(line.reply, asked).in_batch())
            return None
        if line.reply is not None:
            self._budget.collect(model, plausible_usage(line.reply, asked).in_batch())
            return replace(known, state=RequestState.ANSWERED, reply=json.dumps(_kept(line.reply)))
        assert line.error is not None
        if known.batch != batch.id:
            return None  # the batch that it is in may answer it yet
        if line.asked:
            self._budget.collect(model, None)
        state = RequestState.RETRY if line.error.retryable else RequestState.FAILED
        return replace(known, state=state, reply=json.dumps(error_data(line.error)))

    async def _commit(self, waiting: dict[Key, BatchBallot]) -> None:
        if waiting:
            await self._table.answer(waiting.values(), self._budget.account.to_dict())
            waiting.clear()


def _kept(reply: Reply) -> JsonDict:
    whole = {
        "text": reply.text,
        "usage": plain(reply.usage),
        "finish": reply.finish,
        "details": dict(reply.details),
    }
    return whole | ({"logprobs": plain(reply.logprobs)} if reply.logprobs else {})


@dataclass(frozen=True)
class _KeptReply:
    """A reply as a batch keeps it."""

    text: str
    usage: Mapping[str, float]
    finish: str
    details: Mapping[str, str]
    logprobs: tuple[Mapping[str, float], ...] | None = None


def reply_from(data: JsonValue) -> Reply:
    kept = read_as(_KeptReply, data)
    return Reply(
        text=kept.text,
        usage=Usage(**kept.usage),  # type: ignore[arg-type]
        finish=kept.finish,
        logprobs=None if kept.logprobs is None else tuple(map(FrozenDict, kept.logprobs)),
        details=FrozenDict(kept.details),
    )
