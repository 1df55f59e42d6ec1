"""Test if a change moves verdicts more than asking the same row again does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.stats.difference import compare
from adjudge.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class BeyondNoise:
    """The share of rows moved by a change, minus the share moved by noise."""

    estimate: Estimate
    p_value: float | None
    """Probability of this many moved rows by noise alone; one-sided. None with too few rows."""


def beyond_noise(
    moved: Sequence[float], noise: Sequence[float], *, level: float = 0.95
) -> BeyondNoise:
    """Compare, row by row, how often a change moved the verdict with how often a second asking did.

    Given a row's first verdict, a judge that ignores the change is as likely to leave it in the
    second asking as under the change: the differences have mean zero, whatever the noise of each
    row. With one change per row the test is McNemar's exact one.
    """
    comparison = compare(moved, noise, level=level)
    estimate = comparison.estimate
    if comparison.p_value is None or estimate.value is None:
        return BeyondNoise(estimate, None)
    return BeyondNoise(estimate, comparison.p_value / 2 if estimate.value > 0 else 1.0)
