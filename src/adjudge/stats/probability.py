"""Quality of stated probabilities, against a truth of 0 or 1."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from adjudge.messages import Message
from adjudge.stats.agreement_intervals import LEAST_ROWS, with_limits
from adjudge.stats.correlation import ranks
from adjudge.stats.distributions import z_two_sided
from adjudge.stats.estimate import NO_ROWS, Estimate, Figure, undefined
from adjudge.stats.intervals import Interval, interval_with_both_ends, share_limits

Stated = Mapping[tuple[float, int], int]
"""(stated probability, truth 0 or 1) → number of rows."""


def auc(rows: Stated) -> Figure:
    """Return how often a true row has a higher probability than a false one, with ties counting
    half.
    """
    by_truth: tuple[Counter[float], Counter[float]] = (Counter(), Counter())
    for (probability, true), count in rows.items():
        by_truth[true][probability] += count
    false, true_ones = by_truth
    if not false.total() or not true_ones.total():
        return Figure(None, Message("rows of both kinds are needed: true ones and false ones"))
    points = sorted({*false, *true_ones})
    places = ranks(points, [false[point] + true_ones[point] for point in points])
    # The rank sum of the true rows (Mann and Whitney).
    total = math.fsum(place * true_ones[point] for point, place in zip(points, places, strict=True))
    number = true_ones.total()
    return Figure((total - number * (number + 1) / 2) / (number * false.total()))


def brier(rows: Stated) -> Figure:
    """Return the mean squared distance from the truth: 0 is perfect, a coin gets 0.25."""
    total = sum(rows.values())
    if not total:
        return NO_ROWS
    return Figure(
        math.fsum((probability - true) ** 2 * count for (probability, true), count in rows.items())
        / total
    )


def auc_interval(rows: Stated, level: float) -> Interval | None:
    """Return the limits of the AUC, treated as a share over the rarer kind of rows; None if it is
    undefined.

    The variance of that share is never smaller than the AUC's.
    """
    area, kinds = auc(rows).value, Counter[int]()
    for (_, true), count in rows.items():
        kinds[true] += count
    fewer = min(kinds[0], kinds[1])
    return None if area is None else share_limits(min(1.0, area) * fewer, fewer, level=level)


BINS = 10
# Rows of a bin up to which the number of true ones is computed exactly; above, as normal.
_EXACT = 200


def calibration_error(rows: Stated, *, level: float = 0.95) -> tuple[Estimate, Estimate]:
    """Return the expected calibration error (ECE) over ten equal bins minus its value by chance,
    and that value.

    Even correct probabilities show an error, which only shrinks with more rows. The limits allow
    for all of it and for none of it.
    """
    bins: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (probability, true), count in rows.items():
        bins[min(int(probability * BINS), BINS - 1)] += [(probability, true)] * count
    total = sum(map(len, bins.values()))
    if not total:
        none = undefined("ECE", 0, Message("no rows"), level=level)
        return none, none
    gap = (
        math.fsum(abs(math.fsum(p - true for p, true in members)) for members in bins.values())
        / total
    )
    shares = [
        (sum(true for _, true in members) + 1) / (len(members) + 2) for members in bins.values()
    ]
    noise = math.fsum(_chance_gap([p for p, _ in members]) for members in bins.values()) / total
    spread = math.sqrt(
        math.fsum(
            max(share * (1 - share), p * (1 - p))
            for share, members in zip(shares, bins.values(), strict=True)
            for p, _ in members
        )
    )
    # √(2/π) σ is the mean distance of a normal variable from its mean.
    most = max(noise, math.sqrt(2 / math.pi * len(bins)) * spread / total)
    spread /= total
    reach, value = z_two_sided(level) * spread, max(0.0, gap - noise)
    by_chance = Estimate(
        noise, None, None, total, "expected", level, Message("exact: nothing was drawn")
    )
    method = Message("minus what chance explains")
    if total < LEAST_ROWS:
        reason = Message("no interval: fewer than {least} labelled rows", least=LEAST_ROWS)
        return Estimate(value, None, None, total, method, level, reason), by_chance
    lower, upper = max(0.0, gap - most - reach), min(1.0, gap + reach)
    return Estimate(value, min(lower, value), upper, total, method, level), by_chance


def _chance_gap(probabilities: Sequence[float]) -> float:
    """Return the mean distance between actual and expected number of true rows if all probabilities
    are right.
    """
    expected, count = math.fsum(probabilities), len(probabilities)
    if count > _EXACT:
        return math.sqrt(2 / math.pi * math.fsum(p * (1 - p) for p in probabilities))
    chances = [1.0]
    for p in probabilities:
        chances = [
            (chances[hits] * (1 - p) if hits < len(chances) else 0.0)
            + (chances[hits - 1] * p if hits else 0.0)
            for hits in range(len(chances) + 1)
        ]
    return math.fsum(chance * abs(hits - expected) for hits, chance in enumerate(chances))


def probability_figures(
    stated: Sequence[tuple[float, int]], level: float = 0.95
) -> dict[str, Estimate]:
    """Return AUC, Brier score and calibration error with limits, and the error expected by
    chance.
    """
    rows = Counter(stated)
    error, by_chance = calibration_error(rows, level=level)
    distances = [(probability - true) ** 2 for probability, true in stated]
    brier_limits = interval_with_both_ends(distances, level=level) if stated else None
    return {
        "AUC": with_limits(auc(rows), auc_interval(rows, level), len(stated), None, level),
        "Brier": with_limits(brier(rows), brier_limits, len(stated), None, level),
        "ECE": error,
        "ECE by chance": by_chance,
    }
