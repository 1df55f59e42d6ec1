"""Figures about each annotator: rows, pace, and agreement with others and with the judge. They are
for the page about trust; annotators do not see them while they label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.runs.folder import records_of
from adjudge.trust.labels.people import People
from adjudge.trust.labels.session import seconds_per_row
from adjudge.trust.labels.store import LabelStore
from adjudge.web.library import RunPlace, is_large

Said = Mapping[tuple[str, str], set[str]]


@dataclass(frozen=True)
class AnnotatorFigures:
    """The figures of one annotator on one criterion."""

    annotator: str
    criteria: str
    labels: int
    unsure: int
    seconds: float | None
    """For a row, of late; None of few labels, and of those that came from a file."""
    with_others: tuple[int, int]
    """Answers that another annotator gave, too, of the rows that another labelled."""
    with_judge: tuple[int, int]
    """Like ``with_others``, but with the judge's verdicts; (0, 0) if the run is too large to be
    read.
    """


def annotator_figures(place: RunPlace) -> list[AnnotatorFigures]:
    """Return every annotator's figures, sorted by criterion and name."""
    # labels by a model would agree with themselves, not with people
    labels = [label for label in LabelStore(place.folder).current() if label.kind != "model"]
    verdicts = {} if is_large(place) else _verdicts(place)
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        groups.setdefault((label.criteria, label.annotator), []).append(label)
    return [
        _figures(who, criteria, own_labels, _others(labels, who), verdicts)
        for (criteria, who), own_labels in sorted(groups.items())
    ]


def assigned_rows(place: RunPlace) -> list[JsonDict]:
    """Return each annotator's progress on their assigned rows."""
    return [progress._asdict() for progress in People(place.folder).progress()]


def _figures(
    who: str, criteria: str, own_labels: Sequence[Label], answers_of_others: Said, verdicts: Said
) -> AnnotatorFigures:
    states = Counter(label.state for label in own_labels)
    return AnnotatorFigures(
        who,
        criteria,
        states["given"],
        states["unsure"],
        seconds_per_row(label.at for label in own_labels if label.is_done),
        _agreeing(own_labels, answers_of_others),
        _agreeing(own_labels, verdicts),
    )


def _agreeing(own_labels: Iterable[Label], answers_by_row: Said) -> tuple[int, int]:
    """Return how many labels agree, and how many can be compared."""
    pairs = [
        (str(label.answer), answers)
        for label in own_labels
        if label.state == "given" and (answers := answers_by_row.get((label.criteria, label.row)))
    ]
    return sum(answer in answers for answer, answers in pairs), len(pairs)


def _others(labels: Iterable[Label], who: str) -> Said:
    answers: dict[tuple[str, str], set[str]] = {}
    for label in labels:
        if label.annotator != who and label.state == "given":
            answers.setdefault((label.criteria, label.row), set()).add(str(label.answer))
    return answers


def _verdicts(place: RunPlace) -> Said:
    """Return (criterion, row) → what judges chose, in the terms that labels use. Numbers are left
    out.
    """
    verdicts: dict[tuple[str, str], set[str]] = {}
    for record in records_of(place.folder):
        if record.status == "scored" and record.choice is not None:
            verdicts.setdefault((record.criterion, record.identity), set()).add(str(record.choice))
    return verdicts
