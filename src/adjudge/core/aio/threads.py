"""Work in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


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
