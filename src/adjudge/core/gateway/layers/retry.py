"""The second link: what a retry can mend is tried again; a model that cannot work ends the run, one
that keeps failing is left alone for a while, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from time import monotonic

from adjudge.core.aio import event_loop
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.layers.budget import caller, halt, pause, raise_if_halted
from adjudge.core.gateway.layers.limit import ConcurrencyLimit
from adjudge.core.gateway.model import Layer, Model, PartRejected, Replying
from adjudge.errors import (
    HALTS,
    NOT_ASKED,
    ModelError,
    ModelPaused,
    ModelUnusable,
    RateLimited,
    Unavailable,
    Unreachable,
)
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.gateway")
_FIRST_AT_ONCE = 3
"""Requests under way at once until the model has answered one."""
_ANY_NUMBER = 1_000_000_000
HAVE_ANSWERED: set[str | None] = set()
"""Those who were answered in this process: they have the right key, and a model that is there."""
_HOPELESS = frozenset({401, 402, 403, 404})
_UNREACHED = 3
"""First connections that may fail before the server counts as unreachable."""
_IN_A_ROW, _AT_FIRST = 10, 3
"""Requests, each with all its retries, that may fail one after the other before the model is
paused: later, and at first.
"""
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_WAITED_FOR = 3
"""Tries of a paused model that requests wait for; while it fails further ones,
they are not asked.
"""
_GLANCE = 0.1
"""Seconds between looks at what came of a try."""
_MOST_ASKERS = 1000
"""Whose failures are remembered; a server of judgments may have any number."""


def _judge() -> int | None:
    judge = caller().judge
    return judge() if judge else None


class _Breaker:
    """Requests that failed in a row for one cause, and when the next is tried."""

    def __init__(self) -> None:
        self.failed = 0
        self.tries = 0
        self.paused_until: float | None = None
        self.trying = False
        self.reason = ""

    async def let_through(self, model: str, *, waits: bool) -> None:
        """At once, or after the pause the one that tries.

        Raises ModelPaused for those that are not to wait for it.
        """
        while self.paused_until is not None:
            left = self.paused_until - monotonic()
            if left <= 0 and not self.trying:
                self.trying = True
                return
            if not waits or self.tries >= _WAITED_FOR:
                raise ModelPaused(self.reason, model=model)
            await pause(max(left, _GLANCE))

    def fail(self, most: int, why: str) -> bool:
        """One more failed. Whether that is the one after which the model is paused."""
        if self.trying:
            self.trying, self.tries = False, self.tries + 1
            self.paused_until = monotonic() + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self.tries)
            return False
        self.failed += self.paused_until is None
        if self.paused_until is not None or self.failed < most:
            return False
        self.reason = Message(
            "{not_asked}: it is paused after {failed} failures in a row ({why})",
            not_asked=NOT_ASKED,
            failed=self.failed,
            why=why,
        )
        self.paused_until = monotonic() + _FIRST_PAUSE
        return True

    def close(self) -> None:
        """Close the circuit and reset the failure count."""
        self.failed, self.tries, self.paused_until, self.trying = 0, 0, None, False


class Circuit:
    """How a model does: shared by the layers that ask it.

    ``asked``: who asks which model, where that may be wrong. Until it has answered, here or to the
    same before, no more than a few requests are under way, with all their retries.
    """

    def __init__(self, asked: str | None = None) -> None:
        self.answered = asked is None
        """Whether it ever answered."""
        self.gate = ConcurrencyLimit(_ANY_NUMBER if asked in HAVE_ANSWERED else _FIRST_AT_ONCE)
        self._asked = asked
        self._well = True
        """Whether nothing has failed so far."""
        self._unreached = 0
        self._server = _Breaker()
        """Of connections that are not made, whoever asks."""
        self._of_askers: dict[int | None, _Breaker] = {}
        """Of everything else, by who asks."""

    @property
    def open(self) -> bool:
        """Whether the model is paused for who asks now."""
        return not self._well and any(one.paused_until is not None for one in self._breakers())

    def _breakers(self) -> list[_Breaker]:
        own = self._of_askers.get(_judge()) if self._of_askers else None
        return [self._server, own] if own else [self._server]

    async def let_through(self, model: str) -> None:
        """Wait while the model is paused, until a single request has shown whether it is back.

        Raises ModelPaused where a few of those did not; and at once where the model never answered.
        """
        for one in self._breakers():
            await one.let_through(model, waits=self.answered)

    def hopeless(self, error: ModelError) -> bool:
        """Whether a failed first request shows that no other will do better."""
        self._unreached += isinstance(error, Unreachable)
        wrong = type(error) is ModelError and error.status in _HOPELESS
        return not self.answered and (wrong or self._unreached >= _UNREACHED)

    def reached(self) -> None:
        """It answers: whoever waited for that goes on."""
        self.answered = True
        HAVE_ANSWERED.add(self._asked)
        self.gate.widen(_ANY_NUMBER)

    def success(self) -> None:
        if not self.answered:
            self.reached()
        if not self._well:
            for one in self._breakers():
                one.close()

    def failure(self, model: str, error: ModelError) -> None:
        """A request failed for good.

        What the request itself is to blame for says nothing against the model.
        """
        if not isinstance(error, Unavailable | RateLimited) and error.status not in _HOPELESS:
            self.success()
            return
        self._well = False
        cause = self._server if isinstance(error, Unreachable) else self._of_asker()
        most = _IN_A_ROW if self.answered else _AT_FIRST
        for one in self._breakers():
            if (
                (one is cause or one.trying)
                and one.fail(most, error.message)
                and not event_loop.leaving()
            ):
                _LOG.warning(
                    Message(
                        "{model} is paused after {failed} failures in a row: {error}",
                        model=model,
                        failed=one.failed,
                        error=error,
                    )
                )

    def _of_asker(self) -> _Breaker:
        judge = _judge()
        while len(self._of_askers) >= _MOST_ASKERS and judge not in self._of_askers:
            del self._of_askers[next(iter(self._of_askers))]
        return self._of_askers.setdefault(judge, _Breaker())

    def given_up(self) -> None:
        """The request that was let through ended without an answer of either kind."""
        for one in self._breakers():
            one.trying = False


class Reached(Layer):
    """Ends the run when the model's first requests show that nothing can work."""

    def __init__(self, inner: Model, circuit: Circuit) -> None:
        super().__init__(inner)
        self._circuit = circuit

    def complete(self, request: Request) -> Replying:
        """Pass on; a hopeless beginning is a ModelUnusable, and the run that asks sends nothing
        more.
        """
        return self.inner.complete(request) if self._circuit.answered else self._try(request)

    async def _try(self, request: Request) -> Reply:
        try:
            reply = await self.inner.complete(request)
        except HALTS:
            raise
        except ModelError as error:
            if not self._circuit.hopeless(error):
                raise
            unusable = ModelUnusable(
                error.message, provider=error.provider, model=error.model, hint=error.hint
            )
            unusable.status = error.status
            halt(unusable)
            raise unusable from None
        self._circuit.reached()
        return reply


class Paused(Layer):
    """Asks nothing of a model that failed on many requests in a row, until a while has passed."""

    def __init__(self, inner: Model, circuit: Circuit) -> None:
        super().__init__(inner)
        self._circuit = circuit

    def complete(self, request: Request) -> Replying:
        """Pass on, after a pause where there is one, or raise ModelPaused without asking."""
        return self._ask(request) if self._circuit.answered else self._ask_carefully(request)

    async def _ask_carefully(self, request: Request) -> Reply:
        async with self._circuit.gate:
            raise_if_halted()
            return await self._ask(request)

    async def _ask(self, request: Request) -> Reply:
        if self._circuit.open:
            await self._circuit.let_through(self.name)
        try:
            reply = await self.inner.complete(request)
        except (*HALTS, asyncio.CancelledError):
            self._circuit.given_up()
            raise
        except ModelError as error:
            self._circuit.failure(self.name, error)
            raise
        self._circuit.success()
        return reply


_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_PATIENCE = 300.0
"""A provider that wants us to wait longer than this is not waited for."""


class Retrying(Layer):
    """Asks again after a rate limit, a time-out, a cut connection or a server error, or without a
    part that the server does not take; nothing else is worth it.
    """

    def __init__(self, inner: Model, max_retries: int, circuit: Circuit) -> None:
        super().__init__(inner)
        self.max_retries = max_retries
        self._circuit = circuit

    async def complete(self, request: Request) -> Reply:
        """The first reply within the allowed attempts, else the last error. Where the server does
        not take an optional part of the request, that is asked without it, as one of its own: the
        provider remembers what was rejected, so this ends with the last optional part.
        """
        attempt = 0
        while True:
            try:
                return await self.inner.complete(request)
            except PartRejected as rejection:
                _LOG.info("%s; asking again without it", rejection)
            except ModelError as error:
                wait = wait_before_retry(error, attempt)
                if (
                    not error.retryable
                    or attempt == self.max_retries
                    or wait > _PATIENCE
                    or self._circuit.open
                ):
                    raise
                _LOG.info("%s; asking again in %.1f s", error, wait)
                await pause(wait)
                if self._circuit.open:
                    raise
                attempt += 1


def wait_before_retry(error: ModelError, attempt: int) -> float:
    """What the provider asked for, a little more so that callers do not return all at once; else
    doubling, with jitter.
    """
    asked = error.retry_after if isinstance(error, RateLimited) else None
    if asked is not None:
        return asked + random.uniform(0, min(1.0, 0.1 + asked * 0.1))  # noqa: S311
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(attempt, 30))
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311
