"""The second link: what a retry can mend is tried again."""

from __future__ import annotations

import logging
import random

from adjudge.domain.message import Reply, Request
from adjudge.errors import ModelError, RateLimited
from adjudge.gateway.layers.budget import pause
from adjudge.gateway.layers.circuit import Circuit
from adjudge.gateway.model import Layer, Model, PartRejected

_LOG = logging.getLogger("adjudge.gateway")
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_PATIENCE = 300.0
"""A provider that wants us to wait longer than this is not waited for."""


class Retrying(Layer):
    """Asks again after a rate limit, a time-out, a cut connection or a server error; nothing else is worth it."""

    def __init__(self, inner: Model, max_retries: int, circuit: Circuit) -> None:
        super().__init__(inner)
        self.max_retries = max_retries
        self._circuit = circuit

    async def complete(self, request: Request) -> Reply:
        """The first reply within the allowed attempts, else the last error."""
        for attempt in range(self.max_retries + 1):
            try:
                return await self.inner.complete(request)
            except ModelError as error:
                wait = wait_before_retry(error, attempt)
                if not error.retryable or attempt == self.max_retries or wait > _PATIENCE or self._circuit.open:
                    raise
                _LOG.info("%s; asking again in %.1f s", error, wait)
                await pause(wait)
                if self._circuit.open:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")


class WithoutRejected(Layer):
    """Asks again, as a request of its own, where the server does not take an optional part of one."""

    async def complete(self, request: Request) -> Reply:
        """The provider remembers what was rejected, so this ends with the last optional part."""
        while True:
            try:
                return await self.inner.complete(request)
            except PartRejected as rejection:
                _LOG.info("%s; asking again without it", rejection)


def wait_before_retry(error: ModelError, attempt: int) -> float:
    """What the provider asked for, a little more so that callers do not return all at once; else doubling, with jitter."""
    asked = error.retry_after if isinstance(error, RateLimited) else None
    if asked is not None:
        return asked + random.uniform(0, min(1.0, 0.1 + asked * 0.1))  # noqa: S311
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(attempt, 30))
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311
