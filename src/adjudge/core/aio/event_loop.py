"""The one event loop that models live on, in a thread of its own.

Connections and limits belong to a loop; with one loop for all, a model can be shared by judges,
threads, scripts and notebooks, and a synchronous call works inside a running event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from queue import SimpleQueue
from types import FrameType
from typing import Concatenate, Generic, ParamSpec, TypeVar

from adjudge.errors import RunStopped, SetupError

S = TypeVar("S")
T = TypeVar("T")
C = TypeVar("C")
E = TypeVar("E")
P = ParamSpec("P")
caller_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("caller_loop", default=None)
"""The loop that awaits us, where there is one: the caller's own async functions are run there."""


class _Home:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="adjudge", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        stopped = False
        while not stopped:
            with suppress(
                SystemExit, KeyboardInterrupt
            ):  # raised by a caller's code: they end the caller's thread, not this one
                self.loop.run_forever()
                stopped = True


_home: _Home | None = None
_lock = threading.Lock()
_leaving = threading.Event()
_stops: list[Callable[[], None]] = []
_tellers: list[Callable[[], None]] = []
_closers: list[Callable[[], Coroutine[object, object, None]]] = []
_asking: list[int] = []
"""Threads that wait for what the home loop does for them."""


_interrupts: list[None] = []
"""One for each interrupt of work that is under way."""


def raise_if_interrupted(times: int = 1) -> None:
    """Raise RunStopped in long work that does not wait for anything, if it was interrupted.

    The home loop cannot cancel such work: it runs in its thread.
    """
    if len(_interrupts) >= times:
        raise RunStopped("stopped")


def home_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process; made anew after a fork."""
    global _home
    with _lock:
        if _home is None or _home.pid != os.getpid():
            _home = _Home()
        return _home.loop


def stoppable(stop: Callable[[], None]) -> AbstractContextManager[None]:
    """While this holds, the first interrupt calls ``stop`` and the work goes on to a good end; a
    second one cancels it.
    """
    return _among(_stops, stop)


def stopping_told(tell: Callable[[], None]) -> AbstractContextManager[None]:
    """While this holds, ``tell`` is called in the interrupted thread when the first interrupt is
    left to a ``stoppable``.
    """
    return _among(_tellers, tell)


@contextmanager
def _among(held: list[T], one: T) -> Iterator[None]:
    held.append(one)
    try:
        yield
    finally:
        held.remove(one)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run to the end from synchronous code.

    An interrupt stops or cancels the work and waits until it has ended.
    """
    loop = _loop_of_others(coroutine)
    ended = threading.Event()
    future = _submit(_then_set(coroutine, ended), loop, None)
    try:
        with _among(_asking, threading.get_ident()):
            return _wait(future, loop)
    except BaseException:
        future.cancel()
        ended.wait(timeout=10)
        raise


def _loop_of_others(coroutine: Coroutine[object, object, object]) -> asyncio.AbstractEventLoop:
    """The home loop, for a thread that waits until ``coroutine`` has ended there."""
    loop = home_loop()
    if _home is not None and threading.current_thread() is _home.thread:
        coroutine.close()
        raise SetupError(
            "a synchronous call was made on adjudge's own event loop: use `await "
            "judge.aevaluate(...)` there"
        )
    return loop


def _wait(future: Future[T], loop: asyncio.AbstractEventLoop) -> T:
    """The result; the first interrupt is for those who can stop by themselves, if there are any."""
    try:
        return future.result()
    except KeyboardInterrupt:
        if not _stops or future.done():
            raise
        for stop in (*_stops,):  # which the home loop changes
            loop.call_soon_threadsafe(stop)
        told = list(_tellers)
        for tell in told:
            tell()
        result = future.result()
        if not told:
            # it ended in good order, and nobody else knows that the caller's own loop is to end,
            # too
            raise
        return result


_MOST_WAITING = 1024
"""Events that may wait for their reader; work that is further ahead waits for it, unless the
reader waits for the home loop itself.
"""


class Outbox(Generic[E]):
    """Where work on the home loop puts its events, for the thread that reads them."""

    def __init__(self) -> None:
        self._events: SimpleQueue[E | None] = SimpleQueue()
        self._put = self._handled = self._reader = 0
        self._drained: asyncio.Event | None = None
        self._closed = threading.Event()

    def put(self, event: E) -> None:
        """Have ``event`` read; called on the home loop."""
        while (
            self._events.qsize() >= _MOST_WAITING
            and not self._closed.is_set()
            and self._reader not in _asking
        ):
            time.sleep(0.001)
        self._put += 1
        self._events.put(event)

    async def drained(self) -> None:
        """Wait until the reader has handled all that was put, or has gone."""
        self._drained = asyncio.Event()
        while self._handled < self._put and not self._closed.is_set():
            await self._drained.wait()
            self._drained.clear()  # the reader may have meant what was put before
        self._drained = None

    def end(self) -> None:
        """Nothing more will be put."""
        self._events.put(None)

    def close(self) -> None:
        """Stop taking events: the reader is gone."""
        self._closed.set()
        self._wake()

    def read(self) -> Iterator[E]:
        """Every event, as it comes."""
        while (event := self._next()) is not None:
            yield event
            self._handled += 1
            if self._handled == self._put:
                self._wake()

    def _next(self) -> E | None:
        self._reader = reader = threading.get_ident()
        _asking.append(reader)
        try:
            return self._events.get()
        finally:
            _asking.remove(reader)

    def _wake(self) -> None:
        if (waiting := self._drained) is not None:
            home_loop().call_soon_threadsafe(waiting.set)


@contextmanager
def stream(work: Callable[[Outbox[E]], Coroutine[object, object, None]]) -> Iterator[Iterator[E]]:
    """The events of ``work``, which runs on the home loop; what it raises is raised after the last.

    The first interrupt is left to those who are ``stoppable``. A second one cancels the work, and
    is raised when that has ended; so does leaving before the end.
    """
    outbox, started, ended = Outbox[E](), threading.Event(), threading.Event()
    coroutine = _then_set(_then_end(work(outbox), outbox, started), ended)
    loop = _loop_of_others(coroutine)
    future = _submit(coroutine, loop, None)
    future.add_done_callback(lambda _: None if started.is_set() else outbox.end())
    try:
        with _interrupts_left_to(future, loop) as cancelled:
            yield _events(outbox, future, cancelled)
    finally:
        future.cancel()  # of what has ended, nothing
        outbox.close()
        ended.wait(timeout=10)


def _events(outbox: Outbox[E], future: Future[None], cancelled: threading.Event) -> Iterator[E]:
    yield from outbox.read()
    if cancelled.is_set():
        raise KeyboardInterrupt
    future.result()


@contextmanager
def _interrupts_left_to(
    future: Future[None], loop: asyncio.AbstractEventLoop
) -> Iterator[threading.Event]:
    """Wherever the main thread is when it is interrupted: the event is set when the work was
    cancelled for it.
    """
    stopping, cancelled = threading.Event(), threading.Event()

    def interrupt() -> None:
        _interrupts.append(None)
        if cancelled.is_set() or future.done():
            raise KeyboardInterrupt
        if stopping.is_set() or not _stops:
            cancelled.set()
            future.cancel()
        else:
            stopping.set()
            for stop in (*_stops,):
                loop.call_soon_threadsafe(stop)

    if threading.current_thread() is not threading.main_thread():
        yield cancelled
        return
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, _softened(handler, interrupt))
    try:
        yield cancelled
    finally:
        _interrupts.clear()
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)


def _softened(
    handler: Callable[[int, FrameType | None], object], interrupt: Callable[[], None]
) -> Callable[[int, FrameType | None], None]:
    """``handler``, with ``interrupt`` where it would raise KeyboardInterrupt."""

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except KeyboardInterrupt:
            interrupt()

    return handle


async def visit(coroutine: Coroutine[object, object, T]) -> T:
    """Await from any event loop what has to run on the home loop."""
    here, loop = asyncio.get_running_loop(), home_loop()
    if here is loop:
        return await coroutine
    with _among(_asking, threading.get_ident()):
        return await asyncio.wrap_future(_submit(coroutine, loop, here))


def at_home() -> bool:
    """Whether the home loop runs in this thread; after a fork the parent's no
    longer runs anywhere.
    """
    return _home is not None and asyncio._get_running_loop() is _home.loop


def _submit(
    coroutine: Coroutine[object, object, T],
    loop: asyncio.AbstractEventLoop,
    caller: asyncio.AbstractEventLoop | None,
) -> Future[T]:
    token = caller_loop.set(caller)  # the task copies the context it is submitted in
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop)
    finally:
        caller_loop.reset(token)


async def _then_set(coroutine: Coroutine[object, object, T], ended: threading.Event) -> T:
    try:
        return await coroutine
    finally:
        ended.set()


async def _then_end(
    work: Coroutine[object, object, None], outbox: Outbox[E], started: threading.Event
) -> None:
    """Work that is cancelled may still put its last events: only then there are no more."""
    started.set()
    try:
        await work
    finally:
        outbox.end()


def before_leaving(closer: Callable[[], Coroutine[object, object, None]]) -> None:
    """Have ``closer`` awaited on the home loop when the process ends."""
    _closers.append(closer)


def leaving() -> bool:
    """Whether the process ends: connections are closed, and what fails now is nobody's fault."""
    return _leaving.is_set()


@atexit.register
def _leave() -> None:
    if _home is None or _home.pid != os.getpid() or not _home.thread.is_alive():
        return
    _leaving.set()
    asyncio.run_coroutine_threadsafe(_close(), _home.loop)
    _home.thread.join(timeout=2)


async def _close() -> None:
    for closer in _closers:
        await closer()
    asyncio.get_running_loop().stop()


def sync_edge(
    call: Callable[Concatenate[S, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[S, P], T]:
    """The same method for sync code: with its parameters, its types and its docstring, in scripts,
    threads and notebooks.

    A subclass that overrides the async method changes both.
    """
    edge = _through(call, run)
    edge.__name__ = call.__name__.removeprefix("a").removeprefix("_")
    edge.__qualname__ = call.__qualname__.removesuffix(call.__name__) + edge.__name__
    return edge


def sync_call(call: Callable[P, Coroutine[object, object, T]]) -> Callable[P, T]:
    """The same function for sync code."""

    @wraps(call)
    def edge(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(call(*args, **kwargs))

    edge.__name__ = edge.__qualname__ = call.__name__.removeprefix("a")
    return edge


def same_as(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Another name for a method, also where a subclass overrides it."""
    return _through(method, lambda result: result)


_CALLED = re.compile(r"^[^\s()]+\(\)")


def _through(
    method: Callable[Concatenate[S, P], C], finish: Callable[[C], T]
) -> Callable[Concatenate[S, P], T]:
    """A method that calls ``method``, or what a subclass has in its place, and gives what
    ``finish`` makes of its result.
    """
    name = method.__name__

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            made = getattr(self, name)(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            # the arguments do not fit: say so of what was called
            own = f"{type(self).__name__}.{call.__name__}()"
            raise TypeError(_CALLED.sub(lambda _: own, str(error))) from None
        return finish(made)

    return call
