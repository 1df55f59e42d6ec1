"""``adjudge`` as a person and a script see it: a process each time, with its exit code and what it
wrote.

Modules are loaded once for all of them (``fork_server``), also for those that are ended by a signal
or shown in a terminal (``start``). Where the start itself is what a test is about, it starts
``python -m adjudge``.
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
    terminal: str | None = None,
    before: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run ``adjudge WORDS``; without ``environment`` it has the tests' own. ``terminal``: where it
    reads, by its path, instead of ``stdin``. ``before`` is Python that runs first.
    """
    argv = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as made:
        files = {name: Path(made, name) for name in ("in", "out", "err")}
        files["in"].write_text(stdin, encoding="utf-8")
        code = _SERVER.run(
            {
                **{name: str(path) for name, path in files.items()},
                "in": terminal or str(files["in"]),
                "words": argv,
                "folder": str(cwd or Path.cwd()),
                "environment": dict(os.environ if environment is None else environment),
                "before": before,
            }
        )
        out, err = (files[name].read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess(["adjudge", *argv], code, out, err)


class Started:
    """A command that runs, with what ``subprocess.Popen`` has: signals are sent to it alone."""

    def __init__(self, order: Mapping[str, object], terminal: str | None) -> None:
        self._made = tempfile.TemporaryDirectory()
        self.returncode: int | None = None
        names = ("state",) if terminal else ("state", "out", "err")
        pipes = {name: str(Path(self._made.name, name)) for name in names}
        for path in pipes.values():
            os.mkfifo(path)
        files = {"in": terminal or os.devnull, "out": terminal or "", "err": terminal or ""}
        assert _SERVER.run({**order, **files, **pipes}) == 0
        # in the order in which they are opened there; what was not read yet stays to be waited for
        self._state = Path(pipes["state"]).open("rb", buffering=0)  # noqa: SIM115
        self.stdout = Path(pipes.get("out", os.devnull)).open(encoding="utf-8")  # noqa: SIM115
        self.stderr = Path(pipes.get("err", os.devnull)).open(encoding="utf-8")  # noqa: SIM115
        self.pid = int(self._state.readline())

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.close()

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None and select.select([self._state], [], [], 0)[0]:
            self.returncode = int(self._state.readline())
        return self.returncode

    def wait(self, timeout: float = LONGEST) -> int:
        if self.returncode is None:
            if not select.select([self._state], [], [], timeout)[0]:
                raise TimeoutError(f"the command did not end within {timeout} s")
            self.returncode = int(self._state.readline())
        return self.returncode

    def communicate(self, timeout: float = LONGEST) -> tuple[str, str]:
        """What it writes until it ends, and the rest of what it wrote."""
        out: list[str] = []
        reader = threading.Thread(target=lambda: out.append(self.stdout.read()))
        reader.start()
        guard = threading.Timer(timeout, self.kill)
        guard.start()
        err = self.stderr.read()
        reader.join()
        guard.cancel()
        self.wait(timeout)
        self.close()
        return out[0], err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes; what still writes is not heard."""
        for file in (self.stdout, self.stderr, self._state):
            file.close()
        self._made.cleanup()


def start(
    *words: str | Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    terminal: str | None = None,
    before: str = "",
) -> Started:
    """Start ``adjudge WORDS`` without waiting for its end. It has no input, and pipes for its
    output, or all three are a terminal by its path.
    """
    order = {
        "before": before,
        "words": [str(word) for word in words],
        "folder": str(cwd or Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
    }
    return Started(order, terminal)
