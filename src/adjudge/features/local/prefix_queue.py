"""Run one call at a time, grouping calls that share a prompt prefix."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# PrefixQueue one kind may take in a row while another waits.
_LONGEST_RUN = 256


class PrefixQueue:
    """Lets one caller in at a time.

    A waiting caller of the same kind as the last goes first, up to a limit.
    """

    def __init__(self) -> None:
        self._busy = False
        self._last = ""
        self._run = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, kind: str) -> AsyncIterator[None]:
        """Wait for a turn and keep it until the block ends."""
        await self._enter(kind)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, kind: str) -> None:
        if not self._busy:
            self._take(kind)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(kind, deque()).append(place)
        try:
            await place  # whoever wakes us has taken the turn for us
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    def _take(self, kind: str) -> None:
        self._busy = True
        self._run = self._run + 1 if kind == self._last else 1
        self._last = kind

    def _leave(self) -> None:
        self._busy = False
        while self._waiting:
            kind = self._next_kind()
            place = self._waiting[kind].popleft()
            if not self._waiting[kind]:
                del self._waiting[kind]
            if not place.done():
                self._take(kind)
                place.set_result(None)
                return

    def _next_kind(self) -> str:
        other_kinds = [kind for kind in self._waiting if kind != self._last]
        stay = self._last in self._waiting and (self._run < _LONGEST_RUN or not other_kinds)
        return self._last if stay else other_kinds[0]
