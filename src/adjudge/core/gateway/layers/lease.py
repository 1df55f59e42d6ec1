"""Leases of requests. Blocks of requests are recorded in the ledger before they are sent, so that a
kill cannot lose count.
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
    """Admits requests, first come first served, once the disk has recorded them."""

    def __init__(
        self,
        account: Account,
        keep: Keep,
        block: Callable[[Spent], int],
        raise_if_halted: Callable[[], None],
    ) -> None:
        """``block`` returns how many requests to lease at once, given the likely cost of each."""
        self._account, self._keep, self._block = account, keep, block
        self._raise_if_halted = raise_if_halted
        self.begun = self._leased = account.settled_calls
        """Numbers of requests that were admitted, and that the disk has recorded."""
        self._leasing: asyncio.Task[None] | None = None
        self._line: deque[asyncio.Future[None]] = deque()
        self.entering = 0
        """Number of requests that were admitted and not sent yet."""

    async def begin(self, likely: Callable[[], Spent]) -> None:
        """Admit a request; ``likely`` returns its likely cost."""
        if self._leased > self.begun and not self._line and not self.entering:
            self.begun += 1
        else:
            await self._in_line(likely)
        # Renewed when half of it is used, so that requests seldom wait for the disk.
        if self._leased - self.begun < self._block(self._account.each) // 2:
            self._lease(likely)

    def add(self, calls: int) -> None:
        """Count requests of a batch, which are sent without being admitted one by one."""
        self._account.leased += calls
        self.begun += calls
        self._leased += calls

    async def _in_line(self, likely: Callable[[], Spent]) -> None:
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(ticket)
        if not self.entering:
            self._lease(likely)
        try:
            await ticket  # _go_through has counted this request already
            self._raise_if_halted()
        except BaseException:
            # It was admitted, but will not be sent.
            self.begun -= _let_in(ticket)
            raise
        finally:
            self.entering -= _let_in(ticket)
            if not self.entering:
                self._go_through(None)
                if self._line:
                    self._lease(likely)

    def _lease(self, likely: Callable[[], Spent]) -> None:
        """Record more requests on the disk, at least as many as are waiting."""
        if self._leasing is None:
            cost = likely()
            self._account.lease(self.begun + max(self._block(cost), len(self._line)), cost)
            self._leasing = asyncio.create_task(self._write(likely))

    async def _write(self, likely: Callable[[], Spent]) -> None:
        leased = self._account.leased
        try:
            await self._keep(self._account.to_dict())
        except Exception as error:  # noqa: BLE001 - raised in the waiting requests
            self._go_through(error)
            return
        finally:
            self._leasing = None
        self._leased = leased
        self._go_through(None)
        if self._line:
            self._lease(likely)

    def _go_through(self, error: Exception | None) -> None:
        """Admit waiting requests, as far as the lease goes.

        New requests queue behind them until the last one is in.
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
