"""Any table whose columns the user names: what was judged, what judges said of it, and what people
did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.data.columns import Columns, column_in, text_of
from adjudge.data.sources.open import open_source
from adjudge.data.sources.row import Row
from adjudge.domain.instance import Instance
from adjudge.domain.label import Design
from adjudge.errors import RunError, SetupError
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, pair_vote, winner
from adjudge.importers.record import (
    NOT_SAID,
    UNJUDGED,
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    pass_or_fail,
)
from adjudge.importers.scales import (
    BAD,
    GOOD,
    Codes,
    LabelSet,
    codes_of,
    option_on,
    response_of,
    said_on,
    scale_of,
    truth_on,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import number, text, without
from adjudge.messages import Message

TABLE = "table"
_MISSING = ("", "nan", "null")
_NO_NUMBER = ("n/a", "na", "#n/a", "<na>", "none", "-", "–", "—", "?")
"""What stands in a column of numbers where there is none; among words each of them may be an
answer.
"""
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

    def read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
        yield from _Table(file, columns).recorded(left)

    return Format(
        TABLE, Message("a table"), Message("the columns that were named"), _shows_itself, read
    )


def _shows_itself(_: Head) -> bool:
    """No file does: the user says that it is such a table."""
    return False


class _Table:
    """A table that is being read: once for what its values mean, and once for its rows."""

    def __init__(self, file: ForeignFile, columns: TableColumns) -> None:
        self._file = file
        self._numbers: set[str] = set()
        self._percent: set[str] = set()
        self._with_comma: set[str] = set()
        """Columns of numbers that are written with a comma."""
        self._named = self._found(columns)
        self._columns = Columns({"response": self._named.texts[0]}, (), self._named.id)
        self._labels, self._scale, self._codes = self._meaning()

    def recorded(self, left: Left) -> Iterator[Recorded]:
        """Each row under each judge; its labels come with the first."""
        named = self._named
        left.use(
            {**dict.fromkeys(named.texts, "response"), **dict.fromkeys(named.labels, "labels")}
        )
        left.use(dict.fromkeys(named.judges, "votes"))
        for place, row in enumerate(self._rows(told=True)):
            marks = tuple(
                mark for column in named.labels for mark in self._marks(_cells(row), column, left)
            )
            fields = self._fields(_cells(row))
            base = Recorded(
                asked=self._scale,
                fields=fields,
                id=self._columns.name(_cells(row)) or f"row {place + 1}",
                systems=named.texts if len(named.texts) > 1 else (),
                marks=marks,
                more=without(
                    _cells(row),
                    *named.texts,
                    *named.labels,
                    *named.judges,
                    *self._columns.chosen.values(),
                ),
            )
            for judge in named.judges:
                yield replace(base, judge=judge, votes=(self._vote(_cells(row), judge),))
            if not named.judges:
                yield replace(base, judge=UNJUDGED)

    def _found(self, wanted: TableColumns) -> TableColumns:
        """The columns as the table writes them."""
        first = [row for row, _ in zip(self._rows(), range(_LOOKED_AT), strict=False)]
        names = list(dict.fromkeys(name for row in first for name in _cells(row)))

        def column(name: str, option: str) -> str:
            found = column_in(names, name)
            if found is None:
                raise RunError(
                    "{name} has no column {name2!r} ({option}); it has: {names}",
                    name=self._file.name,
                    name2=name,
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
        taken = Counter((*found.texts, *found.labels, *found.judges))
        if twice := next((name for name, count in taken.items() if count > 1), None):
            raise RunError(
                "{name}: column {twice!r} is named twice: a text, a label and a verdict are "
                "three columns",
                name=self._file.name,
                twice=twice,
            )
        return found

    def _rows(self, *, told: bool = False) -> Iterator[Row]:
        """``told``: rows that cannot be read are kept account of."""
        file = self._file
        for row in open_source(file.path, None, file.encoding)[1]:
            if isinstance(row, Row):
                if any(text(value).strip() for value in _cells(row).values()):
                    yield row
            elif not file.skip_bad_rows:
                raise RunError(
                    "{row}; nothing was imported. Mend the file, or leave such rows out "
                    "with --skip-bad-rows",
                    row=row,
                )
            elif told:
                file.bad.append(str(row))

    def _meaning(self) -> tuple[LabelSet, Asked, Codes]:
        """What the labels and verdicts of the whole table are."""
        seen: dict[str, set[str]] = {
            name: set() for name in (*self._named.labels, *self._named.judges)
        }
        for row in self._rows():
            for name, words in seen.items():
                words.add(_word(_cells(row), name))
        self._percent = {
            name for name, words in seen.items() if all(map(_PERCENT.fullmatch, _told(words)))
        }
        self._with_comma = {
            name for name, words in seen.items() if all(map(_WITH_COMMA.fullmatch, _told(words)))
        }
        self._numbers = {
            name
            for name, words in seen.items()
            if all(number(self._in_figures(word, name)) is not None for word in _told(words))
        }
        seen = {
            name: {self._in_figures(word, name) for word in words} for name, words in seen.items()
        }
        labels, verdicts = (
            {word for name in names for word in seen[name] - {""}}
            for names in (self._named.labels, self._named.judges)
        )
        every = not any("" in seen[name] for name in self._named.labels)
        known = LabelSet(frozenset(labels or verdicts), every)
        if len(self._named.texts) > 1:
            return (
                known,
                BETTER,
                codes_of(
                    self._file.name, labels, {name: seen[name] for name in self._named.judges}
                ),
            )
        return known, _scale(labels, verdicts), {}

    def _value(self, cells: Mapping[str, object], column: str) -> str:
        """A label or a verdict in writing; empty where there is none."""
        return self._in_figures(_word(cells, column), column)

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

    def _fields(self, cells: Mapping[str, object]) -> dict[str, str | tuple[str, ...]]:
        try:
            texts = [text_of(cells.get(name), name) for name in self._named.texts]
            beside = self._columns.fields(
                {name: value for name, value in cells.items() if name not in self._said}
            )
        except ValueError as error:
            raise RunError("{name}: {error}", name=self._file.name, error=error) from error
        judged = tuple("" if one is None else text(one) for one in texts)
        shown = {
            name: one if isinstance(one, str) else tuple(one)
            for name, one in beside.items()
            if name != "response"
        }
        return {**shown, "response": judged[0] if len(judged) == 1 else judged}

    @property
    def _said(self) -> tuple[str, ...]:
        """Columns that no judge may see."""
        return (*self._named.labels, *self._named.judges, *self._named.texts[1:])

    def _vote(self, cells: Mapping[str, object], judge: str) -> RecordedVote:
        value = self._value(cells, judge)
        vote = RecordedVote(model=NOT_SAID if judge.casefold() in _NO_NAMES else judge)
        if not value:
            return vote.failed(Message("no verdict is recorded"))
        if self._scale.kind == "comparison":
            return replace(pair_vote(self._response(value), model=vote.model), explanation=None)
        if self._scale == _PASSES:
            return truth_on(vote, value, self._scale)
        return said_on(vote, value, self._scale)

    def _marks(self, cells: Mapping[str, object], column: str, left: Left) -> Iterator[Mark]:
        value = self._value(cells, column)
        design: Design = "random" if self._labels.every else "chosen"
        if not value:
            return
        answer: str | float | None = option_on(self._scale, value)
        if self._scale.kind == "comparison":
            answer = winner(self._response(value))
        elif self._scale.kind == "rating":
            answer = number(value)
        elif self._scale == _PASSES:
            answer = self._labels.passes(value)
        if answer is None:
            left.out(
                Message("label {value!r}, which is not an answer to what was judged", value=value)
            )
            return
        yield Mark(answer=answer, annotator=column, kind="human", design=design)

    def _response(self, value: str) -> object:
        """A response by the name of its column, or as everybody writes it."""
        names = [name.casefold() for name in self._named.texts]
        if value.casefold() in names:
            return ("model_1", "model_2")[names.index(value.casefold())]
        return response_of(value, self._codes)


_PASSES = pass_or_fail("verdict", "Does it pass?")


def _scale(labels: set[str], verdicts: set[str]) -> Asked:
    """By the labels; what judges say in other words for true and false is the same question."""
    both = {one.casefold() for one in labels | verdicts}
    if both and both <= {*GOOD, *BAD} and not _one_pair(both):
        return _PASSES
    scale = scale_of(labels or verdicts)
    return (
        scale_of({*labels, *(one for one in verdicts if number(one) is not None)})
        if scale.kind == "rating"
        else scale
    )


def _one_pair(words: set[str]) -> bool:
    """Whether all of them are written in one way, such as yes and no."""
    return not words & {"1", "0", "1.0", "0.0", "true", "false"} and len(words) <= 2


def _told(words: set[str]) -> set[str]:
    """Those that would be numbers in a column of numbers."""
    return {word for word in words if word and word.casefold() not in _NO_NUMBER}


def _cells(row: Row) -> Mapping[str, object]:
    return row.cells.fields if isinstance(row.cells, Instance) else row.cells


def _word(cells: Mapping[str, object], column: str) -> str:
    value = cells.get(column)
    word = "" if isinstance(value, float) and value != value else text(value).strip()  # noqa: PLR0124 - NaN
    return "" if word.casefold() in _MISSING else word
