"""The runs that the page shows: those below the folder it was started for, and no others.

A run is named by an id from a scan. No path is ever built from an address.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from adjudge.core.domain.frozen_mapping import NOTHING, some_of
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.judge_configuration import JudgeConfiguration, judges_of
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.numbers import number_of
from adjudge.core.ledger.figures import Mean, figures_of
from adjudge.core.ledger.file import (
    FILE,
    LABELS,
    NOTES,
    holds_labels,
    holds_run,
    read_judges,
    read_meta,
)
from adjudge.core.ledger.record_browser import judges_in
from adjudge.errors import AdjudgeError, RunError
from adjudge.runs.folder import NoSuchRun, is_inside, last_written, reading, runs_inside, spent_in
from adjudge.runs.judge_changes import FILE as CHANGES
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.results.report import unread_rows
from adjudge.trust.calibration import CalibrationSettings, calibrate_run

_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_PATIENCE = 30.0
"""Seconds for which figures of a run that is being written are good enough at most."""
_SHARE = 20
"""A figure is reused for this many times as long as it took to compute, so computing takes at most
one part in so many of the time.
"""
_MOST_KEPT = 500
_OF_LATE = 60.0
"""Seconds since something was written, while a run may still be under way."""
_UNFINISHED = "not finished"
_CORRECTED = "corrected"
_SETTLED = 2_000_000_000
"""Nanoseconds after which readers see what is on the disk."""
LARGE = 100_000_000
"""Bytes of a ledger whose judgments are counted behind the page, so that it
does not wait for them.
"""
SLOW = 3_000_000
"""Bytes of a ledger over which trust and comparisons are counted behind a page that is there."""
T = TypeVar("T")


@dataclass(frozen=True)
class RunPlace:
    """A run folder with its id and name in the page."""

    id: str
    name: str
    folder: Path

    @property
    def link(self) -> JsonDict:
        """The id and name that a page needs to link to the run."""
        return {"id": self.id, "name": self.name}


@dataclass(frozen=True, kw_only=True)
class RunAbout:
    """Facts about a run, read from its ledger."""

    id: str
    name: str
    written: float
    models: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Judge → the names of its models."""
    started: float | None = None
    state: str = ""
    imported: bool = False
    usd: float | None = None
    unread: int = 0
    """Rows of the data that could not be read; no judgment shows them."""
    error: str | None = None
    """The reason if it cannot be read; the other facts are then unknown."""

    def to_dict(self) -> JsonDict:
        fields = ("models", "started", "state", "imported", "usd", "unread")
        return some_of(self, "id", "name", "written", *(("error",) if self.error else fields))


class JudgeCounts(NamedTuple):
    """A judge's number of judgments per status, and its means."""

    statuses: Mapping[str, int]
    means: Mapping[str, Mean]
    """Criterion, and system if several answered → the mean of its scores; of a judge with one
    criterion and one system, under no name.
    """
    parts: Mapping[str, tuple[str, str]] = NOTHING
    """Name of a mean → its criterion and system; empty if it has no name."""

    def to_dict(self) -> JsonDict:
        return {
            "statuses": dict(self.statuses),
            "means": {name: mean_data(mean) for name, mean in self.means.items()},
        }


class Library:
    """Finds runs, and caches what was computed from them until they change."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        self.root = root.resolve()
        self.read_only = read_only
        self._known: dict[str, RunPlace] = {}
        self._kept: dict[tuple[str, ...], tuple[object, float, object]] = {}
        """(run, what) → (the run's version, until when that is good enough whatever changes, what
        was found).
        """
        self._lock = threading.Lock()

    def scan(self) -> list[RunPlace]:
        """Return all runs, newest first.

        Runs reached through links that leave the folder are left out.
        """
        places = [
            self._place(name, folder) for name, folder in reversed(runs_inside(self.root).items())
        ]
        self._known = {place.id: place for place in places}
        return places

    def find(self, id: str) -> RunPlace:
        # the run may be newer than the last scan
        if id not in self._known:
            self.scan()
        place = self._known.get(id)
        # checked again: the folder may have been replaced by a link since the scan
        if place is None or not is_inside(place.folder, self.root) or not holds_run(place.folder):
            raise NoSuchRun(
                "{name} has no run {id!r}: see the list of runs",
                id=id,
                name=self.root.name,
            )
        return place

    def _place(self, name: str, folder: Path) -> RunPlace:
        # names of folders may differ only in characters that an id cannot have
        mark = hashlib.sha256(
            folder.relative_to(self.root).as_posix().encode("utf-8", "surrogateescape")
        ).hexdigest()[:8]
        plain = _PLAIN.sub("-", name).strip("-.")[:60]
        return RunPlace(
            f"{plain}-{mark}" if plain else mark, name.encode("utf-8", "replace").decode(), folder
        )

    def get_or_compute(
        self, place: RunPlace, what: str, make: Callable[[], T], *, at_once: bool | None = None
    ) -> T:
        """Return ``make()`` for a run, cached until the run changes.

        While a run is live, a slightly outdated result may be reused, unless ``at_once``.
        """
        key, version, now = (place.id, what), run_version(place.folder), time.monotonic()
        cached = self._kept.get(key)
        if cached is None or (
            cached[0] != version and (now > cached[1] or self._matters(place, at_once))
        ):
            result, took = make(), time.monotonic() - now
            # several threads answer requests; computing happens outside the lock
            with self._lock:
                # rarely happens, so dropping everything is good enough
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                # quick figures expire soon: at most one part in _SHARE of the time goes into
                # computing them
                self._kept[key] = (version, now + min(_PATIENCE, _SHARE * took), result)
            return result
        return cached[2]  # type: ignore[return-value]

    def read(self, place: RunPlace, what: str, find: Callable[[sqlite3.Connection], T]) -> T:
        """Like ``get_or_compute``, but ``find`` is passed the run's open ledger."""

        def make() -> T:
            with reading(place.folder) as connection:
                return find(connection)

        return self.get_or_compute(place, what, make)

    def would_wait(self, place: RunPlace, what: str) -> bool:
        """Return True if computing this would take too long for a blank page."""
        cached = self._kept.get((place.id, what))
        is_known = cached is not None and cached[0] == run_version(place.folder)
        return not is_known and self.is_slow(place)

    def is_slow(self, place: RunPlace) -> bool:
        """Return True if reading all judgments takes too long for a blank page."""
        return (place.folder / FILE).stat().st_size >= SLOW

    def _matters(self, place: RunPlace, at_once: bool | None) -> bool:
        return not self.is_live(place) if at_once is None else at_once

    def version(self, place: RunPlace) -> str:
        """Return a text that changes whenever the run does."""
        return str(run_version(place.folder))

    def is_live(self, place: RunPlace) -> bool:
        """Return True if a run seems to be in progress: it has not ended, and was written to
        recently.
        """
        unfinished = self.about(place).state == _UNFINISHED
        return unfinished and time.time() - last_written(place.folder) < _OF_LATE

    def about(self, place: RunPlace) -> RunAbout:
        """Return the facts about a run."""
        # never reused late: it is read fast, and the state it holds decides what may be reused
        return self.get_or_compute(place, "about", lambda: _about(place), at_once=True)

    def counts(self, place: RunPlace, *, at_once: bool | None = None) -> dict[str, JudgeCounts]:
        """Return the counts of each judge."""
        return self.get_or_compute(place, "counts", lambda: _counts(place), at_once=at_once)

    def glance(self, place: RunPlace, *, wait: bool = False) -> JsonDict:
        """Summarize a run for the list of runs.

        A large run is counted only if the list can wait, or if the counts are cached.
        """
        about = self.about(place)
        if about.error:
            return about.to_dict()
        counted = wait or not is_large(place) or (place.id, "counts") in self._kept
        counts = self.counts(place) if counted else {}
        judges: list[JsonValue] = [
            {
                "judge": judge,
                "models": list(models),
                **counts.get(judge, JudgeCounts({}, {})).to_dict(),
            }
            for judge, models in about.models.items()
        ]
        corrected = (
            self._read_corrected(place) if wait or (place.id, _CORRECTED) in self._kept else None
        )
        waits = corrected is None and holds_labels(place.folder) and not is_large(place)
        return {
            **about.to_dict(),
            "counted": counted,
            "judges": judges,
            "corrected": [*(corrected or ())],
            "complete": counted and not waits,
        }

    def _read_corrected(self, place: RunPlace) -> list[JsonDict]:
        """Return the numbers corrected by labels; empty for runs without labels or too large for a
        list.
        """
        if is_large(place) or not holds_labels(place.folder):
            return []
        return self.get_or_compute(place, _CORRECTED, lambda: _correct_numbers(place))


def run_version(folder: Path) -> Hashable:
    """Return a value that changes with every write to a run or its labels, and when a judge is
    found changed.
    """
    further_files = (folder / NOTES, folder.parent / CHANGES, folder.parent.parent / CHANGES)
    return (
        *(file_version(folder / name) for name in (FILE, LABELS)),
        *map(_stamp, further_files),
    )


def _log_version(database: Path) -> tuple[object, ...]:
    """Return the version of a database's log.

    A commit is on disk before readers see it, so while one may be in progress, no two versions are
    equal.
    """
    # the log's index would tell more, but closing a database file drops every lock that SQLite
    # holds on it in this process
    changed, size = _stamp(database.with_name(f"{database.name}-wal"))
    if not size:  # a reader left it
        return ()
    is_settled = abs(time.time_ns() - changed) > _SETTLED
    return changed, size, 0 if is_settled else time.monotonic_ns()


def file_version(path: Path) -> Hashable:
    """Return a value that changes with every write to a database."""
    return (*_stamp(path), *_log_version(path))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def is_large(place: RunPlace) -> bool:
    """Return True if counting the run's judgments takes longer than a reader should wait."""
    return (place.folder / FILE).stat().st_size >= LARGE


def _about(place: RunPlace) -> RunAbout:
    about = RunAbout(id=place.id, name=place.name, written=last_written(place.folder))
    try:
        with reading(place.folder) as connection:
            facts, judges = read_meta(connection), judges_in(connection)
    except RunError as error:
        return replace(about, error=str(error))
    configurations = judges_of(facts.get("configuration"))
    return replace(
        about,
        models={
            judge: list(configurations[judge].models) if judge in configurations else []
            for judge in judges
        },
        started=number_of(facts.get("started")),
        state=str(facts.get("ended") or _UNFINISHED),
        imported="imported" in facts,
        usd=_dollars(place, facts),
        unread=unread_rows(facts),
    )


def mean_data(mean: Mean) -> JsonDict:
    """Return a mean as pages show it."""
    limits = mean.interval
    return {
        "value": mean.value,
        "scores": mean.scores,
        **({"lower": limits.lower, "upper": limits.upper} if limits else {}),
        **({"is_count": True} if mean.is_count else {}),
        **({"conversations": mean.conversations} if mean.conversations else {}),
        **({"between": list(mean.between)} if mean.between else {}),
    }


def _correct_numbers(place: RunPlace) -> list[JsonDict]:
    try:
        calibrations = calibrate_run(place.folder, settings=CalibrationSettings(agreement=None))
    except AdjudgeError:  # its page says what is wrong
        return []
    numbers = [
        (calibration, calibration.corrected)
        for calibration in calibrations
        if calibration.corrected and calibration.corrected.value is not None
    ]
    return [
        {
            "judge": calibration.judge,
            "criteria": of_system(calibration.criteria, calibration.system),
            **some_of(number, "value", "lower", "upper"),
        }
        for calibration, number in numbers
    ]


def _counts(place: RunPlace) -> dict[str, JudgeCounts]:
    counts_by_judge = {}
    with reading(place.folder) as connection:
        configurations = read_judges(connection)
        column = grouping_column(read_meta(connection))
        for judge in judges_in(connection):
            configuration = configurations.get(judge, JudgeConfiguration())
            figures = figures_of(
                connection,
                judge,
                configuration,
                whole=not is_large(place),
                charts=False,
                column=column,
            )
            counts_by_judge[judge] = JudgeCounts(
                figures.statuses,
                {"": figures.mean} if figures.mean else figures.means,
                {} if figures.mean else figures.parts,
            )
    return counts_by_judge


def _dollars(place: RunPlace, facts: JsonObject) -> float | None:
    """Return a run's cost; None if it did not record its spending."""
    if "spending" not in facts:
        return None
    try:
        return spent_in(place.folder).usd
    except RunError:
        return None
