"""A process that has adjudge loaded and forks one at each order, which runs in batches and kills
itself where it is told to.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adjudge.core.ledger.ledger import Ledger
from adjudge.errors import AdjudgeError
from adjudge.features.batches import book, request_file, transfer
from adjudge.features.batches import collector as collect
from adjudge.features.batches.backend import Batches, InBatches
from adjudge.features.batches.ledger import BatchTable
from adjudge.features.batches.providers import inline, openai
from adjudge.runs.execute import Stopping, execute
from support.batching import QUICK, eval_run

POINTS: dict[str, tuple[Any, ...]] = {
    "the requests are written down": (request_file.RequestFile, "close"),
    "the batch is in the ledger": (BatchTable, "intend"),
    "the file is uploaded": (openai, "upload"),
    "the provider is asked": (BatchTable, "asked"),
    "the batch is created": (
        (openai.OpenAIBatches, "create"),
        *(
            (api, "create")
            for api in (inline.AnthropicBatches, inline.GeminiBatches, inline.OpenRouterBatches)
        ),
    ),
    "its id is in the ledger": (book.BatchBook, "store_sent"),
    "some results are in the ledger": (collect.Collector, "_commit"),
    "all results are in the ledger": (book.BatchBook, "finish"),
    "the round has ended": (Batches, "next_round"),
    "some votes are in the ledger": (Ledger, "keep"),
}
"""After what to kill → where that is done."""
INTERRUPTED = "interrupted"
"""The file that says so."""


@dataclass(frozen=True)
class At:
    """The server of another process."""

    url: str
    bases: dict[str, str]

    def batch_url(self, api: str) -> str:
        return self.url + self.bases[api]


def kill_after(where: Any, name: str, nth: int) -> None:
    """Have the process killed when this was done so often."""
    done, count = getattr(where, name), [0]

    def counted() -> None:
        count[0] += 1
        if count[0] == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    async def awaited(*args: Any, **named: Any) -> Any:
        result = await done(*args, **named)
        counted()
        return result

    def called(*args: Any, **named: Any) -> Any:
        result = done(*args, **named)
        counted()
        return result

    setattr(where, name, called if name == "close" else awaited)


def child(order: dict[str, Any]) -> None:
    collect.COMMIT_EVERY = 4
    if point := order.get("point"):
        places = POINTS[point]
        for where, name in places if isinstance(places[0], tuple) else (places,):
            kill_after(where, name, order["nth"])
    run = eval_run(
        Path(order["folder"]), At(order["url"], order["bases"]), order["api"], rows=order["rows"]
    )
    settings = replace(QUICK, most_requests=order["size"], grace=order.get("grace", 0.05))

    try:
        with execute(run, batch=InBatches(settings)) as events:
            for event in events:
                if isinstance(event, Stopping):
                    (Path(order["folder"]) / INTERRUPTED).touch()
    except AdjudgeError as error:
        os.write(2, f"{error}\n".encode())
        os._exit(1)
    except KeyboardInterrupt:
        os._exit(130)
    os._exit(0)


class Forks:
    """Gives orders to that process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, **order: object) -> int:
        """The process that carries the order out."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def wait(self) -> int:
        """How it ended: its exit code, or the signal below zero."""
        assert self._process.stdout
        return int(self._process.stdout.readline())


@contextmanager
def forks() -> Iterator[Forks]:
    """That process, while it is needed."""
    tests = Path(__file__).parent.parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")]),
    }
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        yield Forks(process)
        assert process.stdin
        process.stdin.close()


def serve(write: Callable[[int, bytes], int] = os.write) -> None:
    import aiohttp  # noqa: F401 - loaded once for all

    assert transfer
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            child(json.loads(line))
        write(1, b"%d\n" % pid)
        write(1, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    serve()
