"""What votes are worth, one by one: how much of an interval is only that a model does not always
answer alike.
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
    found: Difference,
) -> VoteNoise | None:
    """How much of the width of a difference between two runs is vote noise; None where no row was
    asked twice.

    ``places``: of both runs the rows whose votes are looked at, from 1.
    """
    limits, rows = found.of_scored, found.estimate.count
    if limits is None or limits.upper <= limits.lower:
        return None
    seen = [_votes(folder, judge, [pair[side] for pair in places], measure)
            for side, (folder, judge) in enumerate(zip(folders, judges, strict=True))]  # fmt: skip
    if not any(len(row) > 1 for votes in seen for row in votes):
        return None
    low, high = measure.range
    within = [_within(votes) * (high - low) ** 2 for votes in seen]
    noise = sum(one * _per_vote(votes) for one, votes in zip(within, seen, strict=True)) / rows
    half = (limits.upper - limits.lower) / 2
    critical = t_two_sided(found.estimate.level, max(1, found.units - 1))
    total = (half / critical) ** 2
    between = max(0.0, total - noise)
    widths = {
        count: critical * math.sqrt(between + sum(within) / count / rows) for count in _COUNTS
    }
    return VoteNoise(min(1.0, noise / total), half, widths)


def _within(votes: Sequence[Sequence[float]]) -> float:
    repeated = [variance(row) for row in votes if len(row) > 1]
    return fmean(repeated) if repeated else 0.0


def _per_vote(votes: Sequence[Sequence[float]]) -> float:
    return fmean(1 / len(row) for row in votes if row) if any(votes) else 0.0


def _votes(folder: Path, judge: str, rows: Sequence[int], measure: Measure) -> list[list[float]]:
    with reading(folder) as ledger:
        return [_values(ledger, judge, row, measure) for row in rows]


def _values(ledger: sqlite3.Connection, judge: str, row: int, measure: Measure) -> list[float]:
    found = (vote_value(vote, measure) for vote in votes_of(ledger, judge, row - 1))
    return [value for value in found if value is not None]


def vote_value(vote: VoteRecord, measure: Measure) -> float | None:
    """What one vote says, from 0 to 1; None where it says nothing."""
    if measure.is_number:
        return None if vote.number is None else measure.value(float(vote.number))
    option = vote.option
    return None if option is None or option not in measure.values else measure.value(option)
