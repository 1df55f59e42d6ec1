"""Assignments of rows to people, and rows that people have on screen.

They are in a small file next to the labels, so that all servers and terminals share them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.frozen_mapping import json_text
from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import LABEL_FILES, PEOPLE, execute_file, refuse_links
from adjudge.core.ledger.rows import columns_in
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.trust.labels.database import LabelDatabase
from adjudge.trust.labels.queue import FIRST, QUEUES, Queue, is_drawn
from adjudge.trust.labels.store import LabelStore

KEPT_FOR = 600.0
"""Seconds after which a row that was left lying goes to somebody else, and by which the clock may
be set back.
"""
_LONGEST_NAME = 100
_MOST_PEOPLE = 1_000
_MOST_ROWS = 1_000_000_000
# An assignment as it is kept; longer ones are not ours.
_TEXT = "CASE WHEN length(assignment) < 1000000 THEN assignment END"


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """The assignment of a criterion's drawn rows to annotators."""

    people: tuple[str, ...]
    per_row: int = 1
    """Number of people who label each row."""
    overlap: int = 0
    """Rows, the first of the queue, that all of them label."""
    queue: Queue = "random"
    count: int = FIRST
    by: str = ""
    """The column that rows are drawn apart by, in the queue random-stratified."""

    def __post_init__(self) -> None:
        for name in self.people:
            if not is_name(name):
                raise SetupError(
                    "{name!r} cannot be a person's name: write 1 to {most} printable characters",
                    name=name,
                    most=_LONGEST_NAME,
                )
        if not self.people or len({person.casefold() for person in self.people}) < len(self.people):
            raise SetupError("name at least one person, and each person once")
        if len(self.people) > _MOST_PEOPLE:
            raise SetupError(
                "rows can be assigned to at most {most} people, not to {people}",
                most=_MOST_PEOPLE,
                people=len(self.people),
            )
        if not 1 <= self.count <= _MOST_ROWS:
            raise SetupError(
                "the number of rows must be from 1 to {most}, not {count!r}",
                most=_MOST_ROWS,
                count=self.count,
            )
        if not 1 <= self.per_row <= len(self.people):
            raise SetupError(
                "the number of people for each row must be from 1 to {people}, not {per_row}",
                per_row=self.per_row,
                people=len(self.people),
            )
        if self.queue not in QUEUES or not is_drawn(self.queue):
            raise SetupError(
                "rows of the queue {queue} cannot be assigned: use {drawn}",
                queue=self.queue,
                drawn=", ".join(queue for queue in QUEUES if is_drawn(queue)),
            )


def is_name(text: str) -> bool:
    """Return True if this is a valid name for a person."""
    return text == text.strip() and 1 <= len(text) <= _LONGEST_NAME and text.isprintable()


class PersonProgress(NamedTuple):
    """A person's progress on their assigned rows."""

    criteria: str
    annotator: str
    done: int
    total: int


class People(LabelDatabase):
    """The assignments and the held rows of a run folder."""

    FILE = PEOPLE
    TABLES = ("held", "assignments", "assigned")
    VERSION = 1
    DAMAGED = Message(
        "it is damaged: move it away and assign the rows again; this file contains no labels"
    )
    LASTING = False

    def take(self, criteria: str, annotator: str, rows: Iterable[str], count: int = 1) -> list[str]:
        """Hold up to ``count`` rows for an annotator: first those already held for them, then free
        ones.

        Returns fewer rows if the rest are held for others.
        """
        now = time.time()
        with self._writing() as connection:
            # Rows held for too long are free again; abs() covers a clock that was set back.
            connection.execute("DELETE FROM held WHERE abs(since - ?) > ?", (now, KEPT_FOR))
            held = connection.execute(
                "SELECT annotator, row FROM held WHERE criteria = ?", (criteria,)
            ).fetchall()
            rows_of_annotator = {row for who, row in held if who == annotator}
            rows_of_others = {row for who, row in held if who != annotator}
            free = [row for row in rows if row not in rows_of_others]
            taken = sorted(free, key=lambda row: row not in rows_of_annotator)[:count]
            _release(connection, criteria, annotator)
            connection.executemany(
                "INSERT INTO held VALUES (?, ?, ?, ?)",
                [(criteria, annotator, row, now) for row in taken],
            )
        return taken

    def release(self, criteria: str, annotator: str) -> None:
        """Release the rows held for an annotator who has left."""
        if self.path.exists():
            with self._writing() as connection:
                _release(connection, criteria, annotator)

    def assignment(self, criteria: str) -> Assignment | None:
        """Return the assignment of a criterion's rows; None if there is none."""
        with self._reading() as connection:
            if connection is None:
                return None
            match = connection.execute(
                f"SELECT {_TEXT} FROM assignments WHERE criteria = ?",  # noqa: S608 - ours
                (criteria,),
            ).fetchone()
        return _assignment(match[0], self.path) if match else None

    def assign(self, criteria: str, assignment: Assignment, rows: Sequence[str], seed: int) -> None:
        """Replace a criterion's assignment.

        Labelled rows stay with the people who labelled them; all others are dealt again.
        """
        with self._writing() as connection:
            connection.execute("DELETE FROM assigned WHERE criteria = ?", (criteria,))
            connection.execute(
                "INSERT OR REPLACE INTO assignments VALUES (?, ?)",
                (criteria, json_text(asdict(assignment))),
            )
            self._deal(connection, criteria, assignment, rows, seed)

    def unassign(self, criteria: str) -> None:
        """Remove the assignment. Labels are kept."""
        if self.path.exists():
            with self._writing() as connection:
                connection.execute("DELETE FROM assigned WHERE criteria = ?", (criteria,))
                connection.execute("DELETE FROM assignments WHERE criteria = ?", (criteria,))

    def rows_of(
        self,
        criteria: str,
        assignment: Assignment,
        annotator: str,
        rows: Sequence[str],
        seed: int,
    ) -> set[str]:
        """Return one person's share of ``rows``, the current queue.

        New rows are dealt first, so that the sample stays complete.
        """
        with self._writing() as connection:
            self._deal(connection, criteria, assignment, rows, seed)
            matches = connection.execute(
                "SELECT row FROM assigned WHERE criteria = ? AND annotator = ?",
                (criteria, annotator),
            )
            return {row for (row,) in matches}

    def progress(self) -> list[PersonProgress]:
        """Return everyone's progress on their assigned rows, in the order in which people were
        named.
        """
        with self._reading() as connection:
            if connection is None:
                return []
            query = f"SELECT criteria, {_TEXT} FROM assignments ORDER BY criteria"  # noqa: S608
            shares = [
                (criteria, who)
                for criteria, text in connection.execute(query)
                for who in _assignment(text, self.path).people
            ]
            done = {(label.criteria, label.annotator, label.row) for label in self._labels()}
            totals, labelled = dict.fromkeys(shares, 0), Counter[tuple[str, str]]()
            rows = connection.execute("SELECT criteria, annotator, row FROM assigned")
            for criteria, who, row in rows:
                if (criteria, who) in totals:
                    totals[criteria, who] += 1
                    labelled[criteria, who] += (criteria, who, row) in done
        return [PersonProgress(*share, labelled[share], totals[share]) for share in shares]

    def _deal(
        self,
        connection: sqlite3.Connection,
        criteria: str,
        assignment: Assignment,
        rows: Sequence[str],
        seed: int,
    ) -> None:
        """Assign rows that nobody has, and take back unlabelled rows that left the queue.

        In the queue random, rows labelled with a different chance are dealt again, because without
        them no share would be a random sample.
        """
        query = "SELECT row, annotator FROM assigned WHERE criteria = ?"
        assigned = connection.execute(query, (criteria,)).fetchall()
        queued, dealt = set(rows), {row for row, _ in assigned}
        if queued == dealt:
            return
        done: dict[str, set[str]] = {}
        for label in self._labels(criteria):
            if label.design != "random_weighted" or assignment.queue != "random":
                done.setdefault(label.row, set()).add(label.annotator)
        connection.executemany(
            "DELETE FROM assigned WHERE criteria = ? AND row = ?",
            [(criteria, row) for row in dealt - queued - done.keys()],
        )
        labelled_by = (who for row in queued - dealt for who in done.get(row, ()))
        # People who have labelled such rows already get fewer of the others.
        load = Counter((*(who for _, who in assigned), *labelled_by))
        new = [
            (criteria, row, who)
            for place, row in enumerate(rows)
            if row not in dealt
            for who in _choose(assignment, place, row, done.get(row, ()), load, seed)
        ]
        connection.executemany("INSERT INTO assigned VALUES (?, ?, ?)", new)

    def _labels(self, criteria: str | None = None) -> Iterator[Label]:
        """Yield completed labels of drawn rows, except those by models."""
        return (
            label
            for label in LabelStore(self.folder).current(criteria)
            if label.is_done and label.is_random and label.kind != "model"
        )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        refuse_links(self.folder, LABEL_FILES)
        if not self.path.exists():
            yield None
            return
        with self._connection(writable=False) as connection:
            yield connection if columns_in(connection, "held") else None

    # there is no version before the first
    def _make(self, connection: sqlite3.Connection, version: int) -> None:  # noqa: ARG002
        execute_file(connection, "people.sql")


def _release(connection: sqlite3.Connection, criteria: str, annotator: str) -> None:
    connection.execute(
        "DELETE FROM held WHERE criteria = ? AND annotator = ?", (criteria, annotator)
    )


def _choose(
    assignment: Assignment,
    place: int,
    row: str,
    done: Collection[str],
    load: Counter[str],
    seed: int,
) -> list[str]:
    """Choose who labels a row: those who already did, then those with the fewest rows.

    A hash breaks ties, so that all pairs of annotators share rows, independently of verdicts.
    """
    candidates = sorted(
        (who for who in assignment.people if who not in done),
        key=lambda who: (load[who], hashlib.sha256(f"{seed} {row} {who}".encode()).digest()),
    )
    if place >= assignment.overlap:
        candidates = candidates[: max(0, assignment.per_row - len(done))]
    load.update(candidates)
    return [*(who for who in assignment.people if who in done), *candidates]


def _assignment(text: str, path: Path) -> Assignment:
    """Parse a stored assignment. Raises a RunError if ``assign`` cannot have written it."""
    try:
        data = json.loads(text)
        assignment = Assignment(**{**data, "people": tuple(map(str, data["people"]))})
        if [*map(type, vars(assignment).values())] != [tuple, int, int, str, int, str]:
            raise TypeError(text)
        return assignment
    except (TypeError, ValueError, KeyError, RecursionError, SetupError) as error:
        raise RunError(
            "{path} contains no readable assignment: move it away and assign the rows again",
            path=path.name,
        ) from error
