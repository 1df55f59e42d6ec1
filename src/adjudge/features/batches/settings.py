"""How batches are used, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from adjudge.core.domain.light import light_dataclass
from adjudge.core.ledger.pending import Orphans
from adjudge.messages import Message
from adjudge.runs.counts import count_batches, count_requests
from adjudge.runs.execute import BackendNews

Kind = Literal[
    "sent", "searching", "waiting", "collected", "stopping", "cancelled", "twice", "live", "note"
]

_ALWAYS_TOLD = ("twice", "stopping", "cancelled", "note")


@light_dataclass(frozen=True)
class BatchSettings:
    """What a user can say of batches."""

    detach: bool = False
    """End when everything is sent; a later resume collects."""
    batch_only: bool = False
    """Ask nothing outside batches, repairs included."""
    orphans: Orphans | None = None
    """What to do where it cannot be told whether a batch was sent: wait for those that may be it,
    or send it again. The same where another key asks than sent it: take it for one of the same
    account, or ask again.
    """
    search: float = 120.0
    """Seconds for which a batch that may have been created is looked for among those that the
    provider lists, before it is sent again: lists are late, and no provider says by how much.
    """
    api: str | None = None
    """The batch API that the server speaks, where its model's id does not say."""
    command: str | None = None
    """A command on this machine in its place."""
    poll: float = 15.0
    """Seconds before the second look at the batches; the wait doubles up to ``poll_most``."""
    poll_most: float = 300.0
    most_requests: int | None = None
    """In one batch, where that is to be less than the provider takes."""
    live_below: int = 200
    """So few requests that have to be repeated are not worth a batch."""
    grace: float = 3.0
    """Seconds after an interrupt in which a second one cancels the batches."""


@light_dataclass(frozen=True)
class BatchNews(BackendNews):
    """Something happened to batches."""

    kind: Kind
    provider: str = ""
    batches: int = 1
    requests: int = 0
    done: int = 0
    seconds: float = 0.0
    text: str = ""

    @property
    def is_always_told(self) -> bool:
        return self.kind in _ALWAYS_TOLD

    @property
    def message(self) -> Message:
        values = {
            "provider": self.provider,
            "batches": count_batches(self.batches),
            "requests": count_requests(self.requests),
            "done": self.done,
            "seconds": round(self.seconds),
            "text": self.text,
        }
        messages = {
            "sent": Message("sent a batch to {provider}: {requests}", **values),
            "searching": Message(
                "{provider} may have taken a batch ({requests}) before its answer was lost, and "
                "its list may be late: looking for the batch there for up to {seconds} s before "
                "it is sent again",
                **values,
            ),
            "waiting": Message(
                "waiting for {batches}: {done} of {requests} done; next look in {seconds} s",
                **values,
            ),
            "collected": Message("collected a batch from {provider}: {requests}", **values),
            "stopping": Message(
                "The batches go on at the provider; Ctrl-C again within {seconds} s cancels them "
                "there",
                **values,
            ),
            "cancelled": Message(
                "cancelled at the provider: {batches}. What is answered by then is kept", **values
            ),
            "twice": Message(
                "sent to {provider} again, and may have been paid twice: {requests}; {text}",
                **values,
            ),
            "live": Message(
                "asked one by one, since it is too little for a batch: {requests}", **values
            ),
            "note": Message("note: {text}", **values),
        }
        return messages[self.kind]


Tell = Callable[[BatchNews], None]
