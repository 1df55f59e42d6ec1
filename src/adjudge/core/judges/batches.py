"""Cases handed to a judge of one's own many at once.

One that fails is found by asking each again by itself.
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
_PATIENCE, _TURNS = 0.001, 8
"""Seconds, and turns of the event loop, in which no further case came: then those that wait are
handed over.
"""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A case, and where the answer to it is put."""

    instance: Instance
    criteria: Criteria
    answer: asyncio.Future[object] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, answer: object) -> None:
        """An exception is an answer too: it fails this case alone."""
        if self.answer.done():  # nobody waits for it any more
            return
        if isinstance(answer, BaseException):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class CaseBatches:
    """Gathers cases until there are ``size`` of them, or no more come. Lives on one event loop."""

    def __init__(self, run: Run, size: int) -> None:
        self._run = run
        self._size = size
        self._waiting: list[_Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._gathering = False

    async def answer(self, instance: Instance, criteria: Criteria) -> object:
        """What the judge says of one case; raises what it raised."""
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
            answers = await answers_of(
                self._run, [case.instance for case in cases], [case.criteria for case in cases]
            )
        except HALTS as halt:
            answers = [halt] * len(cases)
        # somebody's own code: it fails the case that it is raised for
        except (Exception, SystemExit) as error:  # noqa: BLE001
            if len(cases) > 1:
                await asyncio.gather(*(self._judge([case]) for case in cases))
                return
            answers = [error]
        except asyncio.CancelledError:
            for case in cases:
                case.answer.cancel()
            raise
        # such as an interrupt: it is raised where the answers are awaited
        except BaseException as error:  # noqa: BLE001
            answers = [error] * len(cases)
        for case, answer in zip(cases, answers, strict=True):
            case.settle(answer)


@asynccontextmanager
async def gathered(run: Run, size: int) -> AsyncIterator[CaseBatches]:
    """Batches for as long as this holds."""
    batches = CaseBatches(run, size)
    try:
        yield batches
    finally:
        await batches.close()


async def answers_of(run: Run, instances: list[Instance], criteria: list[Criteria]) -> list[object]:
    """One answer a case, from a function that is sync (in a thread of its own) or async."""
    if inspect.iscoroutinefunction(run):
        said = run(instances, criteria)
        answers = _listed(await said if inspect.isawaitable(said) else said)
    else:
        answers = _listed(
            await call(copy_context().run, _listed_unless_awaitable, run, instances, criteria)
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


def _listed_unless_awaitable(
    run: Run, instances: list[Instance], criteria: list[Criteria]
) -> object:
    said = run(instances, criteria)
    return said if inspect.isawaitable(said) else _listed(said)


def _listed(said: object) -> list[object]:
    if not isinstance(said, Iterable) or isinstance(said, str | Mapping):
        raise TypeError(
            Message(
                "_run must return a list with an answer for each case, not {name}",
                name=type(said).__name__,
            )
        )
    return list(said)
