"""What people said, in the words of the criteria that judges are tried with."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.label import Label, LabelScale, Winner
from adjudge.core.domain.label import labels as letters
from adjudge.core.domain.verdict import TIE
from adjudge.errors import SetupError
from adjudge.features.bench.labelled_rows import LabelledSet, Marked, MarkedRow, as_chosen
from adjudge.features.importers.pairs import winner
from adjudge.messages import Message, plural
from adjudge.trust.usable_labels import nonzero

_MOST_NAMED = 5


@dataclass(frozen=True)
class Answers:
    """How the labels of a set are read as answers to criteria."""

    meanings: Mapping[str, str] = field(default_factory=dict)
    """Label → option, where they are called differently; an empty one leaves such labels out."""
    ties: bool = True

    def select(self, rows: LabelledSet) -> LabelledSet:
        """Return the set without the labels that are left out, and without rows that have no
        other; its notes count both. The rows that remain were chosen by their labels.
        """
        kept = [tuple(mark for mark in row.marks if self._meant(mark) != "") for row in rows.rows]
        if not any(kept):
            raise SetupError("{source}: --map leaves out all labels", source=rows.source)
        fewer = [
            (row, len(row.marks) - len(marks))
            for row, marks in zip(rows.rows, kept, strict=True)
            if len(marks) < len(row.marks)
        ]
        if not fewer:
            return rows
        gone = len(kept) - sum(map(bool, kept))
        dropped = sum(count for row, count in fewer if count < len(row.marks))
        notes = nonzero(
            plural(
                "{count} row has no label beside those that --map leaves out, and was not judged",
                "{count} rows have no label beside those that --map leaves out, and were not "
                "judged",
                gone,
            ),
            plural(
                "on {count} row --map leaves out some labels ({labels} in all): people's agreement "
                "is about the others",
                "on {count} rows --map leaves out some labels ({labels} in all): people's "
                "agreement is about the others",
                len(fewer) - gone,
                labels=dropped,
            ),
        )
        found = replace(
            rows,
            rows=tuple(
                replace(row, marks=marks)
                for row, marks in zip(rows.rows, kept, strict=True)
                if marks
            ),
            notes=(*rows.notes, *notes),
        )
        return as_chosen(found) if gone else found

    def labels(self, rows: LabelledSet, criteria: Criteria) -> list[Label]:
        """A label for each mark of the set that ``select`` returned.

        A SetupError names the marks that are no answer to the criteria.
        """
        scale = LabelScale(criteria, compares=rows.compares, ties=self.ties)
        known, at = self._read(rows, criteria), time.time()
        return [
            _label(row, mark, scale, known[self._meant(mark)], at)
            for row in rows.rows
            for mark in row.marks
        ]

    def read_as(self, rows: LabelledSet, criteria: Criteria) -> str:
        """What labels are taken for that are not called as the options are;
        nothing where all are.
        """
        known = {} if rows.compares else self._read(rows, criteria)
        pairs = [
            f"{label} → {option}"
            for label, option in known.items()
            if isinstance(option, str) and label != option
        ]
        pairs += [
            f"{label} → {option}"
            for label, option in self.meanings.items()
            if option and label != option
        ]
        return Message("labels are read as {pairs}", pairs=", ".join(pairs)) if pairs else ""

    def _read(self, rows: LabelledSet, criteria: Criteria) -> dict[str | int, Answer]:
        values = [self._meant(mark) for row in rows.rows for mark in row.marks]
        return _compared(values, rows) if rows.compares else _options(values, criteria, rows.source)

    def _meant(self, mark: Marked) -> str | int:
        """The label as it is written; a winner that is an index already stays one."""
        if isinstance(mark.answer, int) and not isinstance(mark.answer, bool):
            return self.meanings.get(str(mark.answer), mark.answer)
        written = f"{mark.answer:g}" if isinstance(mark.answer, float) else str(mark.answer).strip()
        return self.meanings.get(written, written)


Answer = str | float | Winner


def _options(
    values: Iterable[str | int], criteria: Criteria, source: str
) -> dict[str | int, Answer]:
    """Each label as an option: by its name, else by its score; where labels are finer numbers than
    that, as numbers.
    """
    found = list(dict.fromkeys(values))
    scale = LabelScale(criteria)
    named = {one: option for one in found if (option := _read(scale, str(one))) is not None}
    if len(named) == len(found):
        return dict(named)
    numbers = {one: number for one in found if (number := _number(one)) is not None}
    points = {
        option.points: option.name for option in criteria.options if option.points is not None
    }
    if len(numbers) == len(found) and len(points) > 1:
        exact = {one: points[number] for one, number in numbers.items() if number in points}
        return (
            dict(exact)
            if len(exact) == len(found) and len(points) == len(criteria.options)
            else dict(numbers)
        )
    wrong = [str(one) for one in found if one not in named]
    raise SetupError(
        "{source}: the {labels} no option of criterion {name!r} ({option_names}): say what "
        "is meant with --map {wrong}={option_names2}; --map {wrong}= leaves such labels out",
        source=source,
        labels=_labels(wrong),
        name=criteria.name,
        option_names=", ".join(criteria.option_names),
        wrong=wrong[0],
        option_names2=criteria.option_names[0],
    )


def _labels(wrong: Sequence[str]) -> str:
    shown = ", ".join(map(repr, wrong[:_MOST_NAMED])) + (", …" if len(wrong) > _MOST_NAMED else "")
    return f"label {shown} is" if len(wrong) == 1 else f"labels {shown} are"


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


def _compared(values: Iterable[str | int], rows: LabelledSet) -> dict[str | int, Answer]:
    """Each label as the index of the better response, or a tie."""
    found = list(dict.fromkeys(values))
    most = max(len(row.instance.value("response") or ()) for row in rows.rows)
    systems = rows.rows[0].instance.metadata.get("systems")
    names = (
        {str(name): place for place, name in enumerate(systems)}
        if isinstance(systems, Sequence)
        else {}
    )
    places = {letter: place for place, letter in enumerate(letters(most))}
    places |= {letter.lower(): place for letter, place in places.items()}
    counted = [int(one) for one in found if isinstance(one, str) and one.isdecimal()]
    made: dict[str | int, Answer] = {}
    for one in found:
        chosen: Winner | None = one if isinstance(one, int) else names.get(one, places.get(one))
        if chosen is None:
            chosen = (
                _by_number(str(one), counted, rows, most) if str(one).isdecimal() else winner(one)
            )
        if chosen is None:
            raise SetupError(
                "{source}: the label {one!r} names no response: it is {letters}, "
                "{tie}{value}; say what is meant with --map {one}=A",
                source=rows.source,
                one=one,
                letters=", ".join(letters(most)),
                tie=TIE,
                value=", or " + ", ".join(names) if names else "",
            )
        made[one] = chosen
    return made


def _by_number(text: str, counted: Sequence[int], rows: LabelledSet, most: int) -> Winner:
    """Counted from 1, with 0 for a tie, where the last response is named so; from 0 where no number
    says otherwise.
    """
    number = int(text)
    if max(counted) == most:
        return "tie" if number == 0 else number - 1
    if 0 in counted and max(counted) < most:
        return number
    raise SetupError(
        "{source}: does the label {text} count responses from 0 or from 1? Say it with "
        "--map {text}=A",
        source=rows.source,
        text=text,
    )


def _label(row: MarkedRow, mark: Marked, scale: LabelScale, answer: Answer, at: float) -> Label:
    said = (
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
        **said,
    )
