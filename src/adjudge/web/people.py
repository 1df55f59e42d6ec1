"""Labels of a run's rows, compared with the judge's verdicts.

For pages that show verdicts; nothing of this is sent to annotators while they label.
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
"""Whether people agree with the judge; ``open`` if they or it are undecided."""
_BINS = 10
_FEWEST = 20
"""Rows with a stated probability and a label, below which a picture of them would say nothing."""
Labels = Mapping[tuple[str, str], Sequence[Label]]


class PersonSaid(NamedTuple):
    """One label, as pages show it."""

    annotator: str
    answer: str
    note: str
    step: int | None = None


class PeopleSaid(NamedTuple):
    """All labels of one row, and whether people agree with the judge."""

    said: tuple[PersonSaid, ...]
    stand: Stand

    def without_names(self) -> PeopleSaid:
        """Replace annotators' names with numbers, and drop their notes."""
        anonymous = (
            answer._replace(annotator=str(at), note="") for at, answer in enumerate(self.said, 1)
        )
        return self._replace(said=tuple(anonymous))

    def to_dict(self) -> JsonDict:
        return {"stand": self.stand, "said": [answer._asdict() for answer in self.said]}


class Bin(NamedTuple):
    """Rows with similar stated probabilities."""

    stated: float
    rows: int
    true: Range


def people_by_row(library: Library, place: RunPlace, judge: str) -> Mapping[int, PeopleSaid]:
    """Return row number, from 1, → labels. Empty without labels, or if the run is too large."""
    if is_large(place) or not holds_labels(place.folder):
        return {}
    return library.get_or_compute(
        place, f"people {judge}", lambda: _by_row(place, judge), at_once=True
    )


def people_said(place: RunPlace, record: JudgmentRecord) -> PeopleSaid | None:
    """Like ``people_by_row``, but for one row, and for runs of any size; None without labels."""
    if not holds_labels(place.folder):
        return None
    return _of_record(_labels(place, record.criterion), record)


def reliability_of(place: RunPlace, judge: str, criteria: str) -> list[Bin]:
    """Return how often people confirm verdicts, by stated probability; empty with too few such
    rows.
    """
    labels = _labels(place, criteria)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for record in records_of(place.folder, judge=judge, votes=True):
        people = _of_record(labels, record) if record.criterion == criteria else None
        stated = stated_probability(record.votes or (), record.verdict or "")
        if people and people.stand != "open" and stated is not None:
            number = min(int(stated * _BINS), _BINS - 1)
            bins.setdefault(number, []).append((stated, people.stand == "agree"))
    if sum(map(len, bins.values())) < _FEWEST:
        return []
    return [_bin(rows) for _, rows in sorted(bins.items())]


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
        record.row: people
        for record in records_of(place.folder, judge=judge)
        if (people := _of_record(labels, record))
    }


def _labels(place: RunPlace, criteria: str | None = None) -> dict[tuple[str, str], list[Label]]:
    by_row: dict[tuple[str, str], list[Label]] = {}
    for label in LabelStore(place.folder).current(criteria):
        # skipped rows come again, and are no answer
        if label.is_done:
            by_row.setdefault((label.criteria, label.row), []).append(label)
    return by_row


def _of_record(labels: Labels, record: JudgmentRecord) -> PeopleSaid | None:
    row_labels = labels.get((record.criterion, record.identity), ())
    if not row_labels:
        return None
    answers_given = tuple(
        PersonSaid(label.annotator, _answer(label, record), label.note, label.step)
        for label in row_labels
    )
    # "unsure" is shown, but is no answer to compare with
    answers = Counter(
        answer.answer
        for label, answer in zip(row_labels, answers_given, strict=True)
        if label.state == "given"
    )
    return PeopleSaid(answers_given, _stand(answers, record))


def _stand(answers: Mapping[str, int], record: JudgmentRecord) -> Stand:
    """Compare the judge's verdict with the majority of people."""
    most = max(answers.values(), default=0)
    top_answers = [answer for answer, count in answers.items() if count == most]
    # also for numbers: a score next to a score is not simply right or wrong
    if len(top_answers) != 1 or record.verdict is None or record.status != "scored":
        return "open"
    return "agree" if top_answers[0] == record.verdict else "differ"


def _answer(label: Label, record: JudgmentRecord) -> str:
    if label.state != "given":
        return term("page", "unsure")
    if isinstance(label.winner, int) and record.detail.is_comparison:
        names = record.detail.system_names
        return names[label.winner] if label.winner < len(names) else str(label.winner)
    return f"{label.score:g}" if label.score is not None else str(label.answer)
