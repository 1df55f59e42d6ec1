"""Calling a function that the caller gave us, sync or async, where it belongs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import partial

from adjudge.core.aio.event_loop import caller_loop
from adjudge.core.aio.threads import started
from adjudge.messages import Message


async def call(function: Callable[..., object], /, *args: object) -> object:
    """What the function returns, awaited where that is a coroutine."""
    if inspect.iscoroutinefunction(function):
        return await _where_it_belongs(function(*args))
    answer = await _in_thread(function, args)
    return await _where_it_belongs(answer) if inspect.iscoroutine(answer) else answer


async def call_contained(function: Callable[..., object], /, *args: object) -> object:
    """``call`` for functions that work on what a model wrote: ``sys.exit`` inside is their failure,
    not the program's end.
    """
    if inspect.iscoroutinefunction(function):
        return await _where_it_belongs(_contained(function(*args)))
    answer = await _contained(_in_thread(function, args))
    return await _where_it_belongs(_contained(answer)) if inspect.iscoroutine(answer) else answer


async def _contained(coroutine: Coroutine[object, object, object]) -> object:
    try:
        return await coroutine
    except SystemExit as error:
        raise RuntimeError(
            Message(
                "it called sys.exit({code})", code="" if error.code is None else repr(error.code)
            )
        ) from error


async def _in_thread(function: Callable[..., object], args: tuple[object, ...]) -> object:
    """In a thread of its own: a call that hangs keeps no other call waiting, and not the process
    either.
    """
    name = f"adjudge {getattr(function, '__name__', 'call')}"
    return await asyncio.wrap_future(started(partial(function, *args), name))


async def _where_it_belongs(coroutine: Coroutine[object, object, object]) -> object:
    """On the loop that awaits us, since that is where the caller's sessions live; on ours when
    nobody does.
    """
    caller = caller_loop.get()
    if caller is None or not caller.is_running() or caller is asyncio.get_running_loop():
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, caller))
