"""The labels of a run: a file beside its ledger to which labels are only ever added.

Several processes may write at once, and what ``add`` returned from is on the disk. Of one
annotator's labels of a row and criteria the one with the latest time counts, of several with the
same time the one that was added last; the earlier ones stay.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, groupby

from adjudge.core.domain.label import DESIGNS, Label
from adjudge.core.ledger.file import LABELS, execute_file
from adjudge.core.ledger.rows import checksum, columns_in
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.trust.labels.database import LabelDatabase

_COLUMNS = tuple(entry.name for entry in fields(Label))
_NAMES = ", ".join(_COLUMNS)
_REALS = ("score", "at", "drawn_at", "chance")
_LATER = (("drawn_by", "chance", "step"), ("drawn_of",))
"""Columns that the second and the third version of the file added; rows without them have the
checksum of the version before.
"""
_NEW_COLUMNS = {
    "labels": ("drawn_by TEXT", "chance REAL", "step INTEGER", "drawn_of INTEGER"),
    "draws": ("drawn_by TEXT",),
}
_MARKS = ",".join("?" * (len(_COLUMNS) + 1))
_ADD = f"INSERT INTO labels ({_NAMES}, checksum) VALUES ({_MARKS})"  # noqa: S608 - names of ours
_WHICH = (
    "(:criteria IS NULL OR criteria = :criteria) AND (:annotator IS NULL OR annotator = :annotator)"
)
_SELECT_ALL = f"SELECT {_NAMES}, checksum FROM labels"  # noqa: S608 - names of ours
_SELECT = f"{_SELECT_ALL} WHERE {_WHICH}"
_ADD_DRAW = "INSERT OR IGNORE INTO draws (criteria, seed, drawn_at) VALUES (?, ?, ?)"
_ABOUT = "criteria = ? AND row = ? AND annotator = ?"
_SAID = (
    "(SELECT min(said.number) FROM labels AS said WHERE said.criteria = labels.criteria AND "
    "said.row = labels.row AND said.annotator = labels.annotator AND said.at = labels.at)"
)
"""The place of a label among all, or of the one that it repeats."""


@dataclass(frozen=True)
class Draw:
    """The permutation of rows that a criterion's labels are drawn by: once per run, for all
    annotators.
    """

    seed: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """A row of which annotators say different things."""

    criteria: str
    row: str
    labels: tuple[Label, ...]

    @property
    def is_open(self) -> bool:
        """Whether somebody has to decide: no answer has more annotators than any other. Of numbers,
        a third one decides.
        """
        counts = sorted(Counter(str(label.answer) for label in self.labels).values())
        has_numbers = any(label.score is not None for label in self.labels)
        return (
            len(counts) > 1
            and counts[-1] == counts[-2]
            and not (has_numbers and len(self.labels) > 2)
        )


class LabelStore(LabelDatabase):
    """The labels of one run folder."""

    FILE = LABELS
    TABLES = ("labels", "draws")
    VERSION = 3
    DAMAGED = Message("it is damaged: put it aside and import the labels from an export")

    def add(self, *labels: Label) -> None:
        """Append labels that count from now on, all or none; they are on the disk when this
        returns.

        A label that is older than one that its annotator gave to the row (a clock was set back, or
        it has no time) gets the time of that one.
        """
        latest = f"SELECT max(at) FROM labels WHERE {_ABOUT}"  # noqa: S608 - names of ours
        with self._writing() as connection:
            for label in map(_as_stored, labels):
                (at,) = connection.execute(latest, _about(label)).fetchone()
                is_older = at is not None and at > label.at
                connection.execute(_ADD, _row(replace(label, at=at) if is_older else label))

    def merge(self, *labels: Label) -> list[Label]:
        """Append labels of a file with the times that they have, all or none, and return those that
        were not there yet.

        A label that is older than another one of its annotator does not count, whichever of them
        is added first.
        """
        same_time = f"{_SELECT_ALL} WHERE {_ABOUT} AND at = ?"
        distinct: dict[Label, Label] = {}
        for label in map(_as_stored, labels):
            # of equal ones the last stays: another answer with the same time may be between them
            distinct.pop(_content(label), None)
            distinct[_content(label)] = label
        added = []
        with self._writing() as connection:
            for label in distinct.values():
                found = connection.execute(same_time, (*_about(label), label.at))
                if _content(label) not in [_content(_label(row)) for row in found.fetchall()]:
                    connection.execute(_ADD, _row(label))
                    added.append(label)
        return added

    def draw_anew(self, *labels: Label) -> None:
        """Append labels that say what stands, of rows that count as drawn in another way by now.
        Where their annotator has said something else meanwhile, that stands.
        """
        latest = f"SELECT max(at) FROM labels WHERE {_ABOUT}"  # noqa: S608 - names of ours
        with self._writing() as connection:
            for one in map(_as_stored, labels):
                if connection.execute(latest, _about(one)).fetchone() == (one.at,):
                    connection.execute(_ADD, _row(one))

    def current(self, criteria: str | None = None) -> Iterator[Label]:
        """What each annotator says of each row: the latest label counts, and one that was withdrawn
        does not.
        """
        for history in self._of_each_row(criteria):
            if label := _standing(history):
                yield label

    def current_of_copies(self, criteria: str | None = None) -> Iterator[Label]:
        """Like ``current``, but if rows of equal content were labelled apart, each under its own
        id, the last label of each of them.
        """
        for known in self._of_each_row(criteria):
            yield from (label for own in _copies(known) if (label := _standing(own)))

    def of_each_copy(self, criteria: str | None = None) -> Iterator[Label]:
        """Like ``current_of_copies``, but for corrections: if a label was changed by somebody who
        had seen the judge's verdict meanwhile, the one from before that.
        """
        for known in self._of_each_row(criteria):
            yield from _counting(known)

    def _of_each_row(self, criteria: str | None) -> Iterator[list[Label]]:
        """What each annotator has said of each row, the earliest first."""
        found = self._read(f"{_SELECT} ORDER BY criteria, row, annotator, at, number", criteria)
        for _, history in groupby(found, _about):
            yield list(history)

    def newest(self) -> tuple[int, int]:
        """Another whenever a label was added."""
        if not self.path.is_file():
            return 0, 0
        with self._connected(writable=False) as connection:
            known = columns_in(connection, "labels")
            (number,) = (
                connection.execute("SELECT max(number) FROM labels").fetchone() if known else (0,)
            )
        return self.path.stat().st_ino, number or 0

    def history(self, criteria: str | None = None) -> Iterator[Label]:
        """Every label that was ever added, in that order."""
        return self._read(f"{_SELECT} ORDER BY number", criteria)

    def conflicts(self, criteria: str | None = None) -> Iterator[Conflict]:
        """The rows of which annotators give different answers."""
        for (name, row), labels in groupby(
            self.current(criteria), lambda label: (label.criteria, label.row)
        ):
            given = [label for label in labels if label.state == "given"]
            if len({str(label.answer) for label in given}) > 1:
                yield Conflict(criteria=name, row=row, labels=tuple(given))

    def last(self, criteria: str, annotator: str, *, chosen: bool = False) -> Label | None:
        """The annotator's newest label that stands, of rows that were drawn or of chosen ones: what
        undo takes back. One that was drawn anew is as old as what was said.
        """
        newest = (
            "NOT EXISTS (SELECT 1 FROM labels AS later WHERE later.criteria = labels.criteria AND "
            "later.row = labels.row AND later.annotator = labels.annotator AND "
            "(later.at, later.number) > (labels.at, labels.number)) AND state <> 'withdrawn'"
        )
        which = f"{newest} AND design {'=' if chosen else '<>'} 'chosen'"
        order = f"ORDER BY at DESC, {_SAID} DESC LIMIT 1"
        return next(self._read(f"{_SELECT} AND {which} {order}", criteria, annotator), None)

    def withdraw(self, label: Label, *, judge_visible: bool = False) -> None:
        """Take a label back: it stays in the history and counts no more.

        ``judge_visible``: the annotator has seen the judge's verdict since. What they say then is
        no blind label, so that the one taken back goes on correcting (``of_each_copy``).
        """
        self.add(
            replace(
                label,
                state="withdrawn",
                at=time.time(),
                option=None,
                score=None,
                winner=None,
                note="",
                step=None,
                judge_visible=judge_visible,
            )
        )

    def draw(self, criteria: str, seed: int | None = None) -> Draw:
        """The draw of a criterion's rows, made now with ``seed`` unless there is one: another seed
        is then refused.
        """
        with self._writing() as connection:
            values = (criteria, 0 if seed is None else seed, time.time())
            connection.execute(_ADD_DRAW, values)
            known = Draw(
                *connection.execute(
                    "SELECT seed, drawn_at FROM draws WHERE criteria = ?", (criteria,)
                ).fetchone()
            )
        if seed is not None and seed != known.seed:
            raise SetupError(
                "the rows of {folder} were drawn with seed {seed} for criterion "
                "{criteria!r}, not {seed2}: one draw keeps the labels of all annotators one "
                "random sample. Leave --seed out",
                folder=self.folder,
                seed=known.seed,
                criteria=criteria,
                seed2=seed,
            )
        return known

    def keep_draw(self, criteria: str, draw: Draw) -> None:
        """The draw that imported labels come from, so that further ones belong
        to the same sample.
        """
        with self._writing() as connection:
            connection.execute(
                _ADD_DRAW,
                (_storable("", criteria), draw.seed, draw.at),
            )

    def weighting(self, criteria: str) -> str | None:
        """What the chances of a criterion's rows follow; None where nobody drew any so."""
        if not self.path.is_file():
            return None
        with self._connected(writable=False) as connection:
            if "drawn_by" not in columns_in(connection, "draws"):
                return None
            found = connection.execute(
                "SELECT drawn_by FROM draws WHERE criteria = ?", (criteria,)
            ).fetchone()
        return found[0] if found else None

    def keep_weighting(self, criteria: str, drawn_by: str) -> str:
        """The same, which ``drawn_by`` becomes where there is none: the first session decides."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE draws SET drawn_by = ? WHERE criteria = ? AND drawn_by IS NULL",
                (drawn_by, criteria),
            )
        return self.weighting(criteria) or drawn_by

    def _read(
        self, query: str, criteria: str | None, annotator: str | None = None
    ) -> Iterator[Label]:
        if not self.path.is_file():
            return
        with self._connected(writable=False) as connection:
            known = columns_in(connection, "labels")
            if not known:
                return  # it is being made at this moment
            if lacking := {*chain(*_LATER)} - {*known}:
                names = (f"NULL AS {one}" if one in lacking else one for one in _COLUMNS)
                query = query.replace(_NAMES, ", ".join(names))
            for row in connection.execute(query, {"criteria": criteria, "annotator": annotator}):
                yield _label(row)

    def _make(self, connection: sqlite3.Connection, version: int) -> None:
        if not version:
            execute_file(connection, "labels.sql")
        for table, columns in _NEW_COLUMNS.items() if version else ():
            known = columns_in(connection, table)
            for column in columns:
                if column.split()[0] not in known:
                    connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")


def counting_labels(labels: Iterable[Label]) -> Iterator[Label]:
    """Return the labels that count of those that a file holds, as ``LabelStore.of_each_copy`` does
    of those of a run.
    """
    histories: dict[tuple[str, str, str], list[Label]] = {}
    for label in labels:
        histories.setdefault(_about(label), []).append(label)
    for history in histories.values():
        yield from _counting(sorted(history, key=lambda label: label.at))


def _counting(history: Sequence[Label]) -> Iterator[Label]:
    for copy in _copies(history):
        if label := _standing(copy):
            yield _blind(label, history)


def _about(label: Label) -> tuple[str, str, str]:
    return label.criteria, label.row, label.annotator


def _content(label: Label) -> Label:
    """Return all that makes a label another one. An import may not know how the criterion was
    worded, and takes the number of rows that could be drawn from the run as it is by then.
    """
    return replace(label, criteria_identity=None, drawn_of=None)


def _copies(history: Iterable[Label]) -> Iterable[list[Label]]:
    """By id, the one that was labelled last at the end.

    A label without an id, or one that was taken back, is of all copies.
    """
    found: dict[str | None, list[Label]] = {}
    for label in history:
        if label.id is None or label.state == "withdrawn":
            found = {None: [one for own in found.values() for one in own] + [label]}
        else:
            found[label.id] = [*found.pop(label.id, []), label]
    return found.values()


def _standing(history: Sequence[Label]) -> Label | None:
    """The latest label. A row that was once drawn at random stays in the random sample, also when
    its label is corrected later, and a text that the queue drew stays one if a file corrects it.
    """
    taken_back = [place for place, label in enumerate(history) if label.state == "withdrawn"]
    since = history[taken_back[-1] + 1 :] if taken_back else history
    if not since:
        return None
    drawn = min(since, key=lambda label: (DESIGNS.index(label.design), label.seed is None))
    last = since[-1]
    if (drawn.design, drawn.seed is None) == (last.design, last.seed is None):
        return last
    return replace(
        last,
        design=drawn.design,
        seed=drawn.seed,
        drawn_at=drawn.drawn_at,
        drawn_under=drawn.drawn_under,
        drawn_by=drawn.drawn_by,
        chance=drawn.chance,
        drawn_of=drawn.drawn_of,
    )


def _blind(label: Label, history: Sequence[Label]) -> Label:
    """The label, or, where it was given with the judge's verdict in sight, the one that stood
    before.
    """
    if not label.judge_visible:
        return label
    blind = (one for one in history if not one.judge_visible and one.state != "skipped")
    own = [one for one in blind if one.id is None or one.id == label.id]
    return _standing(own) or label


def _row(label: Label) -> tuple[object, ...]:
    values = [_storable(name, value) for name, value in label.to_dict().items()]
    return (*values, _checksum(values))


def _as_stored(label: Label) -> Label:
    """Return a label as it will be read: SQLite cannot even look for half a surrogate pair."""
    return _label(_row(label))


def _checksum(values: Sequence[object]) -> int:
    """Return the checksum of the columns of the first version that has all that the row holds."""
    for added in reversed(_LATER):
        if values[-len(added) :] != [None] * len(added):
            break
        values = values[: -len(added)]
    return checksum(*values)


def _storable(name: str, value: object) -> object:
    """As SQLite gives it back from its column; half a surrogate pair, which has no UTF-8, as its
    escape.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool | int | float):
        return float(value) if name in _REALS else str(value) if name == "winner" else int(value)
    return value


def _label(row: Sequence[object]) -> Label:
    *values, kept = row
    if _checksum(values) != kept:
        raise sqlite3.DatabaseError(
            Message("the label of row {row!r} is not what was written", row=str(row[0])[:40])
        )
    found = dict(zip(_COLUMNS, values, strict=True))
    winner = found["winner"]
    found["winner"] = int(winner) if isinstance(winner, str) and winner.isdecimal() else winner
    found["judge_visible"] = bool(found["judge_visible"])
    return Label(**found)  # type: ignore[arg-type]  # checked: they are what was written
