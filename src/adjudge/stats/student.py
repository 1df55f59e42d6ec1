"""Student's distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_MANY = 1000
"""Degrees of freedom from which on Student's distribution is the normal one to three digits."""


def t_cdf(t: float, freedom: int) -> float:
    """Student's distribution function, by its finite series (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    if freedom > _MANY:
        return NormalDist().cdf(t)
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
    """Where Student's distribution function reaches ``share``."""
    low, high = -1.0, 1.0
    while t_cdf(low, freedom) > share:
        low *= 2
    while t_cdf(high, freedom) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2
