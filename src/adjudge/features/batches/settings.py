"""How batches are used, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from adjudge.core.domain.light import light_dataclass

Orphans = Literal["adopt", "resubmit"]
Kind = Literal[
    "sent", "searching", "waiting", "collected", "stopping", "cancelled", "twice", "live", "note"
]


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
class BatchNews:
    """Something happened to batches."""

    kind: Kind
    provider: str = ""
    batches: int = 1
    requests: int = 0
    done: int = 0
    seconds: float = 0.0
    text: str = ""


Tell = Callable[[BatchNews], None]
