"""Call user functions, sync or async, in the right place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import partial

from adjudge.core.aio.event_loop import caller_loop
from adjudge.core.aio.threads import started
from adjudge.messages import Message


async def call(function: Callable[..., object], /, *args: object) -> object:
    """Return the function's result, awaited if it is a coroutine."""
    if inspect.iscoroutinefunction(function):
        return await _where_it_belongs(function(*args))
    answer = await _in_thread(function, args)
    return await _where_it_belongs(answer) if inspect.iscoroutine(answer) else answer


async def call_contained(function: Callable[..., object], /, *args: object) -> object:
    """Like ``call``, for functions that work on a model's text: ``sys.exit`` inside is an error,
    not the end of the program.
    """
    if inspect.iscoroutinefunction(function):
        return await _where_it_belongs(_contain_exit(function(*args)))
    answer = await _contain_exit(_in_thread(function, args))
    return await _where_it_belongs(_contain_exit(answer)) if inspect.iscoroutine(answer) else answer


async def _contain_exit(coroutine: Coroutine[object, object, object]) -> object:
    try:
        return await coroutine
    except SystemExit as error:
        raise RuntimeError(
            Message(
                "it called sys.exit({code})", code="" if error.code is None else repr(error.code)
            )
        ) from error


async def _in_thread(function: Callable[..., object], args: tuple[object, ...]) -> object:
    """Call a function in its own thread, so that a call that hangs blocks neither other calls nor
    the end of the process.
    """
    name = f"adjudge {getattr(function, '__name__', 'call')}"
    return await asyncio.wrap_future(started(partial(function, *args), name))


async def _where_it_belongs(coroutine: Coroutine[object, object, object]) -> object:
    """Await a coroutine on the loop that awaits us, if there is one: the caller's sessions live
    there.
    """
    caller = caller_loop.get()
    if caller is None or not caller.is_running() or caller is asyncio.get_running_loop():
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, caller))
