"""Combine the numbers of several samples, and measure their spread."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from adjudge.core.domain.verdict import Rated
from adjudge.core.domain.vote import Vote

Aggregation = Literal["avg", "med", "min", "max"]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
_RULES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": statistics.fmean,
    "med": statistics.median,
    "min": min,
    "max": max,
}


def aggregate(numbers: Sequence[float], how: Aggregation) -> float:
    """Return the mean, the median, the lowest or the highest of the numbers, as ``how`` says."""
    return _RULES[how](numbers)


def spread(numbers: Sequence[float]) -> float | None:
    """Return the standard deviation of the samples; None with fewer than two."""
    return statistics.stdev(numbers) if len(numbers) > 1 else None


def numbers_of(votes: Sequence[Vote]) -> tuple[float, ...]:
    """Return the numbers of the valid votes."""
    return tuple(vote.verdict.number for vote in votes if isinstance(vote.verdict, Rated))


def shares(votes: Sequence[Vote]) -> dict[str, float]:
    """Return the share of the valid votes for each answer, the most common first."""
    counts = Counter(vote.verdict.option for vote in votes if vote.verdict)
    return {answer: count / counts.total() for answer, count in counts.most_common()}
