"""``adjudge`` as a person and a script see it: a process each time, with its exit code and what it
wrote.

Modules are loaded once for all of them (``fork_server``). Where the start itself, a signal or a
terminal is what a test is about, it starts ``python -m adjudge`` itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

LONGEST = 300
"""Seconds a command may take on a machine that is busy with other things."""


class _ForkServer:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, order: Mapping[str, object]) -> int:
        """The exit code of what was ordered."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            process.stdin.write(json.dumps(order).encode() + b"\n")
            pid = self._number(process)
            try:
                return self._number(process)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._number(process)
                raise

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.fork_server"],
                cwd=Path(__file__).parent.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
            atexit.register(self.stop)
        return self._process

    @staticmethod
    def _number(process: subprocess.Popen[bytes]) -> int:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], LONGEST)
        if not ready:
            raise TimeoutError(f"the command did not end within {LONGEST} s")
        line = process.stdout.readline()
        assert line, "the process that forks the commands has ended"
        return int(line)


_SERVER = _ForkServer()


def adjudge(
    *words: str | Path,
    cwd: Path | None = None,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``adjudge WORDS``; without ``environment`` it has the tests' own."""
    argv = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as made:
        files = {name: Path(made, name) for name in ("in", "out", "err")}
        files["in"].write_text(stdin, encoding="utf-8")
        code = _SERVER.run(
            {
                **{name: str(path) for name, path in files.items()},
                "words": argv,
                "folder": str(cwd or Path.cwd()),
                "environment": dict(os.environ if environment is None else environment),
            }
        )
        out, err = (files[name].read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess(["adjudge", *argv], code, out, err)
