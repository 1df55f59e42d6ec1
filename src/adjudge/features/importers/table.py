"""Any table whose columns the user names: what was judged, what judges said of it, and what people
did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from adjudge.core.data.columns import Columns, column_in, text_of
from adjudge.core.data.sources.opener import open_source
from adjudge.core.data.sources.row import FileFormat, Row
from adjudge.core.domain.instance import Instance
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, pair_vote
from adjudge.features.importers.record import (
    NO_VERDICT,
    NOT_SAID,
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    pass_or_fail,
)
from adjudge.features.importers.scales import (
    BAD,
    GOOD,
    LabelMeaning,
    find_codes,
    question_of,
    read_truth,
    read_verdict,
    response_of,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.features.importers.values import Json, JsonObject, Texts, is_missing, number, text
from adjudge.messages import Message

TABLE = "table"
_NO_NUMBER = ("n/a", "na", "#n/a", "<na>", "none", "-", "–", "—", "?")
"""What stands in a column of numbers where there is none; among words each of them may be an
answer.
"""
_PASSES = pass_or_fail("verdict", "Does it pass?")
_PERCENT = re.compile(r"(-?\d+(?:[.,]\d+)?)\s*%")
_WITH_COMMA = re.compile(r"-?\d+(?:,\d+)?")
"""A number as many countries write it."""
_NO_NAMES = (
    "judge",
    "verdict",
    "prediction",
    "pred",
    "score",
    "label",
    "output",
    "llm",
    "model",
    "result",
    "grade",
    "rating",
)
"""What a column may be called that does not name its judge."""
_MOST_COMPARED = 2
_LOOKED_AT = 100
"""Rows among which a column must show; rows of JSON need not have all of them."""


@dataclass(frozen=True, kw_only=True)
class TableColumns:
    """Which columns of a table are what."""

    texts: tuple[str, ...] = ()
    """What was judged; several are responses that were compared."""
    labels: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    id: str | None = None

    def check(self) -> None:
        """Say what is not named yet."""
        if not self.texts:
            raise SetupError(
                "--as table needs --text COLUMN, the text that was judged; twice for two "
                "that were compared"
            )
        if len(self.texts) > _MOST_COMPARED:
            raise SetupError(
                "--text names {count} columns: give one that was judged, or two that were compared",
                count=len(self.texts),
            )
        if not self.judges and not self.labels:
            raise SetupError(
                "--as table needs --judge COLUMN, what a judge said, or --label COLUMN, "
                "what people said"
            )


def table_format(columns: TableColumns) -> Format:
    """How a table with these columns is read."""
    columns.check()

    def read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
        yield from _Table(file, columns).recorded(log)

    return Format(
        TABLE,
        Message("a table"),
        Message("the columns that were named"),
        lambda _: False,  # no file shows it: the user says that it is such a table
        read,
    )


class _Table:
    """A table that is being read: once for what its values mean, and once for its rows."""

    def __init__(self, file: ForeignFile, columns: TableColumns) -> None:
        self._file = file
        self._numbers: set[str] = set()
        self._percent: set[str] = set()
        self._with_comma: set[str] = set()
        """Columns of numbers that are written with a comma."""
        self._named = self._find(columns)
        self._columns = Columns({"response": self._named.texts[0]}, (), self._named.id)
        self._meaning = self._find_meaning()

    def recorded(self, log: ImportLog) -> Iterator[RecordedRow]:
        """Each row under each judge."""
        named = self._named
        every = (*named.texts, *named.labels, *named.judges)
        for columns, use in zip(
            (named.texts, named.labels, named.judges), ("response", "labels", "votes"), strict=True
        ):
            log.use(dict.fromkeys(columns, use))
        for record in self._rows(counted=True):
            row = RecordedRow(
                question=self._meaning.question,
                fields=self._fields(record),
                id=self._columns.name(record.raw) or f"row {record.row}",
                systems=named.texts if len(named.texts) > 1 else (),
                marks=tuple(
                    mark for column in named.labels for mark in self._marks(record, column, log)
                ),
                more=record.rest(*every, *self._columns.chosen.values()),
            )
            yield from row.judged_by({one: [self._vote(record, one)] for one in named.judges})

    def _find(self, wanted: TableColumns) -> TableColumns:
        """The columns as the table writes them."""
        first = islice(self._rows(), _LOOKED_AT)
        names = list(dict.fromkeys(name for record in first for name in record))

        def column(name: str, option: str) -> str:
            found = column_in(names, name)
            if found is None:
                raise RunError(
                    "{name} has no column {column!r} ({option}); it has: {names}",
                    name=self._file.name,
                    column=name,
                    option=option,
                    names=", ".join(names),
                )
            return found

        found = TableColumns(
            texts=tuple(column(one, "--text") for one in wanted.texts),
            labels=tuple(column(one, "--label") for one in wanted.labels),
            judges=tuple(column(one, "--judge") for one in wanted.judges),
            id=None if wanted.id is None else column(wanted.id, "--id"),
        )
        (most, count), *_ = Counter((*found.texts, *found.labels, *found.judges)).most_common(1)
        if count > 1:
            raise RunError(
                "{name}: column {twice!r} is named twice: a text, a label and a verdict are "
                "three columns",
                name=self._file.name,
                twice=most,
            )
        return found

    def _rows(self, *, counted: bool = False) -> Iterator[ForeignRecord]:
        """``counted``: rows that cannot be read are kept account of."""
        place = 0
        for row in open_source(self._file.path, FileFormat(encoding=self._file.encoding))[1]:
            if not isinstance(row, Row):
                self._file.refuse(row, counted=counted)
                continue
            cells = row.cells.fields if isinstance(row.cells, Instance) else row.cells
            if any(text(value).strip() for value in cells.values()):
                place += 1
                yield ForeignRecord(cast(JsonObject, cells), row=place)

    def _find_meaning(self) -> LabelMeaning:
        """What the labels and verdicts of the whole table are."""
        named = self._named
        seen: dict[str, set[str]] = {name: set() for name in (*named.labels, *named.judges)}
        for record in self._rows():
            for name, words in seen.items():
                words.add(_word(record, name))
        for name, words in seen.items():
            told = {word for word in words if word and word.casefold() not in _NO_NUMBER}
            for pattern, columns in ((_PERCENT, self._percent), (_WITH_COMMA, self._with_comma)):
                if all(map(pattern.fullmatch, told)):
                    columns.add(name)
            if all(number(self._in_figures(word, name)) is not None for word in told):
                self._numbers.add(name)
            seen[name] = {self._in_figures(word, name) for word in words}
        labels, verdicts = (
            {word for name in names for word in seen[name] - {""}}
            for names in (named.labels, named.judges)
        )
        every = not any("" in seen[name] for name in named.labels)
        meaning = LabelMeaning(BETTER, frozenset(labels or verdicts), every, {})
        if len(named.texts) > 1:
            said = {name: seen[name] for name in named.judges}
            return replace(meaning, codes=find_codes(self._file.name, labels, said))
        return replace(meaning, question=_question(labels, verdicts))

    def _in_figures(self, word: str, column: str) -> str:
        """Of a column of percentages, parts of one; a percentage among other numbers stays what it
        is.
        """
        if column in self._numbers and word.casefold() in _NO_NUMBER:
            return ""
        percent = _PERCENT.fullmatch(word) if column in self._percent else None
        if percent:
            return f"{float(percent[1].replace(',', '.')) / 100:g}"
        return word.replace(",", ".") if column in self._with_comma else word

    def _value(self, record: ForeignRecord, column: str) -> Json:
        """A label or a verdict in writing; empty where there is none. A response may be called by
        the name of its column.
        """
        value = self._in_figures(_word(record, column), column)
        names = [name.casefold() for name in self._named.texts]
        if len(names) > 1 and value.casefold() in names:
            return ("model_1", "model_2")[names.index(value.casefold())]
        return value

    def _fields(self, record: ForeignRecord) -> Texts:
        named = self._named
        hidden = (*named.labels, *named.judges, *named.texts[1:])  # what no judge may see
        try:
            texts = [text_of(record.value(name), name) for name in named.texts]
            beside = self._columns.fields(
                {name: value for name, value in record.raw.items() if name not in hidden}
            )
        except ValueError as error:
            raise RunError("{name}: {error}", name=self._file.name, error=error) from error
        judged = tuple("" if one is None else text(one) for one in texts)
        shown = {name: one if isinstance(one, str) else tuple(one) for name, one in beside.items()}
        shown.pop("response", None)
        return {**shown, "response": judged[0] if len(judged) == 1 else judged}

    def _vote(self, record: ForeignRecord, judge: str) -> RecordedVote:
        value, question = self._value(record, judge), self._meaning.question
        vote = RecordedVote(model=NOT_SAID if judge.casefold() in _NO_NAMES else judge)
        if not value:
            return vote.failed(NO_VERDICT)
        if question.kind == "comparison":
            return pair_vote(response_of(value, self._meaning.codes), vote)
        read = read_truth if question == _PASSES else read_verdict
        return read(vote, text(value), question)

    def _marks(self, record: ForeignRecord, column: str, log: ImportLog) -> Iterator[Mark]:
        value, meaning = self._value(record, column), self._meaning
        if not value:
            return
        answer = meaning.read(value)
        if answer is None:
            said = self._in_figures(_word(record, column), column)
            log.skip(
                Message("label {value!r}, which is not an answer to what was judged", value=said)
            )
            return
        yield Mark(answer=answer, annotator=column, kind="human", design=meaning.design)


def _question(labels: set[str], verdicts: set[str]) -> RecordedQuestion:
    """By the labels; what judges say in other words for true and false is the same question."""
    both = {one.casefold() for one in labels | verdicts}
    if both and both <= {*GOOD, *BAD} and not _is_one_pair(both):
        return _PASSES
    question = question_of(labels or verdicts)
    if question.kind != "rating":
        return question
    return question_of({*labels, *(one for one in verdicts if number(one) is not None)})


def _is_one_pair(words: set[str]) -> bool:
    """Whether all of them are written in one way, such as yes and no."""
    return not words & {"1", "0", "1.0", "0.0", "true", "false"} and len(words) <= 2


def _word(record: ForeignRecord, column: str) -> str:
    value = record.value(column)
    return "" if is_missing(value) else text(value).strip()
