"""Distributions for exact intervals and exact tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 10_000


@lru_cache(maxsize=64)
def z_quantile(share: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def z_two_sided(level: float) -> float:
    """Return how many standard errors a normal interval of this level extends to each side."""
    return z_quantile((1 + level) / 2)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, computed as a continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # In logs, since the gamma function overflows above 171.
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges fast on this side; on the other the symmetry is used.
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(1 - x, b, a) / b


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    # Lentz's method divides by both running values, so neither may become exactly 0.
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for step in range(1, _STEPS):
        previous = value
        for factor in _factors(step, x, a, b):
            d = 1 / _away_from_zero(1 + factor * d)
            c = _away_from_zero(1 + factor / c)
            value *= c * d
        if abs(value - previous) <= 1e-16 * abs(value):
            break
    return value


def _factors(step: int, x: float, a: float, b: float) -> tuple[float, float]:
    even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
    odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
    return even, odd


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the quantile of the beta distribution."""
    return bisect(lambda x: beta_cdf(x, a, b) < share)


def bisect(too_low: Callable[[float], bool]) -> float:
    """Return the point between 0 and 1 from which ``too_low`` is False."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        # No float lies between them any more.
        # Bisection to the last float, not to a tolerance: limits are printed, compared with bars
        # and stored, and must be the same on every machine.
        if middle in (low, high):
            return high
        low, high = (middle, high) if too_low(middle) else (low, middle)


LARGEST_EXACT = 10_000
"""Count up to which the sign test and Fisher's test add up whole numbers. Beyond it they add up
floating-point terms, with a relative error below 1e-9 up to ten million, which is checked against
the whole numbers and against scipy. Exact sums take a time that grows with the square of the count.
"""


def sign_test(one: int, other: int) -> float:
    """Return the two-sided p-value of ``one`` against ``other`` if both are equally likely.

    This is McNemar's exact test of discordant pairs; above ``LARGEST_EXACT`` pairs it is exact to
    nine digits.
    """
    count, fewer = one + other, min(one, other)
    if 2 * fewer == count:
        return 1.0
    if count > LARGEST_EXACT:
        ratios = (k / (count - k + 1) for k in range(fewer, 0, -1))
        return min(1.0, 2 * math.exp(_log_binomial(fewer, count, 0.5)) * _sum_of_ratios(ratios))
    # Whole numbers are exact. A p-value at a bar of 0.05 must not depend on rounding.
    ways = tail = 1
    for k in range(fewer):
        ways = ways * (count - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << count))


def fisher_greater(both: int, first_only: int, second_only: int, neither: int) -> float:
    """Return Fisher's exact one-sided p-value: ``both`` this large or larger if the traits are
    unrelated.

    Above ``LARGEST_EXACT`` rows it is exact to nine digits.
    """
    first_total, second_total = both + first_only, both + second_only
    count, most = first_total + second_only + neither, min(first_total, second_total)
    if count > LARGEST_EXACT:
        return _fisher_of_many(both, first_total, second_total, count)
    # The number of tables with this corner. The following ones follow from it by ratios, which is
    # much cheaper than a binomial for each.
    ways = math.comb(first_total, both) * math.comb(count - first_total, second_only)
    tail = ways
    for k in range(both, most):
        ways = (
            ways
            * (first_total - k)
            * (second_total - k)
            // ((k + 1) * (count - first_total - second_total + k + 1))
        )
        tail += ways
    return tail / math.comb(count, second_total)


def _fisher_of_many(both: int, first: int, second: int, count: int) -> float:
    least, most = max(0, first + second - count), min(first, second)
    if both <= least:
        return 1.0
    middle = first * second / count
    if both <= middle:  # the short tail is on the other side
        return 1 - _fisher_of_many(first - both + 1, first, count - second, count)
    share = second / count
    # Loader's form: differences of log-gamma would cancel to a few digits for millions of rows.
    height = (
        _log_binomial(both, first, share)
        + _log_binomial(second - both, count - first, share)
        - _log_binomial(second, count, share)
    )
    ratios = (
        (first - k) * (second - k) / ((k + 1) * (count - first - second + k + 1))
        for k in range(both, most)
    )
    return min(1.0, math.exp(height) * _sum_of_ratios(ratios))


def _sum_of_ratios(ratios: Iterable[float]) -> float:
    """Return 1 + a + ab + abc + … for falling ratios, until further terms change nothing."""
    total = term = 1.0
    for ratio in ratios:
        term *= ratio
        total += term
        if term < 1e-17 * total:
            break
    return total


def _log_binomial(hits: int, count: int, share: float) -> float:
    """Return the log-probability of ``hits``, precise even for large counts (Loader 2000)."""
    misses = count - hits
    if share in (0.0, 1.0):
        return 0.0 if hits == share * count else -math.inf
    if not hits or not misses:
        return count * (math.log(share) if hits else math.log1p(-share))
    above, missed = hits - count * share, count * (1 - share)
    deviance = hits * math.log1p(above / (count * share)) + misses * math.log1p(-above / missed)
    correction = _stirling_rest(count) - _stirling_rest(hits) - _stirling_rest(misses)
    return correction - deviance + 0.5 * math.log(count / (2 * math.pi * hits * misses))


def _stirling_rest(number: int) -> float:
    """Return the error of Stirling's formula for log(n!)."""
    # The series is precise enough only for larger numbers.
    if number < 16:
        formula = (number + 0.5) * math.log(number) - number + 0.5 * math.log(2 * math.pi)
        return math.lgamma(number + 1) - formula
    square = number * number
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / number
