"""No sandbox: a separate process with limits and an empty environment. Only for code that a person
has read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adjudge.features.generate.sandbox import python
from adjudge.features.generate.sandbox.base import Limits
from adjudge.features.generate.sandbox.host import CHILD, Wall
from adjudge.features.generate.sandbox.launcher import Launch


@dataclass(frozen=True, slots=True)
class NoSandbox(Wall):
    """Runs code with all the user's rights. It must be selected explicitly: ``sandbox="none"``."""

    name: str = "none"

    # the child keeps to them by itself
    def launch(self, folder: Path, limits: Limits) -> Launch:  # noqa: ARG002
        """Return the launch of the process in this scratch folder."""
        return Launch(python.command(CHILD, folder), folder)
