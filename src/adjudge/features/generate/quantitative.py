"""A number in natural language: the mean, median, lowest or highest of the samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Rating
from adjudge.core.domain.sampled import QuantitativeResult
from adjudge.core.domain.verdict import Rated
from adjudge.core.domain.vote import Vote
from adjudge.core.judges.settings import one_of
from adjudge.core.pooling.majority import status_of
from adjudge.core.pooling.numbers import (
    AGGREGATIONS,
    Aggregation,
    aggregate,
    numbers_of,
    shares,
    spread,
)
from adjudge.errors import SetupError
from adjudge.features.generate.judge import SampledCriteria
from adjudge.messages import Message


@dataclass(frozen=True)
class QuantitativeCriteria(SampledCriteria[QuantitativeResult]):
    """A criterion in natural language that rates code with a number from ``min`` to ``max``.

    Parameters:
        expression: what to rate; it should say what the ends of the scale mean.
        min: the lower end of the scale.
        max: the upper end of the scale.
        agg: how the samples are aggregated: "avg", "med", "min" or "max".
        min_samples_for_aggregation: with fewer valid samples ``compute`` returns the middle of
            the scale, and the result is marked as a fallback.
        on_failure: what happens with too few valid samples: "fallback" (the middle of the scale) or
            "raise" (a RunError).
    """

    min: float = 0.0
    max: float = 10.0
    agg: Aggregation = "avg"
    votes: int = 1
    min_samples_for_aggregation: int = 1

    template: ClassVar[str] = "quantitative"

    def __post_init__(self) -> None:
        one_of("agg", self.agg, AGGREGATIONS)
        _check_range(self.min, self.max)
        super().__post_init__()

    async def compute(self, code: str, agent: object | None = None) -> float:
        """Return the rating of the code; the middle of the scale if too few samples are valid."""
        score = (await self.evaluate(code, agent)).score
        return self.midpoint if score is None else score

    @property
    def midpoint(self) -> float:
        """The middle of the scale."""
        return self.min + (self.max - self.min) / 2

    @property
    def question(self) -> Rating:
        return Rating((float(self.min), float(self.max)))

    def pool(self, item: Instance, votes: Sequence[Vote]) -> QuantitativeResult:
        """Aggregate the valid samples with ``agg``; no score if there are too few."""
        numbers = numbers_of(votes)
        score = aggregate(numbers, self.agg) if self.enough(votes) else None
        return QuantitativeResult(
            instance=item,
            criteria=self.criteria_for(item),
            status=status_of(votes, score is not None),
            votes=tuple(votes),
            score=score,
            explanation=None if score is None else _nearest_explanation(votes, score),
            distribution=FrozenDict(shares(votes)),
            numbers=numbers,
            agg=self.agg,
            spread=spread(numbers),
            range=(float(self.min), float(self.max)),
            notes=self.notes(votes),
        )

    def fallback_result(
        self,
        result: QuantitativeResult,
        choice: random.Random,  # noqa: ARG002 - nothing is random
    ) -> QuantitativeResult:
        """Return the midpoint. The status does not change, so aggregates do not count it as a
        judgment.
        """
        fallen_back = self._fall_back(
            result, "midpoint", Message("the midpoint {midpoint:g}", midpoint=self.midpoint)
        )
        return replace(fallen_back, score=self.midpoint)


def _nearest_explanation(votes: Sequence[Vote], score: float) -> str | None:
    """Return the explanation of the sample nearest to the score; the earliest one on a tie."""
    rated = [
        vote.verdict
        for vote in votes
        if isinstance(vote.verdict, Rated) and vote.verdict.explanation
    ]
    return (
        min(rated, key=lambda verdict: abs(verdict.number - score)).explanation if rated else None
    )


def _check_range(low: float, high: float) -> None:
    for name, bound in (("min", low), ("max", high)):
        if (
            isinstance(bound, bool)
            or not isinstance(bound, int | float)
            or not math.isfinite(bound)
        ):
            raise SetupError("{name} must be a number, not {bound!r}", name=name, bound=bound)
    if low >= high:
        raise SetupError("min={low:g} must be below max={high:g}", low=low, high=high)
