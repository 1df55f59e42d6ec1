"""Run work in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def started(work: Callable[[], T], name: str, *, daemon: bool = True) -> Future[T]:
    """Return the future result of ``work`` in a new thread, so that work that hangs blocks nothing
    else.

    The process waits for it at its end unless it is a daemon.
    """
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(work())
        except StopIteration as error:  # a future cannot raise it into a coroutine
            answer.set_exception(RuntimeError(f"StopIteration {error}"))
        except BaseException as error:  # noqa: BLE001 - raised again for the caller of the future
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=daemon).start()
    return answer
