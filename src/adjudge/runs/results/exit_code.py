"""What the command line answers to the shell."""

from __future__ import annotations

from enum import IntEnum

INTERRUPTED = 130
"""Stopped at once, as shells count it."""


class ExitCode(IntEnum):
    """What the command line answers to the shell."""

    OK = 0
    COULD_NOT_RUN = 1
    USAGE = 2
    UNSCORED = 3
    """It ran, but some judgments have no score."""
    GATE_FAILED = 4
    GATE_INCONCLUSIVE = 5
