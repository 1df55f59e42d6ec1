"""One rate limit and one budget for processes that share a run by Postgres, handed out in small
parts by the server's clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from typing import TYPE_CHECKING, TypeVar

from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget, More, OpenBudget
from adjudge.core.gateway.layers.limit import Rate
from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import RunError, RunStopped
from adjudge.features.scale.limiter import (
    Lane,
    Lease,
    LeasedPace,
    LimiterLostError,
    part_of,
    seconds_each,
)
from adjudge.features.scale.stores.merger import sum_of_accounts
from adjudge.features.scale.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from psycopg import Connection

_NEW_LANE = "INSERT INTO adjudge_lanes (run, model) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_LANE = "SELECT next, hold, factor, cut FROM adjudge_lanes WHERE run = %s AND model = %s FOR UPDATE"
_NOW = "SELECT extract(epoch FROM clock_timestamp())::double precision"
_KEEP_LANE = """UPDATE adjudge_lanes SET next = %s, hold = %s, factor = %s, cut = %s
    WHERE run = %s AND model = %s"""
_ONE_AT_A_TIME = "SELECT run FROM adjudge_runs WHERE run = %s FOR UPDATE"
_GRANTED = """SELECT coalesce(sum(usd), 0)::double precision, coalesce(sum(calls), 0)::bigint,
        coalesce(sum(tokens), 0)::bigint
    FROM adjudge_workers WHERE run = %s"""
_GRANT = """UPDATE adjudge_workers SET usd = usd + %s, calls = calls + %s, tokens = tokens + %s
    WHERE run = %s AND holder = %s"""
_DEAD = "SELECT holder, writer FROM adjudge_workers WHERE run = %s AND until < now()"
_SETTLE = """UPDATE adjudge_workers SET until = NULL, usd = %s, calls = %s, tokens = %s
    WHERE run = %s AND holder = %s"""
T = TypeVar("T")


class PostgresLimits:
    """One process's access to the shared rate limits and budget.

    The unspent parts of processes that died are handed out again.
    """

    def __init__(
        self,
        url: str,
        holder: str,
        rates: Mapping[str, Rate],
        budget: Budget,
        share: int,
        prices: PriceTable,
    ) -> None:
        """Set ``share`` to about the number of processes; it decides how large the parts are."""
        self._store, self._prices = PostgresStore(url), prices
        self._holder, self._rates, self._budget, self._share = holder, rates, budget, share
        self._thread = ThreadPoolExecutor(1, "adjudge limits")

    def pace(self, model: str) -> LeasedPace:
        """Return the pace of a model, by its identity.

        If the server is unreachable, the process keeps to its share.
        """
        rate = self._rates.get(model, Rate())

        async def lease(tokens: int) -> Lease:
            interval = seconds_each(rate, tokens)
            try:
                return await self._answer(
                    lambda: self._move_lane(
                        model, lambda lane, now: lane.lease(interval, self._share, now)
                    )
                )
            except RunError as error:
                raise LimiterLostError from error

        def tell(seconds: float | None) -> None:
            self._thread.submit(
                self._move_lane, model, lambda lane, now: lane.slow_down(seconds, now)
            )

        return LeasedPace(lease, tell, rate, self._share)

    @property
    def more(self) -> More | None:
        """A function that returns a further part of the budget; None without a budget."""
        return None if self._budget == Budget() else self._more

    @property
    def whole(self) -> Budget | None:
        """The budget of all processes together."""
        return self._budget

    def settle(self, spent: Spent) -> None:
        """Release the unspent part of this process when it ends."""
        self._thread.shutdown(wait=True)
        with self._store.server.opened() as connection, connection.transaction():
            connection.execute(_ONE_AT_A_TIME, (self._store.run,))
            self._settle(connection, self._holder, spent)

    async def _more(self, likely: Spent, most: Spent) -> Budget | None:
        try:
            return await self._answer(lambda: self._grant(likely, most))
        except RunError as error:
            raise RunStopped(
                "nothing is spent while the shared budget of the processes cannot be read: {error}",
                error=error,
            ) from error

    async def _answer(self, ask: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)

    def _move_lane(self, model: str, move: Callable[[Lane, float], T]) -> T:
        """Apply `move` to a model's lane on the server and return the result."""
        key = (self._store.run, model)
        with self._store.server.opened() as connection, connection.transaction():
            connection.execute(_NEW_LANE, key)
            # The row lock keeps other processes from moving the lane meanwhile.
            lane = Lane(*(connection.execute(_LANE, key).fetchone() or ()))
            (now,) = connection.execute(_NOW).fetchone() or (0.0,)
            result = move(lane, float(now))
            connection.execute(_KEEP_LANE, (*astuple(lane), *key))
        return result

    def _grant(self, likely: Spent, most: Spent) -> Budget | None:
        run = self._store.run
        with self._store.server.opened() as connection, connection.transaction():
            # One process at a time: two must not be granted the same money.
            connection.execute(_ONE_AT_A_TIME, (run,))
            part = self._part(connection, likely, most)
            if part is None and self._reclaim(connection):
                part = self._part(connection, likely, most)
            if part is not None:
                amounts = (part.max_usd or 0, part.max_calls or 0, part.max_tokens or 0)
                connection.execute(_GRANT, (*amounts, run, self._holder))
        return part

    def _part(self, connection: Connection, likely: Spent, most: Spent) -> Budget | None:
        granted = connection.execute(_GRANTED, (self._store.run,)).fetchone() or (0.0, 0, 0)
        return part_of(self._budget - Budget(*granted), self._share, likely, most)

    def _reclaim(self, connection: Connection) -> bool:
        """Release the unspent budget of dead processes; return True if there was any."""
        dead = connection.execute(_DEAD, (self._store.run,)).fetchall()
        for holder, writer in dead:
            account = sum_of_accounts(self._store.records(writer))
            self._settle(connection, holder, OpenBudget(prices=self._prices, account=account).spent)
        return bool(dead)

    def _settle(self, connection: Connection, holder: str, spent: Spent) -> None:
        connection.execute(_SETTLE, (spent.usd, spent.calls, spent.tokens, self._store.run, holder))
