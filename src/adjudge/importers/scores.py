"""Scores that lie beside what they are about, as platforms export them: the judge's and people's are joined by their subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from adjudge.importers.record import Asked, Mark, Recorded, RecordedVote, asked_for, by_model, text


@dataclass(frozen=True, kw_only=True)
class Score:
    """One score of one subject."""

    subject: str
    name: str
    value: object
    """The judge's or the person's answer; None where there is none."""
    vote: RecordedVote | None = None
    """The judge's, without its answer; None where a person gave it."""
    mark: Mark | None = None
    row: Recorded
    """The row that it is about; its judge, question, votes and marks are filled in here."""


def joined(scores: Callable[[], Iterable[Score]]) -> Iterator[Recorded]:
    """Judgments, and labels on them; a subject that people alone scored is a row without a verdict. Reads the scores twice."""
    judged, kinds = set[int](), dict[str, Asked]()
    for one in scores():
        if one.vote is not None:
            judged.add(hash((one.subject, one.name)))
        if one.value is not None:
            kinds.setdefault(one.name, asked_for(one.name, one.value)[0])
    for one in scores():
        yield _recorded(one, kinds, hash((one.subject, one.name)) in judged)


def _recorded(one: Score, kinds: dict[str, Asked], judged: bool) -> Recorded:
    asked, answer = (kinds.get(one.name, Asked(one.name)), None) if one.value is None else asked_for(one.name, one.value)
    if one.vote is not None:
        vote = replace(one.vote, answer=answer) if one.vote.reason is None else one.vote
        return replace(one.row, judge=by_model(one.name, vote.model), asked=asked, votes=(vote,))
    marks = () if one.mark is None or answer is None else (replace(one.mark, answer=answer),)
    return replace(one.row, judge=one.name, asked=asked, marks=marks, only_marks=judged)


def subject_fields(kind: str, id: object, **known: object) -> dict[str, str | tuple[str, ...]]:
    """The texts of what was scored; where the file has none, what it is called."""
    from adjudge.importers.record import fields_of

    found = fields_of(known)
    return found if found else {"response": f"{kind} {text(id)}"}
