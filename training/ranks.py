"""How large the change of each matrix may be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

GRAIN = 8
"""Ranks are multiples of this: CPUs read others much more slowly."""
Array = NDArray[np.float32]


def shared_out(parts: Mapping[str, tuple[Array, int]], size: int) -> dict[str, int]:
    """The rank of each matrix: ``parts`` has the strengths of its parts, falling, and what one part
    costs.

    Parts are taken eight at a time: the first eight of each matrix, since small changes matter too,
    then those that are strongest for their cost, until all cost as much as ``size`` of each.
    """
    left, ranks = (
        (size - GRAIN) * sum(cost for _, cost in parts.values()),
        dict.fromkeys(parts, GRAIN),
    )
    offers = [
        (float((found[start : start + GRAIN] ** 2).sum()) / cost, name, cost)
        for name, (found, cost) in parts.items()
        for start in range(GRAIN, len(found), GRAIN)
    ]
    for _, name, cost in sorted(offers, reverse=True):
        if GRAIN * cost <= left:
            left, ranks[name] = left - GRAIN * cost, ranks[name] + GRAIN
    return ranks
