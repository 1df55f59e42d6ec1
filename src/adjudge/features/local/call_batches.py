"""Answer many calls with few passes: waiting calls with the same prompt prefix share a pass, one
per free worker.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")
# Calls of one kind that may be answered in a row while another kind waits.
_LONGEST_RUN = 256
# A pass with fewer costs more than it gains while there are more to take along.
_FEWEST = 4
# More in one pass gain nothing and take memory.
_MOST = 16


class CallBatches(Generic[Question, Answer]):
    """Passes calls to ``answer``, which runs in ``executor``, at most ``workers`` times at once.

    For one event loop only. ``answer`` returns a value per call, or the exception that this call
    ends with.
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
        """Return the answer to one call. Only calls of the same kind are put together."""
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
        """Return the calls of the next pass: a fair share of those waiting.

        They are of the last pass's kind if possible.
        """
        kind = self._next_kind()
        waiting = self._waiting[kind]
        # A fair share, rounded up: the other free workers should get calls, too.
        share = max(_FEWEST, -(-len(waiting) // self._free))
        batch = [waiting.popleft() for _ in range(min(len(waiting), share, _MOST))]
        if not waiting:
            del self._waiting[kind]
        self._run = (self._run if kind == self._last else 0) + len(batch)
        self._last = kind
        return [(question, place) for question, place in batch if not place.done()]

    def _next_kind(self) -> str:
        other_kinds = [kind for kind in self._waiting if kind != self._last]
        stay = self._last in self._waiting and (self._run < _LONGEST_RUN or not other_kinds)
        return self._last if stay else other_kinds[0]

    async def _pass(self, batch: list[tuple[Question, asyncio.Future[Answer]]]) -> None:
        calls = [question for question, _ in batch]
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
