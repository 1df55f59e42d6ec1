"""Labels from files: CSV, JSONL and whatever else holds rows; one label a row, or one column per
annotator.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from adjudge.core.data.cells import text_of
from adjudge.core.data.sources.opener import open_source
from adjudge.core.data.sources.row import BadRow, Cells, Origin, Row, is_blank
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import DESIGNS, KINDS, Answer, Design, Kind, Label, LabelScale
from adjudge.core.ledger.records import records
from adjudge.core.reading.types import Flag, Many, Text, Word, key
from adjudge.errors import RunError, SetupError, WrongData
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import Draw, LabelStore
from adjudge.trust.labels.weighting import Weighting

ANSWERS = ("label", "option", "score", "winner")
"""Columns that hold an answer, the first that is there; ``label`` is whichever of the others the
criteria asks for.
"""
_OF_AN_EXPORT = "votes_requested"
"""Where this column is, the file is an export of a run: its option and score are the judge's."""
NAMES = tuple(entry.name for entry in fields(Label))
_OF_THE_ROW = (*NAMES, "judge", "label")
"""Columns that are no annotator's."""
_TABLE = (
    "CREATE TABLE rows (criteria TEXT, judge TEXT, number INTEGER, id TEXT, identity TEXT, "
    "responses INTEGER, systems TEXT)"
)
_IDENTITY = 32
_CLOCK_TICK = 0.01
"""Seconds by which a system's time of writing may be behind its clock."""
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class LabelDefaults:
    """What labels of a file are where it does not say."""

    annotators: tuple[str, ...] = key(
        Many(Text()),
        "Who labelled; by default your login name. Of a file of labels: who gave them, or which of "
        "its columns are annotators.",
        (),
        option="--annotator",
    )
    criteria: str | None = key(Text(), "Only this criteria, where the run has several.", None)
    kind: Kind = key(Word[Kind](KINDS), "What the annotator is.", "human")
    design: Design = key(
        Word[Design](DESIGNS),
        "How the rows of a file of labels were chosen, where it is not said.",
        "chosen",
    )
    judge_visible: bool = key(
        Flag(), "At --import: whoever labelled saw the judge's verdict.", False
    )
    id: str | None = key(
        Text(), "At --import: the column that names the rows; by default id.", None
    )
    at: float = 0.0
    """When they were given."""


_DEFAULTS = LabelDefaults()


class FoundRow(NamedTuple):
    identity: str
    id: str | None
    responses: int
    """How many are compared."""
    systems: tuple[str, ...]
    """What they are called."""


class RunRows:
    """The rows of a run by everything that a file may call them."""

    def __init__(self, table: sqlite3.Connection, scales: Sequence[JudgedScale]) -> None:
        self._table = table
        self._counts: dict[str, int] = {}
        self._scales: dict[str, JudgedScale] = {}
        for one in scales:
            self._scales.setdefault(one.name, one)  # of one name the first, as for those who label

    def scale(self, criteria: str | None) -> LabelScale:
        """The scale of a criterion; a ValueError says which there are."""
        if criteria is None and len(self._scales) == 1:
            return next(iter(self._scales.values())).scale
        if criteria is None or criteria not in self._scales:
            known = ", ".join(map(repr, self._scales))
            raise ValueError(
                Message("no criterion is named; the run has {known}", known=known)
                if criteria is None
                else Message(
                    "unknown criterion {name!r}; the run has {known}",
                    name=criteria,
                    known=known,
                )
            )
        return self._scales[criteria].scale

    def count(self, criteria: str) -> int:
        """Return how many rows the judge has judged by a criterion that has judged most of them."""
        if criteria not in self._counts:
            query = "SELECT count(*) FROM rows WHERE criteria = ? GROUP BY judge"
            found = self._table.execute(query, (criteria,))
            self._counts[criteria] = max(number for (number,) in found)
        return self._counts[criteria]

    def find(self, criteria: str, row: str | None, id: str | None, judge: str | None) -> FoundRow:
        """A row by its identity, its place in an export, or its id."""
        if row is not None and len(row) == _IDENTITY:
            found = self._one(
                criteria, Message("with the identity {row!r}", row=row), "identity = ?", row
            )
            return found._replace(id=self._id_of_copy(criteria, found, id))
        if row is not None and row.isdecimal():
            named = ("number = ?", "judge = ?") if judge else ("number = ?",)
            found = self._one(
                criteria, row, " AND ".join(named), int(row), *((judge,) if judge else ())
            )
            return found._replace(id=found.id or self._id_of_copy(criteria, found, row))
        if id is not None and row is None:
            return self._one(criteria, Message("with the id {id!r}", id=id), "id = ?", id)
        if row is not None:
            raise WrongData(
                "{row!r} is neither the identity of a row nor its place in an export of the run",
                row=row,
            )
        raise WrongData(
            "nothing says which row it is: give the column row (an identity, or the place "
            "in an export) or id"
        )

    def _id_of_copy(self, criteria: str, found: FoundRow, wanted: str | None) -> str | None:
        """Return the id of the row with this content that is called ``wanted``, by its id or else
        its place; of the only row with this content its id; None for all copies.
        """
        query = "SELECT judge, coalesce(id, number) FROM rows WHERE criteria = ? AND identity = ?"
        copies = self._table.execute(query, (criteria, found.identity)).fetchall()
        if len(copies) == len({judge for judge, _ in copies}):
            return found.id
        return wanted if wanted in {str(name) for _, name in copies} else None

    def _one(self, criteria: str, what: str, which: str, *values: object) -> FoundRow:
        query = (
            "SELECT identity, id, responses, systems FROM rows "  # noqa: S608
            f"WHERE criteria = ? AND {which} GROUP BY identity LIMIT 2"
        )
        found = self._table.execute(query, (criteria, *values)).fetchall()
        if len(found) != 1:
            raise ValueError(
                Message(
                    "the run has several rows {what} under criterion {name!r}",
                    what=what,
                    name=criteria,
                )
                if found
                else Message(
                    "the run has no row {what} under criterion {name!r}", what=what, name=criteria
                )
            )
        ((identity, id, responses, systems),) = found
        return FoundRow(str(identity), id, int(responses), tuple(json.loads(systems)))


@contextmanager
def run_rows(folder: str | Path) -> Iterator[RunRows]:
    """The rows of a run, in a temporary file."""
    scales = label_scales(folder)
    with closing(sqlite3.connect("")) as table, reading(folder) as ledger:
        table.execute(_TABLE)
        for result in records(ledger):
            judged = result.fields.get("response", "")
            responses = 1 if isinstance(judged, str) else len(judged)
            systems = json.dumps(result.systems)
            own = (result.judge, result.row, result.id, result.identity, responses, systems)
            scores = result.detail.dimension_scores
            for criterion in [result.criterion] if scores is None else scores:
                values = (criterion, *own)
                table.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        for columns in ("criteria, identity", "criteria, id", "criteria, number"):
            table.execute(f"CREATE INDEX {columns.replace(', ', '_')} ON rows ({columns})")
        yield RunRows(table, scales)


def read_labels(
    path: str | Path,
    rows: RunRows,
    defaults: LabelDefaults = _DEFAULTS,
    on_bad_row: Callable[[BadRow], None] | None = None,
) -> Iterator[Label]:
    """The labels of a file about a run's rows. A RunError names the file, the row and the column of
    what is wrong.

    ``on_bad_row`` is called with rows that cannot be read instead, and they are left out.
    """
    origin, found = open_source(path)
    is_table = Path(path).suffix.lower() in (".csv", ".tsv", ".tab")
    for row in found:
        read = (
            row if isinstance(row, BadRow) else _row_labels(row, origin, is_table, rows, defaults)
        )
        if not isinstance(read, BadRow):
            yield from read
        elif on_bad_row is None:
            raise RunError(str(read))
        else:
            on_bad_row(read)


def written_at(path: Path) -> float:
    """Return when a file was last written, which is the time of labels that have none: an older
    file that is imported later does not overrule a correction.
    """
    return path.stat().st_mtime + _CLOCK_TICK if path.is_file() else time.time()


def keep_draws(folder: str | Path, labels: Iterable[Label]) -> None:
    """Go on as the labels of a file were drawn, where their rows had chances of their own by a
    judge of this run: otherwise further labels could not be joined with them.
    """
    store, known = LabelStore(folder), {one.name: one.identity for one in label_scales(folder)}
    drawn = {
        one.criteria: (one, Weighting.read(str(one.drawn_by)))
        for one in labels
        if one.design == "random_weighted" and one.drawn_under == known.get(one.criteria)
    }
    for criteria, (one, weighting) in drawn.items():
        store.keep_draw(criteria, Draw(one.seed or 0, one.drawn_at or one.at))
        store.keep_weighting(criteria, str(weighting))


def _row_labels(
    row: Row, origin: Origin, is_table: bool, rows: RunRows, defaults: LabelDefaults
) -> list[Label] | BadRow:
    cells = {} if isinstance(row.cells, Instance) else row.cells
    texts = {
        _named(str(name), cells): _of_table(value) if is_table else value
        for name, value in cells.items()
    }
    if defaults.id is not None:
        wanted = defaults.id
        alike = [one for one in texts if one.casefold() == wanted.casefold()]
        name = wanted if wanted in alike else next(iter(alike), None)
        if name is None:
            known = ", ".join(map(str, cells))
            why = Message(
                "no column is called {name!r}; the columns are {known}",
                name=defaults.id,
                known=known,
            )
            return BadRow(origin.where(row.number), str(why))
        texts["id"] = texts[name] if name == "id" else texts.pop(name)
    reader = _RowReader(texts, rows, defaults)
    try:
        return list(reader.labels())
    except (ValueError, SetupError) as error:
        column = f", column {reader.column!r}" if reader.column else ""
        return BadRow(f"{origin.where(row.number)}{column}", str(error))


def _named(column: str, beside: Collection[object]) -> str:
    """A column of ours in our spelling, however a spreadsheet wrote it: "ID" and "Label " are id
    and label.
    """
    plain = column.strip().casefold()
    return plain if plain in _OF_THE_ROW and plain not in beside else column


def _of_table(value: object) -> object:
    """What was written into a cell, without what defuses it and without white space around it."""
    return text_of(value).strip() if isinstance(value, str) else value


@dataclass(frozen=True)
class _About:
    """The row and the criterion that a label is about."""

    row: str
    id: str | None
    criteria: str
    criteria_identity: str | None


class _RowReader:
    """One row of a file → its labels. ``column`` is the one that is being read."""

    def __init__(self, cells: Cells, rows: RunRows, defaults: LabelDefaults) -> None:
        self.column: str | None = None
        self._cells = cells
        self._rows = rows
        self._defaults = defaults

    def labels(self) -> Iterator[Label]:
        """One where a column holds the answer, else one per annotator who gave any."""
        if self._answers:
            yield self._long()
        else:
            yield from self._wide()

    @property
    def _answers(self) -> list[str]:
        return [
            name
            for name in ANSWERS
            if name in self._cells and (name == "label" or _OF_AN_EXPORT not in self._cells)
        ]

    def _long(self) -> Label:
        about, scale, found = self._about()
        state = self._text("state") or "given"
        return self._label(
            about,
            self._answer(scale, found) if state == "given" else Answer(),
            self._annotator(),
            state,
        )

    def _wide(self) -> Iterator[Label]:
        about, scale, found = self._about()
        columns = self._defaults.annotators or [
            name for name in self._cells if name not in _OF_THE_ROW
        ]
        self.column = None
        if _OF_AN_EXPORT in self._cells and not self._defaults.annotators:
            raise WrongData(
                "this is an export of a run, whose verdicts are the judge's: put people's "
                "answers in a column label"
            )
        if missing := [name for name in columns if name not in self._cells]:
            raise WrongData(
                "no column is called {column!r}; the columns are {columns}",
                column=missing[0],
                columns=", ".join(self._cells),
            )
        if not columns:
            raise WrongData(
                "no column holds an answer: name it {names}, or give each annotator a column",
                names=", ".join(ANSWERS),
            )
        for name in columns:
            if text := self._text(name):
                answer = scale.read(text, found.responses, found.systems)
                yield self._label(about, answer, name, "given")

    def _about(self) -> tuple[_About, LabelScale, FoundRow]:
        """What the label is about, and what may be said of it."""
        given = self._text("criteria")
        scale = self._rows.scale(given or self._defaults.criteria)
        name, row, judge = self._text("id"), self._text("row"), self._text("judge")
        self.column = "row" if row else "id" if name else None
        found = self._rows.find(scale.name, row, name, judge)
        own = self._text("criteria_identity")
        return _About(found.identity, found.id, scale.name, own), scale, found

    def _label(self, about: _About, answer: Answer, annotator: str, state: str) -> Label:
        values = {
            **vars(about),
            **vars(answer),
            "annotator": annotator,
            "state": state,
            "kind": self._text("kind") or self._defaults.kind,
            "design": self._text("design") or self._defaults.design,
            "judge_visible": self._as(_truth, "judge_visible", self._defaults.judge_visible),
            "note": self._note(),
            "at": self._as(_float, "at", self._defaults.at),
            "seed": self._as(_integer, "seed", None),
            "drawn_at": self._as(_float, "drawn_at", None),
            "drawn_under": self._text("drawn_under"),
            "drawn_by": self._text("drawn_by"),
            "chance": self._as(_float, "chance", None),
            "step": self._as(_integer, "step", None),
        }
        values["drawn_of"] = self._as(_integer, "drawn_of", None)
        # a file of people's own speaks of the rows that are here; an export (it has a seed, or the
        # column) may be of a run that had fewer
        is_export = values["seed"] is not None or "drawn_of" in self._cells
        if values["design"] != "chosen" and not is_export:
            values["drawn_of"] = self._rows.count(about.criteria)
        self.column = None
        return Label(**values)  # what is wrong with them, it says

    def _answer(self, scale: LabelScale, found: FoundRow) -> Answer:
        for name in self._answers:
            if (text := self._text(name)) is not None:
                return scale.read(text, found.responses, found.systems)
        raise WrongData("the row holds no answer")

    def _annotator(self) -> str:
        if found := self._text("annotator"):
            return found
        if len(self._defaults.annotators) != 1:
            raise WrongData(
                "nothing says who gave the label: add a column annotator, or --annotator NAME"
            )
        return self._defaults.annotators[0]

    def _note(self) -> str:
        """As it was written, blank or not."""
        value = self._cells.get("note")
        return value if isinstance(value, str) else self._text("note") or ""

    def _as(self, read: Callable[[str], object], name: str, default: object) -> object:
        text = self._text(name)
        return default if text is None else read(text)

    def _text(self, name: str) -> str | None:
        """A cell as text; None where it holds nothing."""
        self.column = name if name in self._cells else self.column
        value = self._cells.get(name)
        if value is None or (isinstance(value, str) and is_blank(value)):
            return None
        return value if isinstance(value, str) else repr(value)


def _truth(text: str) -> bool:
    if text.casefold() not in _TRUTH:
        raise WrongData("{text!r} is neither true nor false", text=text)
    return _TRUTH[text.casefold()]


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WrongData("{value!r} is not a number", value=text) from None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WrongData("{text!r} is not a whole number", text=text) from None
