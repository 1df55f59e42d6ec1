"""How a run can end, and what the person who wrote the code (or the model that did) is told."""

from __future__ import annotations

import errno
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from adjudge.errors import Crashed, Forbidden, MemoryLimit, SandboxError, Timeout
from adjudge.sandbox.base import Limits

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
"""What the kernel says when the sandbox refuses."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The result, or the error to raise."""

    output: object = None
    """The value of ``output``."""
    has_output: bool = False
    error: type[SandboxError] | None = None
    text: str = ""


def after_failure(report: Mapping[str, object], limits: Limits) -> Ending:
    """The code raised, or its output cannot be handed over."""
    kind, said = str(report["kind"]), str(report.get("message", ""))
    if kind == "MemoryError" or report.get("memory"):
        return _no_memory(limits)
    if kind == "NotJSON":
        return Ending(
            error=Crashed,
            text=(
                f"what is left in `output` is not JSON ({said}): use dicts, lists, texts and "
                "numbers"
            ),
        )
    text = f"{kind}: {said}" if said else kind
    if report.get("errno") in _REFUSALS:
        return Ending(
            error=Forbidden,
            text=f"the sandbox does not allow this: {text}\n{report.get('traceback', '')}".rstrip(),
        )
    return Ending(
        error=Crashed, text=f"the code raised {text}\n{report.get('traceback', '')}".rstrip()
    )


def after_exit(status: int, seconds: float, limits: Limits, stderr: bytearray) -> Ending:
    """The process is gone without a word.

    Code that does not heed the first warning about CPU time is killed a second later.
    """
    number = -status if status < 0 else status - 128
    if number == signal.SIGXCPU or (number == signal.SIGKILL and seconds > limits.cpu):
        return took_too_long(f"{limits.cpu:g} s of CPU time")
    how = (
        f"signal {signal.Signals(number).name}"
        if number in set(signal.Signals)
        else f"exit status {status}"
    )
    said = stderr[-2000:].decode("utf-8", "replace").strip()
    return Ending(
        error=Crashed,
        text=f"the process ended without a result ({how})" + (f": {said}" if said else ""),
    )


def took_too_long(what: str) -> Ending:
    return Ending(error=Timeout, text=f"the code took more than {what}")


def too_much(limits: Limits, *, calls: bool = False) -> Ending:
    """Output or calls of tools."""
    text = (
        f"more than {limits.output_kb} KB came out of the code: printed text, arguments of "
        "tools and result together"
    )
    if calls:
        text = f"the code called tools more than {limits.tool_calls} times"
    return Ending(error=Forbidden, text=text)


def too_many_files(text: str) -> Ending:
    """What the scratch folder holds."""
    return Ending(error=Forbidden, text=text)


def broken_line(error: Exception) -> Ending:
    """What came out is not what the process inside writes."""
    return Ending(
        error=Crashed,
        text=f"what came out of the sandbox cannot be read: {type(error).__name__}: {error}",
    )


def not_shut(reason: str) -> Ending:
    """The process inside could not lock itself up, so it ran nothing."""
    return Ending(
        error=SandboxError, text=f"the sandbox could not be shut, so nothing was run: {reason}"
    )


def _no_memory(limits: Limits) -> Ending:
    return Ending(
        error=MemoryLimit, text=f"the code asked for more than {limits.memory_mb} MB of memory"
    )
