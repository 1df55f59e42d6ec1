"""Labelled rows from any source: a column of a file, a public set, an earlier run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from adjudge.core.data.columns import ALIASES, column_for, column_in, text_of
from adjudge.core.data.dataset import BadRow, read_comparisons, read_instances
from adjudge.core.data.sources.row import Cells
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance, identity_of
from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import holds_run
from adjudge.core.prompts.renderer import shown_fields
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import ImportOptions, read_foreign
from adjudge.features.importers.labelled_records import RECORDS
from adjudge.features.importers.pooling import criteria_of, instance_of
from adjudge.features.importers.record import Mark, RecordedQuestion, RecordedRow
from adjudge.messages import plural
from adjudge.runs.earlier_rows import distinct_rows_of_run
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore

_ASKED_BY = ("question", "prompt", "instruction", "query", "input")
"""How public sets call what the user asked, the surest first."""

AnyMark = Mark | Label
"""What a person said of a row: as a file has it, or as a run keeps it."""


@dataclass(frozen=True)
class MarkedRow:
    """A row with its human labels."""

    instance: Instance
    marks: tuple[AnyMark, ...]


@dataclass(frozen=True)
class LabelledSet:
    """Labelled rows, without duplicates."""

    source: str
    rows: tuple[MarkedRow, ...]
    own: Criteria | None = None
    """The question that the labels answer, if the data contain it."""
    unlabelled: int = 0
    """Rows without labels: they are not judged."""
    notes: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        """True if the rows hold several responses to compare."""
        return not isinstance(self.rows[0].instance.value("response") or "", str)

    def with_fields(self, needed: Iterable[str]) -> LabelledSet:
        """Return the set with its fields renamed to those that the criteria read."""
        names = tuple(dict.fromkeys(needed))
        return replace(
            self,
            rows=tuple(
                replace(row, instance=_rename_fields(row.instance, names)) for row in self.rows
            ),
        )


@dataclass(frozen=True)
class LabelledSource:
    """The location of labelled rows, and the options for reading them."""

    path: Path
    human: tuple[str, ...] = ()
    """The columns that hold people's answers, one per person; without any the file is read as a
    labelled set.
    """
    columns: Mapping[str, str] = field(default_factory=dict)
    responses: tuple[str, ...] = ()
    """The columns of responses that are compared."""
    question: str | None = None
    """The question to use, if labels answer several."""
    kind: str | None = None
    """The format of a labelled set; None: recognise it."""
    id: str | None = None
    """The column with the rows' names."""
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    compares: bool = False
    """True if the rows of a plain file are comparisons."""
    needed: tuple[str, ...] = ("response",)
    limit: int | None = None
    sample: int | None = None
    """Draw so many rows instead of taking the first."""
    seed: int = 0
    only: str | None = None
    """Pattern for the ids of rows, in which ``*`` stands for any text."""
    on_bad_row: Callable[[BadRow], None] | None = None


def labelled_set(source: LabelledSource) -> LabelledSet:
    """Read the labelled rows of a source; raise a RunError if there are none."""
    if holds_run(source.path):
        labelled = _read_run(source)
    elif source.human:
        labelled = _read_columns(source)
    else:
        labelled = _read_import(source)
    rows = tuple(
        marked_row
        for marked_row in labelled.rows
        if source.only is None or fnmatchcase(str(marked_row.instance.id), source.only)
    )
    if not rows:
        if not labelled.rows:
            raise RunError("{path} has no labelled row", path=source.path)
        raise RunError(
            "{path} has no labelled row whose id matches {pattern!r}",
            path=source.path,
            pattern=source.only,
        )
    if source.sample is None:
        return replace(labelled, rows=rows[: source.limit])
    lots = sorted(rows, key=lambda row: lot(source.seed, row.instance.identity))
    drawn = {row.instance.identity for row in lots[: source.sample]}
    return replace(labelled, rows=tuple(row for row in rows if row.instance.identity in drawn))


def lot(seed: int, identity: str) -> str:
    """Return a row's sort key for random draws. It depends only on the seed and the row."""
    return hashlib.sha256(f"{seed}:{identity}".encode()).hexdigest()


class _RowCollection:
    """Collects rows and their labels, merging rows with the same content."""

    def __init__(self) -> None:
        self._instances: dict[str, Instance] = {}
        self._marks: dict[str, list[AnyMark]] = {}

    def add(self, instance: Instance, marks: Iterable[AnyMark]) -> None:
        self._instances.setdefault(instance.identity, instance)
        self._marks.setdefault(instance.identity, []).extend(marks)

    def to_set(
        self, source: LabelledSource, question: Criteria | None, notes: Iterable[str] = ()
    ) -> LabelledSet:
        marks_by_row = {identity: _consistent(marks) for identity, marks in self._marks.items()}
        split = sum(
            len(marks_by_row[identity]) < len({mark.annotator for mark in marks})
            for identity, marks in self._marks.items()
        )
        messages = list(notes)
        if split:
            messages.append(
                plural(
                    "{count} row appears twice with conflicting labels by one person; these "
                    "labels are left out",
                    "{count} rows appear twice with conflicting labels by one person; these "
                    "labels are left out",
                    split,
                )
            )
        rows = tuple(
            MarkedRow(self._instances[identity], marks)
            for identity, marks in marks_by_row.items()
            if marks
        )
        return LabelledSet(
            str(source.path), rows, question, len(marks_by_row) - len(rows), tuple(messages)
        )


def without_copies(labelled: LabelledSet, criteria: Criteria) -> LabelledSet:
    """Leave each row only what the criteria show of it, and merge rows that then have the same
    texts, with a note.

    Spaces and capitals make no difference. A copy of a row that taught or chose something would
    measure nothing.
    """
    groups: dict[str, list[MarkedRow]] = {}
    for row in labelled.rows:
        shown = replace(row, instance=_as_shown(row.instance, criteria))
        groups.setdefault(_folded(shown.instance), []).append(shown)
    merged = [
        # the same one of the copies, however the rows are ordered
        MarkedRow(
            min((copy.instance for copy in copies), key=lambda instance: instance.identity),
            _consistent([mark for copy in copies for mark in copy.marks]),
        )
        for copies in groups.values()
    ]
    rows = tuple(row for row in merged if row.marks)
    notes = list(labelled.notes)
    if copies_count := len(labelled.rows) - len(groups):
        notes.append(
            plural(
                "{count} row shows the judge the same text as another; the two count as one",
                "{count} rows show the judge the same texts as others; copies count as one",
                copies_count,
            )
        )
    if disputed := len(merged) - len(rows):
        notes.append(
            plural(
                "{count} row is left out because its copies have conflicting labels by one person",
                "{count} rows are left out because their copies have conflicting labels by one "
                "person",
                disputed,
            )
        )
    return replace(labelled, rows=rows, notes=tuple(notes))


def _as_shown(instance: Instance, criteria: Criteria) -> Instance:
    try:
        names = shown_fields(criteria, instance)
    except SetupError:
        return instance  # the judge says which field it lacks
    fields = {name: value for name, value in instance.fields.items() if name in names}
    return instance if len(fields) == len(instance.fields) else replace(instance, fields=fields)


def _folded(instance: Instance) -> str:
    """Return a key that texts share which differ only in spaces and capitals."""
    return identity_of(
        {
            name: _fold(value) if isinstance(value, str) else tuple(map(_fold, value))
            for name, value in instance.fields.items()
        }
    )


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _consistent(marks: Sequence[AnyMark]) -> tuple[AnyMark, ...]:
    """Return one mark per person, leaving out people who gave different answers."""
    by_person: dict[str, dict[str, AnyMark]] = {}
    for mark in marks:
        by_person.setdefault(mark.annotator, {})[str(mark.answer)] = mark
    return tuple(
        next(iter(by_answer.values())) for by_answer in by_person.values() if len(by_answer) == 1
    )


def _read_columns(source: LabelledSource) -> LabelledSet:
    collection = _RowCollection()
    for instance in _instances(source):
        original_row = instance.metadata["row"]
        cells = original_row if isinstance(original_row, Mapping) else {}
        marks = tuple(_marks(cells, source))
        collection.add(_without_labels(instance, cells, source.human), marks)
    labelled = collection.to_set(source, None)
    return as_chosen(labelled) if labelled.unlabelled else labelled


def as_chosen(labelled: LabelledSet) -> LabelledSet:
    """Mark the labels of all rows as chosen: it is unknown how the labelled rows were picked."""
    rows = (
        MarkedRow(row.instance, tuple(replace(mark, design="chosen") for mark in row.marks))
        for row in labelled.rows
    )
    return replace(labelled, rows=tuple(rows))


def _without_labels(instance: Instance, cells: Cells, human: Sequence[str]) -> Instance:
    """Return the row without people's answers, even if their column has a field's name
    (``target``, ``expected``).
    """
    labels = {column_in(cells, name) for name in human}
    fields = {
        name: value
        for name, value in instance.fields.items()
        if column_for(name, cells) not in labels
    }
    return instance if len(fields) == len(instance.fields) else replace(instance, fields=fields)


def _instances(source: LabelledSource) -> Iterator[Instance]:
    columns = _check_columns(source.columns, source.human)
    read = (
        partial(read_comparisons, source.path, source.responses, columns)
        if source.compares
        else partial(read_instances, source.path, columns, None, source.needed)
    )
    return read(
        id=source.id,
        encoding=source.encoding,
        sheet=source.sheet,
        header_row=source.header_row,
        on_bad_row=source.on_bad_row,
    )


def _check_columns(columns: Mapping[str, str], human: Sequence[str]) -> Mapping[str, str]:
    """Raise a SetupError if a field is read from a label column: the judge would see the answer."""
    for name, column in columns.items():
        if column_in(human, column) is not None:
            raise SetupError(
                "column {column!r} contains people's answers (--human), but the judge would read "
                "it as {name!r}",
                column=column,
                name=name,
            )
    return columns


def _marks(cells: Cells, source: LabelledSource) -> Iterator[Mark]:
    for name in source.human:
        column = column_in(cells, name)
        if column is None:
            raise RunError(
                "{path} has no column {name!r} (--human); it has: {cells}",
                path=source.path,
                name=name,
                cells=", ".join(cells),
            )
        answer = text_of(cells[column], column)
        if isinstance(answer, str) and answer.strip():
            yield Mark(answer=answer.strip(), annotator=column, design="random")


def _read_run(source: LabelledSource) -> LabelledSet:
    labels = [
        label
        for label in LabelStore(source.path).current()
        if label.state == "given" and label.kind != "model"
    ]
    names = list(dict.fromkeys(label.criteria for label in labels))
    if not names:
        raise RunError(
            "{path} has no labels: label rows with 'adjudge label {path}'", path=source.path
        )
    name = _choose_question(source, names)
    marks: dict[str, list[AnyMark]] = {}
    for label in labels:
        if label.criteria == name:
            marks.setdefault(label.row, []).append(label)
    collection = _RowCollection()
    for instance in distinct_rows_of_run(source.path):
        collection.add(instance, marks.get(instance.identity, ()))
    question = next(
        (scale.scale.criteria for scale in label_scales(source.path) if scale.name == name), None
    )
    return collection.to_set(source, question)


def _read_import(source: LabelledSource) -> LabelledSet:
    imported = read_foreign(
        source.path, ImportOptions(source.kind, source.encoding, source.on_bad_row is not None)
    )
    recorded = list(imported.rows)
    questions = {row.question.name: row.question for row in recorded if row.marks}
    if not questions:
        raise RunError(
            "{path} was read as {title} and contains no labels: name the column with people's "
            "answers with --human COLUMN",
            path=source.path,
            title=imported.format.title,
        )
    name = _choose_question(source, list(questions))
    collection = _RowCollection()
    if any(row.named_only for row in recorded):
        raise RunError(
            "{path} contains the names of its rows but not their texts, so they cannot be judged "
            "again",
            path=source.path,
        )
    for row in recorded:
        collection.add(instance_of(row), row.marks if row.question.name == name else ())
    for bad in imported.bad_rows():
        if source.on_bad_row:
            source.on_bad_row(BadRow("", bad))
    generic = imported.format is RECORDS and questions[name].kind != "comparison"
    criterion = None if generic else _criterion_of(questions[name], recorded)
    return collection.to_set(source, criterion, imported.log.notes)


def _criterion_of(question: RecordedQuestion, recorded: Iterable[RecordedRow]) -> Criteria | None:
    """Return the question as a criterion; None for a rating, which has no options.

    The options of a choice include the recorded answers.
    """
    if question.kind == "rating":
        return None
    answers = Counter(
        str(mark.answer)
        for row in recorded
        if row.question.name == question.name
        for mark in row.marks
    )
    return criteria_of(question, tuple(answers) if question.kind == "choice" else ())


def _choose_question(source: LabelledSource, names: Sequence[str]) -> str:
    if source.question is None and len(names) == 1:
        return names[0]
    listed = ", ".join(map(repr, names))
    if source.question is None:
        raise SetupError(
            "{path} contains labels for {count} questions: choose one with --question: {known}",
            path=source.path,
            count=len(names),
            known=listed,
        )
    if source.question not in names:
        raise SetupError(
            "{path} has no labels for {question!r}; it has {known}",
            path=source.path,
            question=source.question,
            known=listed,
        )
    return source.question


def _rename_fields(instance: Instance, needed: Sequence[str]) -> Instance:
    fields = dict(instance.fields)
    for name in needed:
        if name in fields:
            continue
        if name == "user_input" and "instruction" in fields and "input" in fields:
            fields = {name: f"{fields.pop('instruction')}\n\n{fields.pop('input')}", **fields}
            continue
        names = _ASKED_BY if name == "user_input" else ALIASES.get(name, ())
        column = next((alias for alias in names if alias in fields), None)
        if column is not None:
            fields = {name if key == column else key: value for key, value in fields.items()}
    return instance if fields == instance.fields else replace(instance, fields=fields)
