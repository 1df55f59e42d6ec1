"""Summary of many RAG answers: dimensions, composites and fired gates; and its place in reports."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NotRequired, Self, TypedDict

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit
from adjudge.features.rag.composite_rule import MEAN, MISSING
from adjudge.features.rag.dimensions import Dimension, kept_dimensions
from adjudge.features.rag.measure_numbers import (
    MeasuresSummary,
    MeasureSummary,
    MeasureTally,
    could_change,
    has_measures,
    open_scores,
)
from adjudge.features.rag.measures import kept_measures
from adjudge.features.rag.record import RagDetail, rag_detail
from adjudge.features.rag.report_functions import BINS, FUNCTIONS, is_barred, rank_of
from adjudge.features.rag.report_row import explanation_of, rule_of, score_of
from adjudge.features.rag.terminal import dimensions_table, measure_tables
from adjudge.messages import Message, join, plural, term
from adjudge.runs.numbers import figure
from adjudge.runs.results.setup import NamedFigure, Setup
from adjudge.runs.results.summary import (
    NONE_OPEN,
    UNSURE,
    GateConfidence,
    IntervalShape,
    LostRows,
    OpenScores,
    Summary,
    Tally,
)
from adjudge.runs.sections import Rank, SectionPart, SectionTally
from adjudge.runs.terms import rule_title
from adjudge.runs.view.decision import bar_text, earlier_text
from adjudge.stats.correlation import spearman

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.core.domain.json_types import JsonDict
    from adjudge.features.rag.measures import RagMeasure
    from adjudge.runs.results.gate import Measure
    from adjudge.runs.results.report import Report, Section
    from adjudge.runs.view.terminal import Screen
    from adjudge.stats.intervals import Interval

_NONE = -1
"""Stands for a missing score in an array of scores."""


class MeasureMeanShape(TypedDict):
    """A measure over all rows."""

    mean: float | None
    interval: IntervalShape | None
    rows: int
    missing: int
    of: str
    reasons: Mapping[str, int]


class RagShape(TypedDict):
    """The part of ``--json`` output about RAG answers."""

    dimensions: NotRequired[
        Annotated[Mapping[str, float | None], "RAG: dimension: mean, from 0 to 1"]
    ]
    rules: NotRequired[
        Annotated[Mapping[str, int], "RAG: rule of the composite: how often it fired"]
    ]
    measures: NotRequired[
        Annotated[Mapping[str, MeasureMeanShape], "RAG: by the name of the measure"]
    ]
    blame: NotRequired[
        Annotated[
            Mapping[str, int], "RAG: retriever, generator, both, neither, unknown: how many rows"
        ]
    ]


@dataclass(frozen=True)
class Distribution:
    mean: float
    median: float
    deviation: float | None
    """The standard deviation of the sample; None for a single value."""
    least: float
    most: float
    lower_quartile: float
    """A quarter of the values are not above it."""
    upper_quartile: float


@dataclass(frozen=True)
class DimensionSummary:
    """One dimension over all rows."""

    dimension: Dimension
    counts: tuple[int, ...]
    """Number of answers per score."""
    missing: int
    raw: Distribution | None
    normalized: Distribution | None
    agreement: float | None
    """Mean share of the valid votes that agree with the score; None with one vote per row."""
    confident: Interval | None = None
    """Limits of the mean, at the confidence that gates ask for. They hold whatever the rows
    without a score are.
    """
    opened: OpenScores = NONE_OPEN
    """Scores that lost votes could change."""

    @property
    def scored(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """The mean of the normalised scores."""
        return self.normalized.mean if self.normalized else None

    @property
    def never_varies(self) -> bool:
        """True if several rows all got one score: such a dimension does not tell answers apart."""
        return self.scored > 1 and max(self.counts) == self.scored

    def as_summary(self) -> Summary:
        """Return its normalised scores, for a separate gate."""
        return Summary.of_scores(self.mean, self.scored, self.missing, self.confident, self.opened)


@dataclass(frozen=True)
class RagSummary(SectionPart):
    """Numbers about many RAG answers, and their layout in reports."""

    templates: ClassVar[Mapping[str, str]] = {
        place: f"adjudge.features.rag:{place}.jinja"
        for place in (
            *("summary.html", "parameters.html", "figures.html", "filters.html", "sorts.html"),
            *("appendix.html", "row_data.html", "row.html", "row_texts.html", "row_findings.html"),
            *("summary.md", "figures.md", "row.md", "appendix.md"),
        )
    }
    functions: ClassVar[Mapping[str, Callable[..., object]]] = FUNCTIONS
    gate_measure: ClassVar[Measure] = "composite"
    has_options: ClassVar[bool] = False

    overall: Summary
    """Counts, mean composite with its interval, cost; the bounds are those of the composites."""
    spread: Distribution | None
    histogram: tuple[int, ...]
    """Composites by tenths; 1.0 is in the last."""
    rules: Mapping[str, int]
    """How often each gate fired, the strictest first, including those that never did; then the
    number of plain means, and of missing composites, even if a gate fired.
    """
    barring: tuple[str, ...]
    dimensions: tuple[DimensionSummary, ...]
    correlations: tuple[tuple[float | None, ...], ...]
    """Spearman's correlation of each pair of dimensions, over the rows that have both; None if one
    never varies.
    """
    votes_valid: int
    votes_requested: int
    measures: MeasuresSummary | None = None
    """Measures besides the dimensions, if any were taken."""

    def figures(self) -> Iterator[NamedFigure]:
        for dimension in self.dimensions:
            if dimension.mean is not None:
                yield NamedFigure(
                    dimension.dimension.name, dimension.dimension.title, dimension.mean
                )
        for summary in self.measures.each if self.measures else ():
            if summary.mean is not None and summary.measure.higher_is_better:
                yield NamedFigure(summary.measure.name, summary.measure.title, summary.mean)

    def part_named(self, name: str) -> DimensionSummary | MeasureSummary | None:
        """Return the dimension or the measure of that name."""
        dimension = next(
            (candidate for candidate in self.dimensions if candidate.dimension.name == name), None
        )
        return dimension or (self.measures.named(name) if self.measures else None)

    def named(self, name: str) -> Summary | None:
        part = self.part_named(name)
        return part.as_summary() if part else None

    def gated(self) -> Iterator[str]:
        yield from (part.dimension.name for part in self.dimensions)
        yield from (part.measure.name for part in (self.measures.each if self.measures else ()))

    def to_dict(self) -> JsonDict:
        if not self.leads:
            return {}
        return {
            "dimensions": {
                dimension.dimension.name: dimension.mean for dimension in self.dimensions
            },
            "rules": dict(self.rules),
            **(self.measures.to_dict() if self.measures else {}),
        }

    def rank(self, record: JudgmentRecord) -> Rank:
        return rank_of(record, self.scored_on)

    @property
    def scored_on(self) -> list[Dimension]:
        """The dimensions, without their numbers."""
        return [summary.dimension for summary in self.dimensions]

    # -- how it looks ------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Return False if it is unknown what the judge scored, as for an imported run."""
        return bool(self.dimensions or self.measures)

    @property
    def page_title(self) -> Message:
        return Message("RAG evaluation")

    @property
    def rows_title(self) -> Message:
        return Message("worst answers first")

    @property
    def sort_title(self) -> Message:
        return Message("composite, lowest first")

    @property
    def mean_title(self) -> Message:
        return Message("composite")

    @property
    def vote_parameter(self) -> str:
        return "votes per model and dimension" if self.dimensions else ""

    def parameters(self) -> Mapping[str, str]:
        weights = [f"{part.title} {part.weight:g}" for part in self.scored_on]
        measures = [part.measure for part in self.measures.each] if self.measures else []
        weights += [f"{part.title} {part.weight:g}" for part in measures if part.weight]
        return {"weights": ", ".join(weights)}

    def lines(self) -> Iterator[Message]:
        """Yield a line about the rules that decided composites, besides the plain mean."""
        fired = [
            Message("{rule} {count}", rule=rule_title(name), count=count)
            for name, count in (self.rules.items() if self.leads else ())
            if name != MEAN and count
        ]
        if fired:
            yield Message("Rules that decided: {rules}", rules=join(", ", fired))

    def tables(self, section: Section, report: Report, screen: Screen) -> Iterator[Table]:
        if not self.leads:
            return
        yield dimensions_table(self, screen, section.system)
        if self.measures:
            entries = [record for record in report.entries if report.section_of(record) is section]
            yield from measure_tables(self.measures, entries, screen)

    def headline(self, section: Section, report: Report) -> Iterator[Message]:
        """Yield a headline: barred answers, worst dimension, failed gates, composite."""
        for rule in self.barring:
            if number := self.rules[rule]:
                yield plural(
                    "{number} of {count} answer {rule}",
                    "{number} of {count} answers {rule}",
                    self.overall.attempted,
                    number=number,
                    rule=rule_title(rule),
                )
        worst = self.worst
        label = worst.dimension.labels[0] if worst else ""
        if worst and worst.counts[0] and label and label not in self.barring:
            yield term(
                "worst",
                "{number} {label} ({dimension})",
                number=worst.counts[0],
                label=label,
                dimension=worst.dimension.title,
            )
        gates = [
            gate_result for gate_result in report.gates if gate_result.system == section.system
        ]
        for dimension in self.scored_on:
            failed = (
                gate_result
                for gate_result in gates
                if gate_result.name == dimension.name and gate_result.verdict != "holds"
            )
            gate = next(failed, None)
            if gate and gate.value is not None:
                yield Message(
                    "{name}: mean {mean}{bar}{before}",
                    name=dimension.title,
                    mean=figure(gate.value),
                    bar=bar_text(gate),
                    before="",
                )
        if self.overall.mean is not None:
            bars = (
                bar_text(gate_result)
                for gate_result in gates
                if gate_result.measure == self.gate_measure
            )
            yield Message(
                "composite {mean}{bar}{before}",
                mean=figure(self.overall.mean),
                bar=next(bars, ""),
                before=earlier_text(section, report),
            )

    # -- rows --------------------------------------------------------------------------

    def owns(self, record: JudgmentRecord) -> bool:
        return bool(self.dimensions) or has_measures(record)

    def row_class(self, record: JudgmentRecord) -> str:
        return "barred" if is_barred(record, self.scored_on) else ""

    def filter_value(self, record: JudgmentRecord) -> str:
        return rule_of(record)

    def verdict(self, record: JudgmentRecord) -> Sequence[str]:
        rag = rag_detail(record)
        rule = rag.composite.rule if rag else MEAN
        return (figure(record.score), *(() if rule == MEAN else (rule_title(rule),)))

    def reason(self, record: JudgmentRecord) -> str:
        """Return the explanation of the dimension whose rule decided; else of the one with the
        lowest score.
        """
        detail = rag_detail(record)
        scored = [
            # False sorts first: the dimension whose gate made the composite
            (
                all(gate.rule != detail.composite.rule for gate in dimension.gates),
                score / dimension.maximum,
                dimension,
                score,
            )
            for dimension in (self.scored_on if detail else ())
            if detail and (score := detail.scores.get(dimension.name)) is not None
        ]
        if not scored:
            return ""
        _, _, dimension, score = min(scored, key=lambda candidate: candidate[:2])
        line = Message(
            "{title} {score}/{most}", title=dimension.title, score=score, most=dimension.maximum
        )
        explanation = explanation_of(record, dimension.name)
        return join(": ", (line, explanation)) if explanation else line

    @property
    def best(self) -> DimensionSummary | None:
        """The dimension with the highest normalised mean."""
        return max(self._with_mean, key=lambda summary: summary.mean or 0.0, default=None)

    @property
    def worst(self) -> DimensionSummary | None:
        """The dimension with the lowest normalised mean."""
        return min(self._with_mean, key=lambda summary: summary.mean or 0.0, default=None)

    @property
    def _with_mean(self) -> list[DimensionSummary]:
        return [summary for summary in self.dimensions if summary.normalized]


class RagTally(SectionTally):
    """Accumulates answers; each takes only a few bytes."""

    name: ClassVar[str] = "rag"
    shape: ClassVar[type] = RagShape

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        sureness: GateConfidence = UNSURE,
        measures: Sequence[RagMeasure] = (),
    ) -> None:
        self._dimensions = tuple(dimensions)
        self._measures = MeasureTally(measures, sureness) if measures else None
        self._sureness = sureness
        self._units: list[Unit] = []
        self._overall = Tally(sureness)
        self._composites = array("d")
        self._scores = {dimension.name: array("h") for dimension in dimensions}
        self._open: dict[str, set[int]] = {dimension.name: set() for dimension in dimensions}
        """Places among the known scores of those that lost votes could change."""
        self._known: Counter[str] = Counter()
        self._agreements: dict[str, list[float]] = {
            dimension.name: [0.0, 0.0] for dimension in dimensions
        }
        self._rules: Counter[str] = Counter()
        self._valid = self._requested = 0

    @classmethod
    def begin(cls, setup: Setup, judge: str, sureness: GateConfidence) -> Self:
        """Start a tally for what the judge's configuration scores and measures."""
        configuration = setup.judges.get(judge)
        if configuration is None:
            return cls((), sureness)
        measures = kept_measures(configuration.measures)
        return cls(kept_dimensions(configuration.dimensions), sureness, measures)

    def rank(self, record: JudgmentRecord) -> Rank:
        return rank_of(record, self._dimensions)

    def add(self, record: JudgmentRecord) -> None:
        rag = rag_detail(record)
        self._overall.add(record)
        self._units.append(self._sureness.unit(record))
        rule = rule_of(record)
        self._rules[rule] += 1
        # a fired gate and a missing value can both be true of one row
        self._rules[MISSING] += (rag is None or rag.composite.value is None) and rule != MISSING
        if record.scored and record.score is not None:
            self._composites.append(record.score)
        for name, scores in self._scores.items():
            score = score_of(record, name, made_up=False)
            scores.append(_NONE if score is None else score)
            if score is not None:
                if could_change(record, name):
                    self._open[name].add(self._known[name])
                self._known[name] += 1
        self._requested += record.votes_requested
        self._valid += record.votes_valid
        # agreement says something only if a dimension has more than one vote
        if rag and record.votes_requested - (rag.votes_on_measures or 0) > len(self._dimensions):
            self._add_agreements(rag)
        if self._measures:
            self._measures.add(record)

    def _add_agreements(self, rag: RagDetail) -> None:
        for name, sums in self._agreements.items():
            if (agreement := rag.agreements.get(name)) is not None:
                sums[0] += agreement
                sums[1] += 1

    def summary(self) -> RagSummary:
        """Summarize the rows added so far."""
        dimensions = self._dimensions
        columns = [self._scores[dimension.name] for dimension in dimensions]
        return RagSummary(
            overall=self._overall.summary(),
            spread=_spread(self._composites),
            histogram=_histogram(self._composites),
            rules=self._count_rules(),
            barring=tuple(
                gate.rule
                for dimension in dimensions
                for gate in dimension.gates
                if gate.cap is not None
            ),
            dimensions=tuple(map(self._dimension, dimensions)),
            correlations=tuple(
                tuple(_correlation(dimension, two) for two in columns) for dimension in columns
            ),
            votes_valid=self._valid,
            votes_requested=self._requested,
            measures=self._measures.summary() if self._measures else None,
        )

    def _count_rules(self) -> dict[str, int]:
        gates = [gate for dimension in self._dimensions for gate in dimension.gates]
        strictest = sorted(gates, key=lambda gate: math.inf if gate.cap is None else gate.cap)
        return {
            rule: self._rules[rule] for rule in (*(gate.rule for gate in strictest), MEAN, MISSING)
        }

    def _dimension(self, dimension: Dimension) -> DimensionSummary:
        scores = self._scores[dimension.name]
        present = [score for score in scores if score != _NONE]
        units: list[Unit] = []
        lost = LostRows()
        for score, unit in zip(scores, self._units, strict=True):
            if score == _NONE:
                lost.add(unit)
            else:
                units.append(unit)
        values = [dimension.normalized(score) for score in present]
        counts, opened = Counter(present), self._open[dimension.name]
        total, count = self._agreements[dimension.name]
        return DimensionSummary(
            dimension=dimension,
            counts=tuple(counts[score] for score in range(dimension.maximum + 1)),
            missing=len(scores) - len(present),
            raw=_spread(present),
            normalized=_spread(values),
            agreement=total / count if count else None,
            confident=self._sureness.interval(
                values, units, lost, possible=dict.fromkeys(opened, (0.0, 1.0))
            ),
            opened=open_scores(values, opened),
        )


def _spread(values: Sequence[float]) -> Distribution | None:
    if not values:
        return None
    import statistics

    deviation = statistics.stdev(values) if len(values) > 1 else None
    lower, _, upper = (
        statistics.quantiles(values, n=4, method="inclusive")
        if len(values) > 1
        else [values[0]] * 3
    )
    return Distribution(
        math.fsum(values) / len(values),
        statistics.median(values),
        deviation,
        min(values),
        max(values),
        lower,
        upper,
    )


def _histogram(values: Sequence[float]) -> tuple[int, ...]:
    # 1e-9 puts 0.3 into its own bar although its binary value is a little below
    counts = Counter(min(BINS - 1, math.floor(value * BINS + 1e-9)) for value in values)
    return tuple(counts[place] for place in range(BINS))


def _correlation(scores_a: Sequence[int], scores_b: Sequence[int]) -> float | None:
    both = [(a, b) for a, b in zip(scores_a, scores_b, strict=True) if _NONE not in (a, b)]
    return spearman([a for a, _ in both], [b for _, b in both])


def rag_summary(section: Section) -> RagSummary | None:
    """Return the RAG part of a report's section, if it has one."""
    part = section.parts.get(RagTally.name)
    return part if isinstance(part, RagSummary) else None
