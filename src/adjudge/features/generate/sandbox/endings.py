"""The ways a run can end, with messages for the person or model that wrote the code."""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass

from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import Crashed, Forbidden, MemoryLimit, SandboxError, Timeout
from adjudge.features.generate.sandbox.base import Limits
from adjudge.messages import Message, join

# Errors of the kernel if the sandbox refuses.
_REFUSALS = {
    *(
        errno.EPERM,
        errno.EACCES,
        errno.EROFS,
        errno.ENOSYS,
        errno.EAGAIN,
        errno.EFBIG,
        errno.EMFILE,
    ),
    *(errno.ENETUNREACH, errno.EAFNOSUPPORT, errno.EDQUOT, errno.ENOSPC),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """The code's result, or the error to raise."""

    output: object = None
    """The value of ``output``."""
    has_output: bool = False
    error: type[SandboxError] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class FailureReport:
    """An error as the sandboxed process reports it."""

    kind: str
    """The error's class; NotJSON: the content of ``output`` cannot be handed over."""
    message: str = ""
    errno: int | None = None
    memory: bool = False
    """True if memory ran out, whatever the class is called."""
    traceback: str = ""

    @classmethod
    def of(cls, told: JsonObject) -> FailureReport:
        number = told.get("errno")
        return cls(
            str(told["kind"]),
            str(told.get("message", "")),
            number if isinstance(number, int) else None,
            bool(told.get("memory")),
            str(told.get("traceback", "")),
        )


def after_failure(report: FailureReport, limits: Limits) -> Ending:
    """Return the ending for code that raised, or whose output is not JSON."""
    kind, message = report.kind, report.message
    if kind == "MemoryError" or report.memory:
        return Ending(
            error=MemoryLimit,
            text=Message("the code asked for more than {most} MB of memory", most=limits.memory_mb),
        )
    if kind == "NotJSON":
        return Ending(
            error=Crashed,
            text=Message(
                "the value of `output` is not JSON ({said}): use dicts, lists, strings and numbers",
                said=message,
            ),
        )
    text = f"{kind}: {message}" if message else kind
    if report.errno in _REFUSALS:
        return Ending(
            error=Forbidden,
            text=_with_traceback(
                Message("the sandbox does not allow this: {error}", error=text), report
            ),
        )
    return Ending(
        error=Crashed,
        text=_with_traceback(Message("the code raised {error}", error=text), report),
    )


def _with_traceback(text: Message, report: FailureReport) -> Message:
    traceback = report.traceback.rstrip()
    return join("\n", (text, traceback)) if traceback else text


def after_exit(status: int, seconds: float, limits: Limits, stderr: bytearray) -> Ending:
    """Return the ending for a process that ended without a message."""
    number = -status if status < 0 else status - 128
    # Code that ignores the first signal about CPU time is killed a second later.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and seconds > limits.cpu):
        return took_too_long(Message("{cpu:g} s of CPU time", cpu=limits.cpu))
    how = (
        Message("signal {signal}", signal=signal.Signals(number).name)
        if number in set(signal.Signals)
        else Message("exit status {status}", status=status)
    )
    last_words = stderr[-2000:].decode("utf-8", "replace").strip()
    text = Message("the process ended without a result ({how})", how=how)
    return Ending(error=Crashed, text=join(": ", (text, last_words)) if last_words else text)


def took_too_long(what: str) -> Ending:
    return Ending(error=Timeout, text=Message("the code took more than {what}", what=what))


def too_much(limits: Limits, *, calls: bool = False) -> Ending:
    """Return the ending for too much output or too many tool calls."""
    text = (
        Message("the code made more than {most} tool calls", most=limits.tool_calls)
        if calls
        else Message(
            "the code produced more than {most} KB of printed text, tool arguments and result "
            "together",
            most=limits.output_kb,
        )
    )
    return Ending(error=Forbidden, text=text)


def broken_line(error: Exception) -> Ending:
    """Return the ending for output that is not a valid message."""
    return Ending(
        error=Crashed,
        text=Message(
            "the output of the sandbox cannot be read: {kind}: {error}",
            kind=type(error).__name__,
            error=error,
        ),
    )


def not_shut(reason: str) -> Ending:
    """Return the ending for a process that could not lock itself down, so that nothing was run."""
    return Ending(
        error=SandboxError,
        text=Message(
            "the sandbox could not be locked down, so nothing was run: {reason}", reason=reason
        ),
    )
