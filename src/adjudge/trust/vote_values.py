"""The value of single votes: how much of an interval is due to a model answering differently each
time.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, variance

from adjudge.core.domain.record import VoteRecord
from adjudge.core.ledger.records import votes_of
from adjudge.runs.folder import reading
from adjudge.stats.difference import Difference, VoteNoise
from adjudge.stats.student import t_two_sided
from adjudge.trust.measure import Measure

MOST_ROWS = 2000
"""Rows whose votes are looked at."""
_COUNTS = (1, 3, 5, 10)


def noise_of_difference(
    folders: Sequence[Path],
    judges: Sequence[str],
    places: Sequence[tuple[int, int]],
    measure: Measure,
    difference: Difference,
) -> VoteNoise | None:
    """Return how much of the width of a difference between two runs is vote noise.

    None if no row has several votes, or without an interval. ``places``: positions, from 1, of rows
    in both runs whose votes are read.
    """
    limits, rows = difference.of_scored, difference.estimate.count
    if limits is None or limits.upper <= limits.lower:
        return None
    votes_of_runs = []
    for side, (folder, judge) in enumerate(zip(folders, judges, strict=True)):
        with reading(folder) as ledger:
            votes_of_runs.append([_values(ledger, judge, pair[side], measure) for pair in places])
    if not any(len(row) > 1 for votes in votes_of_runs for row in votes):
        return None
    low, high = measure.range
    within = [_variance_within_rows(votes) * (high - low) ** 2 for votes in votes_of_runs]
    # a mean of n votes has 1/n of the variance of one vote
    per_vote = [
        fmean(1 / len(row) for row in votes if row) if any(votes) else 0.0
        for votes in votes_of_runs
    ]
    noise = (
        sum(row_variance * share for row_variance, share in zip(within, per_vote, strict=True))
        / rows
    )
    half = (limits.upper - limits.lower) / 2
    critical = t_two_sided(difference.estimate.level, max(1, difference.units - 1))
    # the variance of the mean, from the width of its interval
    total = (half / critical) ** 2
    between = max(0.0, total - noise)
    # widths with so many votes per row: only the noise within rows shrinks
    widths = {
        count: critical * math.sqrt(between + sum(within) / count / rows) for count in _COUNTS
    }
    return VoteNoise(min(1.0, noise / total), half, widths)


def _variance_within_rows(votes: Sequence[Sequence[float]]) -> float:
    variances = [variance(row) for row in votes if len(row) > 1]
    return fmean(variances) if variances else 0.0


def _values(ledger: sqlite3.Connection, judge: str, row: int, measure: Measure) -> list[float]:
    values = (vote_value(vote, measure) for vote in votes_of(ledger, judge, row - 1))
    return [value for value in values if value is not None]


def vote_value(vote: VoteRecord, measure: Measure) -> float | None:
    """Return a vote's value from 0 to 1; None without a valid option or number."""
    if measure.is_number:
        return None if vote.number is None else measure.value(float(vote.number))
    option = vote.option
    return None if option is None or option not in measure.values else measure.value(option)
