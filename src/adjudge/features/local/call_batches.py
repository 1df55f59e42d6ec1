"""Answers many calls with few passes: calls that wait and share a prompt prefix go together, a pass
for each free worker.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")
_LONGEST_RUN = 256
"""Calls of one kind that may be answered in a row while another kind waits."""
_FEWEST = 4
"""A pass with fewer costs more than it gains while there are more to take along."""
_MOST = 16
"""More in one pass gain nothing and take memory."""


class CallBatches(Generic[Question, Answer]):
    """Hands calls to ``answer``, which runs in ``executor``, at most ``workers`` times at once. For
    one event loop.

    ``answer`` gives a value for each call, or the exception that this call ends with.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Answer | Exception]],
        executor: Executor,
        workers: int,
    ) -> None:
        self._answer, self._executor, self._free = answer, executor, workers
        self._waiting: dict[str, deque[tuple[Question, asyncio.Future[Answer]]]] = {}
        self._last, self._run = "", 0
        self._passes: set[asyncio.Task[None]] = set()

    async def ask(self, kind: str, asked: Question) -> Answer:
        """The answer to one call; only calls of the same kind are put together."""
        loop = asyncio.get_running_loop()
        place: asyncio.Future[Answer] = loop.create_future()
        self._waiting.setdefault(kind, deque()).append((asked, place))
        loop.call_soon(self._start)  # behind those that ask in the same breath
        return await place

    def _start(self) -> None:
        while self._free and self._waiting:
            batch = self._next()
            if batch:
                self._free -= 1
                task = asyncio.get_running_loop().create_task(self._pass(batch))
                self._passes.add(task)
                task.add_done_callback(self._passes.discard)

    def _next(self) -> list[tuple[Question, asyncio.Future[Answer]]]:
        """The calls of the next pass: a fair share of those that wait, the kind of the last pass
        first.
        """
        kind = self._next_kind()
        waiting = self._waiting[kind]
        share = max(_FEWEST, -(-len(waiting) // self._free))
        batch = [waiting.popleft() for _ in range(min(len(waiting), share, _MOST))]
        if not waiting:
            del self._waiting[kind]
        self._run = (self._run if kind == self._last else 0) + len(batch)
        self._last = kind
        return [(asked, place) for asked, place in batch if not place.done()]

    def _next_kind(self) -> str:
        others = [kind for kind in self._waiting if kind != self._last]
        stay = self._last in self._waiting and (self._run < _LONGEST_RUN or not others)
        return self._last if stay else others[0]

    async def _pass(self, batch: list[tuple[Question, asyncio.Future[Answer]]]) -> None:
        calls = [asked for asked, _ in batch]
        try:
            answers = await asyncio.get_running_loop().run_in_executor(
                self._executor, self._answer, calls
            )
        except Exception as error:  # noqa: BLE001 - it is handed to everybody who waits
            answers = [error] * len(batch)
        finally:
            self._free += 1
        for (_, place), answer in zip(batch, answers, strict=True):
            if place.done():
                continue
            if isinstance(answer, Exception):
                place.set_exception(answer)
            else:
                place.set_result(answer)
        self._start()
