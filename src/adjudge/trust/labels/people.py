"""Who labels which rows of a run, and which rows people have before them: a small file beside the
labels, so that every server and every terminal knows it.
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
_TEXT = "CASE WHEN length(assignment) < 1000000 THEN assignment END"
"""An assignment as it is kept; longer ones are not ours."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """Who labels the rows that are drawn for a criterion."""

    people: tuple[str, ...]
    per_row: int = 1
    """How many of them label each row."""
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
        if not self.people or len({one.casefold() for one in self.people}) < len(self.people):
            raise SetupError("name at least one person, and each person once")
        if len(self.people) > _MOST_PEOPLE:
            raise SetupError(
                "rows are assigned to {most} people at most, not to {people}",
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
                drawn=", ".join(one for one in QUEUES if is_drawn(one)),
            )


def is_name(text: str) -> bool:
    """Whether a person can be called so."""
    return text == text.strip() and 1 <= len(text) <= _LONGEST_NAME and text.isprintable()


class PersonProgress(NamedTuple):
    """How far somebody is with the rows that are theirs."""

    criteria: str
    annotator: str
    done: int
    total: int


class People(LabelDatabase):
    """Of one run folder."""

    FILE = PEOPLE
    TABLES = ("held", "assignments", "assigned")
    VERSION = 1
    DAMAGED = Message(
        "it is damaged: put it aside and assign the rows again; no label is kept in this file"
    )
    LASTING = False

    def take(self, criteria: str, annotator: str, rows: Iterable[str], count: int = 1) -> list[str]:
        """Hold ``count`` rows: those that the annotator has already, if they are among ``rows``,
        then the first that nobody else has. Fewer where others have the rest.
        """
        now = time.time()
        with self._writing() as connection:
            connection.execute("DELETE FROM held WHERE abs(since - ?) > ?", (now, KEPT_FOR))
            held = connection.execute(
                "SELECT annotator, row FROM held WHERE criteria = ?", (criteria,)
            ).fetchall()
            own = {row for who, row in held if who == annotator}
            others = {row for who, row in held if who != annotator}
            free = [row for row in rows if row not in others]
            found = sorted(free, key=lambda row: row not in own)[:count]
            _release(connection, criteria, annotator)
            connection.executemany(
                "INSERT INTO held VALUES (?, ?, ?, ?)",
                [(criteria, annotator, row, now) for row in found],
            )
        return found

    def release(self, criteria: str, annotator: str) -> None:
        """The annotator has gone: what they had before them is free."""
        if self.path.exists():
            with self._writing() as connection:
                _release(connection, criteria, annotator)

    def assignment(self, criteria: str) -> Assignment | None:
        """Who labels a criterion's rows; None where they are not assigned."""
        with self._reading() as connection:
            if connection is None:
                return None
            found = connection.execute(
                f"SELECT {_TEXT} FROM assignments WHERE criteria = ?",  # noqa: S608 - ours
                (criteria,),
            ).fetchone()
        return _assignment(found[0], self.path) if found else None

    def assign(self, criteria: str, assignment: Assignment, rows: Sequence[str], seed: int) -> None:
        """Replace the criterion's assignment: whoever labelled a row keeps it, the others are dealt
        anew.
        """
        with self._writing() as connection:
            connection.execute("DELETE FROM assigned WHERE criteria = ?", (criteria,))
            connection.execute(
                "INSERT OR REPLACE INTO assignments VALUES (?, ?)",
                (criteria, json_text(asdict(assignment))),
            )
            self._deal(connection, criteria, assignment, rows, seed)

    def unassign(self, criteria: str) -> None:
        """Remove the assignment. Labels stay."""
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
        """Those of one person among ``rows``, which the queue holds by now: what came since the
        assignment is dealt first, so that no row is left out of the sample.
        """
        with self._writing() as connection:
            self._deal(connection, criteria, assignment, rows, seed)
            found = connection.execute(
                "SELECT row FROM assigned WHERE criteria = ? AND annotator = ?",
                (criteria, annotator),
            )
            return {row for (row,) in found}

    def progress(self) -> list[PersonProgress]:
        """Everybody who is assigned rows, in the order in which they were named."""
        with self._reading() as connection:
            if connection is None:
                return []
            query = f"SELECT criteria, {_TEXT} FROM assignments ORDER BY criteria"  # noqa: S608
            known = [
                (criteria, who)
                for criteria, text in connection.execute(query)
                for who in _assignment(text, self.path).people
            ]
            done = {(one.criteria, one.annotator, one.row) for one in self._labels()}
            totals, labelled = dict.fromkeys(known, 0), Counter[tuple[str, str]]()
            rows = connection.execute("SELECT criteria, annotator, row FROM assigned")
            for criteria, who, row in rows:
                if (criteria, who) in totals:
                    totals[criteria, who] += 1
                    labelled[criteria, who] += (criteria, who, row) in done
        return [PersonProgress(*one, labelled[one], totals[one]) for one in known]

    def _deal(
        self,
        connection: sqlite3.Connection,
        criteria: str,
        assignment: Assignment,
        rows: Sequence[str],
        seed: int,
    ) -> None:
        """Give rows that nobody has yet to people; those that left the queue unlabelled are
        nobody's any more. In the queue random also rows that were labelled with a chance of their
        own: without them nobody's share would be a random sample.
        """
        query = "SELECT row, annotator FROM assigned WHERE criteria = ?"
        known = connection.execute(query, (criteria,)).fetchall()
        wanted, dealt = set(rows), {row for row, _ in known}
        if wanted == dealt:
            return
        done: dict[str, set[str]] = {}
        for one in self._labels(criteria):
            if one.design != "random_weighted" or assignment.queue != "random":
                done.setdefault(one.row, set()).add(one.annotator)
        connection.executemany(
            "DELETE FROM assigned WHERE criteria = ? AND row = ?",
            [(criteria, row) for row in dealt - wanted - done.keys()],
        )
        before = (who for row in wanted - dealt for who in done.get(row, ()))
        load = Counter((*(who for _, who in known), *before))
        new = [
            (criteria, row, who)
            for place, row in enumerate(rows)
            if row not in dealt
            for who in _choose(assignment, place, row, done.get(row, ()), load, seed)
        ]
        connection.executemany("INSERT INTO assigned VALUES (?, ?, ?)", new)

    def _labels(self, criteria: str | None = None) -> Iterator[Label]:
        """What people are done with, of rows that were drawn."""
        return (
            one
            for one in LabelStore(self.folder).current(criteria)
            if one.is_done and one.is_random and one.kind != "model"
        )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        refuse_links(self.folder, LABEL_FILES)
        if not self.path.exists():
            yield None
            return
        with self._connected(writable=False) as connection:
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
    """Who labels a row: whoever has, and then those with the fewest rows; which of these, a hash
    says, so that everybody shares rows with everybody, and nothing depends on a verdict.
    """
    others = sorted(
        (who for who in assignment.people if who not in done),
        key=lambda who: (load[who], hashlib.sha256(f"{seed} {row} {who}".encode()).digest()),
    )
    if place >= assignment.overlap:
        others = others[: max(0, assignment.per_row - len(done))]
    load.update(others)
    return [*(who for who in assignment.people if who in done), *others]


def _assignment(text: str, path: Path) -> Assignment:
    """What ``assign`` wrote, or somebody else, who may have written anything."""
    try:
        found = json.loads(text)
        made = Assignment(**{**found, "people": tuple(map(str, found["people"]))})
        if [*map(type, vars(made).values())] != [tuple, int, int, str, int, str]:
            raise TypeError(text)
        return made
    except (TypeError, ValueError, KeyError, RecursionError, SetupError) as error:
        raise RunError(
            "{path} holds no readable assignment: move it away and assign the rows again",
            path=path.name,
        ) from error
