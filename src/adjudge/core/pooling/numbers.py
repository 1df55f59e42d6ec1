"""Numbers of several samples as one, and how far they lie apart."""

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
    """One number for all of them: the mean, the median, the lowest or the highest."""
    return _RULES[how](numbers)


def spread(numbers: Sequence[float]) -> float | None:
    """The standard deviation of the samples; None with fewer than two, where nothing is known of
    it.
    """
    return statistics.stdev(numbers) if len(numbers) > 1 else None


def numbers_of(votes: Sequence[Vote]) -> tuple[float, ...]:
    """What the valid votes say."""
    return tuple(vote.verdict.number for vote in votes if isinstance(vote.verdict, Rated))


def shares(votes: Sequence[Vote]) -> dict[str, float]:
    """Share of the valid votes for each answer, the commonest first."""
    counts = Counter(vote.verdict.option for vote in votes if vote.verdict)
    return {answer: count / counts.total() for answer, count in counts.most_common()}
