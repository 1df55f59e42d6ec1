"""Number of rows or labels for a precision or power, by simulation."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from statistics import median, quantiles

from adjudge.stats.correction import Stratum, post_stratified
from adjudge.stats.difference import ComparisonOutcome
from adjudge.stats.distributions import sign_test
from adjudge.stats.intervals import Interval, share_limits
from adjudge.stats.refusal import too_few
from adjudge.stats.sequence import Stream, sequential_interval

DRAWS = 400
"""Simulated samples per size."""
MOST = 100_000
"""Largest size that is searched."""


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge's agreement with people on passes and on fails."""

    sensitivity: float
    specificity: float


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The least sufficient number, and what its simulations showed."""

    count: int | None
    """The size; None if even the greatest allowed one does not suffice."""
    reached: float
    """The median width, or the share of samples that were decided: at ``count``, or at the most."""
    error: float
    """The standard error of ``reached``, which is simulated."""
    most: int


def labels_for_width(
    rate: float,
    width: float,
    *,
    judge: JudgeQuality | None = None,
    rows: int = MOST,
    level: float = 0.95,
    seed: int = 0,
) -> SampleSize:
    """Return how many labels make the median interval of a rate no wider than ``width``.

    Without ``judge``, labels are used alone; with it, they correct a judge of ``rows`` rows.
    """

    def draw(choice: random.Random, labels: int) -> float:
        if judge is None:
            limits = share_limits(_hits(choice, labels, rate), labels, level=level)
            return limits.upper - limits.lower
        return _corrected_width(choice, rate, judge, labels, rows, level)

    def measure(labels: int) -> tuple[float, float]:
        choice = random.Random(f"{seed} {labels}")  # noqa: S311
        widths = [draw(choice, labels) for _ in range(DRAWS // 4)]
        lower, _, upper = quantiles(widths, n=4)
        # Standard error of a median: 1.25 σ / √n, with σ from the quartiles (IQR / 1.35).
        return median(widths), 1.25 * (upper - lower) / 1.35 / math.sqrt(len(widths))

    return _least(measure, lambda found: found <= width, rows)


def rows_for_gate(
    rate: float,
    bar: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    sequential: bool = False,
    seed: int = 0,
) -> SampleSize:
    """Return how many rows a gate at ``bar`` needs to decide correctly in ``power`` of runs at this
    true ``rate``.
    """

    def limits(hits: int, rows: int) -> Interval:
        if sequential:
            return sequential_interval([Stream(1.0, hits, rows - hits)], level=level)
        return share_limits(hits, rows, level=level)

    def right(hits: int, rows: int) -> bool:
        interval = limits(hits, rows)
        return interval.lower >= bar if rate >= bar else interval.upper < bar

    def measure(rows: int) -> tuple[float, float]:
        hits = Binomial(rows, rate)
        choice = random.Random(f"{seed} {rows}")  # noqa: S311
        drawn = [hits.draw(choice) for _ in range(DRAWS)]
        outcomes = {count: right(count, rows) for count in set(drawn)}
        return _share(sum(outcomes[count] for count in drawn))

    return _least(measure, lambda found: found >= power, MOST)


def rows_for_comparison(
    rate: float,
    difference: float,
    *,
    discordant: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
) -> SampleSize:
    """Return how many common rows two systems need for one to be called better in ``power`` of
    comparisons, if they pass ``rate`` and ``rate + difference``.

    ``discordant``: the share of rows that one passes and the other fails; None: independent.
    """
    other_rate = rate + difference
    apart = rate * (1 - other_rate) + other_rate * (1 - rate) if discordant is None else discordant
    gains = (apart + difference) / 2

    def measure(rows: int) -> tuple[float, float]:
        choice = random.Random(f"{seed} {rows}")  # noqa: S311
        differing, better = Binomial(rows, apart), ComparisonOutcome.BETTER
        decided = 0
        for _ in range(DRAWS):
            changed = differing.draw(choice)
            wins = _hits(choice, changed, gains / apart)
            decided += _comparison(wins, changed - wins, level) is (
                better if difference > 0 else ComparisonOutcome.WORSE
            )
        return _share(decided)

    return _least(measure, lambda found: found >= power, MOST)


def _comparison(won: int, lost: int, level: float) -> ComparisonOutcome:
    """Return the outcome of McNemar's exact test, like ``compare`` for passes and fails."""
    if sign_test(won, lost) > 1 - level:
        return ComparisonOutcome.CANNOT_TELL
    return ComparisonOutcome.BETTER if won > lost else ComparisonOutcome.WORSE


def _corrected_width(
    choice: random.Random, rate: float, judge: JudgeQuality, labels: int, rows: int, level: float
) -> float:
    """Return the corrected interval's width in one simulated sample; 1 if the correction would be
    refused.
    """
    true = _hits(choice, labels, rate)
    passed_good = _hits(choice, true, judge.sensitivity)
    passed_bad = _hits(choice, labels - true, 1 - judge.specificity)
    passes = rate * judge.sensitivity + (1 - rate) * (1 - judge.specificity)
    passed = passed_good + passed_bad + _hits(choice, rows - labels, passes)
    failed_good = true - passed_good
    failed_bad = labels - true - passed_bad
    strata = [
        Stratum("FAIL", rows - passed, (1.0,) * failed_good + (0.0,) * failed_bad),
        Stratum("PASS", passed, (1.0,) * passed_good + (0.0,) * passed_bad),
    ]
    present = [stratum for stratum in strata if stratum.rows]
    if too_few(present):
        return 1.0
    return post_stratified(present, level=level).width or 1.0


def _hits(choice: random.Random, count: int, share: float) -> int:
    """Draw from a binomial distribution, using the normal approximation for large counts."""
    if count > 2000:
        spread = math.sqrt(count * share * (1 - share))
        return min(count, max(0, round(choice.gauss(count * share, spread))))
    return sum(choice.random() < share for _ in range(count))


class Binomial:
    """Draws from a binomial distribution, using a precomputed table."""

    def __init__(self, count: int, share: float) -> None:
        if share in (0, 1):
            self.steps = [0.0] * round(count * share) + [1.0]
            return
        logs = (
            math.lgamma(count + 1)
            - math.lgamma(k + 1)
            - math.lgamma(count - k + 1)
            + k * math.log(share)
            + (count - k) * math.log1p(-share)
            for k in range(count + 1)
        )
        self.steps = list(accumulate(math.exp(value) for value in logs))

    def draw(self, choice: random.Random) -> int:
        return min(bisect_left(self.steps, choice.random()), len(self.steps) - 1)


def _share(hits: int) -> tuple[float, float]:
    share = hits / DRAWS
    # At least that of one draw: a simulated share of 0 or 1 is not certain.
    return share, math.sqrt(max(share * (1 - share), 1 / DRAWS) / DRAWS)


def _least(
    measure: Callable[[int], tuple[float, float]], enough: Callable[[float], bool], most: int
) -> SampleSize:
    """Search by doubling and halving, to within one percent, which is finer than the simulation."""
    measured: dict[int, tuple[float, float]] = {}

    def try_out(count: int) -> bool:
        measured.setdefault(count, measure(count))
        return enough(measured[count][0])

    low, high = 0, min(8, most)
    while not try_out(high):
        if high == most:
            return SampleSize(None, *measured[high], most)
        low, high = high, min(2 * high, most)
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if try_out(middle) else (middle, high)
    return SampleSize(high, *measured[high], most)
