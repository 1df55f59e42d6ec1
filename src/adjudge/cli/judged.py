"""The judgments of a command, in a temporary file until they are shown: memory does not grow with the rows."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile, gettempdir
from typing import TypeVar
from weakref import finalize

from adjudge.domain.results import Result
from adjudge.errors import RunError
from adjudge.reports.again import Again
from adjudge.runs.execute import Judged

R = TypeVar("R", bound=Result)
_IN_MEMORY = 1_000_000
"""Bytes up to which there is no file."""


class Judgments:
    """What was judged, in the order of the rows, however it came in. Of each only its place is held in memory."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it goes with this object
        finalize(self, _close, self._file)
        self._places = array("Q")
        self._numbers = array("Q")

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, judged: Judged) -> None:
        """One more."""
        try:
            self._places.append(self._file.seek(0, 2))
            self._numbers.append(judged.number)
            pickle.dump(judged, self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise RunError(f"{gettempdir()}, where judgments wait to be shown: {error.strerror}; TMPDIR names another") from error

    def __iter__(self) -> Iterator[Judged]:
        for index in sorted(range(len(self)), key=self._numbers.__getitem__):
            self._file.seek(self._places[index])
            yield pickle.load(self._file)  # noqa: S301 - nobody else writes to it

    def results(self, kind: type[R]) -> Again[R]:
        """The results of this kind."""
        return Again(lambda: (one.result for one in self if isinstance(one.result, kind)))


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    """Nobody needs what there was no room for."""
    with suppress(OSError):
        file.close()
