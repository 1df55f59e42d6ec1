"""No sandbox: a process of its own with limits and an empty environment. For code that somebody has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjudge.sandbox import python
from adjudge.sandbox.base import NO_LIMITS_NAMED, Execution, Limits, Tool
from adjudge.sandbox.host import CHILD, Job, Launch, execute
from adjudge.sandbox.scratch import scratch_folder


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Runs code with all the rights of whoever runs adjudge. Only by name: ``sandbox="none"``."""

    name: str = "none"
    """How it is asked for."""

    async def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, object] = {},
        tools: Mapping[str, Tool] = {},
        limits: Limits = NO_LIMITS_NAMED,
    ) -> Execution:
        """Run the code; see ``Sandbox.run``."""
        async with scratch_folder() as folder:
            return await execute(Launch(python.command(CHILD, folder), folder), Job(code, inputs, tools, limits))
