"""Starts one command under sandlock and stays with it, in a separate process, since sandlock blocks
and forks.

Called as ``keeper.py HOST THREADS SIZE POLICY COMMAND…``. If the kernel allows it, it first mounts
a file system of SIZE bytes in memory on the working folder, which is gone with the last process. It
ends the command when it is told to, when the host is gone, and when the command has too many
threads: the kernel counts threads per user, and here the user is the host's own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_MOST_FILES = 10_000
# Seconds between two looks at the threads.
_LOOK = 0.1


def main(host: int, threads: int, size: int, policy: dict[str, object], command: list[str]) -> int:
    """Run the command under sandlock; return its exit status, or 128 plus the signal that ended
    it.
    """
    folder = str(policy["cwd"])
    if size and _goes_well(folder, size):  # before anything starts a thread
        _own_file_system(folder, size)
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


def _goes_well(folder: str, size: int) -> bool:
    """Test in a child process whether a file system can be mounted."""
    # A namespace that was entered halfway cannot be left. Without a mount, the host watches the
    # folder on disk.
    child = os.fork()
    if child == 0:
        went = False
        try:
            went = _own_file_system(folder, size)
        finally:
            os._exit(0 if went else 1)
    return os.waitpid(child, 0)[1] == 0


def _own_file_system(folder: str, size: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    if not _own_mounts(libc) or libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    options = f"size={size},nr_inodes={_MOST_FILES},mode=0700".encode()
    return bool(
        libc.mount(
            b"tmpfs", os.fsencode(folder), b"tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, options
        )
        == 0
    )


def _own_mounts(libc: ctypes.CDLL) -> bool:
    """Get the right to mount, as root or in a new namespace as the same user; return False if
    denied.
    """
    if libc.unshare(_CLONE_NEWNS) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS) != 0:
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        # as short as it can be
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)
    return True


def _watch(child: int, threads: int) -> None:
    """Kill the command on SIGTERM or if it has too many threads."""
    try:
        # The number of a process that has ended may soon be another's, a descriptor is not.
        handle = os.pidfd_open(child)
        while signal.sigtimedwait({signal.SIGTERM}, _LOOK) is None:
            if _threads_of(child) > threads:
                os.write(2, f"it had more than {threads} threads".encode())
                break
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has just ended


def _threads_of(child: int) -> int:
    try:
        return len(list(os.scandir(f"/proc/{child}/task")))
    except OSError:  # it is gone
        return 0


if __name__ == "__main__":
    status = main(
        int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]), sys.argv[5:]
    )
    os._exit(status & 0xFF)
