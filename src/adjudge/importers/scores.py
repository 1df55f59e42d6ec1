"""Scores that lie beside what they are about, as platforms export them: the judge's and people's
are joined by their subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.domain.frozen import NOTHING
from adjudge.domain.vote import Outcome
from adjudge.importers.record import Asked, Mark, Recorded, RecordedVote, asked_for, by_model
from adjudge.importers.values import fields_of, is_missing, number, text
from adjudge.messages import Message


@dataclass(frozen=True)
class Score:
    """One score of one subject."""

    row: Recorded
    """The subject, by its id, and what was asked of it; the judge, the votes and the marks are
    filled in here.
    """
    value: object
    """The judge's or the person's answer; None where there is none."""
    by: RecordedVote | Mark
    """Whose it is, without the answer."""

    @property
    def name(self) -> str:
        return self.row.asked.name

    @property
    def key(self) -> int:
        """What the judge's and people's scores are joined by: small, since a file may hold very
        many.
        """
        return hash((self.row.id, self.name))


def joined(scores: Callable[[], Iterable[Score]]) -> Iterator[Recorded]:
    """Judgments, and labels on them; a subject that people alone scored is a row without a verdict.

    Reads the scores twice.
    """
    judged, answers = set[int](), Answers()
    for one in scores():
        if isinstance(one.by, RecordedVote):
            judged.add(one.key)
        answers.see(one.name, one.value)
    for one in scores():
        yield _recorded(one, answers, one.key in judged)


class Answers:
    """What the values of each question are, by all of them: truths, numbers or words."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = {}
        self._asked: dict[str, Asked] = {}

    def see(self, name: str, value: object) -> None:
        """One more value; one that is missing, or holds several, tells nothing."""
        if is_missing(value) or _is_several(value):
            return
        kind = (
            "truth"
            if isinstance(value, bool)
            else "number"
            if number(value) is not None
            else "word"
        )
        self._kinds.setdefault(name, set()).add(kind)
        self._asked.setdefault(name, asked_for(name, value)[0])

    def read(self, name: str, value: object) -> tuple[Asked, str | float | None]:
        """The question, and the value as its answer; None where it is none."""
        kinds = self._kinds.get(name, set())
        if is_missing(value) or _is_several(value):
            mixed = Asked(name, kind="rating") if kinds == {"truth", "number"} else Asked(name)
            return mixed if len(kinds) > 1 else self._asked.get(name, Asked(name)), None
        if kinds == {"truth", "number"}:
            return Asked(name, kind="rating"), number(value)
        if len(kinds) > 1 and not (isinstance(value, str) and number(value) is None):
            points = number(value)
            return Asked(name), text(value) if isinstance(
                value, bool
            ) or points is None else f"{points:g}"
        return asked_for(name, value)


def _is_several(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _recorded(one: Score, answers: Answers, judged: bool) -> Recorded:
    asked, answer = answers.read(one.name, one.value)
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
            vote = vote.failed(why, Outcome.UNREADABLE if several else Outcome.MODEL_ERROR)
        return replace(one.row, judge=by_model(one.name, vote.model), asked=asked, votes=(vote,))
    marks = () if answer is None else (replace(one.by, answer=answer),)
    return replace(one.row, judge=one.name, asked=asked, marks=marks, only_marks=judged)


def subject_fields(
    kind: str, id: object, known: Mapping[str, object] = NOTHING
) -> dict[str, str | tuple[str, ...]]:
    """The texts of what was scored; where the file has none, what it is called."""
    found = fields_of(known)
    return found if found else {"response": f"{kind} {text(id)}"}
