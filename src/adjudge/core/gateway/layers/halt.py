"""Whether a run goes on. The first reason to end it counts, and wakes whoever waits."""

from __future__ import annotations

import asyncio
from time import monotonic

from adjudge.errors import BudgetSpent, ModelUnusable, RunStopped

Halt = BudgetSpent | RunStopped | ModelUnusable


class Haltable:
    """What can be halted, and waited on until then. Lives on the home loop."""

    def __init__(self) -> None:
        self._halt: Halt | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def stop(self, reason: str) -> None:
        """Send nothing more; what is under way is waited for."""
        self.halt(RunStopped(reason))

    def halt(self, reason: Halt) -> None:
        """The same, for this reason. The first one counts."""
        self._halt = self._halt or reason
        self.wake()

    def go_on(self) -> None:
        """Send again what comes next: a model that could not be reached may be back."""
        if isinstance(self._halt, ModelUnusable):
            self._halt = None

    def raise_if_halted(self) -> None:
        """Raise what ended the run, if it has ended."""
        if self._halt is not None:
            raise self._halt

    async def pause(self, seconds: float) -> None:
        """Sleep; a halt ends it at once."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            self.raise_if_halted()
            await self.wait_for_change(left)
        self.raise_if_halted()

    async def wait_for_change(self, seconds: float | None = None) -> None:
        """Wait until somebody wakes all who wait, or the timeout expires."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await asyncio.wait([change], timeout=seconds)
        finally:
            self._waiting.discard(change)

    def wake(self) -> None:
        """Have all who wait look again."""
        for change in (one for one in self._waiting if not one.done()):
            change.set_result(None)
