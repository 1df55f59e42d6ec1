"""The process inside a sandbox: locks itself up, runs the code, and sends what it left in
``output``.

It is started by its path with the standard library only, and does not import adjudge. Lines of JSON
arrive on standard input (the job, then the answers of tools) and leave on standard output; the code
itself can use neither.
"""

from __future__ import annotations

import ctypes
import io
import json
import linecache
import math
import os
import resource
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, BinaryIO, TypedDict, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MB = 1024 * 1024
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    22,
    24,
    38,
)
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION = 0x20080522
_OUT_OF_MEMORY = b'{"failed": {"kind": "MemoryError"}}\n'
_TEXT_SHOWN = 4000


class JobMessage(TypedDict):
    """The host's first message."""

    code: str
    inputs: dict[str, object]
    tools: list[str]
    limits: dict[str, float]
    filter: str
    user: int | None
    alone: bool


class Channel:
    """The two pipes to the host. Threads take turns to call tools."""

    def __init__(self, incoming: BinaryIO, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._turn = threading.RLock()

    def receive(self) -> object:
        """Return the host's next message."""
        message: object = json.loads(self._incoming.readline())
        return message

    def send(self, message: dict[str, object]) -> None:
        """Send a message to the host."""
        # Lone surrogates are passed on: the host reports what is wrong with them.
        self.write(
            json.dumps(message, ensure_ascii=False, allow_nan=False).encode(
                "utf-8", "surrogatepass"
            )
            + b"\n"
        )

    def write(self, line: bytes) -> None:
        with self._turn:
            view = memoryview(line)
            while view:
                view = view[os.write(self._outgoing, view) :]

    def call(self, tool: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call a tool on the host; return its value or raise its error."""
        with self._turn:
            self.send(_with_unique_keys({"tool": tool, "args": args, "kwargs": kwargs}))
            answer = cast(dict[str, object], self.receive())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]


class Printed(io.RawIOBase):
    """The code's standard output, which is sent to the host as messages."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Send bytes to the host."""
        # Latin-1 carries any bytes through JSON; the host decodes them as UTF-8.
        raw = bytes(data)
        self._channel.send({"stdout": raw.decode("latin-1")})
        return len(raw)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32 * 2),
        ("permitted", ctypes.c_uint32 * 2),
        ("inheritable", ctypes.c_uint32 * 2),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main() -> None:
    """Read the job, lock the process down, and run the code."""
    channel = _take_channels()
    try:
        job = cast(JobMessage, channel.receive())
        _limit(job["limits"], alone=job["alone"])
        if job["filter"]:
            _become(job["user"])
            _give_up_rights()
            _load_filter(bytes.fromhex(job["filter"]))
    except BaseException as error:  # noqa: BLE001 - nothing may run in a sandbox that is not shut
        channel.send({"open": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _run(channel, job)


def _with_unique_keys(message: dict[str, object]) -> dict[str, object]:
    """Return the message; raise a ValueError if two keys of a dict are equal in JSON, such as
    ``1`` and ``"1"``.
    """
    json.loads(json.dumps(message, ensure_ascii=False, allow_nan=False), object_pairs_hook=_unique)
    return message


def _unique(pairs: list[tuple[str, object]]) -> None:
    keys: set[str] = set()
    for key, _ in pairs:
        if key in keys:
            raise ValueError(f"a dict has two keys that are both {key!r} in JSON")
        keys.add(key)


def _take_channels() -> Channel:
    """Take over the pipes to the host, so that the code reads empty input and raw writes go to
    standard error.
    """
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return channel


def _limit(limits: dict[str, float], *, alone: bool) -> None:
    cpu = math.ceil(limits["cpu"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    _cap(resource.RLIMIT_FSIZE, int(limits["file_mb"] * MB))
    _cap(resource.RLIMIT_NOFILE, 64)
    _cap(resource.RLIMIT_CORE, 0)
    if alone:
        _cap(resource.RLIMIT_NPROC, int(limits["processes"]))
    if sys.platform == "linux":
        _cap(
            resource.RLIMIT_AS, int(limits["memory_mb"] * MB)
        )  # elsewhere the kernel does not keep to it


def _cap(what: int, value: int) -> None:
    resource.setrlimit(what, (value, value))


def _become(user: int | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _give_up_rights() -> None:
    """Drop all capabilities, refuse new ones, and die with the parent process."""
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "set the parent's death signal")
    _must(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "refuse new privileges")
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # refused to those who have none to drop
    header = _Header(_CAPABILITY_VERSION, 0)
    _must(libc.capset(ctypes.byref(header), ctypes.byref(_Capabilities())), "drop the capabilities")


def _load_filter(program: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    loaded = _Program(len(program) // 8, program)
    _must(
        libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded), 0, 0),
        "load the system call filter",
    )


def _must(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"cannot {what}: {os.strerror(ctypes.get_errno())}")


def _run(channel: Channel, job: JobMessage) -> None:
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(Printed(channel)), encoding="utf-8", errors="backslashreplace"
    )
    try:
        message = _outcome(channel, job)
        _flush()
        channel.send(_with_unique_keys(message))
    except MemoryError:
        channel.write(_OUT_OF_MEMORY)
    except (ValueError, TypeError, RecursionError) as error:
        channel.send({"failed": {"kind": "NotJSON", "message": f"{type(error).__name__}: {error}"}})
    finally:
        os._exit(0)  # threads and exit handlers of the code do not live on


def _outcome(channel: Channel, job: JobMessage) -> dict[str, object]:
    code = job["code"]
    linecache.cache["<code>"] = (len(code), None, code.splitlines(keepends=True), "<code>")
    space = _fresh_main()
    space.update(job["inputs"])
    space.update({name: _stub(channel, name) for name in job["tools"]})
    try:
        exec(compile(code, "<code>", "exec"), space)  # noqa: S102 - what this process is for
    except SystemExit as error:
        if error.code not in (None, 0):
            return _failure(error)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        return _failure(error)
    return {"done": "output" in space, "output": space.get("output")}


def _fresh_main() -> dict[str, object]:
    """Replace ``__main__`` with a new module and return its variables."""
    # Dataclasses and the like look their module up.
    sys.argv = ["<code>"]
    sys.modules["__main__"] = module = ModuleType("__main__")
    return module.__dict__


def _stub(channel: Channel, name: str) -> Callable[..., object]:
    def stub(*args: object, **kwargs: object) -> object:
        return channel.call(name, args, kwargs)

    stub.__name__ = stub.__qualname__ = name
    return stub


def _failure(error: BaseException) -> dict[str, object]:
    message = {
        "kind": type(error).__name__,
        "message": _message_of(error),
        "errno": getattr(error, "errno", None),
    }
    return {
        "failed": {
            **message,
            "memory": isinstance(error, MemoryError),
            "traceback": _traceback(error, error.__traceback__),
        }
    }


def _message_of(error: BaseException) -> str:
    """Return an error's message, shortened; a note if the message itself raises."""
    try:
        return str(error)[:_TEXT_SHOWN]
    except BaseException as unprintable:  # noqa: BLE001 - the code's own class
        return f"(its message raised {type(unprintable).__name__})"


def _traceback(error: BaseException, trace: TracebackType | None) -> str:
    """Return the end of the traceback, without this file's frames."""
    try:
        lines = traceback.format_exception(type(error), error, trace and trace.tb_next)
    except BaseException as unprintable:  # noqa: BLE001 - the code's own class
        return f"(its traceback raised {type(unprintable).__name__})"
    return "".join(lines)[-_TEXT_SHOWN:]


def _flush() -> None:
    """Flush the streams, if the code has not replaced or closed them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.flush()


if __name__ == "__main__":
    main()
