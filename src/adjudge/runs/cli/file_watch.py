"""``adjudge run --watch``: run again whenever the eval file, its criteria or its rows change."""

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
    """Runs an eval file again after every change."""

    path: Path
    load: Callable[[], EvalFile]
    execute: Callable[[], int]
    _code: int = field(default=ExitCode.OK, init=False)

    def run(self) -> int:
        """Repeat until Ctrl-C; return the exit code of the last run."""
        watched = self._watched_files()
        while True:
            stamps_before_run = _stamps(watched)
            self._attempt()
            try:
                echo(Message("watching for changes; Ctrl-C ends it"), err=True)
                _wait_for_change(watched, stamps_before_run)
            except KeyboardInterrupt:
                return self._code
            watched = self._watched_files() or watched

    def _attempt(self) -> None:
        try:
            self._code = self.execute()
        except AdjudgeError as error:  # a file that is being edited is wrong now and then
            self._code = ExitCode.COULD_NOT_RUN
            echo(Message("adjudge: {error}", error=error), err=True)

    def _watched_files(self) -> list[Path]:
        """Return the files that affect the result, or only the eval file if it cannot be loaded.

        Raises a SetupError for rows from standard input or an object store.
        """
        try:
            file = self.load()
        except AdjudgeError:
            return [self.path]
        if file.data.path == STDIN:
            raise SetupError("standard input can be read only once: --watch needs rows in a file")
        if isinstance(file.source, ObjectFile):
            raise SetupError(
                "{source} cannot be watched: --watch needs rows on this machine",
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
    yield from map(Path, file.code.hashes)


def _stamps(paths: list[Path]) -> list[Stamp]:
    return [_stamp(path) for path in paths]


def _stamp(path: Path) -> Stamp:
    try:
        file_status = path.stat()
    except OSError:
        return None  # editors take a file away for a moment
    return file_status.st_mtime_ns, file_status.st_size


def _wait_for_change(paths: list[Path], before: list[Stamp]) -> None:
    """Wait until something has changed and files are stable again: a file may be written in several
    steps.
    """
    stamps, gone = _stamps(paths), Counter[Path]()
    while True:
        time.sleep(1 / _LOOKS_A_SECOND)
        previous_stamps, stamps = stamps, _stamps(paths)
        _say_gone(
            [
                path
                for path, was_there, is_there in zip(paths, before, stamps, strict=True)
                if was_there and not is_there
            ],
            gone,
        )
        # None: an editor is just replacing the file
        if stamps == previous_stamps and stamps != before and None not in stamps:
            return


def _say_gone(missing: list[Path], looks: Counter[Path]) -> None:
    """Print the files that have been missing for longer than an editor's save takes, each once."""
    looks.update(missing)
    for path in missing:
        if looks[path] == _LOOKS_A_SECOND:
            echo(Message("{file} no longer exists: waiting until it is back", file=path), err=True)
