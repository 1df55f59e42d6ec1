"""What many RAG answers come to: each dimension, the composites, the gates that fired."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repeated import Unit
from adjudge.features.rag.composite_rule import MEAN, MISSING
from adjudge.features.rag.measure_numbers import MeasuresSummary, MeasureSummary, MeasureTally
from adjudge.features.rag.record import RagDetail
from adjudge.features.rag.report_row import rag_detail, rule_of, score_of
from adjudge.runs.results.summary import UNSURE, GateConfidence, LostRows, Summary, Tally
from adjudge.stats.correlation import spearman

if TYPE_CHECKING:
    from adjudge.features.rag.dimensions import Dimension
    from adjudge.features.rag.measures import RagMeasure
    from adjudge.stats.intervals import Interval

BINS = 10
"""Of the composite's histogram."""
_NONE = -1
"""Stands for a missing score where scores are kept as bytes."""


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
    """How often each score was given."""
    missing: int
    raw: Distribution | None
    normalized: Distribution | None
    agreement: float | None
    """Mean share of the valid votes that agree with the score; None with one vote per row."""
    confident: Interval | None = None
    """Limits of the mean, at the confidence that gates ask for. They hold whatever the rows
    without a score are.
    """

    @property
    def scored(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """Of the normalised scores."""
        return self.normalized.mean if self.normalized else None

    @property
    def never_varies(self) -> bool:
        """Whether several rows got one and the same score: such a dimension
        tells no answers apart.
        """
        return self.scored > 1 and max(self.counts) == self.scored

    def as_summary(self) -> Summary:
        """Its normalised scores, for a gate of its own."""
        return Summary.of_scores(self.mean, self.scored, self.missing, self.confident)


@dataclass(frozen=True)
class RagSummary:
    overall: Summary
    """Counts, mean composite with its interval, cost; the bounds are those of the composites."""
    spread: Distribution | None
    histogram: tuple[int, ...]
    """Composites by tenths; 1.0 is in the last."""
    rules: Mapping[str, int]
    """How often each gate fired, the strictest first, those that never did too; then how many
    composites are plain means, and how many are missing, also where a gate fired.
    """
    barring: tuple[str, ...]
    dimensions: tuple[DimensionSummary, ...]
    correlations: tuple[tuple[float | None, ...], ...]
    """Spearman's, of each two dimensions over the rows that have both; None
    where one never varies.
    """
    votes_valid: int
    votes_requested: int
    measures: MeasuresSummary | None = None
    """What was measured beside the dimensions, where something was."""

    def figures(self) -> Iterator[tuple[str, str, float]]:
        """(name, title, mean) of what can be compared with another run: more of it is better."""
        for each in self.dimensions:
            if each.mean is not None:
                yield each.dimension.name, each.dimension.title, each.mean
        for one in self.measures.each if self.measures else ():
            if one.mean is not None and one.measure.higher_is_better:
                yield one.measure.name, one.measure.title, one.mean

    def named(self, name: str) -> DimensionSummary | MeasureSummary | None:
        """The dimension or the measure of that name."""
        own = next((one for one in self.dimensions if one.dimension.name == name), None)
        return own or (self.measures.named(name) if self.measures else None)

    @property
    def best(self) -> DimensionSummary | None:
        """The dimension with the highest normalised mean."""
        return max(self._with_mean, key=lambda one: one.mean or 0.0, default=None)

    @property
    def worst(self) -> DimensionSummary | None:
        """The one with the lowest."""
        return min(self._with_mean, key=lambda one: one.mean or 0.0, default=None)

    @property
    def _with_mean(self) -> list[DimensionSummary]:
        return [one for one in self.dimensions if one.normalized]


class RagTally:
    """Adds up answers as they come; a row takes a few bytes."""

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
        self._scores = {one.name: array("h") for one in dimensions}
        self._agreements: dict[str, list[float]] = {one.name: [0.0, 0.0] for one in dimensions}
        self._rules: Counter[str] = Counter()
        self._valid = self._requested = 0

    def add(self, one: JudgmentRecord) -> None:
        rag = rag_detail(one)
        self._overall.add(one)
        self._units.append(self._sureness.unit(one))
        rule = rule_of(one)
        self._rules[rule] += 1
        self._rules[MISSING] += (rag is None or rag.composite.value is None) and rule != MISSING
        if one.scored and one.score is not None:
            self._composites.append(one.score)
        for name, scores in self._scores.items():
            score = score_of(one, name, made_up=False)
            scores.append(_NONE if score is None else score)
        self._requested += one.votes_requested
        self._valid += one.votes_valid
        if rag and one.votes_requested - (rag.votes_on_measures or 0) > len(self._dimensions):
            self._add_agreements(rag)
        if self._measures:
            self._measures.add(one)

    def _add_agreements(self, rag: RagDetail) -> None:
        for name, sums in self._agreements.items():
            if (agreement := rag.agreements.get(name)) is not None:
                sums[0] += agreement
                sums[1] += 1

    def summary(self) -> RagSummary:
        """What they come to so far."""
        known = self._dimensions
        columns = [self._scores[one.name] for one in known]
        return RagSummary(
            overall=self._overall.summary(),
            spread=_spread(self._composites),
            histogram=_histogram(self._composites),
            rules=self._fired(),
            barring=tuple(gate.rule for one in known for gate in one.gates if gate.cap is not None),
            dimensions=tuple(map(self._dimension, known)),
            correlations=tuple(tuple(_correlation(one, two) for two in columns) for one in columns),
            votes_valid=self._valid,
            votes_requested=self._requested,
            measures=self._measures.summary() if self._measures else None,
        )

    def _fired(self) -> dict[str, int]:
        gates = [gate for one in self._dimensions for gate in one.gates]
        strictest = sorted(gates, key=lambda gate: math.inf if gate.cap is None else gate.cap)
        return {
            rule: self._rules[rule] for rule in (*(gate.rule for gate in strictest), MEAN, MISSING)
        }

    def _dimension(self, dimension: Dimension) -> DimensionSummary:
        scores = self._scores[dimension.name]
        known = [score for score in scores if score != _NONE]
        units: list[Unit] = []
        lost = LostRows()
        for score, unit in zip(scores, self._units, strict=True):
            if score == _NONE:
                lost.add(unit)
            else:
                units.append(unit)
        values = [dimension.normalized(score) for score in known]
        counts = Counter(known)
        total, count = self._agreements[dimension.name]
        return DimensionSummary(
            dimension=dimension,
            counts=tuple(counts[score] for score in range(dimension.maximum + 1)),
            missing=len(scores) - len(known),
            raw=_spread(known),
            normalized=_spread(values),
            agreement=total / count if count else None,
            confident=self._sureness.interval(values, units, lost),
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
    counts = Counter(min(BINS - 1, math.floor(value * BINS + 1e-9)) for value in values)
    return tuple(counts[place] for place in range(BINS))


def _correlation(one: Sequence[int], other: Sequence[int]) -> float | None:
    both = [(a, b) for a, b in zip(one, other, strict=True) if _NONE not in (a, b)]
    return spearman([a for a, _ in both], [b for _, b in both])
