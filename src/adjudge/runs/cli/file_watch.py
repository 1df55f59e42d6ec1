"""``adjudge run --watch``: carried out again whenever the eval file, its criteria or its rows
change.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.data.dataset import STDIN
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message
from adjudge.runs.cli.output import echo
from adjudge.runs.eval_file import (
    EvalFile,
)
from adjudge.runs.project import find_project
from adjudge.runs.results.exit_code import ExitCode

_LOOKS_A_SECOND = 5
Stamp = tuple[int, int] | None


@dataclass
class OnChange:
    """An eval file, carried out again and again."""

    path: Path
    load: Callable[[], EvalFile]
    execute: Callable[[], int]
    _code: int = field(default=ExitCode.OK, init=False)

    def run(self) -> int:
        """Until Ctrl-C: the exit code of the last time."""
        watched = self._watched()
        while True:
            before = _stamps(watched)
            self._attempt()
            try:
                echo(Message("watching for changes; Ctrl-C ends it"), err=True)
                _wait_for_change(watched, before)
            except KeyboardInterrupt:
                return self._code
            watched = self._watched() or watched

    def _attempt(self) -> None:
        try:
            self._code = self.execute()
        except AdjudgeError as error:  # a file that is being edited is wrong now and then
            self._code = ExitCode.COULD_NOT_RUN
            echo(Message("adjudge: {error}", error=error), err=True)

    def _watched(self) -> list[Path]:
        """What decides what is judged; at least the eval file, while that cannot be read."""
        try:
            file = self.load()
        except AdjudgeError:
            return [self.path]
        if file.data.path == STDIN:
            raise SetupError("standard input can be read only once: --watch needs rows in a file")
        if isinstance(file.source, ObjectFile):
            raise SetupError(
                "{source} is not looked at again and again: --watch needs rows on this machine",
                source=file.source,
            )
        return list(dict.fromkeys(_files_of(file)))


def _files_of(file: EvalFile) -> Iterator[Path]:
    yield file.path
    yield file.local_source
    if (project := find_project().path) is not None:
        yield project
    for entry in file.judges:
        yield from (file.beside(path) for _, path in entry.named_files())


def _stamps(paths: list[Path]) -> list[Stamp]:
    return [_stamp(path) for path in paths]


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None  # editors take a file away for a moment
    return found.st_mtime_ns, found.st_size


def _wait_for_change(paths: list[Path], before: list[Stamp]) -> None:
    """Until something has changed and nothing changes any more: who writes a
    file may not be done.
    """
    now, gone = _stamps(paths), Counter[Path]()
    while True:
        time.sleep(1 / _LOOKS_A_SECOND)
        last, now = now, _stamps(paths)
        _say_gone(
            [
                path
                for path, was, found in zip(paths, before, now, strict=True)
                if was and not found
            ],
            gone,
        )
        if now == last and now != before and None not in now:
            return


def _say_gone(missing: list[Path], looks: Counter[Path]) -> None:
    """Once of each file, when no editor would have kept it away for so long."""
    looks.update(missing)
    for path in missing:
        if looks[path] == _LOOKS_A_SECOND:
            echo(Message("{file} is gone: waiting until it is back", file=path), err=True)
