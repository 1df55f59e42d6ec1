"""Labels from files: CSV, JSONL and other tables, with one label per row or one column per
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
from adjudge.core.data.sources.row import BadRow, Cells, FileFormat, Origin, Row, is_blank
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import DESIGNS, KINDS, Answer, Design, Kind, Label, LabelScale
from adjudge.core.ledger.records import records
from adjudge.core.reading.types import Flag, Many, Text, Word, key
from adjudge.errors import RunError, SetupError, WrongData
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.trust.labels.rows_of_draws import row_key
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import Draw, LabelStore
from adjudge.trust.labels.weighting import Weighting

ANSWERS = ("label", "option", "score", "winner")
"""Columns that hold an answer, the first that is there; ``label`` is whichever of the others the
criteria asks for.
"""
UNSURE = "?"
"""What stands for an answer that the annotator could not give, unless an option is called so."""
# Where this column is, the file is an export of a run: its option and score are the judge's.
_OF_AN_EXPORT = "votes_requested"
NAMES = tuple(entry.name for entry in fields(Label))
# Columns that are no annotator's.
_OF_THE_ROW = (*NAMES, "judge", "label")
_TABLE = (
    "CREATE TABLE rows (criteria TEXT, judge TEXT, number INTEGER, id TEXT, identity TEXT, "
    "responses INTEGER, systems TEXT)"
)
_IDENTITY = 32
# Seconds by which a system's time of writing may be behind its clock.
_CLOCK_TICK = 0.01
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class LabelDefaults:
    """Values for labels of a file that does not state them."""

    annotators: tuple[str, ...] = key(
        Many(Text()),
        "Name of the annotator; by default your login name. For a file of labels: the annotator, "
        "or the columns that hold annotators' answers.",
        (),
        option="--annotator",
    )
    criteria: str | None = key(
        Text(), "The criterion that the labels are for, if the run has several.", None
    )
    kind: Kind = key(Word[Kind](KINDS), "Kind of annotator.", "human")
    design: Design = key(
        Word[Design](DESIGNS),
        "How the rows were chosen, for labels that do not record it.",
        "chosen",
    )
    judge_visible: bool = key(
        Flag(), "With --import: the annotators saw the judge's verdicts.", False
    )
    id: str | None = key(Text(), "With --import: the column with row ids; by default id.", None)
    at: float = 0.0
    """Time of the labels, for those that do not say it."""


_DEFAULTS = LabelDefaults()


class FoundRow(NamedTuple):
    identity: str
    id: str | None
    responses: int
    """Number of compared responses."""
    systems: tuple[str, ...]
    """The names of the compared systems."""


class RunRows:
    """The rows of a run, found by any name that a file may use."""

    def __init__(
        self, table: sqlite3.Connection, scales: Sequence[JudgedScale], store: LabelStore
    ) -> None:
        self._table = table
        self._store = store
        self._counts: dict[str, int] = {}
        self.unknown = 0
        """Rows of files that the run does not have."""
        self.has_exported = False
        """True if a label was exported from a run, maybe from one with other rows."""
        self._scales: dict[str, JudgedScale] = {}
        for judged in scales:
            # of several scales with one name the first counts, as in an annotation session
            self._scales.setdefault(judged.name, judged)

    def scale(self, criteria: str | None) -> LabelScale:
        """Return the scale of a criterion, which may be None if there is only one.

        Raises a ValueError that lists the known criteria.
        """
        if criteria is None and len(self._scales) == 1:
            return next(iter(self._scales.values())).scale
        if criteria is None or criteria not in self._scales:
            names = ", ".join(map(repr, self._scales))
            raise ValueError(
                Message("no criterion is named; the run has {known}", known=names)
                if criteria is None
                else Message(
                    "unknown criterion {name!r}; the run has {known}",
                    name=criteria,
                    known=names,
                )
            )
        return self._scales[criteria].scale

    def count(self, criteria: str) -> int:
        """Return how many rows could be drawn so far by this criterion, now included."""
        if criteria not in self._counts:
            drawn = self._store.drawn_rows(criteria)
            for keys in self._keys(criteria):
                drawn.add(keys)
            self._counts[criteria] = drawn.total
        return self._counts[criteria]

    def of_other_draws(self, labels: Iterable[Label]) -> set[str]:
        """Return the criteria whose labels were drawn from other rows than this run has: an export
        has rows that the run lacks, and no row of this run was drawn.
        """
        is_other = self.unknown > 0 and self.has_exported
        drawn = {label.criteria for label in labels if label.is_random} if is_other else set()
        return {name for name in drawn if not self._store.drawn_rows(name).blocks}

    def keep(self, labels: Iterable[Label]) -> None:
        """Store the rows that the run has now, for the criteria of labels of drawn rows."""
        for criteria in sorted({label.criteria for label in labels if label.is_random}):
            self._store.keep_drawn_rows(criteria, self._keys(criteria))

    def _keys(self, criteria: str) -> Iterator[Iterator[int]]:
        """Yield the keys of the rows of each judge."""
        query = "SELECT DISTINCT judge FROM rows WHERE criteria = ? ORDER BY judge"
        of_judge = "SELECT identity FROM rows WHERE criteria = ? AND judge = ? ORDER BY number"
        for (judge,) in self._table.execute(query, (criteria,)).fetchall():
            rows = self._table.execute(of_judge, (criteria, judge))
            yield (row_key(identity) for (identity,) in rows)

    def find(self, criteria: str, row: str | None, id: str | None, judge: str | None) -> FoundRow:
        """Find a row by its identity, its position in an export, or its id. Raises a ValueError if
        it is not unique.
        """
        if row is not None and len(row) == _IDENTITY:
            row_found = self._one(
                criteria, Message("with the identity {row!r}", row=row), "identity = ?", row
            )
            return row_found._replace(id=self._id_of_copy(criteria, row_found, id))
        if row is not None and row.isdecimal():
            conditions = ("number = ?", "judge = ?") if judge else ("number = ?",)
            row_found = self._one(
                criteria, row, " AND ".join(conditions), int(row), *((judge,) if judge else ())
            )
            return row_found._replace(id=row_found.id or self._id_of_copy(criteria, row_found, row))
        if id is not None and row is None:
            return self._one(criteria, Message("with the id {id!r}", id=id), "id = ?", id)
        if row is not None:
            raise WrongData(
                "{row!r} is neither the identity of a row nor its position in an export of the run",
                row=row,
            )
        raise WrongData(
            "the row is not identified: give the column row (an identity, or the position in an "
            "export) or id"
        )

    def _id_of_copy(self, criteria: str, found_row: FoundRow, name: str | None) -> str | None:
        """Return the id of that row with this content whose id or position is ``name``.

        If only one row has this content, return its id. None means that the label is for all
        copies.
        """
        query = "SELECT judge, coalesce(id, number) FROM rows WHERE criteria = ? AND identity = ?"
        copies = self._table.execute(query, (criteria, found_row.identity)).fetchall()
        if len(copies) == len({judge for judge, _ in copies}):
            return found_row.id
        return name if name in {str(copy_name) for _, copy_name in copies} else None

    def _one(self, criteria: str, what: str, which: str, *values: object) -> FoundRow:
        query = (
            "SELECT identity, id, responses, systems FROM rows "  # noqa: S608
            f"WHERE criteria = ? AND {which} GROUP BY identity LIMIT 2"
        )
        matches = self._table.execute(query, (criteria, *values)).fetchall()
        if len(matches) != 1:
            self.unknown += not matches
            raise ValueError(
                Message(
                    "the run has several rows {what} under criterion {name!r}",
                    what=what,
                    name=criteria,
                )
                if matches
                else Message(
                    "the run has no row {what} under criterion {name!r}", what=what, name=criteria
                )
            )
        ((identity, id, responses, systems),) = matches
        return FoundRow(str(identity), id, int(responses), tuple(json.loads(systems)))


@contextmanager
def run_rows(folder: str | Path) -> Iterator[RunRows]:
    """Index the rows of a run in a temporary database."""
    scales = label_scales(folder)
    with closing(sqlite3.connect("")) as table, reading(folder) as ledger:
        table.execute(_TABLE)
        for result in records(ledger):
            response = result.fields.get("response", "")
            responses = 1 if isinstance(response, str) else len(response)
            systems = json.dumps(result.systems)
            columns_of_row = (
                result.judge,
                result.row,
                result.id,
                result.identity,
                responses,
                systems,
            )
            scores = result.detail.dimension_scores
            for criterion in [result.criterion] if scores is None else scores:
                values = (criterion, *columns_of_row)
                table.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        for columns in ("criteria, identity", "criteria, id", "criteria, number"):
            table.execute(f"CREATE INDEX {columns.replace(', ', '_')} ON rows ({columns})")
        yield RunRows(table, scales, LabelStore(folder))


def read_labels(
    path: str | Path,
    rows: RunRows,
    defaults: LabelDefaults = _DEFAULTS,
    on_bad_row: Callable[[BadRow], None] | None = None,
    *,
    on_empty_row: Callable[[], None] | None = None,
    encoding: str | None = None,
) -> Iterator[Label]:
    """Yield the labels in a file about a run's rows.

    A RunError names the file, row and column of a problem. With ``on_bad_row``, bad rows are passed
    to it and skipped instead. ``on_empty_row`` is called for each row in which nobody answered.
    """
    origin, rows_of_file = open_source(path, FileFormat(encoding=encoding))
    is_table = Path(path).suffix.lower() in (".csv", ".tsv", ".tab")
    for row in rows_of_file:
        read = (
            row if isinstance(row, BadRow) else _row_labels(row, origin, is_table, rows, defaults)
        )
        if not isinstance(read, BadRow):
            if not read and on_empty_row is not None:
                on_empty_row()
            yield from read
        elif on_bad_row is None:
            raise RunError(str(read))
        else:
            on_bad_row(read)


def written_at(path: Path) -> float:
    """Return when a file was last written, used as the time of labels without one.

    Thus importing an older file later does not override a correction.
    """
    return path.stat().st_mtime + _CLOCK_TICK if path.is_file() else time.time()


def keep_draws(folder: str | Path, labels: Iterable[Label]) -> None:
    """Store the draws of a file's labels if a judge of this run drew their rows with different
    chances.

    Otherwise further labels could not be combined with them.
    """
    store, identities = (
        LabelStore(folder),
        {scale.name: scale.identity for scale in label_scales(folder)},
    )
    drawn = {
        label.criteria: (label, Weighting.read(str(label.drawn_by)))
        for label in labels
        if label.design == "random_weighted" and label.drawn_under == identities.get(label.criteria)
    }
    for criteria, (label, weighting) in drawn.items():
        store.keep_draw(criteria, Draw(label.seed or 0, label.drawn_at or label.at))
        store.keep_weighting(criteria, str(weighting))


def _row_labels(
    row: Row, origin: Origin, is_table: bool, rows: RunRows, defaults: LabelDefaults
) -> list[Label] | BadRow:
    cells = {} if isinstance(row.cells, Instance) else row.cells
    texts = {
        # tables hold the mark that defuses formulas, and white space around values
        _column_name(str(name), cells): (
            text_of(value).strip() if is_table and isinstance(value, str) else value
        )
        for name, value in cells.items()
    }
    if defaults.id is not None:
        id_column = defaults.id
        alike = [
            column_name for column_name in texts if column_name.casefold() == id_column.casefold()
        ]
        name = id_column if id_column in alike else next(iter(alike), None)
        if name is None:
            columns = ", ".join(map(str, cells))
            why = Message(
                "there is no column named {name!r}; the columns are {known}",
                name=defaults.id,
                known=columns,
            )
            return BadRow(origin.where(row.number), str(why))
        texts["id"] = texts[name] if name == "id" else texts.pop(name)
    reader = _RowReader(texts, rows, defaults)
    try:
        return list(reader.labels())
    except (ValueError, SetupError) as error:
        column = f", column {reader.column!r}" if reader.column else ""
        return BadRow(f"{origin.where(row.number)}{column}", str(error))


def _column_name(column: str, columns: Collection[object]) -> str:
    """Return the standard spelling of a known column, e.g. "id" for "ID" and "label" for "Label
    ".
    """
    plain = column.strip().casefold()
    return plain if plain in _OF_THE_ROW and plain not in columns else column


@dataclass(frozen=True)
class _About:
    """The row and the criterion that a label is about."""

    row: str
    id: str | None
    criteria: str
    criteria_identity: str | None


class _RowReader:
    """Reads the labels in one row of a file. ``column``: the column being read, for error
    messages.
    """

    def __init__(self, cells: Cells, rows: RunRows, defaults: LabelDefaults) -> None:
        self.column: str | None = None
        self._cells = cells
        self._rows = rows
        self._defaults = defaults

    def labels(self) -> Iterator[Label]:
        """Yield one label if a column holds the answer, else one per annotator who answered."""
        if self._answers:
            yield self._single_label()
        else:
            yield from self._labels_of_annotators()

    @property
    def _answers(self) -> list[str]:
        return [
            name
            for name in ANSWERS
            if name in self._cells and (name == "label" or _OF_AN_EXPORT not in self._cells)
        ]

    def _single_label(self) -> Label:
        about, scale, found_row = self._resolve_row()
        state = self._text("state") or "given"
        answer = self._answer(scale, found_row) if state == "given" else Answer()
        return self._label(about, answer, self._annotator(), state)

    def _labels_of_annotators(self) -> Iterator[Label]:
        about, scale, found_row = self._resolve_row()
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
                "there is no column named {column!r}; the columns are {columns}",
                column=missing[0],
                columns=", ".join(self._cells),
            )
        if not columns:
            raise WrongData(
                "no column contains an answer: name it {names}, or give each annotator a column",
                names=", ".join(ANSWERS),
            )
        for name in columns:
            if text := self._text(name):
                yield self._label(about, _read_answer(scale, text, found_row), name, "given")

    def _resolve_row(self) -> tuple[_About, LabelScale, FoundRow]:
        """Return the row and criterion that the label is about, the scale, and the run's row."""
        criterion = self._text("criteria")
        scale = self._rows.scale(criterion or self._defaults.criteria)
        name, row, judge = self._text("id"), self._text("row"), self._text("judge")
        self.column = "row" if row else "id" if name else None
        found_row = self._rows.find(scale.name, row, name, judge)
        criteria_identity = self._text("criteria_identity")
        return (
            _About(found_row.identity, found_row.id, scale.name, criteria_identity),
            scale,
            found_row,
        )

    def _label(self, about: _About, answer: Answer | None, annotator: str, state: str) -> Label:
        values = {
            **vars(about),
            **vars(answer or Answer()),
            "annotator": annotator,
            "state": "unsure" if answer is None else state,
            "kind": self._text("kind") or self._defaults.kind,
            "design": self._text("design") or self._defaults.design,
            "judge_visible": self._parse(
                _parse_bool, "judge_visible", self._defaults.judge_visible
            ),
            "note": self._note(),
            "at": self._parse(_parse_float, "at", self._defaults.at),
            "seed": self._parse(_parse_int, "seed", None),
            "drawn_at": self._parse(_parse_float, "drawn_at", None),
            "drawn_under": self._text("drawn_under"),
            "drawn_by": self._text("drawn_by"),
            "chance": self._parse(_parse_float, "chance", None),
            "step": self._parse(_parse_int, "step", None),
        }
        values["drawn_of"] = self._parse(_parse_int, "drawn_of", None)
        # a hand-made file is about the rows of this run; an export (it has a seed, or the column)
        # may be of a run that had fewer
        is_export = values["seed"] is not None or "drawn_of" in self._cells
        self._rows.has_exported |= is_export
        if values["design"] != "chosen" and not is_export:
            values["drawn_of"] = self._rows.count(about.criteria)
        self.column = None
        label = Label(**values)  # Label checks the values
        if label.design == "random_within_verdict" and label.drawn_under is None:
            raise WrongData(
                "a label of design random_within_verdict needs drawn_under, the identity of the "
                "judge within whose verdict its row was drawn. Take it from an export, or use "
                "design random if the row was drawn from all rows, else chosen"
            )
        return label

    def _answer(self, scale: LabelScale, found_row: FoundRow) -> Answer | None:
        for name in self._answers:
            if (text := self._text(name)) is not None:
                return _read_answer(scale, text, found_row)
        raise WrongData("the row contains no answer")

    def _annotator(self) -> str:
        if name := self._text("annotator"):
            return name
        if len(self._defaults.annotators) != 1:
            raise WrongData("the annotator is unknown: add a column annotator, or --annotator NAME")
        return self._defaults.annotators[0]

    def _note(self) -> str:
        """Return the note unchanged, even if it is blank."""
        value = self._cells.get("note")
        return value if isinstance(value, str) else self._text("note") or ""

    def _parse(self, read: Callable[[str], object], name: str, default: object) -> object:
        text = self._text(name)
        return default if text is None else read(text)

    def _text(self, name: str) -> str | None:
        """Return a cell as text; None if it is empty."""
        self.column = name if name in self._cells else self.column
        value = self._cells.get(name)
        if value is None or (isinstance(value, str) and is_blank(value)):
            return None
        return value if isinstance(value, str) else repr(value)


def _read_answer(scale: LabelScale, text: str, found_row: FoundRow) -> Answer | None:
    """Parse an answer; None if the annotator was unsure."""
    try:
        return scale.read(text, found_row.responses, found_row.systems)
    except ValueError:
        if text.strip() == UNSURE:
            return None
        raise


def _parse_bool(text: str) -> bool:
    if text.casefold() not in _TRUTH:
        raise WrongData("{text!r} is neither true nor false", text=text)
    return _TRUTH[text.casefold()]


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WrongData("{value!r} is not a number", value=text) from None


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WrongData("{text!r} is not a whole number", text=text) from None
