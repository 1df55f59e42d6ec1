"""The ledger knows of a request before it is sent: requests are written off a block at a time, so
that a kill cannot lose count.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.layers.account import Account, Spent

Keep = Callable[[JsonDict], Awaitable[None]]
"""Writes an account to the disk."""


class CallLease:
    """Lets requests in, first come first served, as soon as the disk knows of them."""

    def __init__(
        self,
        account: Account,
        keep: Keep,
        block: Callable[[Spent], int],
        raise_if_halted: Callable[[], None],
    ) -> None:
        """``block``: how many requests to lease at once, by what each is likely to take."""
        self._account, self._keep, self._block = account, keep, block
        self._raise_if_halted = raise_if_halted
        self.begun = self._leased = account.settled
        """Requests that were let in, and how many the disk knows of."""
        self._leasing: asyncio.Task[None] | None = None
        self._line: deque[asyncio.Future[None]] = deque()
        self.entering = 0
        """Requests that were let in and not sent yet."""

    async def begin(self, likely: Callable[[], Spent]) -> None:
        """Count a request in; ``likely`` is what it will take."""
        if self._leased > self.begun and not self._line and not self.entering:
            self.begun += 1
        else:
            await self._in_line(likely)
        if self._leased - self.begun < self._block(self._account.each) // 2:
            self._lease(likely)

    def add(self, calls: int) -> None:
        """Count requests that were sent without being let in, in a batch."""
        self._account.leased += calls
        self.begun += calls
        self._leased += calls

    async def _in_line(self, likely: Callable[[], Spent]) -> None:
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(ticket)
        if not self.entering:
            self._lease(likely)
        try:
            await ticket  # whoever lets us in has counted us
            self._raise_if_halted()
        except BaseException:
            self.begun -= _let_in(ticket)
            raise
        finally:
            self.entering -= _let_in(ticket)
            if not self.entering:
                self._go_through(None)
                if self._line:
                    self._lease(likely)

    def _lease(self, likely: Callable[[], Spent]) -> None:
        """Have more requests written to the disk, no fewer than wait."""
        if self._leasing is None:
            each = likely()
            self._account.lease(self.begun + max(self._block(each), len(self._line)), each)
            self._leasing = asyncio.create_task(self._write(likely))

    async def _write(self, likely: Callable[[], Spent]) -> None:
        leased = self._account.leased
        try:
            await self._keep(self._account.to_dict())
        except Exception as error:  # noqa: BLE001 - it is raised where the lease is waited for
            self._go_through(error)
            return
        finally:
            self._leasing = None
        self._leased = leased
        self._go_through(None)
        if self._line:
            self._lease(likely)

    def _go_through(self, error: Exception | None) -> None:
        """Let in those who wait, as far as the lease goes.

        Until the last of them is in, others stand behind them.
        """
        while self._line and (error or self._leased > self.begun):
            ticket = self._line.popleft()
            if ticket.done():
                continue
            if error:
                ticket.set_exception(error)
            else:
                self.begun += 1
                self.entering += 1
                ticket.set_result(None)


def _let_in(ticket: asyncio.Future[None]) -> bool:
    return ticket.done() and not ticket.cancelled() and ticket.exception() is None
