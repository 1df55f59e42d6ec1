"""The host's side of a sandbox: start the process, send the job, answer tools, count the output,
and always end it.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from time import monotonic, sleep
from typing import IO, TypedDict

from adjudge.core.aio.user_functions import call_contained
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import Forbidden, SetupError
from adjudge.features.generate.sandbox.base import DEFAULTS, Execution, Inputs, Limits, Tool, Tools
from adjudge.features.generate.sandbox.endings import (
    Ending,
    FailureReport,
    after_exit,
    after_failure,
    broken_line,
    not_shut,
    too_much,
    took_too_long,
)
from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.features.generate.sandbox.meter import Meter
from adjudge.features.generate.sandbox.scratch import scratch_folder
from adjudge.messages import Message


class SandboxMessage(TypedDict, total=False):
    """A message from the sandboxed process.

    It holds printed text, a tool call, the reason why the process is not locked down, or how the
    code ended.
    """

    stdout: str
    tool: str
    args: list[object]
    kwargs: dict[str, object]
    open: str
    failed: JsonObject
    output: object
    done: bool


def strict_json(message: Mapping[str, object]) -> bytes:
    """Return a message as one line of JSON; raise a ValueError or TypeError if JSON would
    change it.
    """
    text = json.dumps(message, allow_nan=False)
    json.loads(text, object_pairs_hook=unique_keys)
    return text.encode() + b"\n"


def unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs as a dict; raise a ValueError for equal keys, as ``1`` and ``"1"`` are
    in JSON.
    """
    unique: dict[str, object] = {}
    for key, value in pairs:
        if key in unique:
            raise ValueError(Message("a dict has two keys that are both {key!r} in JSON", key=key))
        unique[key] = value
    return unique


async def answer(tools: Mapping[str, Tool], message: SandboxMessage) -> bytes:
    """Call a tool; return the line with its value or its error."""
    name = message["tool"]
    try:
        if name not in tools:
            raise LookupError(
                Message(
                    "no such tool; there are: {tools}", tools=", ".join(tools) or Message("none")
                )
            )
        value = await call_contained(partial(tools[name], *message["args"], **message["kwargs"]))
        return strict_json({"value": value})
    except Exception as error:  # noqa: BLE001 - a tool's error is its answer
        return (
            json.dumps(
                {"error": f"{name}: {error}" if str(error) else f"{name}: {type(error).__name__}"}
            ).encode()
            + b"\n"
        )


Process = subprocess.Popen[bytes]
CHILD = Path(__file__).with_name("child.py")
_CHUNK = 65536
# Seconds a process gets to die after it was told to.
_PATIENCE = 2.0
# Repetitions, and seconds between them, of removing a process that was ended before its first
# message: a service may still be starting it.
_SWEEPS, _BETWEEN_SWEEPS = 3, 0.5
# Seconds between two looks at the scratch folder.
_LOOK = 0.2


@dataclass(frozen=True, slots=True)
class CodeJob:
    """The code to run, with its inputs, tools and limits."""

    code: str
    inputs: Mapping[str, object]
    tools: Mapping[str, Tool]
    limits: Limits

    def line(self, launch: Launch) -> bytes:
        """Return the job as the line sent to the process; raise a SetupError if the inputs are
        not JSON.
        """
        message: dict[str, object] = {
            "code": self.code,
            "inputs": dict(self.inputs),
            "tools": list(self.tools),
            "limits": asdict(self.limits),
            "filter": launch.filter.hex(),
            "user": launch.user,
            "alone": launch.alone,
        }
        try:
            return strict_json(message)
        except (TypeError, ValueError, RecursionError) as error:
            raise SetupError(
                "the inputs of generated code must be JSON values: {error}", error=error
            ) from error


class Wall(ABC):
    """Base class of sandboxes, which differ only in how they start the process."""

    __slots__ = ()

    @abstractmethod
    def launch(self, folder: Path, limits: Limits) -> Launch:
        """Return the launch of the sandboxed process in this scratch folder."""

    async def run(
        self,
        code: str,
        *,
        inputs: Inputs = NOTHING,
        tools: Tools = NOTHING,
        limits: Limits = DEFAULTS,
    ) -> Execution:
        """Run the code; see ``Sandbox.run``."""
        async with scratch_folder() as folder:
            return await execute(self.launch(folder, limits), CodeJob(code, inputs, tools, limits))


async def execute(launch: Launch, job: CodeJob) -> Execution:
    """Run the job until it ends or exceeds a limit; raise a SandboxError if it fails."""
    line, started = job.line(launch), monotonic()
    process = _start(launch)
    talk = _Talk(process, job, Meter(launch, process.pid, job.limits.file_mb))
    try:
        ending = await _within(job.limits.wall, talk.until_end(line))
    finally:
        stopping = _stop(
            process, launch
        )  # at once: a loop that is being closed lets nothing more be awaited
        await asyncio.shield(_wait_until_gone(process, talk, stopping, launch))
    stdout, stderr = talk.stdout.decode("utf-8", "replace"), talk.stderr.decode("utf-8", "replace")
    if ending.error is not None:
        raise ending.error(ending.text, stdout=stdout, stderr=stderr)
    return Execution(ending.output, ending.has_output, stdout, stderr, monotonic() - started)


async def _within(seconds: float, ending: Awaitable[Ending]) -> Ending:
    try:
        async with asyncio.timeout(seconds):
            return await ending
    except TimeoutError:
        return took_too_long(Message("{seconds:g} s of wall-clock time", seconds=seconds))


def _start(launch: Launch) -> Process:
    """Start the process; raise a SetupError if that fails."""
    # Not with asyncio, which waits forever if it is cancelled while it starts a process.
    try:
        return subprocess.Popen(  # noqa: S603 - what a sandbox is for
            launch.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=launch.folder,
            env=dict(launch.environment),
            start_new_session=True,
        )
    except OSError as error:
        raise SetupError(
            "the sandbox cannot be started: {command}: {error}",
            command=launch.command[0],
            error=error,
        ) from error


class _Talk:
    """The communication with one process."""

    def __init__(self, process: Process, job: CodeJob, meter: Meter) -> None:
        self._process = process
        self._job = job
        self._meter = meter
        self._left = job.limits.output_kb * 1024
        self._calls = 0
        self._started = monotonic()
        self.begun = False
        """True if anything has come out."""
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._readers: list[asyncio.Task[Ending | None]] = []

    async def until_end(self, line: bytes) -> Ending:
        """Return the first ending that one of the readers reports."""
        work = (self._messages(), self._read_errors(), self._send(line), self._watch_folder())
        self._readers = [asyncio.create_task(part) for part in work]
        waiting = set(self._readers)
        while True:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (ending := task.result()) is not None:
                    return ending

    async def close(self) -> None:
        """Stop reading, after waiting for the rest of standard error."""
        await asyncio.wait(
            self._readers[1:2] or [asyncio.create_task(asyncio.sleep(0))], timeout=_PATIENCE
        )
        for task in self._readers:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _send(self, line: bytes) -> None:
        """Write a line in a thread; a process that has ended is ignored."""
        with suppress(BrokenPipeError):  # it ended before it read: the ending says why
            # A process that does not read blocks its writer.
            await asyncio.to_thread(self._write, line)

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    async def _messages(self) -> Ending:
        pending = b""
        async for chunk in _chunks(self._process.stdout):
            if not self._pays(len(chunk)):
                return too_much(self._job.limits)
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                if (ending := await self._take(line)) is not None:
                    return ending
        status = await asyncio.to_thread(self._process.wait)
        return after_exit(status, monotonic() - self._started, self._job.limits, self.stderr)

    async def _take(self, line: bytes) -> Ending | None:
        try:
            return await self._understand(_read(line))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            return broken_line(error)

    async def _understand(self, message: SandboxMessage) -> Ending | None:
        if "stdout" in message:
            self.stdout += message["stdout"].encode("latin-1")
            return None
        if "tool" in message:
            return await self._call(message)
        if "open" in message:
            return not_shut(str(message["open"]))
        if "failed" in message:
            return after_failure(FailureReport.of(message["failed"]), self._job.limits)
        return Ending(message["output"], bool(message["done"]))

    async def _call(self, message: SandboxMessage) -> Ending | None:
        self._calls += 1
        if self._calls > self._job.limits.tool_calls:
            return too_much(self._job.limits, calls=True)
        await self._send(await answer(self._job.tools, message))
        return None

    async def _read_errors(self) -> Ending | None:
        async for chunk in _chunks(self._process.stderr):
            if not self._pays(len(chunk)):
                return too_much(self._job.limits)
            self.stderr += chunk
        return None

    def _pays(self, size: int) -> bool:
        self.begun = True
        self._left -= size
        return self._left >= 0

    async def _watch_folder(self) -> Ending:
        """Watch the total size of all files until it is too large."""
        while True:
            # The kernel's limit is for a single file.
            if (trouble := await asyncio.to_thread(self._meter.trouble)) is not None:
                return Ending(error=Forbidden, text=trouble)
            await asyncio.sleep(_LOOK)


def _read(line: bytes) -> SandboxMessage:
    """Parse a message; raise a ValueError for anything that is not strict JSON."""
    message: SandboxMessage = json.loads(line.decode("utf-8"), object_pairs_hook=unique_keys)
    # NaN, 1e999 and lone surrogates are only JSON to Python.
    json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return message


async def _chunks(pipe: IO[bytes] | None) -> AsyncIterator[bytes]:
    """Yield the content of a pipe as it arrives."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while chunk := await reader.read(_CHUNK):
            yield chunk
    finally:
        transport.close()


def _stop(process: Process, launch: Launch) -> Process | None:
    """Signal the process to end; return the process of the first stop command, if there is one."""
    stopping = _run_silently(launch.stop[0]) if launch.stop else None
    _signal(process, launch.end_with)
    return stopping


def _run_silently(command: Sequence[str]) -> Process:
    """Start a command without input or output."""
    return subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)  # noqa: S603


async def _wait_until_gone(
    process: Process, talk: _Talk, stopping: Process | None, launch: Launch
) -> None:
    """Wait until the process and everything it started have ended."""
    if stopping is not None:
        await asyncio.to_thread(stopping.wait)
    await asyncio.to_thread(_wait, process)
    await asyncio.to_thread(_sweep, launch.stop, 1 if talk.begun else _SWEEPS)
    await asyncio.to_thread(_wait_for_orphans, process)
    await talk.close()
    for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
        with suppress(BrokenPipeError):
            pipe.close()


def _sweep(commands: Sequence[Sequence[str]], times: int) -> None:
    """Run the stop commands again, up to ``times`` times."""
    # The first time there may have been nothing to stop yet.
    for number in range(times if commands else 0):
        if number:
            sleep(_BETWEEN_SWEEPS)
        for command in commands:
            _run_silently(command).wait()


def _wait(process: Process) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()
    _signal(process, signal.SIGKILL)  # what it left in its group


def _wait_for_orphans(process: Process) -> None:
    """Wait for processes that die shortly after their parent."""
    if process.stdin is not None and not process.stdin.closed:
        watch = select.poll()
        watch.register(process.stdin, 0)
        # The last of them closes the pipe to which the host writes.
        watch.poll(_PATIENCE * 1000)


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
