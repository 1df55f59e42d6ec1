"""How each annotator labels: how many rows, how fast, and how often as others and the judge do. For
the page about trust; nobody sees it while labelling.
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
    """One annotator of one criterion."""

    annotator: str
    criteria: str
    labels: int
    unsure: int
    seconds: float | None
    """For a row, of late; None of few labels, and of those that came from a file."""
    with_others: tuple[int, int]
    """Answers that another annotator gave, too, of the rows that another labelled."""
    with_judge: tuple[int, int]
    """The same of the judge's verdicts; of none where the run is too large to be read through."""


def annotator_figures(place: RunPlace) -> list[AnnotatorFigures]:
    """Every annotator, by criterion and name."""
    labels = [one for one in LabelStore(place.folder).current() if one.kind != "model"]
    judged = {} if is_large(place) else _verdicts(place)
    groups: dict[tuple[str, str], list[Label]] = {}
    for one in labels:
        groups.setdefault((one.criteria, one.annotator), []).append(one)
    return [
        _figures(who, criteria, own, _others(labels, who), judged)
        for (criteria, who), own in sorted(groups.items())
    ]


def assigned_rows(place: RunPlace) -> list[JsonDict]:
    """How far everybody is with the rows that are theirs."""
    return [one._asdict() for one in People(place.folder).progress()]


def _figures(
    who: str, criteria: str, own: Sequence[Label], others: Said, judged: Said
) -> AnnotatorFigures:
    states = Counter(one.state for one in own)
    return AnnotatorFigures(
        who,
        criteria,
        states["given"],
        states["unsure"],
        seconds_per_row(one.at for one in own if one.is_done),
        _agreeing(own, others),
        _agreeing(own, judged),
    )


def _agreeing(own: Iterable[Label], said: Said) -> tuple[int, int]:
    pairs = [
        (str(one.answer), found)
        for one in own
        if one.state == "given" and (found := said.get((one.criteria, one.row)))
    ]
    return sum(answer in found for answer, found in pairs), len(pairs)


def _others(labels: Iterable[Label], who: str) -> Said:
    found: dict[tuple[str, str], set[str]] = {}
    for one in labels:
        if one.annotator != who and one.state == "given":
            found.setdefault((one.criteria, one.row), set()).add(str(one.answer))
    return found


def _verdicts(place: RunPlace) -> Said:
    """(criterion, row) → what judges chose, in the words of labels; numbers are left out."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in records_of(place.folder):
        if one.status == "scored" and one.choice is not None:
            found.setdefault((one.criterion, one.identity), set()).add(str(one.choice))
    return found
