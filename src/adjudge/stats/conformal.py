"""How far what people say lies from what the judge says, with a promise: split conformal
prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def conformal_distance(distances: Sequence[float], *, level: float = 0.95) -> float | None:
    """The distance that a further row keeps with probability ``level``, if it is like these; None
    where they are too few.

    The ⌈(n + 1) · level⌉-th smallest of n distances (Vovk et al.): no distribution is assumed, only
    that the rows are exchangeable.
    """
    place = math.ceil((len(distances) + 1) * level - 1e-9)
    return sorted(distances)[place - 1] if place <= len(distances) else None
