"""How fast somebody labels."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import median

_OF_LATE = 20
"""Labels by which the pace is told."""
_BREAK = 600.0
"""Seconds between two labels in which somebody did something else."""


def seconds_per_row(times: Iterable[float]) -> float | None:
    """Of late, by when each label was given; None until a few are."""
    lately = sorted(times)[-_OF_LATE:]
    gaps = [after - before for before, after in pairwise(lately) if 0 < after - before < _BREAK]
    return median(gaps) if len(gaps) > 1 else None
