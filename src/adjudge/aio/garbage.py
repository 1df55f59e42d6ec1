"""How often Python looks for garbage while many requests are under way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_RARELY = 50_000
"""New objects between two looks. Python's own setting is 700, which is what a dozen requests make."""
_batches = 0
_usual = 0


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Look for cycles less often, and as before when the last of the batches that are under way has ended.

    Each look goes through all that is under way, and finds nothing: requests leave no cycles. On the home loop only.
    """
    global _batches, _usual
    first, *older = gc.get_threshold()
    if not _batches:
        _usual = first
        gc.set_threshold(first and max(first, _RARELY), *older)  # 0: somebody has turned it off
    _batches += 1
    try:
        yield
    finally:
        _batches -= 1
        if not _batches:
            gc.set_threshold(_usual, *gc.get_threshold()[1:])
