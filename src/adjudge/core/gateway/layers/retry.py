"""The second link: retries, the end of a run whose model cannot work, and pauses of a model that
keeps failing.
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
# Requests under way at once until the model has answered one.
_FIRST_AT_ONCE = 3
_ANY_NUMBER = 1_000_000_000
HAVE_ANSWERED: set[str | None] = set()
"""Digests of callers that got an answer in this process: their key and model are right."""
_HOPELESS = frozenset({401, 402, 403, 404})
# Failed first connections after which the server counts as unreachable.
_UNREACHED = 3
# Failures in a row, each with all its retries, that pause the model: later, and before its first
# answer.
_IN_A_ROW, _AT_FIRST = 10, 3
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
# Tries of a paused model that requests wait for. If these fail, requests fail at once.
_WAITED_FOR = 3
# Seconds between checks whether a try has ended.
_GLANCE = 0.1
# Callers whose failures are remembered; a judgment server may have any number of callers.
_MOST_ASKERS = 1000


def _judge() -> int | None:
    judge = caller().judge
    return judge() if judge else None


class _Breaker:
    """Counts consecutive failures with the same cause, and sets the time of the next attempt."""

    def __init__(self) -> None:
        self.failed = 0
        self.tries = 0
        self.paused_until: float | None = None
        self.trying = False
        self.reason = ""

    async def let_through(self, model: str, *, waits: bool) -> None:
        """Return at once, or after the pause for the single request that tries the model.

        Raises ModelPaused for requests that should not wait for it.
        """
        while self.paused_until is not None:
            # The monotonic clock: a laptop that sleeps or a corrected clock must not end a pause.
            remaining = self.paused_until - monotonic()
            if remaining <= 0 and not self.trying:
                # This request probes the model; the others wait for its outcome.
                self.trying = True
                return
            if not waits or self.tries >= _WAITED_FOR:
                raise ModelPaused(self.reason, model=model)
            await pause(max(remaining, _GLANCE))

    def fail(self, most: int, why: str) -> bool:
        """Count a failure. Return True if the model is paused because of it."""
        if self.trying:
            self.trying, self.tries = False, self.tries + 1
            # Each failed try doubles the pause.
            self.paused_until = monotonic() + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self.tries)
            return False
        # Requests that were under way when the pause began fail too. They say nothing new.
        self.failed += self.paused_until is None
        if self.paused_until is not None or self.failed < most:
            return False
        self.reason = Message(
            "{not_asked}: the model is paused after {failed} failures in a row ({why})",
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
    """State of a model, shared by the layers that ask it.

    ``asked``: digest of caller and model, if either may be wrong. Until the model has answered, in
    this process or to the same digest before, only a few requests are under way, with all their
    retries.
    """

    def __init__(self, asked: str | None = None) -> None:
        self.answered = asked is None
        """True once the model has answered."""
        self.gate = ConcurrencyLimit(_ANY_NUMBER if asked in HAVE_ANSWERED else _FIRST_AT_ONCE)
        self._asked = asked
        self._well = True
        """True until a request fails."""
        self._unreached = 0
        self._server = _Breaker()
        """Counts failed connections of all callers."""
        self._of_askers: dict[int | None, _Breaker] = {}
        """Counts all other failures, per caller."""

    @property
    def open(self) -> bool:
        """True if the model is paused for the current caller."""
        return not self._well and any(
            breaker.paused_until is not None for breaker in self._breakers()
        )

    def _breakers(self) -> list[_Breaker]:
        breaker = self._of_askers.get(_judge()) if self._of_askers else None
        return [self._server, breaker] if breaker else [self._server]

    async def let_through(self, model: str) -> None:
        """Wait while the model is paused, until a single request has shown whether it is back.

        Raises ModelPaused after a few failed tries, and at once if the model never answered.
        """
        for breaker in self._breakers():
            await breaker.let_through(model, waits=self.answered)

    def is_hopeless(self, error: ModelError) -> bool:
        """Return True if a failed first request shows that no other will do better."""
        self._unreached += isinstance(error, Unreachable)
        wrong = type(error) is ModelError and error.status in _HOPELESS
        return not self.answered and (wrong or self._unreached >= _UNREACHED)

    def record_answer(self) -> None:
        """Record that the model answers, and admit the waiting requests."""
        self.answered = True
        HAVE_ANSWERED.add(self._asked)
        self.gate.widen(_ANY_NUMBER)

    def record_success(self) -> None:
        """Record a reply."""
        if not self.answered:
            self.record_answer()
        if not self._well:
            for breaker in self._breakers():
                breaker.close()

    def record_failure(self, model: str, error: ModelError) -> None:
        """Record a request that failed for good.

        An error that the request itself caused says nothing against the model.
        """
        # A refused text or a bad request shows that the model is there.
        if not isinstance(error, Unavailable | RateLimited) and error.status not in _HOPELESS:
            self.record_success()
            return
        self._well = False
        cause = self._server if isinstance(error, Unreachable) else self._of_asker()
        most = _IN_A_ROW if self.answered else _AT_FIRST
        for breaker in self._breakers():
            if (
                (breaker is cause or breaker.trying)
                and breaker.fail(most, error.message)
                and not event_loop.leaving()
            ):
                _LOG.warning(
                    Message(
                        "{model} is paused after {failed} failures in a row: {error}",
                        model=model,
                        failed=breaker.failed,
                        error=error,
                    )
                )

    def _of_asker(self) -> _Breaker:
        judge = _judge()
        while len(self._of_askers) >= _MOST_ASKERS and judge not in self._of_askers:
            # Dicts keep their order, so this is the oldest caller.
            del self._of_askers[next(iter(self._of_askers))]
        return self._of_askers.setdefault(judge, _Breaker())

    def give_up(self) -> None:
        """Record that an admitted request ended without an answer or an error of the model."""
        for breaker in self._breakers():
            breaker.trying = False


class Reached(Layer):
    """Ends the run if the model's first requests show that nothing can work."""

    def __init__(self, inner: Model, circuit: Circuit) -> None:
        super().__init__(inner)
        self._circuit = circuit

    def complete(self, request: Request) -> Replying:
        """Pass the request on. A hopeless start raises ModelUnusable and halts the run."""
        # Without a coroutine of its own once the model has answered, which is nearly always.
        return self.inner.complete(request) if self._circuit.answered else self._try(request)

    async def _try(self, request: Request) -> Reply:
        try:
            reply = await self.inner.complete(request)
        except HALTS:
            raise
        except ModelError as error:
            if not self._circuit.is_hopeless(error):
                raise
            unusable = ModelUnusable(
                error.message, provider=error.provider, model=error.model, hint=error.hint
            )
            unusable.status = error.status
            halt(unusable)
            raise unusable from None
        self._circuit.record_answer()
        return reply


class Paused(Layer):
    """Sends nothing to a model that failed many times in a row, until a pause is over."""

    def __init__(self, inner: Model, circuit: Circuit) -> None:
        super().__init__(inner)
        self._circuit = circuit

    def complete(self, request: Request) -> Replying:
        """Pass the request on, after a pause if there is one, or raise ModelPaused
        without asking.
        """
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
            self._circuit.give_up()
            raise
        except ModelError as error:
            self._circuit.record_failure(self.name, error)
            raise
        self._circuit.record_success()
        return reply


_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
# Longest wait in seconds that a provider may ask for; after a longer one there is no retry.
_PATIENCE = 300.0


class Retrying(Layer):
    """Asks again after a rate limit, a timeout, a cut connection or a server error, and without a
    part that the server does not take.
    """

    def __init__(self, inner: Model, max_retries: int, circuit: Circuit) -> None:
        super().__init__(inner)
        self.max_retries = max_retries
        self._circuit = circuit

    async def complete(self, request: Request) -> Reply:
        """Return the first reply within the allowed attempts, else raise the last error.

        Leaving out a rejected part does not count as an attempt. The provider remembers rejected
        parts, so this ends with the last optional one.
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
    """Return the seconds to wait: the provider's own value, else doubling. Jitter keeps callers
    from returning all at once.
    """
    server_wait = error.retry_after if isinstance(error, RateLimited) else None
    if server_wait is not None:
        return server_wait + random.uniform(0, min(1.0, 0.1 + server_wait * 0.1))  # noqa: S311
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(attempt, 30))
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311
