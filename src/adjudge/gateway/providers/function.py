"""A plain function ``prompt -> text``, sync or async, as a model."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from time import perf_counter
from typing import Any

from adjudge.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError
from adjudge.gateway.home import caller_loop

PromptFunction = Callable[[str], str | Awaitable[str]]


class FunctionModel:
    """Calls the function with the whole prompt as one string."""

    capabilities = Capabilities()

    def __init__(self, function: PromptFunction) -> None:
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self._function = function

    async def complete(self, request: Request) -> Reply:
        """The function's answer."""
        started = perf_counter()
        text = await self._call(request.prompt.text)
        if not isinstance(text, str):
            raise ModelError(f"the function returned {type(text).__name__}, not a text", model=self.name)
        return Reply(text=text, latency=perf_counter() - started)

    async def _call(self, prompt: str) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._where_it_belongs(self._function(prompt))
        answer = await self._in_thread(prompt)
        return await self._where_it_belongs(answer) if inspect.iscoroutine(answer) else answer

    async def _in_thread(self, prompt: str) -> object:
        """In a thread of its own: a call that hangs keeps no other call waiting, and not the process either."""
        answer: Future[object] = Future()
        answer.set_running_or_notify_cancel()

        def call() -> None:
            try:
                answer.set_result(self._function(prompt))
            except StopIteration as error:  # no future can carry it
                answer.set_exception(RuntimeError(f"StopIteration {error}"))
            except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
                answer.set_exception(error)

        threading.Thread(target=call, name=f"adjudge {self.name}", daemon=True).start()
        return await asyncio.wrap_future(answer)

    async def _where_it_belongs(self, coroutine: Any) -> object:
        """On the loop that awaits us, since that is where the caller's sessions live; on ours when nobody does."""
        caller = caller_loop.get()
        if caller is None or not caller.is_running():
            return await coroutine
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, caller))
