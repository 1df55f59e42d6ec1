"""``--on``: its options, and what does not go with it."""

from __future__ import annotations

from click import UsageError

from adjudge.messages import Message


def check_alone(
    on: str | None, workers: int | None, store: str | None, *, batch: bool, fork: bool, watch: bool
) -> None:
    """What does not go together is said before anything is read."""
    if store is not None and (on is None or not on.startswith("ray")):
        raise UsageError(
            Message("--store says where the workers of a Ray cluster write: add --on ray")
        )
    if on is None and workers is not None:
        raise UsageError(Message("--workers says how many a cluster has: add --on ray"))
    if on is not None and (batch or watch):
        raise UsageError(
            Message("--on goes neither with --batch nor with --watch: leave one of them out")
        )
    if on is not None and fork:
        raise UsageError(
            Message("--on cannot reuse the answers of another run: leave --fork out, or --on")
        )
