"""The single event loop of all models, in a separate thread.

Connections and limits belong to a loop. With one loop for all, judges, threads, scripts and
notebooks can share a model, and a synchronous call works inside a running event loop.
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
"""The loop that awaits us, if there is one: the caller's own async functions run there."""


class _Home:
    def __init__(self) -> None:
        # Threads do not survive a fork: a child needs a loop of its own.
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="adjudge", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        stopped = False
        while not stopped:
            # A caller's code may raise these: they end the caller's thread, not this one.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()
                stopped = True


_home: _Home | None = None
_lock = threading.Lock()
_leaving = threading.Event()
_stops: list[Callable[[], None]] = []
_tellers: list[Callable[[], None]] = []
_closers: list[Callable[[], Coroutine[object, object, None]]] = []
# Threads that wait for what the home loop does for them.
_asking: list[int] = []


# One for each interrupt of work that is under way.
_interrupts: list[None] = []


def raise_if_interrupted(times: int = 1) -> None:
    """Raise RunStopped if there were at least ``times`` interrupts; for long work that never waits.

    The home loop cannot cancel such work: it runs in its thread.
    """
    if len(_interrupts) >= times:
        raise RunStopped("stopped")


def home_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process, a new one after a fork."""
    global _home
    with _lock:
        if _home is None or _home.pid != os.getpid():
            _home = _Home()
        return _home.loop


def stoppable(stop: Callable[[], None]) -> AbstractContextManager[None]:
    """Make the first interrupt inside the block call ``stop``, so that the work ends in good order;
    a second one cancels it.
    """
    return _among(_stops, stop)


def stopping_told(tell: Callable[[], None]) -> AbstractContextManager[None]:
    """Make the first interrupt inside the block also call ``tell``, in the interrupted thread, if a
    ``stoppable`` takes it.
    """
    return _among(_tellers, tell)


@contextmanager
def _among(items: list[T], item: T) -> Iterator[None]:
    items.append(item)
    try:
        yield
    finally:
        items.remove(item)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end from synchronous code.

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
    """Return the home loop, for a thread that waits until ``coroutine`` has ended there.

    Raise a SetupError on the home loop's own thread, which would wait for itself.
    """
    loop = home_loop()
    if _home is not None and threading.current_thread() is _home.thread:
        coroutine.close()
        raise SetupError(
            "a synchronous call was made on adjudge's own event loop: use `await "
            "judge.aevaluate(...)` there"
        )
    return loop


def _wait(future: Future[T], loop: asyncio.AbstractEventLoop) -> T:
    """Return the result. The first interrupt goes to the ``stoppable`` blocks, if there are any,
    and is raised after the work has ended unless a ``stopping_told`` block took it.
    """
    try:
        return future.result()
    except KeyboardInterrupt:
        if not _stops or future.done():
            raise
        for stop in (*_stops,):  # a copy: the home loop changes the list
            loop.call_soon_threadsafe(stop)
        tellers = list(_tellers)
        for tell in tellers:
            tell()
        result = future.result()
        if not tellers:
            # The work ended in good order, but no teller has told the caller to stop, too.
            raise
        return result


# Events that may wait for their reader. Work that is further ahead waits for the reader, unless
# the reader itself waits for the home loop.
_MOST_WAITING = 1024


class Outbox(Generic[E]):
    """A queue for the events of work on the home loop, read by another thread."""

    def __init__(self) -> None:
        self._events: SimpleQueue[E | None] = SimpleQueue()
        self._put = self._handled = self._reader = 0
        self._drained: asyncio.Event | None = None
        self._closed = threading.Event()

    def put(self, event: E) -> None:
        """Add an event for the reader, and block while too many wait for it; called on the home
        loop.
        """
        while (
            self._events.qsize() >= _MOST_WAITING
            and not self._closed.is_set()
            and self._reader not in _asking
        ):
            time.sleep(0.001)
        self._put += 1
        self._events.put(event)

    async def drain(self) -> None:
        """Wait until the reader has handled all events so far, or has gone."""
        self._drained = asyncio.Event()
        while self._handled < self._put and not self._closed.is_set():
            await self._drained.wait()
            self._drained.clear()  # it may have been set for earlier events
        self._drained = None

    def end(self) -> None:
        """Tell the reader that no more events come."""
        self._events.put(None)

    def close(self) -> None:
        """Stop taking events: the reader is gone."""
        self._closed.set()
        self._wake()

    def read(self) -> Iterator[E]:
        """Yield events as they arrive, until ``end`` is called."""
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
    """Yield the events of ``work``, which runs on the home loop; its error is raised after the last
    event.

    The first interrupt goes to ``stoppable`` blocks. A second one cancels the work and is raised
    when the work has ended. Leaving before the end also cancels the work.
    """
    outbox, started, ended = Outbox[E](), threading.Event(), threading.Event()
    coroutine = _then_set(_then_end(work(outbox), outbox, started), ended)
    loop = _loop_of_others(coroutine)
    future = _submit(coroutine, loop, None)
    # Work that is cancelled before it starts never ends its events.
    future.add_done_callback(lambda _: None if started.is_set() else outbox.end())
    try:
        with _interrupts_left_to(future, loop) as cancelled:
            yield _events(outbox, future, cancelled)
    finally:
        future.cancel()  # a no-op if the work has ended
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
    """Handle interrupts for the work, wherever the main thread is; the event is set if the work was
    cancelled.
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
    old_handlers = {
        signal_number: signal.getsignal(signal_number)
        for signal_number in (signal.SIGINT, signal.SIGTERM)
    }
    for number, handler in old_handlers.items():
        if callable(handler):
            signal.signal(number, _with_interrupt(handler, interrupt))
    try:
        yield cancelled
    finally:
        _interrupts.clear()
        for number, handler in old_handlers.items():
            if callable(handler):
                signal.signal(number, handler)


def _with_interrupt(
    handler: Callable[[int, FrameType | None], object], interrupt: Callable[[], None]
) -> Callable[[int, FrameType | None], None]:
    """Return a signal handler like ``handler`` that calls ``interrupt`` instead of raising
    KeyboardInterrupt.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except KeyboardInterrupt:
            interrupt()

    return handle


async def visit(coroutine: Coroutine[object, object, T]) -> T:
    """Await a coroutine on the home loop from any event loop."""
    here, loop = asyncio.get_running_loop(), home_loop()
    if here is loop:
        return await coroutine
    with _among(_asking, threading.get_ident()):
        return await asyncio.wrap_future(_submit(coroutine, loop, here))


def at_home() -> bool:
    """Return True if the home loop runs in this thread; after a fork, the parent's loop runs
    nowhere.
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
    """Run the work, and then end its events."""
    started.set()
    try:
        await work
    # In finally, since cancelled work may still put its last events.
    finally:
        outbox.end()


def before_leaving(closer: Callable[[], Coroutine[object, object, None]]) -> None:
    """Await ``closer`` on the home loop when the process ends."""
    _closers.append(closer)


def leaving() -> bool:
    """Return True if the process is ending: connections are closed, so errors now do not count."""
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
    """Return the sync form of an async method, with its parameters, types and docstring.

    It works in scripts, threads and notebooks. A subclass that overrides the async method changes
    both.
    """
    edge = _through(call, run)
    edge.__name__ = call.__name__.removeprefix("a").removeprefix("_")
    edge.__qualname__ = call.__qualname__.removesuffix(call.__name__) + edge.__name__
    return edge


def sync_call(call: Callable[P, Coroutine[object, object, T]]) -> Callable[P, T]:
    """Return the sync form of an async function."""

    @wraps(call)
    def edge(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(call(*args, **kwargs))

    edge.__name__ = edge.__qualname__ = call.__name__.removeprefix("a")
    return edge


def same_as(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Return a second name for a method, which also follows overrides in subclasses."""
    return _through(method, lambda result: result)


_CALLED = re.compile(r"^[^\s()]+\(\)")


def _through(
    method: Callable[Concatenate[S, P], C], finish: Callable[[C], T]
) -> Callable[Concatenate[S, P], T]:
    """Return a method that calls ``method``, or its override, and applies ``finish`` to the result.

    The TypeError for wrong arguments names the method that the user called.
    """
    name = method.__name__

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            result = getattr(self, name)(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            # The arguments do not fit. Name the method that the user called in the error.
            called_name = f"{type(self).__name__}.{call.__name__}()"
            raise TypeError(_CALLED.sub(lambda _: called_name, str(error))) from None
        return finish(result)

    return call
