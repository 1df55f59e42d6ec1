"""What a reader of a run must know of what was paid for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adjudge.ledger.batches import Batch


def payment_notes(batches: Iterable[Batch]) -> tuple[str, ...]:
    """A sentence for each provider that may have been paid twice for the same requests."""
    twice: Counter[str] = Counter()
    for batch in batches:
        twice[batch.provider] += batch.paid_twice
    return tuple(
        f"requests to {provider} that may have been paid twice: {requests}; "
        "what was sent first could not be found, or not be read"
        for provider, requests in twice.items()
        if requests
    )
