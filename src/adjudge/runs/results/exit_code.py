"""The exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum

INTERRUPTED = 130
"""Stopped at once, as shells count it."""


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    COULD_NOT_RUN = 1
    USAGE = 2
    UNSCORED = 3
    """The command ran, but some judgments have no score."""
    GATE_FAILED = 4
    GATE_INCONCLUSIVE = 5
