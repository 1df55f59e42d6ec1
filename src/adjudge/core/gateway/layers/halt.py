"""Stopping a run. The first reason counts and wakes every waiting task."""

from __future__ import annotations

import asyncio
from time import monotonic

from adjudge.errors import BudgetSpent, ModelUnusable, RunStopped

Halt = BudgetSpent | RunStopped | ModelUnusable


class Haltable:
    """Base of objects that can be halted and waited on. Lives on the home loop."""

    def __init__(self) -> None:
        self._halt: Halt | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def stop(self, reason: str) -> None:
        """Send nothing more; requests under way are waited for."""
        self.halt(RunStopped(reason))

    def halt(self, reason: Halt) -> None:
        """Like ``stop``, but with an error as the reason. The first one counts."""
        self._halt = self._halt or reason
        self.wake()

    def go_on(self) -> None:
        """Allow requests again after ModelUnusable: the model may be back."""
        if isinstance(self._halt, ModelUnusable):
            self._halt = None

    def raise_if_halted(self) -> None:
        """Raise the error that ended the run, if it has ended."""
        if self._halt is not None:
            raise self._halt

    async def pause(self, seconds: float) -> None:
        """Sleep. A halt ends the sleep at once."""
        end = monotonic() + seconds
        while (remaining := end - monotonic()) > 0:
            self.raise_if_halted()
            await self.wait_for_change(remaining)
        self.raise_if_halted()

    async def wait_for_change(self, seconds: float | None = None) -> None:
        """Wait until ``wake`` is called or the timeout expires."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await asyncio.wait([change], timeout=seconds)
        finally:
            self._waiting.discard(change)

    def wake(self) -> None:
        """Let all waiting tasks check again."""
        for change in (future for future in self._waiting if not future.done()):
            change.set_result(None)
