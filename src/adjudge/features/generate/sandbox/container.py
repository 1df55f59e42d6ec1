"""A container with docker or podman, from an image that is already there."""

from __future__ import annotations

import os
import secrets
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox import python
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.host import CHILD, Wall
from adjudge.features.generate.sandbox.launcher import Launch
from adjudge.features.generate.sandbox.meter import MOST_FILES
from adjudge.features.generate.sandbox.seccomp import filter_program

IMAGE = "python:3.12-slim"
_FIRST_USER, _USERS = 100_000, 1_000_000
_INSIDE, _CHILD_INSIDE = "/scratch", "/child.py"
_PROCESS_FILE = "process"
_WALLS = [
    *(
        "--rm",
        "--interactive",
        "--init=false",
        "--pull=never",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
    ),
    *(
        "--security-opt=no-new-privileges",
        "--ipc=none",
        "--log-driver=none",
        "--ulimit=nofile=64:64",
        f"--workdir={_INSIDE}",
    ),
]


@dataclass(frozen=True, slots=True)
class Container(Wall):
    """Runs code in a new container, named so that it can be stopped."""

    name: str
    """The program to start: ``docker`` or ``podman``."""
    image: str = IMAGE
    """The image; it needs a Python of 3.11 or newer and is never fetched."""

    def __post_init__(self) -> None:
        if shutil.which(self.name) is None:
            raise SetupError("{name} is not installed", name=self.name)

    def launch(self, folder: Path, limits: Limits) -> Launch:
        """Return the launch of the sandboxed process in this scratch folder."""
        container = f"adjudge-{uuid.uuid4().hex}"
        program = str(shutil.which(self.name))
        return Launch(
            self._command([program, "run", f"--name={container}"], folder, limits),
            folder,
            os.environ,  # for the client alone
            stop=[[program, "kill", container], [program, "rm", "--force", container]],
            inside="" if self.name == "docker" else _INSIDE,
            process_file=None if self.name == "docker" else folder / _PROCESS_FILE,
            filter=filter_program(),
            alone=True,
        )

    def _command(self, start: list[str], folder: Path, limits: Limits) -> list[str]:
        """Build the container command for a random user."""
        # A separate user for each container, since the kernel counts threads per user.
        user = _FIRST_USER + secrets.randbelow(_USERS)
        user_options = [
            f"--user={user}:{user}",
            f"--ulimit=nproc={limits.processes + 1}:{limits.processes + 1}",
        ]
        scratch = (
            f"--tmpfs={_INSIDE}:rw,nosuid,nodev,noexec,size={max(4 * limits.file_mb, 1)}m,mode=1777"
        )
        if self.name == "docker":
            user_options.append(f"{scratch},nr_inodes={MOST_FILES}")
        # podman takes no such option, so the files are counted from outside; and it would add
        # folders that nobody measures
        else:
            user_options += [
                scratch,
                "--read-only-tmpfs=false",
                f"--pidfile={folder / _PROCESS_FILE}",
            ]
        child = f"--volume={CHILD}:{_CHILD_INSIDE}:ro"
        return [
            *start,
            *_WALLS,
            *user_options,
            child,
            self.image,
            *python.command(_CHILD_INSIDE, folder, "python3"),
        ]
