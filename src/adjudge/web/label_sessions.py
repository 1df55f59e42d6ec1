"""Who is labelling what in the page: one session for each run, criteria, annotator and queue."""

from __future__ import annotations

import threading

from adjudge.runs.labelling import Annotator, Labelling, labelling
from adjudge.web.library import RunPlace

_MOST = 50
"""Sessions that are kept; an older one is begun anew when it is needed, which loses nothing."""


class LabelSessions:
    """Sessions are kept in memory for their speed alone: every answer is on the disk."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str | None, Annotator], Labelling] = {}
        self._seen: dict[str, set[int]] = {}
        self.lock = threading.RLock()
        """Two tabs may answer at once."""

    def work(self, place: RunPlace, criteria: str | None, who: Annotator) -> Labelling:
        """The session, begun where there is none."""
        with self.lock:
            key = (place.id, criteria, who)
            if key not in self._open:
                if len(self._open) >= _MOST:
                    self._open.pop(next(iter(self._open)))
                self._open[key] = labelling(place.folder, who, criteria)
            return self._open[key]

    def saw(self, place: RunPlace, row: int) -> None:
        """The judge's verdict on a row was shown."""
        self._seen.setdefault(place.id, set()).add(row)

    def has_seen(self, place: RunPlace, row: int) -> bool:
        """Whether it was, since the server started."""
        return row in self._seen.get(place.id, ())
