"""Translate the labels of a set into answers to the criteria under test."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.label import Label, LabelScale, Winner
from adjudge.core.domain.label import labels as letters
from adjudge.core.domain.verdict import TIE
from adjudge.errors import SetupError
from adjudge.features.bench.labelled_rows import AnyMark, LabelledSet, MarkedRow, as_chosen
from adjudge.features.importers.pairs import winner
from adjudge.messages import Message, plural
from adjudge.trust.usable_labels import nonzero

_MOST_NAMED = 5


@dataclass(frozen=True)
class Answers:
    """Rules for reading a set's labels as answers to criteria."""

    meanings: Mapping[str, str] = field(default_factory=dict)
    """Label → option, if their names differ; an empty option leaves such labels out."""
    ties: bool = True

    def select(self, rows: LabelledSet) -> LabelledSet:
        """Drop the labels that ``meanings`` leaves out, and the rows without any other label.

        The set's notes count both. If rows are dropped, the remaining ones are marked as chosen.
        """
        marks_of_rows = [
            tuple(mark for mark in row.marks if self._meaning(mark) != "") for row in rows.rows
        ]
        if not any(marks_of_rows):
            raise SetupError("{source}: --map excludes all labels", source=rows.source)
        fewer = [
            (row, len(row.marks) - len(marks))
            for row, marks in zip(rows.rows, marks_of_rows, strict=True)
            if len(marks) < len(row.marks)
        ]
        if not fewer:
            return rows
        gone = len(marks_of_rows) - sum(map(bool, marks_of_rows))
        dropped = sum(count for row, count in fewer if count < len(row.marks))
        notes = nonzero(
            plural(
                "{count} row has only labels that --map excludes, and was not judged",
                "{count} rows have only labels that --map excludes, and were not judged",
                gone,
            ),
            plural(
                "on {count} row --map leaves out some labels ({labels} in all): people's "
                "agreement covers only the others",
                "on {count} rows --map leaves out some labels ({labels} in all): people's "
                "agreement covers only the others",
                len(fewer) - gone,
                labels=dropped,
            ),
        )
        selected = replace(
            rows,
            rows=tuple(
                replace(row, marks=marks)
                for row, marks in zip(rows.rows, marks_of_rows, strict=True)
                if marks
            ),
            notes=(*rows.notes, *notes),
        )
        return as_chosen(selected) if gone else selected

    def labels(self, rows: LabelledSet, criteria: Criteria) -> list[Label]:
        """Return a label for each mark in a set returned by ``select``.

        Raise a SetupError that names the marks that are not answers to the criteria.
        """
        scale = LabelScale(criteria, compares=rows.compares, ties=self.ties)
        answers, at = self._read(rows, criteria), time.time()
        return [
            _label(row, mark, scale, answers[self._meaning(mark)], at)
            for row in rows.rows
            for mark in row.marks
        ]

    def read_as(self, rows: LabelledSet, criteria: Criteria) -> str:
        """Describe how labels with names other than the options are mapped; empty if there are
        none.
        """
        answers = {} if rows.compares else self._read(rows, criteria)
        pairs = [
            f"{label} → {option}"
            for label, option in answers.items()
            if isinstance(option, str) and label != option
        ]
        pairs += [
            f"{label} → {option}"
            for label, option in self.meanings.items()
            if option and label != option
        ]
        return Message("labels are read as {pairs}", pairs=", ".join(pairs)) if pairs else ""

    def _read(self, rows: LabelledSet, criteria: Criteria) -> dict[str | int, Answer]:
        values = [self._meaning(mark) for row in rows.rows for mark in row.marks]
        return _winners(values, rows) if rows.compares else _options(values, criteria, rows.source)

    def _meaning(self, mark: AnyMark) -> str | int:
        """Return the option that a label stands for. A winner given as an index stays an index
        unless it is mapped.
        """
        if isinstance(mark.answer, int) and not isinstance(mark.answer, bool):
            return self.meanings.get(str(mark.answer), mark.answer)
        text = f"{mark.answer:g}" if isinstance(mark.answer, float) else str(mark.answer).strip()
        return self.meanings.get(text, text)


Answer = str | float | Winner


def _options(
    values: Iterable[str | int], criteria: Criteria, source: str
) -> dict[str | int, Answer]:
    """Read each label as an option, by name or else by score.

    If labels are numbers between the options' scores, all are read as numbers.
    """
    labels = list(dict.fromkeys(values))
    scale = LabelScale(criteria)
    options_by_label = {
        label: option for label in labels if (option := _read(scale, str(label))) is not None
    }
    if len(options_by_label) == len(labels):
        return dict(options_by_label)
    numbers = {label: number for label in labels if (number := _number(label)) is not None}
    points = {
        option.points: option.name for option in criteria.options if option.points is not None
    }
    if len(numbers) == len(labels) and len(points) > 1:
        exact = {label: points[number] for label, number in numbers.items() if number in points}
        return (
            dict(exact)
            if len(exact) == len(labels) and len(points) == len(criteria.options)
            else dict(numbers)
        )
    wrong = [str(label) for label in labels if label not in options_by_label]
    wrong_names = ", ".join(map(repr, wrong[:_MOST_NAMED])) + (
        ", …" if len(wrong) > _MOST_NAMED else ""
    )
    raise SetupError(
        plural(
            "{source}: the label {labels} is not an option of criterion {name!r} "
            "({option_names}): map it with --map {wrong}={option_names2}; --map {wrong}= leaves "
            "such labels out",
            "{source}: the labels {labels} are not options of criterion {name!r} "
            "({option_names}): map them with --map {wrong}={option_names2}; --map {wrong}= "
            "leaves such labels out",
            len(wrong),
            source=source,
            labels=wrong_names,
            name=criteria.name,
            option_names=", ".join(criteria.option_names),
            wrong=wrong[0],
            option_names2=criteria.option_names[0],
        )
    )


def _read(scale: LabelScale, text: str) -> str | None:
    try:
        return scale.read(text).option
    except ValueError:
        return None


def _number(value: str | int) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _winners(values: Iterable[str | int], rows: LabelledSet) -> dict[str | int, Answer]:
    """Read each label as the index of the better response, or a tie."""
    labels = list(dict.fromkeys(values))
    most = max(len(row.instance.value("response") or ()) for row in rows.rows)
    systems = rows.rows[0].instance.metadata.get("systems")
    names = (
        {str(name): place for place, name in enumerate(systems)}
        if isinstance(systems, Sequence)
        else {}
    )
    places = {letter: place for place, letter in enumerate(letters(most))}
    places |= {letter.lower(): place for letter, place in places.items()}
    numbers = [int(label) for label in labels if isinstance(label, str) and label.isdecimal()]
    winners: dict[str | int, Answer] = {}
    for label in labels:
        winner_of_label: Winner | None = (
            label if isinstance(label, int) else names.get(label, places.get(label))
        )
        if winner_of_label is None:
            winner_of_label = (
                _by_number(str(label), numbers, rows, most)
                if str(label).isdecimal()
                else winner(label)
            )
        if winner_of_label is None:
            raise SetupError(
                "{source}: the label {one!r} does not name a response: use {letters}, "
                "{tie}{value}, or map it with --map {one}=A",
                source=rows.source,
                one=label,
                letters=", ".join(letters(most)),
                tie=TIE,
                value=", or " + ", ".join(names) if names else "",
            )
        winners[label] = winner_of_label
    return winners


def _by_number(text: str, counted: Sequence[int], rows: LabelledSet, most: int) -> Winner:
    """Read a number as a response.

    If the highest number is the number of responses, they are counted from 1, and 0 is a tie. If 0
    occurs and the highest number is smaller, they are counted from 0. Otherwise raise a SetupError.
    """
    number = int(text)
    if max(counted) == most:
        return "tie" if number == 0 else number - 1
    if 0 in counted and max(counted) < most:
        return number
    raise SetupError(
        "{source}: does the label {text} count responses from 0 or from 1? Map it with --map "
        "{text}=A",
        source=rows.source,
        text=text,
    )


def _label(row: MarkedRow, mark: AnyMark, scale: LabelScale, answer: Answer, at: float) -> Label:
    answer_data = (
        {"winner": answer}
        if scale.compares
        else {"option": answer}
        if isinstance(answer, str)
        else {"score": answer}
    )
    return Label(
        row=row.instance.identity,
        id=row.instance.id,
        criteria=scale.name,
        criteria_identity=scale.criteria.identity,
        annotator=mark.annotator,
        kind=mark.kind,
        design=mark.design,
        judge_visible=mark.judge_visible,
        note=mark.note,
        at=mark.at or at,
        **answer_data,
    )
