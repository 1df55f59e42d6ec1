"""The last link before a provider: an attempt that hangs is ended."""

from __future__ import annotations

import asyncio

from adjudge.domain.message import Reply, Request
from adjudge.errors import Unavailable
from adjudge.gateway.model import Layer, Model


class Timed(Layer):
    """Gives each attempt the same time; waiting for a free place is not counted."""

    def __init__(self, inner: Model, timeout: float) -> None:
        super().__init__(inner)
        self.timeout = timeout

    async def complete(self, request: Request) -> Reply:
        """The reply, if it comes in time."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self.inner.complete(request)
        except TimeoutError:
            raise Unavailable(f"no reply within {self.timeout:g} s", model=self.name) from None
