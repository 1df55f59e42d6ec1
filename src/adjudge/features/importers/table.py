"""Import any table whose columns the user names: judged texts, judges' verdicts and people's
labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import cast

from adjudge.core.data.columns import Columns, column_in, text_of
from adjudge.core.data.sources.opener import open_source
from adjudge.core.data.sources.row import FileFormat, Row
from adjudge.core.domain.instance import Instance
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.directions import name_notes
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
# Placeholders for missing numbers; in a column of words each of them may be an answer.
_NO_NUMBER = ("n/a", "na", "#n/a", "<na>", "none", "-", "–", "—", "?")
QUESTION = "verdict"
"""The name of the question that all judges and labels of a table answer."""
_PASSES = pass_or_fail(QUESTION, "Does it pass?")
# Words that say which end is better, whatever the column is called.
_ENDS = {*GOOD, *BAD} - {"yes", "no", "true", "false", "1", "0", "1.0", "0.0"}
_PERCENT = re.compile(r"(-?\d+(?:[.,]\d+)?)\s*%")
# A number as many countries write it.
_WITH_COMMA = re.compile(r"-?\d+(?:,\d+)?")
# The comma may stand before decimals or thousands.
_AMBIGUOUS = re.compile(r"-?[1-9]\d{0,2},\d{3}")
# Names of columns that do not name their judge.
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
_MOST_COMPARED = 2
# The highest numbers of a judge and of the labels differ clearly from this ratio on.
_OTHER_SCALE = 2
# Rows among which a column must show; rows of JSON need not have all of them.
_LOOKED_AT = 100


@dataclass(frozen=True, kw_only=True)
class TableColumns:
    """The meaning of a table's columns."""

    texts: tuple[str, ...] = ()
    """The judged column; several are compared responses."""
    labels: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    id: str | None = None

    def inverted(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the questions that `names` name, where a judge or a label stands for its question.

        All judges and labels answer the same question, so all judges must be named, or none.
        """
        judges = {name.casefold() for name in self.judges}
        named = judges.intersection(map(str.casefold, names))
        if named and named != judges:
            raise SetupError(
                "--less-is-better names {named}, but not {others}, which answers the same "
                "question: name all of them, or import each on its own",
                named=", ".join(name for name in self.judges if name.casefold() in named),
                others=", ".join(name for name in self.judges if name.casefold() not in named),
            )
        columns = judges.union(map(str.casefold, self.labels))
        questions = (QUESTION if name.casefold() in columns else name for name in names)
        return tuple(dict.fromkeys(questions))

    def check(self) -> None:
        """Raise a SetupError if a required column is missing, or there are too many texts."""
        if not self.texts:
            raise SetupError(
                "--as table needs --text COLUMN, the judged text; give it twice for comparisons"
            )
        if len(self.texts) > _MOST_COMPARED:
            raise SetupError(
                "--text names {count} columns: give one judged column, or two that were compared",
                count=len(self.texts),
            )
        if not self.judges and not self.labels:
            raise SetupError(
                "--as table needs --judge COLUMN, a judge's verdicts, or --label COLUMN, "
                "people's answers"
            )


def table_format(columns: TableColumns, *, has_direction: bool = False) -> Format:
    """Return the format of a table with these columns.

    ``has_direction``: the user said which end is better, so no note asks for it.
    """
    columns.check()

    def read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
        table = _Table(file, columns)
        for note in () if has_direction else table.direction_notes():
            log.note(note)
        for note in table.scale_notes():
            log.note(note)
        yield from table.read_rows(log)

    return Format(
        TABLE,
        Message("a table"),
        Message("the named columns"),
        lambda _: False,  # no file shows it: the user says that it is such a table
        read,
    )


class _Table:
    """A table, read once to learn what its values mean and once for its rows."""

    def __init__(self, file: ForeignFile, columns: TableColumns) -> None:
        self._file = file
        self._numbers: set[str] = set()
        self._percent: set[str] = set()
        self._with_comma: set[str] = set()
        """Columns of numbers that are written with a comma."""
        self._words: dict[str, set[str]] = {}
        """The words of each judge's and label's column, in lower case."""
        self._named = self._find(columns)
        self._columns = Columns({"response": self._named.texts[0]}, (), self._named.id)
        self._meaning = self._find_meaning()

    def read_rows(self, log: ImportLog) -> Iterator[RecordedRow]:
        """Yield each row once per judge."""
        columns = self._named
        every = (*columns.texts, *columns.labels, *columns.judges)
        for names, use in zip(
            (columns.texts, columns.labels, columns.judges),
            ("response", "labels", "votes"),
            strict=True,
        ):
            log.use(dict.fromkeys(names, use))
        for record in self._rows(counted=True):
            row = RecordedRow(
                question=self._meaning.question,
                fields=self._fields(record),
                id=self._columns.name(record.raw) or f"row {record.row}",
                systems=columns.texts if len(columns.texts) > 1 else (),
                marks=tuple(
                    mark for column in columns.labels for mark in self._marks(record, column, log)
                ),
                more=record.rest(*every, *self._columns.chosen.values()),
            )
            yield from row.judged_by(
                {judge: [self._vote(record, judge)] for judge in columns.judges}
            )

    def direction_notes(self) -> Iterator[str]:
        """Yield a note for each judge or label by whose name less may be better."""
        question = self._meaning.question
        is_scored = question.kind == "rating" or any(
            option.score is not None for option in question.options
        )
        for column, words in self._words.items() if is_scored else ():
            if not words & _ENDS:
                yield from name_notes(column)

    def _find(self, named: TableColumns) -> TableColumns:
        """Return the columns under the table's own names for them.

        Raise a RunError if a column is missing or named twice.
        """
        records = islice(self._rows(), _LOOKED_AT)
        names = list(dict.fromkeys(name for record in records for name in record))

        def column(name: str, option: str) -> str:
            match = column_in(names, name)
            if match is None:
                raise RunError(
                    "{name} has no column {column!r} ({option}); it has: {names}",
                    name=self._file.name,
                    column=name,
                    option=option,
                    names=", ".join(names),
                )
            return match

        columns = TableColumns(
            texts=tuple(column(column_name, "--text") for column_name in named.texts),
            labels=tuple(column(column_name, "--label") for column_name in named.labels),
            judges=tuple(column(column_name, "--judge") for column_name in named.judges),
            id=None if named.id is None else column(named.id, "--id"),
        )
        (repeated, count), *_ = Counter(
            (*columns.texts, *columns.labels, *columns.judges)
        ).most_common(1)
        if count > 1:
            raise RunError(
                "{name}: column {twice!r} is named twice: a text, a label and a verdict must be "
                "three columns",
                name=self._file.name,
                twice=repeated,
            )
        return columns

    def _rows(self, *, counted: bool = False) -> Iterator[ForeignRecord]:
        """Yield the rows; with `counted`, report the ones that cannot be read."""
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
        """Read all rows to find out what the labels and verdicts mean."""
        columns = self._named
        words_by_column: dict[str, set[str]] = {
            name: set() for name in (*columns.labels, *columns.judges)
        }
        for record in self._rows():
            for name, words in words_by_column.items():
                words.add(_word(record, name))
        for name, words in words_by_column.items():
            informative = {word for word in words if word and word.casefold() not in _NO_NUMBER}
            for pattern, marked in ((_PERCENT, self._percent), (_WITH_COMMA, self._with_comma)):
                if all(map(pattern.fullmatch, informative)):
                    marked.add(name)
            self._refuse_ambiguous(name, informative)
            if all(number(self._in_figures(word, name)) is not None for word in informative):
                self._numbers.add(name)
            words_by_column[name] = {self._in_figures(word, name) for word in words}
        self._refuse_other_unit(words_by_column)
        labels, verdicts = (
            {word for name in group for word in words_by_column[name] - {""}}
            for group in (columns.labels, columns.judges)
        )
        self._words = {
            name: {word.casefold() for word in words} for name, words in words_by_column.items()
        }
        every = not any("" in words_by_column[name] for name in columns.labels)
        meaning = LabelMeaning(BETTER, frozenset(labels or verdicts), every, {})
        if len(columns.texts) > 1:
            verdicts_by_judge = {name: words_by_column[name] for name in columns.judges}
            return replace(meaning, codes=find_codes(self._file.name, labels, verdicts_by_judge))
        return replace(meaning, question=_question(labels, verdicts))

    def _refuse_ambiguous(self, column: str, words: set[str]) -> None:
        """Raise a RunError if the numbers of a column can be read in two ways."""
        percentages = {word for word in words if _PERCENT.fullmatch(word)}
        plain = {word for word in words - percentages if number(word) is not None}
        if percentages and plain:
            raise RunError(
                "{name}: column {column!r} has percentages such as {percent} and plain numbers "
                "such as {number}: write all of them in one way",
                name=self._file.name,
                column=column,
                percent=min(percentages),
                number=min(plain),
            )
        with_comma = {word for word in words if "," in word}
        if column in self._with_comma and with_comma and all(map(_AMBIGUOUS.fullmatch, with_comma)):
            raise RunError(
                "{name}: column {column!r} has {number}, where the comma may stand before decimals "
                "or thousands: write the numbers without a comma",
                name=self._file.name,
                column=column,
                number=min(with_comma),
            )

    def _refuse_other_unit(self, words_by_column: Mapping[str, set[str]]) -> None:
        """Raise a RunError if some columns have percentages, and another has numbers above 1."""
        numbers = {
            name: sorted(_numbers_in(words))
            for name, words in words_by_column.items()
            if name in self._numbers
        }
        percent = [name for name in numbers if name in self._percent and numbers[name]]
        # 0 and 1, and all between them, are the same share as 0 % and 100 %.
        others = (
            (name, points)
            for name, values in numbers.items()
            if name not in self._percent
            for points in values
            if not 0 <= points <= 1
        )
        for name, points in others if percent else ():
            raise RunError(
                "{name}: column {percent!r} has percentages, and column {column!r} numbers such as "
                "{number:g} without a percent sign: write both in one way",
                name=self._file.name,
                percent=percent[0],
                column=name,
                number=points,
            )

    def scale_notes(self) -> Iterator[Message]:
        """Yield a note for each judge whose numbers seem to have another scale than the labels."""
        ranges = {
            name: (min(points), max(points))
            for name, words in self._words.items()
            if name in self._numbers and (points := [*_numbers_in(words)])
        }
        for judge, label in product(self._named.judges, self._named.labels):
            if self._meaning.question.kind != "rating" or not {judge, label} <= ranges.keys():
                continue
            highest = sorted(max(map(abs, ranges[name])) for name in (judge, label))
            if highest[1] >= _OTHER_SCALE * highest[0] and highest[1] > 1:
                yield Message(
                    "{judge} has numbers from {low:g} to {high:g}, and {label} from {least:g} to "
                    "{most:g}: both count as numbers on one scale",
                    judge=judge,
                    low=ranges[judge][0],
                    high=ranges[judge][1],
                    label=label,
                    least=ranges[label][0],
                    most=ranges[label][1],
                )

    def _in_figures(self, word: str, column: str) -> str:
        """Rewrite a percentage or a decimal comma as a plain decimal; keep other words.

        In a column of numbers, a word for a missing number becomes empty.
        """
        # In a column of percentages only; elsewhere a percentage stays a word.
        if column in self._numbers and word.casefold() in _NO_NUMBER:
            return ""
        percent = _PERCENT.fullmatch(word) if column in self._percent else None
        if percent:
            return f"{float(percent[1].replace(',', '.')) / 100:g}"
        return word.replace(",", ".") if column in self._with_comma else word

    def _value(self, record: ForeignRecord, column: str) -> Json:
        """Return a label or verdict as a word; empty if there is none.

        The name of a compared column becomes the word for that response.
        """
        value = self._in_figures(_word(record, column), column)
        # A verdict may name a response by its column.
        names = [name.casefold() for name in self._named.texts]
        if len(names) > 1 and value.casefold() in names:
            return ("model_1", "model_2")[names.index(value.casefold())]
        return value

    def _fields(self, record: ForeignRecord) -> Texts:
        columns = self._named
        hidden = (*columns.labels, *columns.judges, *columns.texts[1:])  # what no judge may see
        try:
            texts = [text_of(record.value(name), name) for name in columns.texts]
            other_fields = self._columns.fields(
                {name: value for name, value in record.raw.items() if name not in hidden}
            )
        except ValueError as error:
            raise RunError("{name}: {error}", name=self._file.name, error=error) from error
        responses = tuple("" if value is None else text(value) for value in texts)
        fields = {
            name: value if isinstance(value, str) else tuple(value)
            for name, value in other_fields.items()
        }
        fields.pop("response", None)
        return {**fields, "response": responses[0] if len(responses) == 1 else responses}

    def _vote(self, record: ForeignRecord, judge: str) -> RecordedVote:
        value, question = self._value(record, judge), self._meaning.question
        vote = RecordedVote(model=NOT_SAID if judge.casefold() in _NO_NAMES else judge)
        if not value:
            return vote.with_failure(NO_VERDICT)
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
            word = self._in_figures(_word(record, column), column)
            log.skip(Message("label {value!r}, which is not an answer to the question", value=word))
            return
        yield Mark(answer=answer, annotator=column, kind="human", design=meaning.design)


def _question(labels: set[str], verdicts: set[str]) -> RecordedQuestion:
    """Return the question that the labels answer, or the verdicts if there are no labels."""
    # Judges may use other words for true and false than people do; that is the same question.
    both = {word.casefold() for word in labels | verdicts}
    if (
        both
        and both <= {*GOOD, *BAD}
        and not (not both & {"1", "0", "1.0", "0.0", "true", "false"} and len(both) <= 2)
    ):
        return _PASSES
    question = question_of(labels or verdicts)
    if question.kind != "rating":
        return question
    return question_of({*labels, *(word for word in verdicts if number(word) is not None)})


def _numbers_in(words: Iterable[str]) -> Iterator[float]:
    yield from (points for word in words if (points := number(word)) is not None)


def _word(record: ForeignRecord, column: str) -> str:
    value = record.value(column)
    return "" if is_missing(value) else text(value).strip()
