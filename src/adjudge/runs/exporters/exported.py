"""The parts that exports to other tools share: texts, refusals, and the count of everything that a
tool's format has no place for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.counts import count_judgments, count_labels
from adjudge.runs.folder import run_facts
from adjudge.runs.report_facts import grouping_column
from adjudge.trust.labels.store import LabelStore

LabelKey = tuple[str, str]
"""A row's identity and a criterion."""


class Exported(NamedTuple):
    """The result of an export."""

    judgments: int
    """Judgments that were read."""
    left_out: int = 0
    """Judgments of these that are not in the file."""
    notes: tuple[Message, ...] = ()
    """Everything that the file does not hold, or holds in another form, counted."""


@dataclass
class Losses:
    """Counts what the format of a tool has no place for, while a run is exported."""

    tool: str
    run: Path
    judgments: int = 0
    skipped: int = 0
    """Judgments of rows that were not judged."""
    others: int = 0
    """Judgments by other judges or criteria than the one that the tool has a place for."""
    failed: int = 0
    counts: int = 0
    """Judgments that count something: there is no best count."""
    labels: int = 0
    between: int = 0
    """Scores that lie between those of the verdicts."""
    comparisons: int = 0
    details: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """Sections of a report → judgments that have details for them."""
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Criterion → its scale, if that is not the tool's."""

    def see(self, row: JudgmentRecord) -> None:
        """Count a judgment that is in the file, and its details that are not."""
        if row.detail.sections and row.scored:
            self.details[row.detail.sections] += 1

    def exported(self) -> Exported:
        """Return the result of the export, with a note on each kind of loss."""
        left_out = self.skipped + self.others + self.failed + self.counts
        return Exported(self.judgments, left_out, tuple(self._notes()))

    def _notes(self) -> Iterator[Message]:
        if self.others:
            yield Message(
                "left out: {judgments} by other judges or criteria, because {format} has one judge "
                "with one criterion",
                judgments=count_judgments(self.others),
                format=self.tool,
            )
        if self.failed:
            yield Message(
                "left out: {judgments} without a verdict, because {format} cannot represent "
                "failures",
                judgments=count_judgments(self.failed),
                format=self.tool,
            )
        if self.counts:
            yield Message(
                "left out: {judgments} that count something, because {format} has no place for "
                "scores without a best value",
                judgments=count_judgments(self.counts),
                format=self.tool,
            )
        if self.skipped:
            yield Message(
                "left out: {judgments} of rows that were skipped",
                judgments=count_judgments(self.skipped),
            )
        if self.labels:
            yield Message(
                "left out: {labels} by people, because {format} has no place for them",
                labels=count_labels(self.labels),
                format=self.tool,
            )
        if self.comparisons:
            yield plural(
                "{count} comparison: {format} gets the winner, without win rates",
                "{count:,} comparisons: {format} gets the winners, without win rates",
                self.comparisons,
                format=self.tool,
            )
        column = grouping_column(run_facts(self.run).facts)
        if column:
            yield Message(
                "left out: that rows with the same {column} belong together, because {format} has "
                "no place for it; give --cluster again, or the intervals of an import are too "
                "narrow",
                column=column,
                format=self.tool,
            )
        if self.between:
            yield plural(
                "{count} score lies between those of the verdicts: {format} gets the verdict, and "
                "the score as metadata",
                "{count:,} scores lie between those of the verdicts: {format} gets the verdicts, "
                "and the scores as metadata",
                self.between,
                format=self.tool,
            )
        for criterion, (low, high) in self.scales.items():
            yield Message(
                "{criterion}: {format} gets the scores as shares of their scale, {low:g} to "
                "{high:g}; the scores themselves are metadata",
                criterion=criterion,
                format=self.tool,
                low=low,
                high=high,
            )
        for sections, count in self.details.items():
            yield Message(
                "left out: the details ({sections}) of {judgments}, because {format} has one "
                "verdict or score for each",
                sections=", ".join(sections),
                judgments=count_judgments(count),
                format=self.tool,
            )


class AgreedLabels:
    """The labels of a run, for tools with one answer by people for each row and criterion."""

    def __init__(self, run: Path) -> None:
        self._labels: dict[LabelKey, list[Label]] = {}
        for label in LabelStore(run).current():
            if label.answer is not None:
                self._labels.setdefault((label.row, label.criteria), []).append(label)
        self._used: set[LabelKey] = set()

    def find(self, row: JudgmentRecord) -> Label | None:
        """Return the label of a row; None without one, or if annotators disagree."""
        labels = self._labels.get((row.identity, row.criterion), [])
        return labels[0] if len({label.answer for label in labels}) == 1 else None

    def use(self, row: JudgmentRecord) -> None:
        """Note that the labels of a row are in the file."""
        self._used.add((row.identity, row.criterion))

    @property
    def unused(self) -> int:
        """The number of labels that are not in the file."""
        return sum(len(labels) for key, labels in self._labels.items() if key not in self._used)


def refuse_comparison(row: JudgmentRecord, tool: str) -> None:
    """Raise a SetupError for a tool that knows no comparisons."""
    if row.systems:
        raise SetupError(
            "{tool} cannot represent comparisons: export the run to evalassist or jsonl",
            tool=tool,
        )


def in_one(value: str | Sequence[str]) -> str:
    """Return a single text, joining several with blank lines."""
    return value if isinstance(value, str) else "\n\n".join(value)


def now() -> str:
    """Return the time in ISO format."""
    return datetime.now(UTC).isoformat()
