"""Bounds of a mean of values on a bounded scale, from independent units of one or more rows.

A bound is the quantile of the mean under random weights: each unit gets an exponential weight, and
so does one more unit at the end of the scale in question (Gaffke 2005; Learned-Miller and Thomas
2019). For passes and fails it is Clopper and Pearson's limit. For other values there is no
published proof that it never misses too often, and no counterexample; ``benchmarks/coverage.py``
enumerates every sample of paired passes and fails, and draws clusters and scores.
"""

from __future__ import annotations

import cmath
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from adjudge.stats.distributions import z_quantile

GRID = 100
"""Grid steps per 1 for means of units. A mean between two steps is divided between them, which
keeps the mean of all units and hardly widens the bounds.
"""
MOST_ROWS = 1_000_000
"""Largest number of rows that is worth suggesting."""


def search_rows(is_enough: Callable[[int], bool], rows: int) -> int | None:
    """Return the smallest sufficient number above ``rows``, which is not; None if over a million
    are needed.
    """
    fewest, enough = rows, 2 * rows
    # Doubling first: the answer is often a few times the rows, and each try costs an integral.
    while not is_enough(enough):
        fewest, enough = enough, 2 * enough
        if enough > MOST_ROWS:
            return None
    while enough - fewest > 1:
        middle = (fewest + enough) // 2
        fewest, enough = (fewest, middle) if is_enough(middle) else (middle, enough)
    return enough


@dataclass(slots=True)
class Units:
    """Independent rows, or clusters of rows."""

    counts: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict(float))
    """(mean in steps of the grid, rows) → units."""
    rows: int = 0
    total: float = 0.0
    squares: int = 0
    """The sum of the squared numbers of rows."""

    def add(self, mean: float, rows: int = 1, *, units: int = 1) -> None:
        """Add ``units`` units with this mean and ``rows`` rows each."""
        place = mean * GRID
        # A mean such as 0.29 is 28.999999999999996 steps: without the tolerance it would be divided
        # between two steps, and equal values would no longer be equal.
        below = round(place) if abs(place - round(place)) < 1e-9 else math.floor(place)
        above = max(0.0, place - below)
        self.counts[below, rows] += (1 - above) * units
        if above > 1e-9:
            self.counts[below + 1, rows] += above * units
        self.rows += rows * units
        self.total += mean * rows * units
        self.squares += rows * rows * units

    def copy(self) -> Units:
        """Return an independent copy."""
        counts = defaultdict(float, self.counts)
        return Units(counts, self.rows, self.total, self.squares)

    @property
    def mean(self) -> float:
        return self.total / self.rows

    def lower(self, end: float, risk: float) -> float:
        """Return the lower bound: the true mean is below it with probability at most ``risk``.
        ``end``: least value.
        """
        return self._bound(end, risk, 1)

    def upper(self, end: float, risk: float) -> float:
        """Return the upper bound. ``end``: the greatest possible value."""
        return -self._bound(end, risk, -1)

    def chance_below(self, value: float, end: float) -> float:
        """Return the risk at which the lower bound is ``value``: the p-value against a true mean
        that low.
        """
        return _chance_at_most_zero(list(self._terms(value, end, 1)))

    def chance_above(self, value: float, end: float) -> float:
        """Return the risk at which the upper bound is ``value``."""
        return _chance_at_most_zero(list(self._terms(value, end, -1)))

    def rows_to_decide(self, bar: float, ends: tuple[float, float], risk: float) -> int | None:
        """Return roughly how many similar rows put a bound beyond ``bar``; None if over a million
        are needed.
        """
        sign, end = (1, ends[0]) if self.mean > bar else (-1, ends[1])

        def is_enough(rows: int) -> bool:
            terms = self._terms(bar, end, sign, rows / self.rows)
            return _chance_at_most_zero(list(terms)) <= risk

        return search_rows(is_enough, self.rows)

    def _terms(
        self, value: float, end: float, sign: int, times: float = 1.0
    ) -> Iterator[tuple[float, float]]:
        """Yield (distance from ``value``, units) for each group of units and the extra one at the
        end.

        ``times``: pretend that there are this many times as many units.
        """
        for (place, rows), count in sorted(
            self.counts.items()
        ):  # sorted: independent of the row order
            yield sign * rows * (place / GRID - value), times * count
        yield sign * self.squares / self.rows * (end - value), 1.0

    def _bound(self, end: float, risk: float, sign: int) -> float:
        """Return the lower bound of the values times ``sign``, by the secant method with bisection
        as a fallback.
        """
        low, high = sign * end, sign * self.mean
        if high <= low:
            return low
        terms = list(self._terms(sign * high, end, sign))
        weight = math.fsum(rows * count for (_, rows), count in self.counts.items())
        weight += self.squares / self.rows
        middle = high + math.fsum(distance * count for distance, count in terms) / weight
        error = math.sqrt(math.fsum(count * gap * gap for gap, count in terms)) / weight
        target = z_quantile(risk)
        guess, previous = middle + target * error, (math.inf, 0.0)
        for _ in range(100):
            if not low < guess < high:
                guess = (low + high) / 2
            chance = _chance_at_most_zero(list(self._terms(sign * guess, end, sign)))
            # On the normal scale the risk is nearly linear in the bound, which suits the secant.
            reached = NormalDist().inv_cdf(min(1 - 1e-15, max(1e-300, chance)))
            if chance > risk:
                high = guess
            else:
                low = guess
            slope = 1 / error
            if previous[0] < math.inf and guess != previous[0] and reached != previous[1]:
                slope = (reached - previous[1]) / (guess - previous[0])
            previous = guess, reached
            if high - low < 1e-10 or abs(reached - target) < 1e-7:
                break
            guess = guess + (target - reached) / slope
        return low if high - low < 1e-10 else guess


def _chance_at_most_zero(terms: Sequence[tuple[float, float]]) -> float:
    """Return the probability that a sum of gamma variables, each times its distance, is 0 or less.

    ``terms`` holds (distance, shape). It is the integral of the moment generating function over its
    argument, along the vertical line through the saddle point, by the trapezoidal rule (relative
    error about 1e-7).
    """
    used = [(distance, shape) for distance, shape in terms if distance != 0 and shape > 0]
    least = min((distance for distance, _ in used), default=0.0)
    if least >= 0:
        return 0.0 if used else 1.0
    if max(distance for distance, _ in used) < 0:
        return 1.0
    # Along the line through the saddle point the integrand hardly oscillates and falls as fast as a
    # normal curve, so a few dozen terms are enough.
    saddle, curvature = _saddle_point(used, -1 / least)
    height = -math.fsum(shape * math.log1p(saddle * distance) for distance, shape in used)
    height -= math.log(saddle)
    # The trapezoidal rule converges exponentially for such a curve; 0.4 standard deviations per
    # step give seven digits. The first term counts half.
    step, place, total = 0.4 / math.sqrt(curvature), 0, 0.5
    while True:
        place += 1
        at = complex(saddle, place * step)
        power = -cmath.log(at) - height
        for distance, shape in used:
            power -= shape * cmath.log(1 + distance * at)
        total += math.exp(power.real) * math.cos(power.imag)
        # The remaining terms are below e^-18 of the first.
        if power.real < -18:
            break
    return min(1.0, math.exp(height) * step * total / math.pi)


def _saddle_point(terms: Sequence[tuple[float, float]], most: float) -> tuple[float, float]:
    """Return the point between 0 and ``most`` at which the integrand is least along the real line,
    and the curvature of its logarithm there.
    """
    low, high, point = 0.0, most, most / 2
    for _ in range(100):
        slope, curvature = -1 / point, 1 / point**2
        for distance, shape in terms:
            ratio = distance / (1 + point * distance)
            slope -= shape * ratio
            curvature += shape * ratio * ratio
        # Newton's steps may leave the bracket if one term dominates. Bisection takes over then.
        low, high = (point, high) if slope < 0 else (low, point)
        step = -slope / curvature
        if abs(step) < 1e-3 * min(point, most - point):
            break
        point = point + step if low < point + step < high else (low + high) / 2
    return point, curvature
