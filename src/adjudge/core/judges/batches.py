"""Hand many cases to a custom judge at once.

If a batch fails, each case is asked again alone, so that only the faulty ones fail.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from dataclasses import dataclass, field

from adjudge.core.aio.user_functions import call
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.errors import HALTS
from adjudge.messages import Message

Run = Callable[[list[Instance], list[Criteria]], object]
# Seconds, and turns of the event loop, in which no further case came: then those that wait are
# handed over.
_PATIENCE, _TURNS = 0.001, 8


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A case with the future that will hold its answer."""

    instance: Instance
    criteria: Criteria
    answer: asyncio.Future[object] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, answer: object) -> None:
        """Hand the answer to the waiting caller, or raise it there if it is an exception; do
        nothing if the caller was cancelled.
        """
        if self.answer.done():  # its caller was cancelled
            return
        if isinstance(answer, BaseException):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class CaseBatches:
    """Collects cases and hands them over once there are ``size`` of them, or once no more arrive.

    All calls must be made on one event loop.
    """

    def __init__(self, run: Run, size: int) -> None:
        self._run = run
        self._size = size
        self._waiting: list[_Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._gathering = False

    async def answer(self, instance: Instance, criteria: Criteria) -> object:
        """Return the judge's answer for one case, or raise its exception."""
        case = _Waiting(instance, criteria)
        self._waiting.append(case)
        if len(self._waiting) >= self._size:
            self._hand_over()
        elif not self._gathering:
            self._gathering = True
            self._start(self._gather())
        return await case.answer

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _gather(self) -> None:
        count = 0
        # A round without a new case means that all callers wait for an answer already.
        while count != len(self._waiting):
            count = len(self._waiting)
            await asyncio.sleep(_PATIENCE)
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        self._gathering = False
        self._hand_over()

    def _hand_over(self) -> None:
        cases, self._waiting = self._waiting, []
        if cases:
            self._start(self._judge(cases))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _judge(self, cases: Sequence[_Waiting]) -> None:
        try:
            answers = await run_cases(
                self._run, [case.instance for case in cases], [case.criteria for case in cases]
            )
        except HALTS as halt:
            answers = [halt] * len(cases)
        # A user's code may raise anything: it fails only the case that raises it.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            if len(cases) > 1:
                await asyncio.gather(*(self._judge([case]) for case in cases))
                return
            answers = [error]
        except asyncio.CancelledError:
            for case in cases:
                case.answer.cancel()
            raise
        # Such as an interrupt: it is raised for the callers that await the answers.
        except BaseException as error:  # noqa: BLE001
            answers = [error] * len(cases)
        for case, answer in zip(cases, answers, strict=True):
            case.settle(answer)


@asynccontextmanager
async def open_batches(run: Run, size: int) -> AsyncIterator[CaseBatches]:
    """Yield a CaseBatches that is closed at the end of the block."""
    batches = CaseBatches(run, size)
    try:
        yield batches
    finally:
        await batches.close()


async def run_cases(run: Run, instances: list[Instance], criteria: list[Criteria]) -> list[object]:
    """Call ``run``, in a thread unless it is async, and return its answers, one per case.

    Raise a TypeError if it returns neither a list nor another iterable of answers, and a ValueError
    if their number is wrong.
    """
    if inspect.iscoroutinefunction(run):
        reply = run(instances, criteria)
        answers = _list_answers(await reply if inspect.isawaitable(reply) else reply)
    else:
        answers = _list_answers(
            await call(copy_context().run, _list_unless_awaitable, run, instances, criteria)
        )
    if len(answers) != len(instances):
        raise ValueError(
            Message(
                "_run returned {answers} answers for {cases} cases",
                answers=len(answers),
                cases=len(instances),
            )
        )
    return answers


def _list_unless_awaitable(run: Run, instances: list[Instance], criteria: list[Criteria]) -> object:
    """Call ``run`` and list its answers, both in the thread: a generator runs the judge's code.

    An awaitable is returned as it is.
    """
    reply = run(instances, criteria)
    return reply if inspect.isawaitable(reply) else _list_answers(reply)


def _list_answers(reply: object) -> list[object]:
    if not isinstance(reply, Iterable) or isinstance(reply, str | Mapping):
        raise TypeError(
            Message(
                "_run must return a list with one answer per case, not {name}",
                name=type(reply).__name__,
            )
        )
    return list(reply)
