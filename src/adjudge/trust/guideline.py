"""Suggest what to clarify in the guideline, from rows on which annotators differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.domain.label import labels as letters_of
from adjudge.core.domain.slices import slice_rows, value_in
from adjudge.messages import Message, plural
from adjudge.runs.folder import records_of
from adjudge.stats.difference import holm
from adjudge.stats.distributions import fisher_greater
from adjudge.trust.labels.store import LabelStore

LEAST_SHARED = 5
"""Rows that several annotators labelled; fewer say nothing of a guideline."""
LEAST_TIMES = 2
"""Rows on which two options are confused before it is said."""
RISK = 0.05
_EXAMPLES = 3
_MOST_RESPONSES = 100


class GuidelineShape(TypedDict):
    """A point that a guideline should say more clearly."""

    criteria: str
    options: Annotated[Sequence[str], "the two options that annotators confuse; of a slice none"]
    slice: Annotated[str, "in which annotators differ more than elsewhere"]
    rows: Annotated[int, "on which they differ so"]
    of: Annotated[int, "rows that several of them labelled"]
    examples: Sequence[str]
    p_value: Annotated[float | None, "of a slice, adjusted for all slices (Holm)"]
    found: str
    proposal: Annotated[str, "text for the guideline"]


@dataclass(frozen=True)
class GuidelineProblem:
    """Two options that annotators confuse, or a slice in which they disagree more often than
    elsewhere.
    """

    criteria: str
    options: tuple[str, ...]
    """The two options; of a slice none."""
    slice: str
    rows: int
    """Rows on which annotators differ so."""
    of: int
    """Rows that several of them labelled; of a slice those in it."""
    examples: tuple[str, ...]
    p_value: float | None = None
    """The p-value of a slice's difference, adjusted for all slices (Holm)."""

    @property
    def found(self) -> Message:
        if self.options:
            return Message(
                "{criteria}: annotators say {one} and {two} about the same row on {rows} of {of} "
                "that several of them labelled",
                criteria=self.criteria,
                one=self.options[0],
                two=self.options[1],
                rows=self.rows,
                of=plural("{count:,} row", "{count:,} rows", self.of),
            )
        return Message(
            "{criteria}: if it is {slice}, annotators differ on {rows} of {of}, more than "
            "elsewhere (p = {p:.3f}, adjusted for all slices)",
            criteria=self.criteria,
            slice=self.slice,
            rows=self.rows,
            of=plural("{count:,} row", "{count:,} rows", self.of),
            p=float(self.p_value or 0.0),
        )

    @property
    def proposal(self) -> Message:
        """A draft for the guideline, with gaps for people to fill."""
        rows = ", ".join(self.examples)
        if self.options:
            return Message(
                "for the guideline: “{one} rather than {two} when …; {two} rather than {one} when "
                "….” Decide it by these rows, and add them as examples: {rows}",
                one=self.options[0],
                two=self.options[1],
                rows=rows,
            )
        return Message(
            "for the guideline: “If it is {slice}: ….” Decide it by these rows, and add one of "
            "each answer as an example: {rows}",
            slice=self.slice,
            rows=rows,
        )

    def to_dict(self) -> JsonDict:
        return fill(GuidelineShape, self)


def guideline_problems(
    folder: str | Path, criteria: str | None = None, by: str | None = None
) -> list[GuidelineProblem]:
    """Return the pairs of options that annotators confuse, the most frequent first, per criterion.

    With ``by``, also return slices of that column with significantly more disagreement.
    """
    problems: list[GuidelineProblem] = []
    current = LabelStore(folder).current(criteria)
    values = {record.identity: value_in(record, by) for record in records_of(folder)} if by else {}
    for name, criterion_labels in groupby(current, lambda current_label: current_label.criteria):
        labels_by_row: dict[str, list[Label]] = defaultdict(list)
        for label in criterion_labels:
            if label.state == "given" and label.score is None:
                labels_by_row[label.row].append(label)
        shared = {row: labels for row, labels in labels_by_row.items() if len(labels) > 1}
        if len(shared) < LEAST_SHARED:
            continue
        problems += _pairs(name, shared)
        if by:
            problems += _slices(name, shared, values, by)
    return problems


def _distinct_answers(labels: Sequence[Label]) -> list[str]:
    """Return the distinct answers; compared responses are named by letters."""
    letters = letters_of(_MOST_RESPONSES)
    return sorted(
        {
            letters[label.winner] if isinstance(label.winner, int) else str(label.answer)
            for label in labels
        }
    )


def _name(row: str, labels: Sequence[Label]) -> str:
    return labels[0].id or row


def _pairs(criteria: str, shared: Mapping[str, Sequence[Label]]) -> Iterator[GuidelineProblem]:
    examples: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row, labels in shared.items():
        for pair in combinations(_distinct_answers(labels), 2):
            examples[pair].append(_name(row, labels))
    for pair, rows in sorted(examples.items(), key=lambda each: -len(each[1])):
        if len(rows) >= LEAST_TIMES:
            yield GuidelineProblem(
                criteria, pair, "", len(rows), len(shared), tuple(rows[:_EXAMPLES])
            )


def _slices(
    criteria: str, shared: Mapping[str, Sequence[Label]], values: Mapping[str, str], by: str
) -> Iterator[GuidelineProblem]:
    rows = [row for row in shared if row in values]
    slicing = slice_rows([values[row] for row in rows], by)
    differ = {row: len(_distinct_answers(shared[row])) > 1 for row in rows}
    of = Counter(slicing.of_rows)
    hits = Counter(name for row, name in zip(rows, slicing.of_rows, strict=True) if differ[row])
    total, hit = len(rows), sum(differ.values())
    names = [name for name in of if of[name] < total]
    # one-sided Fisher tests of each slice against the rest, adjusted for all slices
    p_values = holm(
        [
            fisher_greater(
                hits[name],
                of[name] - hits[name],
                hit - hits[name],
                total - of[name] - hit + hits[name],
            )
            for name in names
        ]
    )
    for name, p_value in sorted(zip(names, p_values, strict=True), key=lambda each: each[1]):
        if p_value <= RISK:
            examples = [
                _name(row, shared[row])
                for row, slice in zip(rows, slicing.of_rows, strict=True)
                if slice == name and differ[row]
            ]
            title = Message("{column} {value}", column=by, value=name)
            yield GuidelineProblem(
                criteria, (), title, hits[name], of[name], tuple(examples[:_EXAMPLES]), p_value
            )


def guideline_lines(problems: Sequence[GuidelineProblem]) -> Iterator[Message]:
    """Yield each problem, followed by what to write about it."""
    for problem in problems:
        yield problem.found
        yield Message("  {line}", line=problem.proposal)
