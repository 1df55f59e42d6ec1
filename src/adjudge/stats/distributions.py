"""The distributions that exact intervals and exact tests stand on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 10_000


@lru_cache(maxsize=64)
def z_quantile(share: float) -> float:
    """Where the normal distribution function reaches ``share``."""
    return NormalDist().inv_cdf(share)


def z_two_sided(level: float) -> float:
    """How many standard errors an interval of this level reaches to each side."""
    return z_quantile((1 + level) / 2)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(1 - x, b, a) / b


def _continued_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for step in range(1, _STEPS):
        before = value
        for factor in _factors(step, x, a, b):
            d = 1 / _away_from_zero(1 + factor * d)
            c = _away_from_zero(1 + factor / c)
            value *= c * d
        if abs(value - before) <= 1e-16 * abs(value):
            break
    return value


def _factors(step: int, x: float, a: float, b: float) -> tuple[float, float]:
    even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
    odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
    return even, odd


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_quantile(share: float, a: float, b: float) -> float:
    """Where the beta distribution function reaches ``share``."""
    return bisect(lambda x: beta_cdf(x, a, b) < share)


def bisect(too_low: Callable[[float], bool]) -> float:
    """The point between 0 and 1 from which on ``too_low`` no longer holds."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (middle, high) if too_low(middle) else (low, middle)


def sign_test(one: int, other: int) -> float:
    """The two-sided p-value of ``one`` against ``other`` when each is as likely: McNemar's exact
    test of discordant pairs.
    """
    count = one + other
    tail = sum(math.comb(count, k) for k in range(min(one, other) + 1))
    return min(1.0, 2 * tail / (1 << count))


def fisher_greater(both: int, first_only: int, second_only: int, neither: int) -> float:
    """Fisher's exact one-sided p-value: ``both`` as large as this or larger when the two traits are
    unrelated.
    """
    first, second = both + first_only, both + second_only
    count = first + second_only + neither
    ways = sum(
        math.comb(first, k) * math.comb(count - first, second - k)
        for k in range(both, min(first, second) + 1)
    )
    return ways / math.comb(count, second)
