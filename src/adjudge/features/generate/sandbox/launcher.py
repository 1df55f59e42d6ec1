"""The start of the process inside a sandbox."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, folder and rights with which a sandbox starts the process inside."""

    command: Sequence[str]
    folder: Path
    """Where: the scratch folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables of the command; what it starts gets its own."""
    end_with: signal.Signals = signal.SIGKILL
    """What ends the command and with it all that it started."""
    stop: Sequence[Sequence[str]] = ()
    """Commands that one after the other end and remove what killing the first one leaves, e.g. a
    container.
    """
    process_file: Path | None = None
    """Where the number of the process behind the wall is written, where it is none of the
    command's.
    """
    inside: str = ""
    """The scratch folder as the code sees it, where its files have to be counted from outside."""
    filter: bytes = b""
    """The system call filter; without one the process keeps its rights."""
    user: int | None = None
    """Whom the process becomes, where it is started as root and may."""
    alone: bool = False
    """Whether its user has no other process, so that the kernel can count its threads."""
