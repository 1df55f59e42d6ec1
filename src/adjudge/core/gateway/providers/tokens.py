"""Access tokens that a service sells for a limited time, shared by all requests of a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import time
from weakref import WeakKeyDictionary

from adjudge.core.gateway.http import Endpoint, Secret, post_form
from adjudge.errors import ModelError, Unavailable
from adjudge.messages import Message

# Seconds before its end at which a token is replaced.
_RENEW_BEFORE = 300.0


class AccessToken:
    """A token that is fetched when it is first needed and renewed shortly before it ends."""

    def __init__(self, service: Callable[[], Endpoint], grant: Callable[[], str]) -> None:
        self._service = service
        """Returns the endpoint that sells tokens."""
        self._grant = grant
        """Returns the form to send. Called for each token, because a form may be signed and
        dated.
        """
        self._token = Secret("")
        self._ends = 0.0
        # One lock per event loop: a forked child has another loop.
        self._renewing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def get(self) -> Secret:
        """Return a valid token, or raise a ModelError."""
        async with self._renewing.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if time() >= self._ends - _RENEW_BEFORE:
                await self._renew()
            return self._token

    async def _renew(self) -> None:
        service = self._service()
        try:
            data = await post_form(service, self._grant)
        except ModelError as error:
            error.may_have_cost = False  # the model itself was not asked
            raise
        token, seconds = data.get("access_token"), data.get("expires_in", 3600)
        if not token or not isinstance(token, str) or not isinstance(seconds, int | float):
            raise service.error(Unavailable, Message("the token service sent no access_token"))
        self._token, self._ends = Secret(token), time() + seconds
