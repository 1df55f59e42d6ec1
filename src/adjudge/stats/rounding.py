"""Comparison of pooled numbers up to rounding: .1 + .2 counts as .3."""

from __future__ import annotations

import math

# Far above the error of sums of some thousand numbers, far below any intended difference.
_TOLERANCE = 1e-12


def equal(one: float, other: float) -> bool:
    """Return True if two numbers differ by no more than rounding."""
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def above(value: float, limit: float) -> bool:
    """Return True if ``value`` is greater than ``limit`` by more than rounding."""
    return value > limit and not equal(value, limit)
