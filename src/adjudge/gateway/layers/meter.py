"""The second link: what was used."""

from __future__ import annotations

import threading

from adjudge.domain.message import Reply, Request, Usage
from adjudge.errors import ModelError
from adjudge.gateway.model import Layer, Model


class Metered(Layer):
    """Adds up calls, tokens, failures and seconds."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self.usage = Usage()
        self.failures = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        """Pass on, and count what came of it."""
        try:
            reply = await self.inner.complete(request)
        except ModelError:
            with self._lock:
                self.failures += 1
            raise
        with self._lock:
            self.usage += reply.usage
            self.seconds += reply.latency
        return reply
