"""Describe benchmarks as data: the meaning of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, NO_REPLY_VERDICT, gold, pair_vote
from adjudge.features.importers.record import (
    NAMED_BY_ID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.features.importers.values import Json, JsonObject, Texts, number, text
from adjudge.messages import Message

Column: TypeAlias = "tuple[str, ...] | str | Callable[[ForeignRecord], str]"
"""A column; or several, of which the first that is not null counts; or a function for a text
that is not in a column.
"""
Judged: TypeAlias = Mapping[str, Sequence[RecordedVote]]
"""Judge → its votes on one row."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One record layout of a benchmark: its columns, and functions for everything else.

    Unused columns are kept with the row.
    """

    keys: tuple[str, ...]
    """A file has this layout if its first record has all of these."""
    question: RecordedQuestion = BETTER
    fields: Mapping[str, Column]
    """Field of the row → its column."""
    optional: tuple[str, ...] = ()
    """Fields that are left out if they are empty."""
    responses: tuple[Column, ...]
    """The response that was votes_by_judge, or those that were compared."""
    required: tuple[str, ...] = ()
    """Columns that every record must have, not only the first."""
    id: Column
    systems: tuple[tuple[str, str], ...] = ()
    """Per compared response: the column with the name of its system, and a name for it if that is
    empty.
    """
    label: str = ""
    """The right answer: a word for the better response."""
    people: tuple[str, ...] = ()
    """Columns with one answer per annotator, or a list of them: patterns, of which the first that a
    record has counts.
    """
    judges: str = ""
    """Columns with the verdicts of a judge, one or a list of samples: a pattern whose group is the
    name of the judge.
    """
    reasons: str = ""
    """The column with a judge's reasons, such as ``{judge}_feedback``."""
    votes: Callable[[ForeignRecord], Iterable[RecordedVote]] = lambda _: ()
    """Votes that are not in ``judges``. Each is filed under its model."""
    judge: Callable[[ForeignRecord, str], str] | None = None
    """The name to file ``votes`` under, made of the record and the model of the first."""
    marks: Callable[[ForeignRecord], Iterable[Mark]] = lambda _: ()
    """Labels that are not in ``label`` and ``people``."""
    read: tuple[str, ...] = ()
    """Columns that the functions read."""
    more: Callable[[ForeignRecord], JsonObject] = lambda _: {}
    """Values that are kept with the row although no column holds them."""
    from_path: Callable[[Path], JsonObject] = lambda _: {}
    """Further columns that follow from the path of a file."""
    report: Callable[[ForeignRecord, ImportLog], None] = lambda *_: None
    """Tells the user what is odd about a record."""
    used: Mapping[str, str] = NOTHING
    """Column → its use, for the report of ``import``."""
    named_only: bool = False
    """True if the texts are not in the file, so that rows are named by their id."""

    def rows(
        self, records: Iterable[ForeignRecord], path: Path, log: ImportLog
    ) -> Iterator[RecordedRow]:
        """Yield the row of each record, once for each judge."""
        log.use({names[0]: field for field, names in self._text_columns()})
        log.use(self.used)
        if self.named_only:
            log.note(NAMED_BY_ID)
        from_path = self.from_path(path)
        for record in records:
            filled = record.with_values({**from_path, **record.raw})
            self.report(filled, log)
            yield from self._row(filled).judged_by(self.votes_by_judge(filled))

    def votes_by_judge(self, record: ForeignRecord) -> Judged:
        """Return the votes on a record, by judge."""
        votes_by_judge: dict[str, Sequence[RecordedVote]] = {
            judge: samples(
                self.question,
                judge,
                record.value(name),
                record.value(reasons) if reasons else None,
            )
            for judge, name, reasons in self._judges_in(record)
        }
        votes = tuple(self.votes(record))
        for vote in votes:
            judge = self.judge(record, votes[0].model) if self.judge else vote.model
            votes_by_judge[judge] = (*votes_by_judge.get(judge, ()), vote)
        return votes_by_judge

    def _row(self, record: ForeignRecord) -> RecordedRow:
        record.texts(*self.required)
        fields: Texts = {
            name: value
            for name, column in self.fields.items()
            if (value := _text(record, column)) or name not in self.optional
        }
        responses = tuple(_text(record, column) for column in self.responses)
        id = self.id(record) if callable(self.id) else record.name(*_names(self.id))
        return RecordedRow(
            question=self.question,
            fields={**fields, "response": responses if len(responses) > 1 else responses[0]},
            id=id or None,
            marks=tuple(self._marks(record)),
            systems=tuple(record.text(column) or name for column, name in self.systems),
            more={**self.more(record), **record.rest(*self._read_in(record))},
            named_only=self.named_only,
        )

    def _marks(self, record: ForeignRecord) -> Iterator[Mark]:
        if self.label:
            yield from gold(record.value(self.label))
        labels = (
            answer for name in self._people_in(record) for answer in _as_list(record.value(name))
        )
        for place, label in enumerate(labels, 1):
            vote = read_verdict(self.question, label, RecordedVote())
            if vote.answer is not None:
                yield Mark(answer=vote.answer, annotator=f"annotator {place}", design="random")
        yield from self.marks(record)

    def _text_columns(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        columns = [*self.fields.items(), *(("response", column) for column in self.responses)]
        yield from ((field, _names(column)) for field, column in columns if not callable(column))

    def _read_in(self, record: ForeignRecord) -> Iterator[str]:
        """Yield the columns that are read, so that they are not stored twice."""
        yield from (*self.read, self.label, *self._people_in(record))
        for _, name, reasons in self._judges_in(record):
            yield from (name, reasons)
        for _, names in self._text_columns():
            yield from [name for name in names if record.value(name) is not None][:1]

    def _people_in(self, record: ForeignRecord) -> list[str]:
        columns = (
            [name for name in record if re.fullmatch(pattern, name)] for pattern in self.people
        )
        return next(filter(None, columns), [])

    def _judges_in(self, record: ForeignRecord) -> Iterator[tuple[str, str, str]]:
        """Yield (judge, column with its verdicts, column with its reasons)."""
        for name in record:
            if self.judges and (match := re.fullmatch(self.judges, name)):
                yield match[1], name, self.reasons.format(judge=match[1])


def benchmark(name: str, title: str, written_against: str, *layouts: Layout) -> Format:
    """Return a format that reads each file with the first of these layouts that fits."""

    def read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
        fitting = [layout for layout in layouts if file.head.has(*layout.keys)]
        yield from (fitting or layouts)[0].rows(file.records(), file.path, log)

    return Format(
        name,
        title,
        written_against,
        lambda head: any(head.has(*layout.keys) for layout in layouts),
        read,
    )


def read_verdict(question: RecordedQuestion, value: Json, vote: RecordedVote) -> RecordedVote:
    """Return the vote with the value as its answer, or as unreadable."""
    if question.kind == "comparison":
        return pair_vote(value, vote)
    if question.kind == "rating":
        points, (low, high) = number(value), question.bounds
        on_scale = points if points is not None and low <= points <= high else None
        return vote.with_answer_or_failure(on_scale, NO_REPLY_VERDICT, unreadable=True)
    options = {option.name for option in question.options}
    unread = Message("{value!r} is not one of the labels", value=text(value))
    return vote.with_answer_or_failure(
        text(value) if text(value) in options else None, unread, unreadable=True
    )


def samples(
    question: RecordedQuestion, judge: str, values: Json, reasons: Json
) -> tuple[RecordedVote, ...]:
    """Return a judge's verdicts on a row as one vote per sample, with their reasons."""
    explanations = [*map(text, _as_list(reasons))]
    return tuple(
        read_verdict(
            question,
            value,
            RecordedVote(model=judge, sample=place, explanation="".join(explanations[place:][:1])),
        )
        for place, value in enumerate(_as_list(values))
    )


def _as_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else [value]


def _names(column: tuple[str, ...] | str) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column


def _text(record: ForeignRecord, column: Column) -> str:
    return column(record) if callable(column) else record.text(*_names(column))
