"""What people said of a run's rows, beside what the judge said of them.

For pages that show verdicts; where people label, nothing of this is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.file import holds_labels
from adjudge.messages import term
from adjudge.runs.folder import records_of
from adjudge.runs.view.plots import Range
from adjudge.stats.intervals import wilson
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.rows import stated_probability
from adjudge.web.library import Library, RunPlace, is_large

Stand = Literal["agree", "differ", "open"]
STANDS: tuple[Stand, ...] = ("differ", "agree", "open")
"""Whether people say what the judge says; ``open`` where they or it do not decide."""
_BINS = 10
_FEWEST = 20
"""Rows with a stated probability and a label, below which a picture of them would say nothing."""
Labels = Mapping[tuple[str, str], Sequence[Label]]


class PersonSaid(NamedTuple):
    """One label, as a page shows it."""

    annotator: str
    answer: str
    note: str
    step: int | None = None


class PeopleSaid(NamedTuple):
    """What everybody said of one row."""

    said: tuple[PersonSaid, ...]
    stand: Stand

    def without_names(self) -> PeopleSaid:
        """Not who they are, nor what they noted for themselves."""
        said = (one._replace(annotator=str(at), note="") for at, one in enumerate(self.said, 1))
        return self._replace(said=tuple(said))

    def to_dict(self) -> JsonDict:
        return {"stand": self.stand, "said": [one._asdict() for one in self.said]}


class Bin(NamedTuple):
    """Rows whose stated probability is about the same."""

    stated: float
    rows: int
    true: Range


def people_by_row(library: Library, place: RunPlace, judge: str) -> Mapping[int, PeopleSaid]:
    """Row, from 1 → what people said of it; nothing of a run too large to be read through."""
    if is_large(place) or not holds_labels(place.folder):
        return {}
    return library.kept(place, f"people {judge}", lambda: _by_row(place, judge), at_once=True)


def people_said(place: RunPlace, record: JudgmentRecord) -> PeopleSaid | None:
    """The same of one row, however large the run."""
    if not holds_labels(place.folder):
        return None
    return _of_record(_labels(place, record.criterion), record)


def reliability_of(place: RunPlace, judge: str, criteria: str) -> list[Bin]:
    """How often people confirm verdicts of about the same stated probability; none where too few
    rows have one and a label.
    """
    labels = _labels(place, criteria)
    seen: dict[int, list[tuple[float, bool]]] = {}
    for one in records_of(place.folder, judge=judge, votes=True):
        found = _of_record(labels, one) if one.criterion == criteria else None
        stated = stated_probability(one.votes or (), one.verdict or "")
        if found and found.stand != "open" and stated is not None:
            number = min(int(stated * _BINS), _BINS - 1)
            seen.setdefault(number, []).append((stated, found.stand == "agree"))
    if sum(map(len, seen.values())) < _FEWEST:
        return []
    return [_bin(rows) for _, rows in sorted(seen.items())]


def _bin(rows: Sequence[tuple[float, bool]]) -> Bin:
    true, count = sum(agrees for _, agrees in rows), len(rows)
    limits = wilson(true, count)
    return Bin(
        sum(stated for stated, _ in rows) / count,
        count,
        Range(true / count, limits.lower, limits.upper),
    )


def _by_row(place: RunPlace, judge: str) -> dict[int, PeopleSaid]:
    labels = _labels(place)
    return {
        one.row: found
        for one in records_of(place.folder, judge=judge)
        if (found := _of_record(labels, one))
    }


def _labels(place: RunPlace, criteria: str | None = None) -> dict[tuple[str, str], list[Label]]:
    found: dict[tuple[str, str], list[Label]] = {}
    for one in LabelStore(place.folder).current(criteria):
        if one.is_done:
            found.setdefault((one.criteria, one.row), []).append(one)
    return found


def _of_record(labels: Labels, record: JudgmentRecord) -> PeopleSaid | None:
    given = labels.get((record.criterion, record.identity), ())
    if not given:
        return None
    said = tuple(
        PersonSaid(one.annotator, _answer(one, record), one.note, one.step) for one in given
    )
    answers = Counter(
        shown.answer for one, shown in zip(given, said, strict=True) if one.state == "given"
    )
    return PeopleSaid(said, _stand(answers, record))


def _stand(answers: Mapping[str, int], record: JudgmentRecord) -> Stand:
    """By what most people say; numbers beside numbers are not right or wrong."""
    most = max(answers.values(), default=0)
    first = [answer for answer, count in answers.items() if count == most]
    if len(first) != 1 or record.verdict is None or record.status != "scored":
        return "open"
    return "agree" if first[0] == record.verdict else "differ"


def _answer(label: Label, record: JudgmentRecord) -> str:
    if label.state != "given":
        return term("page", "unsure")
    if isinstance(label.winner, int) and record.detail.is_comparison:
        names = record.detail.system_names
        return names[label.winner] if label.winner < len(names) else str(label.winner)
    return f"{label.score:g}" if label.score is not None else str(label.answer)
