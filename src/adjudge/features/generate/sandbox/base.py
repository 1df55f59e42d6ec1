"""The interface of every sandbox: run code within limits, and return the value it left in
``output``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Protocol

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.errors import SetupError

Tool = Callable[..., object]
"""A function of the host, sync or async, that generated code may call with JSON values."""
Inputs = Mapping[str, object]
Tools = Mapping[str, Tool]
"""Variables and functions of the code, by their names in it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resources that the code may use. It is stopped if it exceeds one."""

    wall: float = 30
    """Seconds from start to end, the time spent in tools included."""
    cpu: float = 20
    """Seconds of CPU time, rounded up to whole ones."""
    memory_mb: int = 512
    """Address space of the process, the interpreter (about 30 MB) included."""
    processes: int = 16
    """Threads at once, the first included; ``none`` does not count them.

    A second process is refused altogether.
    """
    file_mb: int = 16
    """Size of one file in the scratch folder; all files together may have four times that."""
    output_kb: int = 1024
    """KB of all output: printed text, the arguments of tools and the result together."""
    tool_calls: int = 100
    """Most calls of tools."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not 0 <= value < float("inf")
            ):
                raise SetupError(
                    "limit {name}={value!r}: it must be a finite number of at least 0",
                    name=field.name,
                    value=value,
                )


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of code that ran to its end."""

    output: object
    """The JSON value the code left in ``output``; None when it set none."""
    has_output: bool
    """True if ``output`` was set."""
    stdout: str
    stderr: str
    """Everything that it wrote to standard error, by any means."""
    seconds: float
    """Wall-clock time, the start of the process included."""


DEFAULTS = Limits()


class Sandbox(Protocol):
    """An environment for running untrusted code."""

    @property
    def name(self) -> str:
        """The name by which the sandbox is selected."""
        ...

    async def run(
        self,
        code: str,
        *,
        inputs: Inputs = NOTHING,
        tools: Tools = NOTHING,
        limits: Limits = DEFAULTS,
    ) -> Execution:
        """Run the code with ``inputs`` as variables and ``tools`` as functions.

        Raise a SandboxError if it fails.
        """
        ...
