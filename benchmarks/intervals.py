"""How often the 95% interval of a mean holds the true mean: few rows and many, scores of many
kinds.

python benchmarks/intervals.py --samples 2000
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Sequence

from adjudge.stats.intervals import rows_interval
from adjudge.stats.student import t_quantile

Draw = Callable[[random.Random], float]
ROWS = (8, 12, 25, 50, 100, 200)


def passes(rate: float) -> tuple[Draw, float]:
    """Pass or fail."""
    return lambda choice: float(choice.random() < rate), rate


def beta(a: float, b: float) -> tuple[Draw, float]:
    """Scores anywhere between 0 and 1."""
    return lambda choice: choice.betavariate(a, b), a / (a + b)


def gated(rate: float) -> tuple[Draw, float]:
    """Good composites, and a 0 where a gate fired."""
    return lambda choice: 0.0 if choice.random() < rate else choice.betavariate(20, 3), (
        1 - rate
    ) * 20 / 23


def steps(weights: dict[float, float]) -> tuple[Draw, float]:
    """A few values."""
    values, shares = list(weights), list(weights.values())
    mean = math.fsum(value * share for value, share in weights.items()) / math.fsum(shares)
    return lambda choice: choice.choices(values, shares)[0], mean


KINDS = [
    *map(passes, (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)),
    *(beta(a, b) for a, b in ((1, 1), (8, 2), (20, 2), (0.5, 0.5), (2, 5), (50, 5), (1, 0.1))),
    *map(gated, (0.02, 0.05, 0.1, 0.2)),
    steps({1.0: 9, 0.5: 1}),
    steps({0.0: 1, 0.25: 1, 0.5: 2, 0.75: 6, 1.0: 10}),
    steps({1.0: 85, 0.92: 10, 0.0: 5}),
]


def student(values: Sequence[float]) -> tuple[float, float]:
    """Student's interval of the values alone, for comparison."""
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    reach = t_quantile(0.975, len(values) - 1) * error
    return max(0.0, mean - reach), min(1.0, mean + reach)


def ours(values: Sequence[float]) -> tuple[float, float]:
    """The one that reports print."""
    found = rows_interval(values)
    assert found is not None
    return found.lower, found.upper


def measure(rows: int, samples: int) -> str:
    """A line of the table: the least, mean and greatest coverage over the kinds, and the mean
    width.
    """
    cells = [f"{rows}"]
    for interval in (ours, student):
        coverages, widths = [], []
        for place, (draw, mean) in enumerate(KINDS):
            choice = random.Random(1000 * rows + place)
            found = [interval([draw(choice) for _ in range(rows)]) for _ in range(samples)]
            coverages.append(sum(low <= mean <= high for low, high in found) / samples)
            widths.append(statistics.fmean(high - low for low, high in found))
        cells.append(
            f"{min(coverages):.3f}–{max(coverages):.3f} (mean {statistics.fmean(coverages):.3f})"
        )
        cells.append(f"{statistics.fmean(widths):.3f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    samples = parser.parse_args().samples
    print("| rows | holds the true mean in | width | Student's alone holds it in | width |")
    print("|--:|---|--:|---|--:|")
    for rows in ROWS:
        print(measure(rows, samples))


if __name__ == "__main__":
    main()
