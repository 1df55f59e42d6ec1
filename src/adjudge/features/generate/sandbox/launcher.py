"""The start of the process inside a sandbox."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, folder and privileges with which a sandbox starts its process."""

    command: Sequence[str]
    folder: Path
    """The scratch folder, in which the command runs."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables of the command; what it starts gets its own."""
    end_with: signal.Signals = signal.SIGKILL
    """The signal that ends the command and everything that it started."""
    stop: Sequence[Sequence[str]] = ()
    """Commands that one after the other end and remove what killing the first one leaves, e.g. a
    container.
    """
    process_file: Path | None = None
    """The file with the number of the process inside, if it is not a child of the command."""
    inside: str = ""
    """The scratch folder as the code sees it, if its files have to be counted from outside."""
    filter: bytes = b""
    """The system call filter; without one the process keeps its rights."""
    user: int | None = None
    """The user that the process becomes, if it is started as root and may."""
    alone: bool = False
    """True if its user has no other process, so that the kernel can count its threads."""
