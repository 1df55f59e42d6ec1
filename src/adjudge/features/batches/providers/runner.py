"""Run a batch command detached from its parent, and store its exit code even if no process waits
for it.

Executed as a file, by its path; imports nothing of adjudge.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(pid: Path, ended: Path, log: Path, words: list[str]) -> None:
    """Run the command ``words`` in a new session, in the background.

    Write the session's id to ``pid``, the output to ``log``, and the exit code to ``ended``.
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
    # replaced at once: a reader never sees half a number
    part = Path(f"{ended}.part")
    part.write_text(str(code))
    part.replace(ended)


if __name__ == "__main__":
    _, pid, ended, log, *words = sys.argv
    main(Path(pid), Path(ended), Path(log), words)
