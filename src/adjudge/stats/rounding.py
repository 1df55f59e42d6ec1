"""Comparing pooled numbers: .1 + .2 is .3 to whoever gave the weights, and a little more to a
computer.
"""

from __future__ import annotations

import math

_TOLERANCE = 1e-12
"""Far above what sums of some thousand numbers are off by, far below any difference that somebody
means.
"""


def equal(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than rounding."""
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def above(value: float, limit: float) -> bool:
    """Whether ``value`` is greater than ``limit``, and not by rounding alone."""
    return value > limit and not equal(value, limit)
