"""The process of a worker: a session that stays open from one chunk to the next."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

from adjudge.core.aio import event_loop
from adjudge.core.engine.session import OpenRun

C = TypeVar("C")
D = TypeVar("D")
N = TypeVar("N")
C_contra = TypeVar("C_contra", contravariant=True)
D_co = TypeVar("D_co", covariant=True)
N_co = TypeVar("N_co", covariant=True)


class ChunkJudge(Protocol[C_contra, D_co, N_co]):
    """Judges chunks one after the other and stores the answers."""

    @property
    def run(self) -> OpenRun:
        """The run, through which it can be stopped."""
        ...

    async def judge(self, chunk: C_contra, /) -> D_co:
        """Judge a chunk; all answers are in the store when this returns."""
        ...

    def news(self) -> N_co:
        """Return the news of the current chunk."""
        ...


Opened = AbstractAsyncContextManager[ChunkJudge[C, D, N]]


class Worker(Generic[C, D, N]):
    """Serves an actor's calls from several threads with one session on the event loop."""

    def __init__(self, opened: Callable[[], Opened[C, D, N]]) -> None:
        self._opened = opened
        self._jobs: asyncio.Queue[tuple[int, C, Future[D]]] = asyncio.Queue()
        self._session: ChunkJudge[C, D, N] | None = None
        self._judging: int | None = None
        self._waits: Future[D] | None = None
        self._reason: str | None = None
        self._failure: BaseException | None = None
        self._loop = event_loop.home_loop()
        threading.Thread(target=self._run, name="adjudge worker", daemon=True).start()

    def judge(self, number: int, chunk: C) -> D:
        """Judge the chunk of this number; all answers are in the store when this returns."""
        done: Future[D] = Future()
        self._loop.call_soon_threadsafe(self._put, number, chunk, done)
        return done.result()

    def news(self) -> tuple[int, N] | None:
        """Return the current chunk's number and news, or None without a chunk."""

        async def told() -> tuple[int, N] | None:
            if self._session is None or self._judging is None:
                return None
            return self._judging, self._session.news()

        return event_loop.run(told())

    def stop(self, reason: str) -> None:
        self._loop.call_soon_threadsafe(self._halt, reason)

    def _put(self, number: int, chunk: C, done: Future[D]) -> None:
        if self._failure is not None:
            done.set_exception(self._failure)
        else:
            self._jobs.put_nowait((number, chunk, done))

    def _halt(self, reason: str) -> None:
        self._reason = reason
        if self._session is not None:
            self._session.run.open_budget.stop(reason)

    def _run(self) -> None:
        try:
            event_loop.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        """Report the failure to all waiting callers, after the session is closed and its answers
        are stored.
        """
        self._failure, self._judging = error, None
        waiting = [self._waits] if self._waits else []
        while not self._jobs.empty():
            waiting.append(self._jobs.get_nowait()[2])
        for done in waiting:
            done.set_exception(error)

    async def _serve(self) -> None:
        async with self._opened() as session:
            self._session = session
            if self._reason is not None:  # it was stopped before it had begun
                self._halt(self._reason)
            while True:
                self._judging, chunk, self._waits = await self._jobs.get()
                done = await session.judge(chunk)
                self._judging, waits, self._waits = None, self._waits, None
                waits.set_result(done)
