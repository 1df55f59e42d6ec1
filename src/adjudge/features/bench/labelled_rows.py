"""Rows that people labelled, from wherever they are: a column of a file, a public set, an earlier
run.
"""

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
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import ImportOptions, read_foreign
from adjudge.features.importers.labelled_records import RECORDS
from adjudge.features.importers.pooling import criteria_of, instance_of
from adjudge.features.importers.record import Mark, RecordedQuestion, RecordedRow
from adjudge.messages import plural
from adjudge.runs.earlier_rows import rows_of_run
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore

_ASKED_BY = ("question", "prompt", "instruction", "query", "input")
"""How public sets call what the user asked, the surest first."""

Marked = Mark | Label
"""What a person said of a row: as a file has it, or as a run keeps it."""


@dataclass(frozen=True)
class MarkedRow:
    """A row, and what people said of it."""

    instance: Instance
    marks: tuple[Marked, ...]


@dataclass(frozen=True)
class LabelledSet:
    """Rows with labels, each row once."""

    source: str
    rows: tuple[MarkedRow, ...]
    own: Criteria | None = None
    """The question that the labels answer, where the data tell it."""
    unlabelled: int = 0
    """Rows that nobody labelled: they are not judged."""
    notes: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether rows hold responses that are compared."""
        return not isinstance(self.rows[0].instance.value("response") or "", str)

    def with_fields(self, needed: Iterable[str]) -> LabelledSet:
        """The rows with the fields that criteria read under the names that they read them by."""
        names = tuple(dict.fromkeys(needed))
        return replace(
            self,
            rows=tuple(replace(one, instance=_renamed(one.instance, names)) for one in self.rows),
        )


@dataclass(frozen=True)
class LabelledSource:
    """Where labelled rows are, and how they are read."""

    path: Path
    human: tuple[str, ...] = ()
    """The columns that hold people's answers, one per person; without any the file is read as a
    labelled set.
    """
    columns: Mapping[str, str] = field(default_factory=dict)
    responses: tuple[str, ...] = ()
    """The columns of responses that are compared."""
    question: str | None = None
    """Of labels about several questions: which."""
    kind: str | None = None
    """The format of a labelled set, where it is not to be found out."""
    id: str | None = None
    """The column with the rows' names."""
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    compares: bool = False
    """Whether the rows of a plain file are comparisons."""
    needed: tuple[str, ...] = ("response",)
    limit: int | None = None
    sample: int | None = None
    """Draw so many rows instead of taking the first."""
    seed: int = 0
    only: str | None = None
    """The rows whose ids fit this pattern, where ``*`` stands for any text."""
    on_bad_row: Callable[[BadRow], None] | None = None


def labelled_set(source: LabelledSource) -> LabelledSet:
    """The labelled rows; an error says where they were looked for."""
    if holds_run(source.path):
        found = _of_run(source)
    elif source.human:
        found = _of_columns(source)
    else:
        found = _of_import(source)
    rows = tuple(
        one
        for one in found.rows
        if source.only is None or fnmatchcase(str(one.instance.id), source.only)
    )
    if not rows:
        if not found.rows:
            raise RunError("{path} has no labelled row", path=source.path)
        raise RunError(
            "{path} has no labelled row whose id fits {pattern!r}",
            path=source.path,
            pattern=source.only,
        )
    return replace(found, rows=_chosen(rows, source))


def _chosen(rows: tuple[MarkedRow, ...], source: LabelledSource) -> tuple[MarkedRow, ...]:
    if source.sample is None:
        return rows[: source.limit]
    drawn = sorted(rows, key=lambda one: lot(source.seed, one.instance.identity))[: source.sample]
    kept = {one.instance.identity for one in drawn}
    return tuple(one for one in rows if one.instance.identity in kept)


def lot(seed: int, identity: str) -> str:
    """What rows are drawn by: of the seed and the row alone, so that other rows beside it make no
    difference.
    """
    return hashlib.sha256(f"{seed}:{identity}".encode()).hexdigest()


class _Gathered:
    """Rows by what they show, with what was said of each."""

    def __init__(self) -> None:
        self._instances: dict[str, Instance] = {}
        self._marks: dict[str, list[Marked]] = {}

    def add(self, instance: Instance, marks: Iterable[Marked]) -> None:
        self._instances.setdefault(instance.identity, instance)
        self._marks.setdefault(instance.identity, []).extend(marks)

    def labelled(
        self, source: LabelledSource, own: Criteria | None, notes: Iterable[str] = ()
    ) -> LabelledSet:
        kept = {identity: _consistent(marks) for identity, marks in self._marks.items()}
        split = sum(
            len(kept[identity]) < len({one.annotator for one in marks})
            for identity, marks in self._marks.items()
        )
        told = list(notes)
        if split:
            told.append(
                plural(
                    "{count} row stands there twice with different labels of one person, "
                    "which are left out",
                    "{count} rows stand there twice with different labels of one person, "
                    "which are left out",
                    split,
                )
            )
        rows = tuple(
            MarkedRow(self._instances[identity], marks) for identity, marks in kept.items() if marks
        )
        return LabelledSet(str(source.path), rows, own, len(kept) - len(rows), tuple(told))


def _consistent(marks: Sequence[Marked]) -> tuple[Marked, ...]:
    """One mark per person; of who contradicts himself, none."""
    said: dict[str, dict[str, Marked]] = {}
    for one in marks:
        said.setdefault(one.annotator, {})[str(one.answer)] = one
    return tuple(next(iter(each.values())) for each in said.values() if len(each) == 1)


def _of_columns(source: LabelledSource) -> LabelledSet:
    gathered = _Gathered()
    for instance in _instances(source):
        kept = instance.metadata["row"]
        cells = kept if isinstance(kept, Mapping) else {}
        marks = tuple(_marks(cells, source))
        gathered.add(_unmarked(instance, cells, source.human), marks)
    found = gathered.labelled(source, None)
    return as_chosen(found) if found.unlabelled else found


def as_chosen(found: LabelledSet) -> LabelledSet:
    """Return the set with its rows marked as chosen: if some rows have no label, nobody says how
    the others were picked.
    """
    rows = (
        MarkedRow(row.instance, tuple(replace(mark, design="chosen") for mark in row.marks))
        for row in found.rows
    )
    return replace(found, rows=tuple(rows))


def _unmarked(instance: Instance, cells: Cells, human: Sequence[str]) -> Instance:
    """The row without people's answers, also where their column is called as a field usually is
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
    named = _without(source.columns, source.human)
    read = (
        partial(read_comparisons, source.path, source.responses, named)
        if source.compares
        else partial(read_instances, source.path, named, None, source.needed)
    )
    return read(
        id=source.id,
        encoding=source.encoding,
        sheet=source.sheet,
        header_row=source.header_row,
        on_bad_row=source.on_bad_row,
    )


def _without(columns: Mapping[str, str], human: Sequence[str]) -> Mapping[str, str]:
    """A label must not be among the fields: a judge would read the right answer."""
    for name, column in columns.items():
        if column_in(human, column) is not None:
            raise SetupError(
                "column {column!r} holds people's answers (--human), and the judge would "
                "read it as {name!r}",
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


def _of_run(source: LabelledSource) -> LabelledSet:
    labels = [
        one
        for one in LabelStore(source.path).current()
        if one.state == "given" and one.kind != "model"
    ]
    names = list(dict.fromkeys(one.criteria for one in labels))
    if not names:
        raise RunError(
            "{path} has no labels: label rows with 'adjudge label {path}'", path=source.path
        )
    name = _the_question(source, names)
    marks: dict[str, list[Marked]] = {}
    for one in labels:
        if one.criteria == name:
            marks.setdefault(one.row, []).append(one)
    gathered = _Gathered()
    for instance in rows_of_run(source.path):
        gathered.add(instance, marks.get(instance.identity, ()))
    own = next((one.scale.criteria for one in label_scales(source.path) if one.name == name), None)
    return gathered.labelled(source, own)


def _of_import(source: LabelledSource) -> LabelledSet:
    found = read_foreign(
        source.path, ImportOptions(source.kind, source.encoding, source.on_bad_row is not None)
    )
    recorded = list(found.rows)
    asked = {one.question.name: one.question for one in recorded if one.marks}
    if not asked:
        raise RunError(
            "{path} was read as {title} and holds no label: say which column holds people's "
            "answers with --human COLUMN",
            path=source.path,
            title=found.format.title,
        )
    name = _the_question(source, list(asked))
    gathered = _Gathered()
    if any(one.named_only for one in recorded):
        raise RunError(
            "{path} holds the names of its rows and not their texts, so that they cannot be "
            "judged anew",
            path=source.path,
        )
    for one in recorded:
        gathered.add(instance_of(one), one.marks if one.question.name == name else ())
    for bad in found.bad_rows():
        if source.on_bad_row:
            source.on_bad_row(BadRow("", bad))
    generic = found.format is RECORDS and asked[name].kind != "comparison"
    own = None if generic else _own(asked[name], recorded)
    return gathered.labelled(source, own, found.log.notes)


def _own(asked: RecordedQuestion, recorded: Iterable[RecordedRow]) -> Criteria | None:
    """The question as criteria of ours; a number is none that options answer."""
    if asked.kind == "rating":
        return None
    answers = Counter(
        str(mark.answer)
        for one in recorded
        if one.question.name == asked.name
        for mark in one.marks
    )
    return criteria_of(asked, tuple(answers) if asked.kind == "choice" else ())


def _the_question(source: LabelledSource, names: Sequence[str]) -> str:
    if source.question is None and len(names) == 1:
        return names[0]
    known = ", ".join(map(repr, names))
    if source.question is None:
        raise SetupError(
            "{path} holds labels of {count} questions: say which with --question: {known}",
            path=source.path,
            count=len(names),
            known=known,
        )
    if source.question not in names:
        raise SetupError(
            "{path} has no labels of {question!r}; it has {known}",
            path=source.path,
            question=source.question,
            known=known,
        )
    return source.question


def _renamed(instance: Instance, needed: Sequence[str]) -> Instance:
    fields = dict(instance.fields)
    for name in needed:
        if name in fields:
            continue
        if name == "user_input" and "instruction" in fields and "input" in fields:
            fields = {name: f"{fields.pop('instruction')}\n\n{fields.pop('input')}", **fields}
            continue
        names = _ASKED_BY if name == "user_input" else ALIASES.get(name, ())
        column = next((one for one in names if one in fields), None)
        if column is not None:
            fields = {name if key == column else key: value for key, value in fields.items()}
    return instance if fields == instance.fields else replace(instance, fields=fields)
