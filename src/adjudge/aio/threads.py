"""Work in a thread of its own."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class TookTooLong(BaseException):
    """Raised in the thread of a function whose time is up, and where it was called."""


def started(work: Callable[[], T], name: str, *, daemon: bool = True) -> Future[T]:
    """What comes of ``work``, which hangs alone if it hangs.

    The process waits for it at its end unless it is a daemon.
    """
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(work())
        except StopIteration as error:  # no future can carry it
            answer.set_exception(RuntimeError(f"StopIteration {error}"))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=daemon).start()
    return answer


def call_within(work: Callable[[], T], seconds: float) -> T:
    """What comes of ``work``; TookTooLong where it does not end in time. It is stopped at its next
    step in Python; a call of a library that never returns stays behind, and nobody waits for it.
    """
    thread_id = 0

    def run() -> T:
        nonlocal thread_id
        thread_id = threading.get_ident()
        return work()

    answer = started(run, "adjudge call")
    try:
        return answer.result(seconds)
    except TimeoutError:
        if answer.done():
            raise  # its own
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread_id), ctypes.py_object(TookTooLong)
        )
        raise TookTooLong from None
