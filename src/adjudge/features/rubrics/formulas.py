"""Published formulas for many rows: how benchmarks turn scores of rows into one figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None


def clipped_mean(scores: Sequence[float]) -> float | None:
    """HealthBench: the mean over the rows, clipped to 0–1 once. Rows are not clipped.

    >>> round(clipped_mean([0.9, -0.8, 0.4]), 6)
    0.166667
    """
    value = mean(scores)
    return None if value is None else min(1.0, max(0.0, value))


def macro_mean(scores: Iterable[tuple[str, float]]) -> float | None:
    """BiGGen-Bench: the mean of the means per capability."""
    groups: dict[str, list[float]] = {}
    for name, score in scores:
        groups.setdefault(name, []).append(score)
    return mean([math.fsum(each) / len(each) for each in groups.values()])


def wildbench_score(scores: Sequence[float]) -> float | None:
    """WildBench: scores from 1 to 10 as (mean − 5) × 20."""
    value = mean(scores)
    return None if value is None else (value - 5) * 20


WILDBENCH_REWARDS: Mapping[str, float] = {"++": 1.0, "+": 0.5, "=": 0.0, "-": -0.5, "--": -1.0}
"""WildBench, pairs: what a much better, better, equal, worse and much worse answer earns."""


def on_unit(value: float, low: float, high: float) -> float:
    """GEval, TruLens: a number of a scale, from 0 to 1."""
    if not low < high:
        raise ValueError(f"a scale from {low:g} to {high:g} has no length")
    return (value - low) / (high - low)


def balanced_f1(pairs: Iterable[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """HealthBench's meta-evaluation: the F1 of "met" and of "not met" over all pairs of a verdict
    and one person's label; the headline is their mean. None if a class never occurs.
    """
    counted = list(pairs)
    return _f1(counted, True), _f1(counted, False)


def _f1(pairs: Sequence[tuple[bool, bool]], label: bool) -> float | None:
    hits = sum(verdict is label and person is label for verdict, person in pairs)
    named = sum(verdict is label for verdict, _ in pairs)
    true = sum(person is label for _, person in pairs)
    return 2 * hits / (named + true) if named + true else None
