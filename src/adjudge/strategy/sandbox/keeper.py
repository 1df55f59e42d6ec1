"""Starts one command under sandlock and stays with it, in a process of its own: sandlock waits by blocking, and forks.

Called as ``keeper.py HOST THREADS POLICY COMMAND…``. Ends the command when it is told to end, when the host is gone, and when it
has more threads than it may: the kernel counts them by user, and here the user is the host's own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LOOK = 0.1
"""Seconds between two looks at the threads."""


def main(host: int, threads: int, policy: dict[str, Any], command: list[str]) -> int:
    """The command's exit status; 128 and the signal where one ended it."""
    from sandlock import Sandbox

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # before sandlock starts its threads
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != host:
        return 1
    process = Sandbox(**policy).popen(command)
    threading.Thread(target=_watch, args=(process.pid, threads), daemon=True).start()
    result = process.wait()
    if result.signal > 0:
        return 128 + int(result.signal)
    return int(result.exit_code) if result.exit_code >= 0 else 128 + signal.SIGKILL


def _watch(child: int, threads: int) -> None:
    while signal.sigtimedwait({signal.SIGTERM}, _LOOK) is None:
        if _threads_of(child) > threads:
            os.write(2, f"it had more than {threads} threads".encode())
            break
    os.kill(child, signal.SIGKILL)


def _threads_of(child: int) -> int:
    try:
        return len(list(os.scandir(f"/proc/{child}/task")))
    except OSError:  # it is gone
        return 0


if __name__ == "__main__":
    status = main(int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:])
    os._exit(status & 0xFF)
