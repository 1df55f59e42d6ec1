"""Published formulas that turn the scores of rows into one figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None without values."""
    return math.fsum(values) / len(values) if values else None


def clipped_mean(scores: Sequence[float]) -> float | None:
    """Return HealthBench's mean over the rows, clipped to 0–1 once. Rows are not clipped.

    >>> round(clipped_mean([0.9, -0.8, 0.4]), 6)
    0.166667
    """
    value = mean(scores)
    return None if value is None else min(1.0, max(0.0, value))


def macro_mean(scores: Iterable[tuple[str, float]]) -> float | None:
    """Return BiGGen-Bench's mean of the means per capability."""
    groups: dict[str, list[float]] = {}
    for name, score in scores:
        groups.setdefault(name, []).append(score)
    return mean([math.fsum(group) / len(group) for group in groups.values()])


def wildbench_score(scores: Sequence[float]) -> float | None:
    """Return WildBench's (mean − 5) × 20 of scores from 1 to 10."""
    value = mean(scores)
    return None if value is None else (value - 5) * 20


WILDBENCH_REWARDS: Mapping[str, float] = {"++": 1.0, "+": 0.5, "=": 0.0, "-": -0.5, "--": -1.0}
"""WildBench, pairs: what a much better, better, equal, worse and much worse answer earns."""


def on_unit(value: float, low: float, high: float) -> float:
    """Map a number of a scale to 0–1, as GEval and TruLens do."""
    if not low < high:
        raise ValueError(f"a scale from {low:g} to {high:g} has no length")
    return (value - low) / (high - low)


def balanced_f1(pairs: Iterable[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """Return HealthBench's F1 of "met" and of "not met"; the headline is their mean.

    The pairs are a verdict and one person's label. None if a class never occurs.
    """
    counted = list(pairs)
    return _f1(counted, True), _f1(counted, False)


def _f1(pairs: Sequence[tuple[bool, bool]], label: bool) -> float | None:
    hits = sum(verdict is label and person is label for verdict, person in pairs)
    verdicts = sum(verdict is label for verdict, _ in pairs)
    true = sum(person is label for _, person in pairs)
    return 2 * hits / (verdicts + true) if verdicts + true else None
