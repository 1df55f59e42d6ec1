"""Try to break out of a sandbox before it is trusted."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from adjudge.core.aio.threads import started
from adjudge.errors import AdjudgeError
from adjudge.features.generate.sandbox.attempts import ATTEMPTS, KEPT
from adjudge.features.generate.sandbox.base import Limits, Sandbox
from adjudge.messages import Message, join

T = TypeVar("T")
_ALL_IN_ONE = """
output = {}
for name, code in CODES.items():
    space = dict(globals())
    space.pop("output")
    try:
        exec(code, space)
        output[name] = repr(space.get("output"))
    except BaseException as error:
        output[name] = None
"""
_LIMITS = Limits(wall=20, cpu=5)


def trouble_with(sandbox: Sandbox) -> str | None:
    """Return why a sandbox cannot be trusted.

    Return None if every attack failed and ordinary work succeeded.
    """
    try:
        broken = in_a_thread(lambda: broken_walls(sandbox))
    except AdjudgeError as error:
        return str(error)
    if not broken:
        return None
    return Message(
        "code inside could do forbidden things, or could not do necessary ones: {attempts}",
        attempts=join(", ", broken),
    )


async def broken_walls(sandbox: Sandbox) -> list[str]:
    """Return the names of the attacks that succeeded, and of the ordinary work that failed."""
    went = await try_all(sandbox)
    through = [name for name in ATTEMPTS if went.get(name, "") is not None]
    return through + [name for name, (_, expected) in KEPT.items() if went.get(name) != expected]


async def try_all(sandbox: Sandbox) -> dict[str, object]:
    """Run all attacks and ordinary work at once; return each name with its result, or None if
    it raised.
    """
    codes = ATTEMPTS | {name: code for name, (code, _) in KEPT.items()}
    with _bait() as names:
        done = await sandbox.run(
            _ALL_IN_ONE, inputs={**names, "CODES": codes}, tools={"double": _double}, limits=_LIMITS
        )
    return done.output if isinstance(done.output, dict) else {}


def _double(number: int) -> int:
    return 2 * number


@contextmanager
def _bait() -> Iterator[dict[str, object]]:
    """Create things that sandboxed code must not reach: a file, a variable and a server.

    Yield them with the id of this process.
    """
    mark = f"ADJUDGE_BAIT_{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="adjudge-bait-") as folder, socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        secret = Path(folder, "secret")
        secret.write_text(mark, encoding="utf-8")
        os.environ[mark] = mark
        try:
            yield {
                "SECRET": str(secret),
                "FOLDER": folder,
                "MARK": mark,
                "HOST": os.getpid(),
                "PORT": server.getsockname()[1],
            }
        finally:
            del os.environ[mark]


def in_a_thread(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run a coroutine in a new thread with its own event loop, and return its result."""
    return started(lambda: asyncio.run(work()), "adjudge probe", daemon=False).result()
