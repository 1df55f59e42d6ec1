"""Modes of ``adjudge run``, besides asking from this process at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from adjudge.plugins import Parts
from adjudge.runs.cli.execute import RunDisplay
from adjudge.runs.cli.options import options
from adjudge.runs.execute import Rounds
from adjudge.runs.plan import Plan


class RunRequest(NamedTuple):
    """The other options of a run, for modes that do not go with all of them."""

    modes: tuple[RunMode, ...]
    is_fork: bool
    """The answers of another run are used."""
    is_watching: bool


class RunMode:
    """A mode of ``adjudge run``: a frozen dataclass whose fields, made with ``key``, are options.

    Each method is called only if one of the options was typed.
    """

    name: ClassVar[str]
    is_spread: ClassVar[bool] = False
    """True if other processes judge the rows, and write to a place that the user names."""

    def check(self, run: RunRequest) -> None:
        """Raise a UsageError if the options do not go together, before anything is read."""

    def rounds(self) -> Rounds | None:
        """Return how to ask in rounds; None if this mode does not."""
        return None

    def begin(self, plan: Plan, display: RunDisplay, *, cache: bool) -> None:
        """Answer what other processes can; the run then finds these answers in its ledger."""

    @staticmethod
    def adopt(folder: Path) -> None:
        """Take over answers that workers left in a run folder that now continues without them."""


MODES: Parts[type[RunMode]] = Parts("modes")


def run_modes(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of all modes. The command gets ``modes``, those that were typed."""

    @wraps(command)
    def call(**typed: Any) -> int:
        typed_modes = [typed.pop(name) for name in names]
        return command(modes=tuple(filter(None, typed_modes)), **typed)

    modes = list(MODES.load_all())
    names = [mode.name for mode in modes]
    decorated: Callable[..., int] = call
    for mode in reversed(modes):
        decorated = options(mode, mode.name, if_typed=True)(decorated)
    return decorated
