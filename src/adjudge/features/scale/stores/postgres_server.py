"""A connection to a Postgres server that is renewed if it was lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from adjudge.errors import RunError

if TYPE_CHECKING:
    from psycopg import Connection

_LOG = logging.getLogger("adjudge")
T = TypeVar("T")
# Seconds, half a minute in all, in which a server may be started anew.
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)


class ServerAway(RunError):
    """Raised if the server cannot be reached, or has just gone."""


class PostgresServer:
    """A server for queries. Errors name the store ``name``."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._connection: Connection | None = None

    def execute(self, query: str, values: Sequence[object]) -> None:
        """Execute an idempotent query, with retries."""
        self.try_again(lambda connection: connection.execute(query, values))

    def first(self, query: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        """Return the first row of a query."""
        row: tuple[Any, ...] | None
        row = self.try_again(lambda connection: connection.execute(query, values).fetchone())
        return row

    def rows(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self.try_again(lambda connection: connection.execute(query, values).fetchall())

    def try_again(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in one transaction and return its result.

        If the server was away it is tried again, so `act` may run twice.
        """
        for wait in _WAITS:
            try:
                return self.once(act)
            except ServerAway as error:
                _LOG.info("%s; trying again", error)
                time.sleep(wait)
        return self.once(act)

    def once(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in one transaction and return its result."""
        with self.opened() as connection, connection.transaction():
            return act(connection)

    @contextmanager
    def opened(self) -> Iterator[Connection]:
        """Yield this process's connection."""
        import psycopg

        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._url, autocommit=True)
                finalize(self, self._connection.close)
            yield self._connection
        except psycopg.Error as error:
            kind = ServerAway if isinstance(error, psycopg.OperationalError) else RunError
            raise kind(
                "the store {name} cannot be used: {splitlines}",
                name=self._name,
                splitlines=str(error).splitlines()[0],
            ) from error
