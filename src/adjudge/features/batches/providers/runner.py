"""Runs a batch command: leaves whoever started it, waits for the command and keeps its exit code,
whether or not anybody waits for that.

Executed as a file, by its path; imports nothing of ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(pid: Path, ended: Path, log: Path, words: list[str]) -> None:
    """Run ``words`` in a session of its own: its number goes into ``pid``, what it prints into
    ``log``, and its exit code into ``ended``.
    """
    child = os.fork()
    if child:
        pid.write_text(str(child))
        os._exit(0)
    os.setsid()
    with log.open("wb") as out:
        code = subprocess.run(  # noqa: S603 - the command that the user gave
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
        ).returncode
    part = Path(f"{ended}.part")
    part.write_text(str(code))
    part.replace(ended)


if __name__ == "__main__":
    _, pid, ended, log, *words = sys.argv
    main(Path(pid), Path(ended), Path(log), words)
