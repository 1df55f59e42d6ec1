"""Who is labelling what in the page: one session for each run, criteria, annotator and queue."""

from __future__ import annotations

import threading

from adjudge.errors import AdjudgeError
from adjudge.labels.held_rows import HeldRows
from adjudge.labels.session import Annotator, Labelling, ShownRow, labelling
from adjudge.web.library import RunPlace

_MOST = 50
"""Sessions that are kept; an older one is begun anew when it is needed, which loses nothing."""


class LabelSessions:
    """Sessions are kept in memory for their speed alone: every answer is on the disk."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str | None, Annotator], Labelling] = {}
        self._seen: dict[str, set[int]] = {}
        self._held: dict[tuple[str, str | None], HeldRows] = {}
        self._last: dict[tuple[str, str | None, Annotator], ShownRow] = {}
        self.lock = threading.RLock()
        """Two tabs may answer at once."""

    def work(self, place: RunPlace, criteria: str | None, who: Annotator) -> Labelling:
        """The session, begun where there is none."""
        with self.lock:
            key = (place.id, criteria, who)
            if key not in self._open or _is_over(self._open[key], who):
                if len(self._open) >= _MOST:
                    self._open.pop(next(iter(self._open)))
                held = self._held.setdefault((place.id, criteria), HeldRows())
                self._open[key] = labelling(place.folder, who, criteria, held)
            return self._open[key]

    def is_open(self, place: RunPlace, criteria: str | None, who: Annotator) -> bool:
        """Whether its rows are drawn already."""
        return (place.id, criteria, who) in self._open

    def labelled(
        self, place: RunPlace, criteria: str | None, who: Annotator, row: ShownRow | None
    ) -> None:
        """The row whose verdict may be revealed now: the last one labelled, until its label is
        taken back.
        """
        self._last.pop((place.id, criteria, who), None)
        if row is not None:
            self._last[place.id, criteria, who] = row

    def last(self, place: RunPlace, criteria: str | None, who: Annotator) -> ShownRow | None:
        """What ``labelled`` was told last."""
        return self._last.get((place.id, criteria, who))

    def saw(self, place: RunPlace, row: int) -> None:
        """The judge's verdict on a row was shown."""
        self._seen.setdefault(place.id, set()).add(row)

    def seen(self, place: RunPlace) -> set[int]:
        """The rows whose verdicts were shown, since the server started."""
        return self._seen.get(place.id, set())

    def has_seen(self, place: RunPlace, row: int) -> bool:
        """Whether it was, since the server started."""
        return row in self._seen.get(place.id, ())


def _is_over(work: Labelling, who: Annotator) -> bool:
    """Whether to begin anew: new conflicts may have come, or the run folder was replaced by
    another.
    """
    try:
        return work.next() is None and who.queue == "conflicts"
    except AdjudgeError:
        return True
