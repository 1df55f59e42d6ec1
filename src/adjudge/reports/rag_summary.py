"""What many RAG results come to. Every number of every report is computed here, once."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.domain.results import Status
from adjudge.rag.composite import MEAN, MISSING
from adjudge.rag.dimensions import Dimension
from adjudge.rag.result import RagResult
from adjudge.reports.summary import Summary, summarise
from adjudge.stats.correlation import spearman
from adjudge.stats.intervals import Interval, mean_interval

BINS = 10
"""Of the composite's histogram."""


@dataclass(frozen=True)
class Spread:
    """Where values lie."""

    mean: float
    median: float
    deviation: float | None
    """The standard deviation of the sample; None for a single value."""
    least: float
    most: float


@dataclass(frozen=True)
class DimensionSummary:
    """One dimension over all rows."""

    dimension: Dimension
    counts: tuple[int, ...]
    """How often each score was given."""
    missing: int
    """Rows without a score."""
    raw: Spread | None
    normalized: Spread | None
    agreement: float | None
    """Mean share of the valid votes that agree with the score; None with one vote a row."""

    @property
    def scored(self) -> int:
        """Rows with a score."""
        return sum(self.counts)

    @property
    def never_varies(self) -> bool:
        """Whether several rows got one and the same score: such a dimension tells no answers apart."""
        return self.scored > 1 and max(self.counts) == self.scored


@dataclass(frozen=True)
class RagSummary:
    """All rows together."""

    overall: Summary
    """Counts, mean composite, cost; the bounds are those of the composites."""
    interval: Interval | None
    """Of the mean composite; None where there are too few rows."""
    spread: Spread | None
    """Of the composites."""
    histogram: tuple[int, ...]
    """Composites by tenths; 1.0 is in the last."""
    rules: Mapping[str, int]
    """How often each gate fired, the strictest first, those that never did too; then how many composites are plain means, and
    how many are missing, also where a gate fired."""
    barring: tuple[str, ...]
    """The rules that cap it."""
    dimensions: tuple[DimensionSummary, ...]
    correlations: tuple[tuple[float | None, ...], ...]
    """Spearman's, of each two dimensions over the rows that have both; None where one never varies."""
    votes_valid: int
    votes_requested: int

    @property
    def best(self) -> DimensionSummary | None:
        """The dimension with the highest normalised mean."""
        return max(self._with_mean, key=_mean, default=None)

    @property
    def worst(self) -> DimensionSummary | None:
        """The one with the lowest."""
        return min(self._with_mean, key=_mean, default=None)

    @property
    def _with_mean(self) -> list[DimensionSummary]:
        return [one for one in self.dimensions if one.normalized]


def summarise_rag(results: Sequence[RagResult]) -> RagSummary:
    """Everything that reports say of many results."""
    composites = [result.score for result in results if result.status is Status.SCORED and result.score is not None]
    dimensions = results[0].dimensions if results else ()
    columns = {one.name: [_score(result, one.name) for result in results] for one in dimensions}
    return RagSummary(
        overall=summarise(results),
        interval=mean_interval(composites),
        spread=_spread(composites),
        histogram=_histogram(composites),
        rules=_rules(dimensions, results),
        barring=tuple(gate.rule for one in dimensions for gate in one.gates if gate.cap is not None),
        dimensions=tuple(_dimension(one, columns[one.name], results) for one in dimensions),
        correlations=tuple(tuple(_correlation(columns[one.name], columns[two.name]) for two in dimensions) for one in dimensions),
        votes_valid=sum(result.votes_valid for result in results),
        votes_requested=sum(result.votes_requested for result in results),
    )


def _rules(dimensions: Sequence[Dimension], results: Sequence[RagResult]) -> dict[str, int]:
    counts = Counter(result.composite.rule for result in results)
    counts[MISSING] = sum(result.composite.value is None for result in results)
    gates = [gate for one in dimensions for gate in one.gates]
    strictest = sorted(gates, key=lambda gate: math.inf if gate.cap is None else gate.cap)
    return {rule: counts[rule] for rule in (*(gate.rule for gate in strictest), MEAN, MISSING)}


def _score(result: RagResult, name: str) -> int | None:
    """A score that was made up does not count."""
    judged = result.judged[name]
    return int(judged.score) if judged.status is Status.SCORED and judged.score is not None else None


def _dimension(dimension: Dimension, scores: Sequence[int | None], results: Sequence[RagResult]) -> DimensionSummary:
    known = [score for score in scores if score is not None]
    counts = Counter(known)
    several = [result.judged[dimension.name] for result in results]
    agreements = [one.agreement for one in several if one.agreement is not None and one.votes_requested > 1]
    return DimensionSummary(
        dimension=dimension,
        counts=tuple(counts[score] for score in range(dimension.maximum + 1)),
        missing=len(scores) - len(known),
        raw=_spread(known),
        normalized=_spread([dimension.normalized(score) for score in known]),
        agreement=math.fsum(agreements) / len(agreements) if agreements else None,
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(math.fsum(values) / len(values), statistics.median(values), deviation, min(values), max(values))


def _histogram(values: Sequence[float]) -> tuple[int, ...]:
    counts = Counter(min(BINS - 1, math.floor(value * BINS + 1e-9)) for value in values)
    return tuple(counts[place] for place in range(BINS))


def _correlation(one: Sequence[int | None], other: Sequence[int | None]) -> float | None:
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return spearman([a for a, _ in both], [b for _, b in both])


def _mean(summary: DimensionSummary) -> float:
    return summary.normalized.mean if summary.normalized else 0.0
