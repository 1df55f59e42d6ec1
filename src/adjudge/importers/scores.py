"""Scores that lie beside what they are about, as platforms export them: the judge's and people's are joined by their subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.domain.frozen import NOTHING
from adjudge.importers.record import Asked, Mark, Recorded, RecordedVote, asked_for, by_model
from adjudge.importers.values import fields_of, text


@dataclass(frozen=True)
class Score:
    """One score of one subject."""

    row: Recorded
    """The subject, by its id, and what was asked of it; the judge, the votes and the marks are filled in here."""
    value: object
    """The judge's or the person's answer; None where there is none."""
    by: RecordedVote | Mark
    """Whose it is, without the answer."""

    @property
    def name(self) -> str:
        """What was asked."""
        return self.row.asked.name

    @property
    def key(self) -> int:
        """What the judge's and people's scores are joined by: small, since a file may hold very many."""
        return hash((self.row.id, self.name))


def joined(scores: Callable[[], Iterable[Score]]) -> Iterator[Recorded]:
    """Judgments, and labels on them; a subject that people alone scored is a row without a verdict. Reads the scores twice."""
    judged, kinds = set[int](), dict[str, Asked]()
    for one in scores():
        if isinstance(one.by, RecordedVote):
            judged.add(one.key)
        if one.value is not None:
            kinds.setdefault(one.name, asked_for(one.name, one.value)[0])
    for one in scores():
        yield _recorded(one, kinds, one.key in judged)


def _recorded(one: Score, kinds: dict[str, Asked], judged: bool) -> Recorded:
    asked, answer = (kinds.get(one.name, Asked(one.name)), None) if one.value is None else asked_for(one.name, one.value)
    if isinstance(one.by, RecordedVote):
        vote = replace(one.by, answer=answer) if one.by.reason is None else one.by
        return replace(one.row, judge=by_model(one.name, vote.model), asked=asked, votes=(vote,))
    marks = () if answer is None else (replace(one.by, answer=answer),)
    return replace(one.row, judge=one.name, asked=asked, marks=marks, only_marks=judged)


def subject_fields(kind: str, id: object, known: Mapping[str, object] = NOTHING) -> dict[str, str | tuple[str, ...]]:
    """The texts of what was scored; where the file has none, what it is called."""
    found = fields_of(known)
    return found if found else {"response": f"{kind} {text(id)}"}
