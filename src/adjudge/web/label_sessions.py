"""Label sessions of the page: one per run, criteria, annotator and queue."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from functools import partial
from typing import Any

from adjudge.core.ledger.file import FILE
from adjudge.errors import AdjudgeError
from adjudge.trust.labels.people import People
from adjudge.trust.labels.queue import Queue, is_drawn
from adjudge.trust.labels.scales import JudgedScale
from adjudge.trust.labels.session import (
    Annotator,
    DrawnRows,
    Labelling,
    ShownRow,
    draw_rows,
    labelling,
)
from adjudge.trust.labels.store import LabelStore
from adjudge.web.library import RunPlace, file_version
from adjudge.web.roles import PERSON

_MOST = 50
"""Sessions that are kept open. An older one begins again when it is needed, which loses nothing."""


class LabelSessions:
    """Open sessions, kept in memory only for speed: every answer is on disk."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str | None, Annotator], Labelling] = {}
        self._seen: dict[str, set[str]] = {}
        """The rows whose verdicts a person has seen, by their content."""
        self._drawn: dict[tuple[str, str, Queue, int, str], tuple[Hashable, DrawnRows]] = {}
        """The rows of a queue, and of which ledger: the same for all annotators."""
        self._last: dict[tuple[str, str | None, Annotator], ShownRow] = {}
        self._locks: dict[str, threading.RLock] = {}

    def lock(self, place: RunPlace) -> threading.RLock:
        """Return a run's lock, needed because two tabs may send answers at once."""
        # one lock per run: drawing the rows of a large run takes a while
        return self._locks.setdefault(place.id, threading.RLock())

    def work(self, place: RunPlace, criteria: str | None, who: Annotator) -> Labelling:
        """Return the session, opening it if necessary."""
        with self.lock(place):
            key = (place.id, criteria, who)
            work = self._open.get(key)
            if work is None or _is_over(work, place, who):
                draw = partial(self._draw, place)
                work = self._open[key] = labelling(place.folder, who, criteria, draw)
                _leave_latest(self._open)
            return work

    def _draw(
        self, place: RunPlace, store: LabelStore, scale: JudgedScale, who: Annotator
    ) -> DrawnRows:
        # conflicts change with every label, and listed rows are those of one address
        if who.queue in ("conflicts", "listed"):
            return draw_rows(store, scale, who)
        key = (place.id, scale.name, who.queue, who.count, who.by)
        version = file_version(place.folder / FILE)
        drawn_version, rows = self._drawn.get(key, (None, None))
        if rows is None or drawn_version != version:
            rows = draw_rows(store, scale, who)
            self._drawn[key] = version, rows
            _leave_latest(self._drawn)
        return rows

    def is_open(self, place: RunPlace, criteria: str | None, who: Annotator) -> bool:
        """Return True if the session is open, so its rows are already drawn."""
        return (place.id, criteria, who) in self._open

    def set_last(
        self, place: RunPlace, criteria: str | None, who: Annotator, row: ShownRow | None
    ) -> None:
        """Set the last labelled row, whose verdict may be revealed. None after its label was
        withdrawn.
        """
        self._last.pop((place.id, criteria, who), None)
        if row is not None:
            self._last[place.id, criteria, who] = row

    def last(self, place: RunPlace, criteria: str | None, who: Annotator) -> ShownRow | None:
        """Return the last labelled row, whose verdict may be revealed; None if there is none."""
        return self._last.get((place.id, criteria, who))

    def mark_seen(self, *identities: str) -> None:
        """Note that verdicts on rows with these identities were shown to the sender of the request.

        Identities are those of the texts, so the verdict on one copy of a row, in whichever run, or
        by one of several criteria, marks them all: pages of a row show these, too.
        """
        self._seen.setdefault(PERSON.get().user, set()).update(identities)

    def seen_rows(self) -> set[str]:
        """Return the identities of rows whose verdicts the current user has seen since the server
        started.
        """
        return self._seen.get(PERSON.get().user, set())


def _leave_latest(sessions: dict[Any, Any]) -> None:
    """Remove all but the latest entries."""
    for key in [*sessions][:-_MOST]:
        # sessions of other runs have other locks, so another thread may have removed the key
        sessions.pop(key, None)


def _is_over(work: Labelling, place: RunPlace, who: Annotator) -> bool:
    """Return True if a session must be reopened: after reassignment, for new conflicts, or on
    errors.
    """
    try:
        if is_drawn(who.queue):
            assigned = People(place.folder).assignment(work.judged.name)
            if assigned != (work.assigned and work.assigned.assignment):
                return True
        return work.next() is None and who.queue == "conflicts"
    except AdjudgeError:
        return True
