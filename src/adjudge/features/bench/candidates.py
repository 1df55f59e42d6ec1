"""Candidates for better criteria: a writer's proposals, and changes by rule that need no model.

The best candidate is chosen on rows that neither the writer nor an example has shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from adjudge.core.domain.criteria import Criteria, CriteriaExample
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.core.prompts.renderer import shown_fields
from adjudge.features.bench.benchmark import RowKey
from adjudge.features.bench.labelled_rows import LabelledSet, lot
from adjudge.features.bench.proposal import MOST_EXAMPLES, Change, Proposal
from adjudge.messages import Message
from adjudge.trust.rows import majority

Source = Literal["writer", "examples", "order"]
NAMES: Mapping[Source, Message] = {
    "writer": Message("the writer's proposal"),
    "examples": Message("examples from labelled rows"),
    "order": Message("another order"),
}
_LONGEST_EXAMPLE = 2000
_MOST_DRAWN = 4


@dataclass(frozen=True)
class CriteriaCandidate:
    """Criteria to try."""

    source: Source
    proposal: Proposal


class TriedShape(TypedDict):
    """A candidate, and its results on the rows to choose by."""

    round: int
    source: Source
    proposal: Mapping[str, object]
    rows: int
    agreement_before: float
    agreement: float
    failed: int
    chosen: bool


@dataclass(frozen=True)
class TriedCandidate:
    """A candidate, and its results on the rows to choose by."""

    candidate: CriteriaCandidate
    round: int
    rows: int
    """Rows that the judge decided with the criteria before the change."""
    agreement_before: float
    agreement: float
    """Rows that it no longer decides count as wrong."""
    failed: int
    chosen: bool = False

    def to_dict(self) -> JsonDict:
        return fill(
            TriedShape,
            self,
            source=self.candidate.source,
            proposal=self.candidate.proposal.criteria,
        )


def rule_candidates(
    criteria: Criteria,
    cases: Sequence[DisputedRow],
    answered: Sequence[DisputedRow],
    change: Change,
    *,
    compares: bool,
) -> Iterator[CriteriaCandidate]:
    """Yield changes that need no model; none for comparisons.

    ``cases``: disagreements that may become examples; ``answered``: all rows that may.
    """
    if compares:
        return
    if change in ("order", "all"):
        if len(criteria.options) > 1:
            options = tuple(reversed(criteria.options))
            yield _by_rule("order", replace(criteria, options=options))
        if len(criteria.examples) > 1:
            examples = tuple(reversed(criteria.examples))
            yield _by_rule("order", replace(criteria, examples=examples))
    if change in ("examples", "all"):
        known = {(tuple(example.fields.items()), example.option) for example in criteria.examples}
        for rows, most in ((cases, MOST_EXAMPLES), (answered, _MOST_DRAWN)):
            shown = [
                example
                for example in _examples(criteria, rows, most)
                if (tuple(example.fields.items()), example.option) not in known
            ]
            if shown:
                examples = (*criteria.examples, *shown)
                yield _by_rule("examples", replace(criteria, examples=examples))


def answered_rows(
    rows: LabelledSet, labels: Sequence[Label], criteria: Criteria
) -> list[DisputedRow]:
    """Return the rows that people decided, with their answer, in an order drawn by lot."""
    answers: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label.answer, str):
            answers.setdefault(label.row, []).append(label.answer)
    decided = [
        DisputedRow(row.instance, "", str(truth))
        for row in rows.rows
        if (truth := majority(answers.get(row.instance.identity, ()))) in criteria.option_names
    ]
    return sorted(decided, key=lambda row: lot(0, row.instance.identity))


def distinct(
    candidates: Sequence[CriteriaCandidate], known: Sequence[Criteria]
) -> list[CriteriaCandidate]:
    """Return the candidates that differ from each other and from the known criteria."""
    seen = {criteria.identity for criteria in known}
    kept = []
    for candidate in candidates:
        identity = candidate.proposal.criteria.identity
        if identity not in seen:
            seen.add(identity)
            kept.append(candidate)
    return kept


def result_of(
    candidate: CriteriaCandidate,
    round_number: int,
    before: Mapping[RowKey, float],
    after: Mapping[RowKey, float],
) -> TriedCandidate:
    """Compare a candidate with the criteria before the change on the rows to choose by.

    A row that it no longer decides counts as wrong, so a failure never helps it.
    """
    rows = len(before)
    return TriedCandidate(
        candidate,
        round_number,
        rows,
        sum(before.values()) / rows,
        sum(after.get(row, 0.0) for row in before) / rows,
        sum(row not in after for row in before),
    )


def place_of_best(results: Sequence[TriedCandidate]) -> int | None:
    """Return the place of the candidate that agrees most with people; None if none is better.

    The first of equal ones wins.
    """
    place = max(
        range(len(results)), key=lambda place: (results[place].agreement, -place), default=None
    )
    if place is None or results[place].agreement <= results[place].agreement_before:
        return None
    return place


def _by_rule(source: Source, criteria: Criteria) -> CriteriaCandidate:
    return CriteriaCandidate(source, Proposal(criteria, ""))


def _examples(criteria: Criteria, rows: Sequence[DisputedRow], most: int) -> list[CriteriaExample]:
    """Return at most ``most`` rows as examples, of each option in turn."""
    by_option: dict[str, list[CriteriaExample]] = {name: [] for name in criteria.option_names}
    for row in rows:
        fields = shown_fields(criteria, row.instance)
        length = sum(len(text) for value in fields.values() for text in _texts(value))
        if row.truth in by_option and length <= _LONGEST_EXAMPLE:
            by_option[row.truth].append(CriteriaExample(fields, row.truth))
    longest = max(map(len, by_option.values()), default=0)
    in_turn = [
        examples[place]
        for place in range(longest)
        for examples in by_option.values()
        if place < len(examples)
    ]
    return in_turn[:most]


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
