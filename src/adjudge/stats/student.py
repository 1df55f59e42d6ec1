"""Student's t distribution: its quantiles and its tail."""

from __future__ import annotations

import math
from functools import lru_cache

from adjudge.stats.distributions import beta_cdf

# Degrees of freedom from which on the beta function is quicker than the series.
_MANY = 200


def t_cdf(t: float, freedom: int) -> float:
    """Return Student's distribution function, by an exact series or, for many degrees of freedom,
    the beta function.
    """
    # Both formulas are exact.
    if freedom > _MANY:
        tail = beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
        return 1 - tail if t > 0 else tail
    angle = math.atan(t / math.sqrt(freedom))
    odd, cosine = freedom % 2, math.cos(angle)
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    inside = math.sin(angle) * total if freedom > 1 else 0.0
    return 0.5 + ((angle + inside) / math.pi if odd else inside / 2)


@lru_cache(maxsize=256)
def t_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's distribution."""
    low, high = -1.0, 1.0
    while t_cdf(low, freedom) > share:
        low *= 2
    while t_cdf(high, freedom) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def t_two_sided(level: float, freedom: int) -> float:
    """Return how many standard errors Student's interval of this level extends to each side."""
    return t_quantile((1 + level) / 2, freedom)
