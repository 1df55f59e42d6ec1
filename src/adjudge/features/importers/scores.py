"""Scores that lie beside what they are about, as platforms export them: the judge's and people's
are joined by their subject.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    by_model,
    question_for,
    rate,
)
from adjudge.features.importers.values import (
    Json,
    JsonObject,
    Texts,
    fields_of,
    is_missing,
    number,
    text,
)
from adjudge.messages import Message


@dataclass(frozen=True)
class SubjectScore:
    """One score of one subject."""

    row: RecordedRow
    """The subject, by its id, and what was asked of it; the judge, the votes and the marks are
    filled in here.
    """
    value: Json
    """The judge's or the person's answer; None where there is none."""
    by: RecordedVote | Mark
    """Whose it is, without the answer."""

    @property
    def name(self) -> str:
        return self.row.question.name

    @property
    def key(self) -> int:
        """What the judge's and people's scores are joined by: small, since a file may hold very
        many.
        """
        return hash((self.row.id, self.name))


def join_scores(
    scores: Callable[[ImportLog], Iterable[SubjectScore]], log: ImportLog
) -> Iterator[RecordedRow]:
    """Judgments, and labels on them; a subject that people alone scored is a row without a verdict.

    Reads the scores twice; what is passed over is reported once.
    """
    judged, values = set[int](), ValueKinds()
    for one in scores(ImportLog()):
        if isinstance(one.by, RecordedVote):
            judged.add(one.key)
        values.see(one.name, one.value)
    for one in scores(log):
        yield _row(one, values, one.key in judged)


class ValueKinds:
    """What the values of each question are, by all of them: truths, numbers or words."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self._questions: dict[str, RecordedQuestion] = {}

    def see(self, name: str, value: Json) -> None:
        """One more value; one that is missing, or holds several, tells nothing."""
        if _tells_nothing(value):
            return
        truth, points = isinstance(value, bool), number(value)
        self._kinds[name].add("truth" if truth else "word" if points is None else "number")
        self._questions.setdefault(name, question_for(name, value)[0])

    def read(self, name: str, value: Json) -> tuple[RecordedQuestion, RecordedAnswer | None]:
        """The question, and the value as its answer; None where it is none."""
        kinds, points = self._kinds[name], number(value)
        mixed = rate(name) if kinds == {"truth", "number"} else RecordedQuestion(name)
        if _tells_nothing(value):
            return mixed if len(kinds) > 1 else self._questions.get(name, mixed), None
        if mixed.kind == "rating":
            return mixed, points
        if len(kinds) > 1 and not (isinstance(value, str) and points is None):
            words = isinstance(value, bool) or points is None
            return mixed, text(value) if words else f"{points:g}"
        return question_for(name, value)


def _tells_nothing(value: Json) -> bool:
    return is_missing(value) or _is_several(value)


def _is_several(value: Json) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _row(one: SubjectScore, values: ValueKinds, judged: bool) -> RecordedRow:
    question, answer = values.read(one.name, one.value)
    if one.row.question.options:  # the file says what they score
        question = one.row.question
        answer = None if _tells_nothing(one.value) else text(one.value)
    if isinstance(one.by, RecordedVote):
        vote = one.by
        if vote.reason is None and answer is not None:
            vote = vote.said(answer, vote.score)
        elif vote.reason is None:
            several = _is_several(one.value)
            why = (
                Message("the value is neither a number nor a word")
                if several
                else Message("the value is missing")
            )
            vote = vote.failed(why, unreadable=several)
        judge = by_model(one.name, vote.model)
        return replace(one.row, judge=judge, question=question, votes=(vote,))
    marks = () if answer is None else (replace(one.by, answer=answer),)
    return replace(one.row, judge=one.name, question=question, marks=marks, only_marks=judged)


def subject_fields(kind: str, id: str, known: JsonObject = NOTHING) -> Texts:
    """The texts of what was scored; where the file has none, what it is called."""
    return fields_of(known) or {"response": f"{kind} {id}"}
