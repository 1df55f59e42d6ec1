"""The sync edge of async methods, made at one place."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from adjudge.aio import event_loop

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")


def sync_edge(call: Callable[Concatenate[S, P], Coroutine[object, object, T]]) -> Callable[Concatenate[S, P], T]:
    """The same method for sync code: with its parameters, its types and its docstring, in scripts, threads and notebooks.

    A subclass that overrides the async method changes both.
    """
    name = call.__name__

    @wraps(call)
    def edge(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        coroutine: Coroutine[object, object, T] = getattr(self, name)(*args, **kwargs)
        return event_loop.run(coroutine)

    edge.__name__ = name.removeprefix("a")
    edge.__qualname__ = call.__qualname__.removesuffix(name) + edge.__name__
    return edge


def same_as(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Another name for a method, also where a subclass overrides it."""
    name = method.__name__

    @wraps(method)
    def other(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        said: T = getattr(self, name)(*args, **kwargs)
        return said

    return other
