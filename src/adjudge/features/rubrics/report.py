"""Add up the points of many rows, as benchmarks publish them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, NotRequired, Self, TypedDict

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit
from adjudge.features.rubrics.formulas import clipped_mean, macro_mean, mean
from adjudge.features.rubrics.record import (
    CategoryRecord,
    RubricDetail,
    RubricPointRecord,
    rubric_detail,
)
from adjudge.features.rubrics.rubric import CANNOT_TELL, MET, NOT_MET
from adjudge.features.rubrics.settings import RUBRIC_FIELDS
from adjudge.messages import Message, join, plural
from adjudge.runs.results.summary import UNSURE, GateConfidence
from adjudge.runs.sections import SectionPart, SectionTally
from adjudge.stats.intervals import Interval, interval_of_bounds, scaled_interval

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.runs.results.report import Report, Section
    from adjudge.runs.results.setup import Setup
    from adjudge.runs.view.terminal import Screen

# BiGGen-Bench publishes means of levels from 1 to 5.
_LEVELS = 5


class RubricShape(TypedDict):
    """Rubrics in the document of ``--json``."""

    rubric: NotRequired[
        Annotated[
            object,
            "rows by rubric: the mean, its bounds, the mean clipped to 0-1 once, points without a "
            "verdict, gates, categories and themes",
        ]
    ]


def sign_of(point: RubricPointRecord) -> str:
    """Return a sign for the verdict that does not depend on colours."""
    if point.answer is None:
        return "?"
    return {"met": "☑", "not met": "☐"}.get(point.answer, point.answer)


_ANSWERS = {
    MET: Message("met"),
    NOT_MET: Message("not met"),
    CANNOT_TELL: Message("cannot tell"),
}


def answer_title(answer: str | None) -> str:
    """Return an answer in the reader's language; levels and counts unchanged."""
    return Message("no verdict") if answer is None else _ANSWERS.get(answer, answer)


_GROUPS = {
    "any": Message("any of"),
    "all": Message("all of"),
    "at most one": Message("at most one of"),
    "mean": Message("weighted mean of"),
    "points": Message("share of points of"),
    "sum": Message("sum of"),
    "penalties": Message("penalties of"),
}


def worth_of(point: RubricPointRecord) -> str:
    """Return the points with their sign, and the groups through which they count."""
    parts = [f"{point.points:+g}"]
    if point.invert:
        parts.append(Message("earned if it is not met"))
    for group in point.groups:
        combine, points = group.rsplit(" ", 1)
        title = _GROUPS.get(combine, combine)
        parts.append(Message("{group} a group worth {points}", group=title, points=points))
    return join(", ", parts)


def class_of(point: RubricPointRecord) -> str:
    """Return "good" or "bad" by the verdict's effect on the score, or "open" without a verdict."""
    if point.value is None:
        return "open"
    earns = point.value > 0
    return "good" if earns == (point.points >= 0) else "bad"


@dataclass(frozen=True)
class RowScores:
    """The scores of rows by one rubric, category or theme."""

    lows: tuple[float, ...]
    """Every row at its least; equal to ``highs`` for rows that have a score."""
    highs: tuple[float, ...]
    interval: Interval | None = None
    """Interval of the mean, clustered by row; it holds whatever the missing verdicts are."""

    @property
    def rows(self) -> int:
        return len(self.lows)

    @property
    def scored(self) -> int:
        """Number of rows whose score does not depend on missing verdicts."""
        return sum(low == high for low, high in zip(self.lows, self.highs, strict=True))

    @property
    def scores(self) -> list[float]:
        """The scores that do not depend on missing verdicts."""
        return [low for low, high in zip(self.lows, self.highs, strict=True) if low == high]

    @property
    def mean(self) -> float | None:
        """The mean over the rows; None if a row has no score."""
        return mean(self.lows) if self.scored == self.rows else None

    @property
    def mean_of_scored(self) -> float | None:
        """The mean over the rows with a score."""
        return mean(self.scores)

    @property
    def bounds(self) -> tuple[float, float]:
        """The mean if missing verdicts were the worst, and if they were the best."""
        return mean(self.lows) or 0.0, mean(self.highs) or 0.0

    @property
    def clipped(self) -> tuple[float, float]:
        """The bounds, clipped to 0–1 once."""
        return clipped_mean(self.lows) or 0.0, clipped_mean(self.highs) or 0.0

    @property
    def is_clipped(self) -> bool:
        """True if clipping changes the mean, or an end of its range."""
        return self.clipped != self.bounds

    def to_dict(self) -> JsonDict:
        interval, (lower, upper) = self.interval, self.bounds
        return {
            "rows": self.rows,
            "scored": self.scored,
            "mean": self.mean,
            "mean_of_scored": self.mean_of_scored,
            "lower": lower,
            "upper": upper,
            "clipped": self.is_clipped,
            "clipped_mean": None if self.mean is None else self.clipped[0],
            "interval": None
            if interval is None
            else {"lower": interval.lower, "upper": interval.upper, "level": interval.level},
        }


def between(lower: float, upper: float) -> str:
    """Return a range in the reader's language."""
    return Message("{lower:.3f} – {upper:.3f}", lower=lower, upper=upper)


def cells_of(scores: RowScores) -> tuple[str, str, str, str]:
    """Return the table cells: rows, rows with a score, mean or bounds, interval."""
    interval, (lower, upper) = scores.interval, scores.bounds
    mean_cell = (
        between(lower, upper) if scores.mean is None else Message("{value:.3f}", value=lower)
    )
    return (
        str(scores.rows),
        str(scores.scored),
        mean_cell,
        "" if interval is None else between(interval.lower, interval.upper),
    )


@dataclass(frozen=True)
class RubricSummary(SectionPart):
    """Figures about the rubrics of all rows."""

    templates: ClassVar[Mapping[str, str]] = {
        "style.html": "adjudge.features.rubrics:style.css",
        "figures.html": "adjudge.features.rubrics:figures.html.jinja",
        "figures.md": "adjudge.features.rubrics:figures.md.jinja",
        "row_findings.html": "adjudge.features.rubrics:row_findings.html.jinja",
        "row_findings.md": "adjudge.features.rubrics:row_findings.md.jinja",
    }
    has_options: ClassVar[bool] = False

    total: RowScores
    points: int
    points_met: int
    points_missing: int
    """Points without a verdict."""
    undecided: int
    """Points without a verdict although votes were cast: ties, and "cannot tell"."""
    failed_gates: Mapping[str, int]
    """Gate → rows that miss it."""
    rows_failed: int
    """Rows that miss a gate."""
    categories: Mapping[str, RowScores] = field(default_factory=dict)
    themes: Mapping[str, RowScores] = field(default_factory=dict)
    not_reviewed: int = 0
    """Points that a model proposed and no person has accepted."""
    layouts: Mapping[str, int] = field(default_factory=dict)
    capabilities: float | None = None
    """BiGGen-Bench: the mean of the means per capability, on levels from 1 to 5."""

    functions: ClassVar[Mapping[str, Callable[..., object]]] = {
        "detail": rubric_detail,
        "sign": sign_of,
        "side": class_of,
        "worth": worth_of,
        "answer": answer_title,
        "cells": cells_of,
        "between": between,
    }

    @property
    def parts(self) -> list[tuple[Message, Mapping[str, RowScores]]]:
        """Categories and themes with their titles."""
        titled_parts = ((Message("category"), self.categories), (Message("theme"), self.themes))
        return [(title, scores) for title, scores in titled_parts if scores]

    @property
    def page_title(self) -> Message:
        return Message("Rubric evaluation")

    @property
    def sort_title(self) -> Message:
        return Message("score, lowest first")

    def to_dict(self) -> JsonDict:
        return {
            "rubric": {
                **self.total.to_dict(),
                "points": self.points,
                "points_met": self.points_met,
                "points_missing": self.points_missing,
                "points_undecided": self.undecided,
                "points_not_reviewed": self.not_reviewed,
                "rows_failed_by_gate": self.rows_failed,
                "failed_gates": dict(self.failed_gates),
                "layouts": dict(self.layouts),
                **(
                    {} if self.capabilities is None else {"mean_of_capabilities": self.capabilities}
                ),
                "categories": {name: scores.to_dict() for name, scores in self.categories.items()},
                "themes": {name: scores.to_dict() for name, scores in self.themes.items()},
            }
        }

    def sentence(self, name: str) -> Message:
        """Return a line with the numbers of points: met, all, and without a verdict."""
        return Message(
            "{name}: {met} of {points} points met, {missing} without a verdict",
            name=name,
            met=self.points_met,
            points=self.points,
            missing=self.points_missing,
        )

    def lines(self) -> Iterator[Message]:
        yield from self.remarks

    @property
    def remarks(self) -> list[Message]:
        """Warnings for readers of the figures."""
        messages = []
        if self.total.scored < self.total.rows:
            lower, upper = self.total.bounds
            messages.append(
                plural(
                    "{count} of {rows} rows has no score, because points have no verdict: the "
                    "mean over all rows is between {lower:.3f} and {upper:.3f}",
                    "{count} of {rows} rows have no score, because points have no verdict: the "
                    "mean over all rows is between {lower:.3f} and {upper:.3f}",
                    self.total.rows - self.total.scored,
                    rows=self.total.rows,
                    lower=lower,
                    upper=upper,
                )
            )
        if self.total.is_clipped:
            lower, upper = self.total.clipped
            messages.append(
                Message("Clipped to 0–1 as in HealthBench, the mean is {mean:.3f}.", mean=lower)
                if self.total.mean is not None
                else Message(
                    "Clipped to 0–1 as in HealthBench, the mean over all rows is between "
                    "{lower:.3f} and {upper:.3f}.",
                    lower=lower,
                    upper=upper,
                )
            )
        if self.rows_failed:
            messages.append(
                plural(
                    "{count} row misses a required point: {gates}",
                    "{count} rows miss a required point: {gates}",
                    self.rows_failed,
                    gates=", ".join(
                        f"{name} ({count})" for name, count in list(self.failed_gates.items())[:5]
                    ),
                )
            )
        if self.undecided:
            messages.append(
                plural(
                    "{count} point could not be decided: a tie, or the model cannot tell",
                    "{count} points could not be decided: ties, or the model cannot tell",
                    self.undecided,
                )
            )
        if self.not_reviewed:
            messages.append(
                plural(
                    "{count} of {points} points was proposed by a model and has not been reviewed",
                    "{count} of {points} points were proposed by a model and have not been "
                    "reviewed",
                    self.not_reviewed,
                    points=self.points,
                )
            )
        if self.capabilities is not None:
            messages.append(
                Message(
                    "Mean of the capabilities, as BiGGen-Bench publishes it: {mean:.3f} of 5",
                    mean=self.capabilities,
                )
            )
        return messages

    def hidden_fields(self, record: JudgmentRecord) -> Collection[str]:
        """Return the rubric's fields, which need not be shown next to the checklist."""
        return RUBRIC_FIELDS if rubric_detail(record) else ()

    def tables(self, section: Section, report: Report, screen: Screen) -> Iterator[Table]:  # noqa: ARG002
        for title, scores_by_name in [(Message("rubric"), {section.name: self.total}), *self.parts]:
            yield screen.table(
                (title, Message("rows"), Message("scored"), Message("mean"), Message("interval")),
                ((name, *cells_of(scores)) for name, scores in scores_by_name.items()),
            )


class _Rows:
    """Collects lows, highs and units of rows."""

    def __init__(self, sureness: GateConfidence) -> None:
        self._sureness = sureness
        self._lows: list[float] = []
        self._highs: list[float] = []
        self._units: list[Unit] = []
        self._scale = (0.0, 1.0)

    def add(self, row: RubricDetail | CategoryRecord, unit: Unit) -> None:
        self._lows.append(row.lower)
        self._highs.append(row.upper)
        self._units.append(unit)
        if (limits := row.limits) is not None:
            self._scale = min(self._scale[0], limits[0]), max(self._scale[1], limits[1])

    def scores(self) -> RowScores:
        clusters = self._sureness.clusters(self._units)

        def limits(values: Sequence[float]) -> Interval | None:
            return scaled_interval(values, self._scale, clusters=clusters)

        interval = interval_of_bounds(limits, self._lows, self._highs)
        return RowScores(tuple(self._lows), tuple(self._highs), interval)


class RubricTally(SectionTally):
    """Adds up judgments one by one."""

    name: ClassVar[str] = "rubric"
    shape: ClassVar[type] = RubricShape

    def __init__(self, sureness: GateConfidence = UNSURE) -> None:
        self._sureness = sureness
        self._total = _Rows(sureness)
        self._categories: dict[str, _Rows] = {}
        self._themes: dict[str, _Rows] = {}
        self._counts: Counter[str] = Counter()
        self._gates: Counter[str] = Counter()
        self._layouts: Counter[str] = Counter()
        self._levels: list[tuple[str, float]] = []

    @classmethod
    def begin(cls, setup: Setup, judge: str, sureness: GateConfidence) -> Self:  # noqa: ARG003
        """Return an empty tally that groups rows as gates do."""
        return cls(sureness)

    def add(self, record: JudgmentRecord) -> None:
        detail = rubric_detail(record)
        if detail is None:
            return
        unit = self._sureness.unit(record)
        self._total.add(detail, unit)
        for name, scores in detail.categories.items():
            self._rows(self._categories, name).add(scores, unit)
        for name in detail.themes:
            self._rows(self._themes, name).add(detail, unit)
        self._counts["points"] += len(detail.points)
        self._counts["met"] += sum(point.is_met for point in detail.points)
        self._counts["missing"] += len(detail.missing)
        self._counts["undecided"] += sum(point.undecided for point in detail.points)
        self._counts["proposed"] += sum(point.proposed for point in detail.points)
        self._counts["failed"] += bool(detail.failed_gates)
        self._gates.update(detail.failed_gates)
        self._layouts[detail.layout] += 1
        if detail.layout == "biggen" and detail.themes and detail.lower == detail.upper:
            self._levels.append((detail.themes[0], 1 + (_LEVELS - 1) * detail.lower))

    def _rows(self, parts: dict[str, _Rows], name: str) -> _Rows:
        return parts.setdefault(name, _Rows(self._sureness))

    def summary(self) -> RubricSummary | None:
        """Return the sum of the rows so far, or None without rows."""
        counts = self._counts
        if not self._layouts:
            return None
        complete = len(self._levels) == self._layouts.total()
        return RubricSummary(
            total=self._total.scores(),
            points=counts["points"],
            points_met=counts["met"],
            points_missing=counts["missing"],
            undecided=counts["undecided"],
            failed_gates=dict(self._gates.most_common()),
            rows_failed=counts["failed"],
            not_reviewed=counts["proposed"],
            categories={name: rows.scores() for name, rows in sorted(self._categories.items())},
            themes={name: rows.scores() for name, rows in sorted(self._themes.items())},
            layouts=dict(self._layouts),
            capabilities=macro_mean(self._levels) if complete else None,
        )
