"""Landlock and seccomp with the ``sandlock`` package: no root, no namespaces, Linux 6.12
or newer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox import python
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.host import CHILD, Wall
from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.features.generate.sandbox.seccomp import filter_program

_KEEPER = Path(__file__).with_name("keeper.py")


@dataclass(frozen=True, slots=True)
class Sandlock(Wall):
    """Runs code under Landlock and seccomp."""

    name: str = "sandlock"
    in_memory: bool = True
    """True to have the scratch folder in memory with a hard limit, if the kernel lets this user
    mount; else it is on disk.
    """

    def __post_init__(self) -> None:
        if sys.platform != "linux":
            raise SetupError("sandlock works on Linux only")
        if find_spec("sandlock") is None:
            raise SetupError(
                "the package sandlock is not installed: pip install 'adjudge[sandbox]'"
            )

    def launch(self, folder: Path, limits: Limits) -> Launch:
        """Return the launch of the sandboxed process in this scratch folder."""
        spec = find_spec("sandlock")
        assert spec is not None
        assert spec.origin is not None
        home = {
            "PYTHONPATH": str(Path(spec.origin).parent.parent),
            "HOME": str(folder),
        }  # sandlock wants a home, not every user has one
        return Launch(
            self._command(folder, limits), folder, home, signal.SIGTERM, filter=filter_program()
        )

    def _command(self, folder: Path, limits: Limits) -> list[str]:
        policy = {
            "fs_readable": [str(path) for path in (*python.readable(), CHILD, Path(os.devnull))],
            "fs_writable": [str(folder)],
            "cwd": str(folder),
            "clean_env": True,
            "max_processes": max(limits.processes, 1),
            "no_coredump": True,
        }
        size = max(4 * limits.file_mb, 1) * 1024 * 1024 if self.in_memory else 0
        numbers = [str(number) for number in (os.getpid(), max(limits.processes, 1), size)]
        return [
            sys.executable,
            "-P",
            "-B",
            str(_KEEPER),
            *numbers,
            json.dumps(policy),
            *python.command(CHILD, folder),
        ]
