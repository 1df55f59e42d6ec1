"""Settings of batches, and the news about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.pending import Orphans
from adjudge.core.reading.types import Flag, Number, Text, WholeNumber, Word, key
from adjudge.messages import Message
from adjudge.runs.counts import count_batches, count_requests
from adjudge.runs.execute import BackendNews

Kind = Literal[
    "sent", "searching", "waiting", "collected", "stopping", "cancelled", "twice", "live", "note"
]

_ALWAYS_TOLD = ("twice", "stopping", "cancelled", "note")


_APIS = ("openai", "azure", "anthropic", "openrouter", "mistral", "google", "groq", "together")


@light_dataclass(frozen=True)
class BatchSettings:
    """Settings for running in batches."""

    detach: bool = key(
        Flag(),
        "With --batch: send the batches and exit with 3; 'adjudge resume RUN' collects them.",
        False,
    )
    batch_only: bool = key(Flag(), "With --batch: send retries in batches, too.", False)
    orphans: Orphans | None = key(
        Word[Orphans](get_args(Orphans)),
        "If a crash left it unclear whether a batch was sent: wait for the batches that may be "
        "it, or send it again.",
        None,
        option="--batch-orphans",
    )
    """Also if another key asks than sent it: take it for one of the same account, or ask again."""
    search: float = key(
        Number(least=0),
        "Seconds to look for a possibly created batch in the provider's list, which may lag "
        "behind, before sending it again.",
        120.0,
        option="--batch-search",
    )
    api: str | None = key(
        Word(_APIS),
        "Batch API that the server speaks, if the model is given by its address.",
        None,
        option="--batch-api",
    )
    command: str | None = key(
        Text(),
        "Run batches on this machine with this command, such as 'vllm run-batch -i {input} -o "
        "{output} --model MODEL'.",
        None,
        option="--batch-command",
        metavar="COMMAND",
    )
    most_requests: int | None = key(
        WholeNumber(least=1),
        "Maximum requests per batch, if less than the provider's limit.",
        None,
        option="--batch-size",
    )
    poll: float = key(
        Number(above=0),
        "Seconds before batches are checked again; doubled each time, up to five minutes.",
        15.0,
        option="--batch-poll",
    )
    poll_most: float = 300.0
    live_below: int = 200
    """So few requests that have to be repeated are not worth a batch."""
    grace: float = 3.0
    """Seconds after an interrupt in which a second one cancels the batches."""


@light_dataclass(frozen=True)
class BatchNews(BackendNews):
    """An event of a batch."""

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
                "{provider} may have accepted a batch ({requests}) before its answer was lost, "
                "and its list may lag behind: looking for the batch there for up to {seconds} s "
                "before sending it again",
                **values,
            ),
            "waiting": Message(
                "waiting for {batches}: {done} of {requests} done; next check in {seconds} s",
                **values,
            ),
            "collected": Message("collected a batch from {provider}: {requests}", **values),
            "stopping": Message(
                "The batches continue at the provider; Ctrl-C again within {seconds} s cancels "
                "them there",
                **values,
            ),
            "cancelled": Message(
                "cancelled at the provider: {batches}. Answers received so far are kept", **values
            ),
            "twice": Message(
                "sent to {provider} again, and may have been paid twice: {requests}; {text}",
                **values,
            ),
            "live": Message(
                "sent individually, because a batch would be too small: {requests}", **values
            ),
            "note": Message("note: {text}", **values),
        }
        return messages[self.kind]


Tell = Callable[[BatchNews], None]
