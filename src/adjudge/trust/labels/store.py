"""The labels of a run: an append-only file next to its ledger.

Several processes may write at once; labels are on the disk when ``add`` returns. Of one annotator's
labels of a row and criterion, the latest counts; of several with the same time, the one added last.
Earlier ones stay in the history.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, groupby

from adjudge.core.domain.label import DESIGNS, Label
from adjudge.core.ledger.file import LABELS, execute_file
from adjudge.core.ledger.rows import columns_in, json_checksum
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.trust.labels.database import LabelDatabase
from adjudge.trust.labels.rows_of_draws import RowsOfDraws

_COLUMNS = tuple(entry.name for entry in fields(Label))
_NAMES = ", ".join(_COLUMNS)
_REALS = ("score", "at", "drawn_at", "chance")
# Columns that the second and the third version of the file added; rows without them have the
# checksum of the version before.
_LATER = (("drawn_by", "chance", "step"), ("drawn_of",))
_NEW_COLUMNS = {
    "labels": ("drawn_by TEXT", "chance REAL", "step INTEGER", "drawn_of INTEGER"),
    "draws": ("drawn_by TEXT",),
}
_NEW_TABLE = (
    "CREATE TABLE drawn_rows (number INTEGER PRIMARY KEY, criteria TEXT NOT NULL, "
    "rows BLOB NOT NULL, checksum INTEGER NOT NULL)"
)
_MARKS = ",".join("?" * (len(_COLUMNS) + 1))
_ADD = f"INSERT INTO labels ({_NAMES}, checksum) VALUES ({_MARKS})"  # noqa: S608 - names of ours
_WHICH = (
    "(:criteria IS NULL OR criteria = :criteria) AND (:annotator IS NULL OR annotator = :annotator)"
)
_SELECT_ALL = f"SELECT {_NAMES}, checksum FROM labels"  # noqa: S608 - names of ours
_SELECT = f"{_SELECT_ALL} WHERE {_WHICH}"
_ADD_DRAW = "INSERT OR IGNORE INTO draws (criteria, seed, drawn_at) VALUES (?, ?, ?)"
_ADD_ROWS = "INSERT INTO drawn_rows (criteria, rows, checksum) VALUES (?, ?, ?)"
_ABOUT = "criteria = ? AND row = ? AND annotator = ?"
# The place of a label among all, or of the one that it repeats.
_SAID = (
    "(SELECT min(said.number) FROM labels AS said WHERE said.criteria = labels.criteria AND "
    "said.row = labels.row AND said.annotator = labels.annotator AND said.at = labels.at)"
)


@dataclass(frozen=True)
class Draw:
    """The permutation in which rows are labelled for a criterion, shared by all annotators of a
    run.
    """

    seed: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """A row that annotators answered differently."""

    criteria: str
    row: str
    labels: tuple[Label, ...]

    @property
    def is_open(self) -> bool:
        """True if someone has to decide: no answer is more frequent than all others.

        For numbers, a third label decides.
        """
        counts = sorted(Counter(str(label.answer) for label in self.labels).values())
        has_numbers = any(label.score is not None for label in self.labels)
        return (
            len(counts) > 1
            and counts[-1] == counts[-2]
            and not (has_numbers and len(self.labels) > 2)
        )


class LabelStore(LabelDatabase):
    """The labels of a run folder."""

    FILE = LABELS
    TABLES = ("labels", "draws", "drawn_rows")
    VERSION = 4
    DAMAGED = Message("it is damaged: move it away and import the labels from an export")

    def add(self, *labels: Label) -> None:
        """Append labels that count from now on, all or none, flushed to disk before returning.

        A label older than its annotator's last one for the row (no time, or a clock set back) gets
        that one's time.
        """
        latest = f"SELECT max(at) FROM labels WHERE {_ABOUT}"  # noqa: S608 - names of ours
        with self._writing() as connection:
            for label in map(_round_trip, labels):
                (at,) = connection.execute(latest, _key(label)).fetchone()
                is_older = at is not None and at > label.at
                connection.execute(_ADD, _row(replace(label, at=at) if is_older else label))

    def merge(self, *labels: Label) -> list[Label]:
        """Append labels from a file with their own times, all or none, and return the new ones.

        A label older than another one by its annotator does not count, whichever is added first.
        """
        same_time = f"{_SELECT_ALL} WHERE {_ABOUT} AND at = ?"
        distinct: dict[Label, Label] = {}
        for label in map(_round_trip, labels):
            # of equal labels keep the last: another answer of the same time may be between them
            distinct.pop(_content(label), None)
            distinct[_content(label)] = label
        added = []
        with self._writing() as connection:
            for label in distinct.values():
                stored = connection.execute(same_time, (*_key(label), label.at))
                if _content(label) not in [_content(_label(row)) for row in stored.fetchall()]:
                    connection.execute(_ADD, _row(label))
                    added.append(label)
        return added

    def draw_anew(self, *labels: Label) -> None:
        """Append labels for rows that now count as drawn in another way.

        If the annotator has since given another answer, that answer stays.
        """
        latest = f"SELECT max(at) FROM labels WHERE {_ABOUT}"  # noqa: S608 - names of ours
        with self._writing() as connection:
            for label in map(_round_trip, labels):
                if connection.execute(latest, _key(label)).fetchone() == (label.at,):
                    connection.execute(_ADD, _row(label))

    def current(self, criteria: str | None = None) -> Iterator[Label]:
        """Yield each annotator's current label for each row: the latest, unless withdrawn."""
        for history in self._of_each_row(criteria):
            if label := _current_label(history):
                yield label

    def current_of_copies(self, criteria: str | None = None) -> Iterator[Label]:
        """Like ``current``, but if rows with equal content were labelled under their own ids, one
        label per id.
        """
        for history in self._of_each_row(criteria):
            yield from (label for copy in _copies(history) if (label := _current_label(copy)))

    def of_each_copy(self, criteria: str | None = None) -> Iterator[Label]:
        """Like ``current_of_copies``, but for corrections.

        If an annotator changed a label after seeing the judge's verdict, yield the label from
        before.
        """
        for history in self._of_each_row(criteria):
            yield from _labels_that_count(history)

    def _of_each_row(self, criteria: str | None) -> Iterator[list[Label]]:
        """Yield each annotator's labels for each row, earliest first."""
        labels = self._read(f"{_SELECT} ORDER BY criteria, row, annotator, at, number", criteria)
        for _, history in groupby(labels, _key):
            yield list(history)

    def newest(self) -> tuple[int, int]:
        """Return a value that changes whenever a label is added."""
        if not self.path.is_file():
            return 0, 0
        with self._connection(writable=False) as connection:
            columns = columns_in(connection, "labels")
            (number,) = (
                connection.execute("SELECT max(number) FROM labels").fetchone() if columns else (0,)
            )
        return self.path.stat().st_ino, number or 0

    def history(self, criteria: str | None = None) -> Iterator[Label]:
        """Yield every label that was ever added, in order."""
        return self._read(f"{_SELECT} ORDER BY number", criteria)

    def conflicts(self, criteria: str | None = None) -> Iterator[Conflict]:
        """Yield the rows that annotators answered differently."""
        for (name, row), labels in groupby(
            self.current(criteria), lambda label: (label.criteria, label.row)
        ):
            answered = [label for label in labels if label.state == "given"]
            if len({str(label.answer) for label in answered}) > 1:
                yield Conflict(criteria=name, row=row, labels=tuple(answered))

    def last(self, criteria: str, annotator: str, *, chosen: bool = False) -> Label | None:
        """Return an annotator's newest current label, for undo; None if there is none.

        ``chosen``: look among chosen instead of drawn rows. A label that was drawn again is as old
        as its answer.
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
        """Withdraw a label: it stays in the history but no longer counts.

        ``judge_visible``: the annotator has since seen the judge's verdict. Their next label is
        then not blind, so corrections keep using the withdrawn one (``of_each_copy``).
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
        """Return the draw for a criterion's rows, creating it with ``seed`` if there is none.

        Raises a SetupError if it was created with another seed.
        """
        with self._writing() as connection:
            values = (criteria, 0 if seed is None else seed, time.time())
            connection.execute(_ADD_DRAW, values)
            stored = Draw(
                *connection.execute(
                    "SELECT seed, drawn_at FROM draws WHERE criteria = ?", (criteria,)
                ).fetchone()
            )
        if seed is not None and seed != stored.seed:
            raise SetupError(
                "the rows of {folder} were drawn with seed {seed} for criterion "
                "{criteria!r}, not {seed2}: one draw keeps the labels of all annotators one "
                "random sample. Leave --seed out",
                folder=self.folder,
                seed=stored.seed,
                criteria=criteria,
                seed2=seed,
            )
        return stored

    def keep_draw(self, criteria: str, draw: Draw) -> None:
        """Store the draw of imported labels, unless there is one, so that further labels join the
        same sample.
        """
        with self._writing() as connection:
            connection.execute(
                _ADD_DRAW,
                (_storable("", criteria), draw.seed, draw.at),
            )

    def drawn_rows(self, criteria: str) -> RowsOfDraws:
        """Return the rows that the run had at the draws for a criterion; none if they were not
        kept.
        """
        if not self.path.is_file():
            return RowsOfDraws()
        with self._connection(writable=False) as connection:
            if not columns_in(connection, "drawn_rows"):
                return RowsOfDraws()
            return _drawn_rows(connection, criteria)

    def keep_drawn_rows(self, criteria: str, judges: Iterable[Iterable[int]]) -> int:
        """Store the rows that the run has now: the keys of the rows that each judge judged. Return
        how many rows could be drawn so far.
        """
        with self._writing() as connection:
            rows = _drawn_rows(connection, criteria)
            sizes = [
                size
                for (size,) in connection.execute(
                    "SELECT DISTINCT drawn_of FROM labels WHERE criteria = ? AND drawn_of > 0",
                    (_storable("", criteria),),
                )
            ]
            for keys in judges:
                for block in rows.add(keys, sizes):
                    values = (_storable("", criteria), block)
                    connection.execute(_ADD_ROWS, (*values, zlib.crc32(block)))
        return rows.total

    def weighting(self, criteria: str) -> str | None:
        """Return what chances for a criterion's rows are based on; None if none were drawn with
        unequal chances.
        """
        if not self.path.is_file():
            return None
        with self._connection(writable=False) as connection:
            if "drawn_by" not in columns_in(connection, "draws"):
                return None
            row = connection.execute(
                "SELECT drawn_by FROM draws WHERE criteria = ?", (criteria,)
            ).fetchone()
        return row[0] if row else None

    def keep_weighting(self, criteria: str, drawn_by: str) -> str:
        """Store what chances are based on unless an earlier session did; return the stored
        value.
        """
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
        with self._connection(writable=False) as connection:
            columns = columns_in(connection, "labels")
            if not columns:
                return  # it is being made at this moment
            if lacking := {*chain(*_LATER)} - {*columns}:
                names = (
                    f"NULL AS {column}" if column in lacking else column for column in _COLUMNS
                )
                query = query.replace(_NAMES, ", ".join(names))
            for row in connection.execute(query, {"criteria": criteria, "annotator": annotator}):
                yield _label(row)

    def _make(self, connection: sqlite3.Connection, version: int) -> None:
        if not version:
            execute_file(connection, "labels.sql")
        for table, columns in _NEW_COLUMNS.items() if version else ():
            present = columns_in(connection, table)
            for column in columns:
                if column.split()[0] not in present:
                    connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        if version and not columns_in(connection, "drawn_rows"):
            connection.execute(_NEW_TABLE)


def _drawn_rows(connection: sqlite3.Connection, criteria: str) -> RowsOfDraws:
    query = "SELECT rows, checksum FROM drawn_rows WHERE criteria = ? ORDER BY number"
    blocks = []
    for block, stored in connection.execute(query, (_storable("", criteria),)):
        if not isinstance(block, bytes) or zlib.crc32(block) != stored:
            raise sqlite3.DatabaseError(
                Message("the rows drawn for {criteria!r} were changed", criteria=criteria)
            )
        blocks.append(block)
    return RowsOfDraws(blocks)


def counting_labels(labels: Iterable[Label]) -> Iterator[Label]:
    """Yield those labels from a file that count, as ``LabelStore.of_each_copy`` does for a run."""
    histories: dict[tuple[str, str, str], list[Label]] = {}
    for label in labels:
        histories.setdefault(_key(label), []).append(label)
    for history in histories.values():
        yield from _labels_that_count(sorted(history, key=lambda label: label.at))


def _labels_that_count(history: Sequence[Label]) -> Iterator[Label]:
    for copy in _copies(history):
        if label := _current_label(copy):
            yield _blind(label, history)


def _key(label: Label) -> tuple[str, str, str]:
    return label.criteria, label.row, label.annotator


def _content(label: Label) -> Label:
    """Return a label without values that may differ between equal labels.

    An import may not know the criterion's wording, and takes the number of drawable rows from the
    run at that time.
    """
    return replace(label, criteria_identity=None, drawn_of=None)


def _copies(history: Iterable[Label]) -> Iterable[list[Label]]:
    """Group a history by id, the most recently labelled copy last.

    A label without an id, or a withdrawn one, is for all copies.
    """
    copies: dict[str | None, list[Label]] = {}
    for label in history:
        if label.id is None or label.state == "withdrawn":
            copies = {
                None: [
                    copy_label
                    for labels_of_copy in copies.values()
                    for copy_label in labels_of_copy
                ]
                + [label]
            }
        else:
            copies[label.id] = [*copies.pop(label.id, []), label]
    return copies.values()


def _current_label(history: Sequence[Label]) -> Label | None:
    """Return the latest label since the last withdrawal; None if there is none.

    A row once drawn at random stays in the random sample even if its label is corrected later. A
    text drawn by the queue stays drawn if a file corrects it.
    """
    taken_back = [place for place, label in enumerate(history) if label.state == "withdrawn"]
    since = history[taken_back[-1] + 1 :] if taken_back else history
    if not since:
        return None
    # DESIGNS is sorted from the strongest design to the weakest
    drawn = min(since, key=lambda label: (DESIGNS.index(label.design), label.seed is None))
    latest = since[-1]
    if (drawn.design, drawn.seed is None) == (latest.design, latest.seed is None):
        return latest
    return replace(
        latest,
        design=drawn.design,
        seed=drawn.seed,
        drawn_at=drawn.drawn_at,
        drawn_under=drawn.drawn_under,
        drawn_by=drawn.drawn_by,
        chance=drawn.chance,
        drawn_of=drawn.drawn_of,
    )


def _blind(label: Label, history: Sequence[Label]) -> Label:
    """Return the label from before the annotator saw the judge's verdict, or the label itself."""
    if not label.judge_visible:
        return label
    blind = (
        earlier for earlier in history if not earlier.judge_visible and earlier.state != "skipped"
    )
    return _current_label([entry for entry in blind if entry.id in (None, label.id)]) or label


def _row(label: Label) -> tuple[object, ...]:
    values = [_storable(name, value) for name, value in label.to_dict().items()]
    return (*values, _checksum(values))


def _round_trip(label: Label) -> Label:
    """Return a label as it will be read back from the database."""
    # SQLite cannot even look for half a surrogate pair
    return _label(_row(label))


def _checksum(values: Sequence[object]) -> int:
    """Return a row's checksum, over the columns of the oldest format that can hold its values."""
    for added in reversed(_LATER):
        if values[-len(added) :] != [None] * len(added):
            break
        values = values[: -len(added)]
    return json_checksum(*values)


def _storable(name: str, value: object) -> object:
    """Return a value as SQLite will return it from its column.

    Lone surrogates, which UTF-8 cannot encode, are escaped.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool | int | float):
        return float(value) if name in _REALS else str(value) if name == "winner" else int(value)
    return value


def _label(row: Sequence[object]) -> Label:
    *values, stored_checksum = row
    if _checksum(values) != stored_checksum:
        raise sqlite3.DatabaseError(
            Message(
                "the label of row {row!r} was changed after it was written", row=str(row[0])[:40]
            )
        )
    values_by_name = dict(zip(_COLUMNS, values, strict=True))
    winner = values_by_name["winner"]
    values_by_name["winner"] = (
        int(winner) if isinstance(winner, str) and winner.isdecimal() else winner
    )
    values_by_name["judge_visible"] = bool(values_by_name["judge_visible"])
    return Label(**values_by_name)  # type: ignore[arg-type]  # checked: they are what was written
