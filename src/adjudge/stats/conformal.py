"""Distance between people's scores and the judge's, with a guarantee: split conformal
prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def conformal_distance(distances: Sequence[float], *, level: float = 0.95) -> float | None:
    """Return the distance that a further row keeps with probability ``level``; None with too few
    rows.

    This is the ⌈(n + 1) · level⌉-th smallest of n distances (Vovk et al.). It assumes no
    distribution, only that the rows are exchangeable.
    """
    place = math.ceil((len(distances) + 1) * level - 1e-9)
    return sorted(distances)[place - 1] if place <= len(distances) else None
