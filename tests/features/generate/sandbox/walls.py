"""Which sandboxes work here, and what a run may leave on the host: nothing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adjudge.errors import SetupError
from adjudge.features.generate.sandbox.finder import WALLS, find_sandbox


class Working:
    """Asked once, when first needed."""

    def __init__(self) -> None:
        self._reasons: dict[str, str | None] = {}

    def why(self, name: str) -> str | None:
        """Why it does not work; None when it does."""
        if name not in self._reasons:
            self._reasons[name] = _reason(name)
        return self._reasons[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.why(name) is None

    def first(self) -> str | None:
        return next((name for name in WALLS if name in self), None)


def installed() -> list[object]:
    """The sandboxes whose parts are there, as parameters of a fixture; whether they hold is seen
    when they are used.
    """
    there = [pytest.param(name, id=name) for name in WALLS if _is_there(name)]
    return [*there] or [
        pytest.param("sandlock", marks=pytest.mark.skip("no sandbox is installed here"))
    ]


def _is_there(name: str) -> bool:
    try:
        return WALLS[name]() is not None
    except SetupError:
        return False


def _reason(name: str) -> str | None:
    try:
        find_sandbox(name)
    except SetupError as error:
        return str(error)
    return None


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Have all scratch folders made here, so that the traces of other tests are not ours."""
    before, tempfile.tempdir = tempfile.tempdir, str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = before


def processes(temporary: Path) -> list[str]:
    """Those that were started for a scratch folder in there: its path stands in their command."""
    commands = {
        path.name: _command(path) for path in Path("/proc").iterdir() if path.name.isdigit()
    }
    return [
        f"{number}: {command}" for number, command in commands.items() if f"{temporary}/" in command
    ]


def traces(temporary: Path) -> list[str]:
    """What a sandbox left on the host.

    Podman's own process ends by itself, a moment after its container is gone.
    """
    for _ in range(1200):
        if not any("conmon" in command for command in processes(temporary)):
            break
        time.sleep(0.05)
    return [*processes(temporary), *map(str, temporary.iterdir())]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


WORKING = Working()
