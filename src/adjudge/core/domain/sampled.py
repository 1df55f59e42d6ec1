"""Results of sampled criteria: every sample, and their outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.results import Result
from adjudge.core.domain.sampled_record import QualitativeDetail, QuantitativeDetail


@dataclass(frozen=True, kw_only=True, repr=False)
class SampledResult(Result):
    """Base of both kinds of results; ``votes`` holds every sample with its raw reply."""

    distribution: Mapping[str, float] = field(default_factory=FrozenDict)
    """Share of the valid samples for each answer, the commonest first."""


@dataclass(frozen=True, kw_only=True, repr=False)
class QualitativeResult(SampledResult):
    """Pass or fail by a criterion in natural language, sampled several times."""

    verdict: str | None = None
    """"PASS", "FAIL", or None if there were too few valid samples and no fallback."""
    passes: int = 0
    """Valid samples that say PASS."""
    min_pass: int = 1
    """Valid samples with PASS that are needed to pass."""

    @property
    def passed(self) -> bool:
        return self.verdict == "PASS"

    def detail(self) -> QualitativeDetail:
        """Return the part of the record that only this kind of result has."""
        return QualitativeDetail(
            distribution=self.distribution,
            verdict=self.verdict,
            passes=self.passes,
            min_pass=self.min_pass,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantitativeResult(SampledResult):
    """A number by a criterion in natural language; ``score`` aggregates the samples."""

    numbers: tuple[float, ...] = ()
    """The numbers of the valid samples, in their order."""
    agg: str = "avg"
    spread: float | None = None
    """Standard deviation of the samples; None with fewer than two."""
    range: tuple[float, float] = (0.0, 10.0)
    """The lowest and the highest number that was allowed."""

    @property
    def rating_range(self) -> tuple[float, float]:
        return self.range

    def detail(self) -> QuantitativeDetail:
        """Return the part of the record that only this kind of result has."""
        return QuantitativeDetail(
            distribution=self.distribution,
            numbers=self.numbers,
            agg=self.agg,
            spread=self.spread,
            range=self.range,
        )
