"""Batches on this machine: a command that reads and writes OpenAI's lines, such as ``vllm run-
batch``.

The command keeps running if adjudge is killed, and is found again by its files.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import ClassVar

from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.errors import SetupError
from adjudge.features.batches.providers import runner
from adjudge.features.batches.providers.api import Phase, Remote
from adjudge.features.batches.providers.openai import OpenAIBatches
from adjudge.messages import Message


class CommandBatches(OpenAIBatches):
    """Runs a local command with the paths of the request file and the output file."""

    provider_name = "command"
    most_bytes: ClassVar[int] = 1_000_000_000
    lists_late: ClassVar[bool] = False

    def __init__(self, provider: HttpProvider, command: str) -> None:
        super().__init__(provider)
        self._words = shlex.split(command)
        if not {"{input}", "{output}"} <= set(self._words):
            raise SetupError(
                "the batch command must contain {input} and {output}, as in 'vllm run-batch -i "
                "{input} -o {output} --model MODEL'"
            )
        if which(self._words[0]) is None:
            raise SetupError(
                "the batch command {program!r} was not found: install it, or give its path",
                program=self._words[0],
            )

    @property
    def account(self) -> str:
        return sha256("\0".join(("adjudge batch command", *self._words)).encode()).hexdigest()[:16]

    async def upload(self, path: Path) -> str:  # noqa: ARG002 - it is read where it lies
        return ""

    # its results say nothing of who made them
    async def has_batch(self, id: str) -> bool:  # noqa: ARG002
        """Return False: another command may use another model."""
        return False

    # the files are named after it
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:  # noqa: ARG002
        places = {"{input}": str(path), "{output}": str(_file_of(path, "out"))}
        words = [places.get(word, word) for word in self._words]
        files = [str(_file_of(path, ending)) for ending in ("pid", "exit", "log")]
        _file_of(path, "out").unlink(missing_ok=True)
        _file_of(path, "exit").unlink(missing_ok=True)
        started = [sys.executable, "-P", runner.__file__, *files, *words]
        await asyncio.to_thread(subprocess.run, started, stdin=subprocess.DEVNULL, check=True)
        return Remote(str(path), Phase.WAITING, "running")

    async def look(self, id: str) -> Remote:
        """Return the command's state, from its exit code, or from its process if it has none
        yet.
        """
        path = Path(id)
        ended, output = _file_of(path, "exit"), _file_of(path, "out")
        is_alive = _alive(_file_of(path, "pid"))  # checked first, since it may end meanwhile
        if ended.exists():
            code = ended.read_text().strip()
            if output.exists():
                return Remote(id, Phase.ENDED, Message("exit code {code}", code=code))
            return Remote(
                id,
                Phase.REJECTED,
                Message("exit code {code}", code=code),
                reason=_last_line(_file_of(path, "log")),
            )
        if is_alive:
            return Remote(id, Phase.WAITING, "running")
        # it wrote whole lines; requests without one are asked again
        return Remote(id, Phase.ENDED, "gone")

    # there is no such list
    async def page(self, after: str) -> tuple[list[Remote], str]:  # noqa: ARG002
        """Return an empty page: the command is found by its files."""
        return [], ""

    # its file has the name
    async def sent(self, mark: str, path: Path, since: float) -> list[Remote]:  # noqa: ARG002
        """Return the command if its process file is next to the requests."""
        return [await self.look(str(path))] if _file_of(path, "pid").exists() else []

    async def cancel(self, id: str) -> None:
        """Terminate the command with its child processes."""
        pid = _pid(_file_of(Path(id), "pid"))
        if pid and _alive(_file_of(Path(id), "pid")):
            os.killpg(pid, 15)

    # it is here already
    async def fetch(self, remote: Remote, folder: Path) -> list[Path]:  # noqa: ARG002
        """Return the command's output file, if it exists."""
        output = _file_of(Path(remote.id), "out")
        return [output] if output.exists() else []


def _file_of(path: Path, ending: str) -> Path:
    return path.with_suffix(f".{ending}")


def _pid(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _alive(path: Path) -> bool:
    pid = _pid(path)
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""
