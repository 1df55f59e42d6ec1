"""Number of rows that would decide an undecided gate."""

from __future__ import annotations

import math

from adjudge.stats.intervals import Interval, share_limits
from adjudge.stats.mean_bounds import MOST_ROWS, search_rows
from adjudge.stats.rounding import above
from adjudge.stats.sequence import Stream, sequential_interval


def rows_to_decide(
    mean: float, rows: int, limits: Interval, bar: float, *, sequential: bool = False
) -> int | None:
    """Return the approximate number of rows that decide if ``mean`` is below ``bar``, provided it
    stays the same; None if a million do not suffice.

    If the mean is below the bar, the upper limit must fall below it; otherwise the lower limit must
    rise to it. ``limits`` are those of ``rows`` rows. Limits of passes and fails are recomputed for
    more rows at the same rate. Those of scores and clusters depend on more than the mean: their
    distance from it is assumed to shrink with the root of the number of rows.
    """
    is_below = mean < bar

    def limits_of_share(count: int) -> Interval:
        hits = mean * count
        if sequential:
            return sequential_interval([Stream(1.0, hits, count - hits)], level=limits.level)
        return share_limits(hits, count, level=limits.level)

    def is_enough(count: int) -> bool:
        more = limits_of_share(count)
        return above(bar, more.upper) if is_below else not above(bar, more.lower)

    if _are_alike(limits_of_share(rows), limits):
        return search_rows(is_enough, rows)
    reach = limits.upper - mean if is_below else mean - limits.lower
    needed = math.ceil(rows * (reach / (mean - bar)) ** 2)
    return needed if needed <= MOST_ROWS else None


def _are_alike(one: Interval, other: Interval) -> bool:
    """Return True if both limits differ by no more than the rounding of their computation."""
    return math.isclose(one.lower, other.lower, abs_tol=1e-9) and math.isclose(
        one.upper, other.upper, abs_tol=1e-9
    )
