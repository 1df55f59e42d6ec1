"""Evidence that a mean has fallen or risen: it may be looked at after every row, and acted upon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

_STAKES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Parts of the largest stake that no value can ruin."""
_SURE = 100.0
"""The logarithm of what a bet wins that could not be lost."""
_NEAREST = 0.999
"""A bound that lies nearer to 1 is bet on with the stakes of this one."""


@dataclass(frozen=True)
class FallBets:
    """Bets that values between 0 and 1 have a mean below ``bound``, begun anew now and then.

    While the mean is at least the bound, each bet loses on average, so their weighted sum passes
    ``1 / risk`` in no more than ``risk`` of all streams, however often it is looked at (Ville). A
    bet that begins later has not lost what the earlier ones lost while all was well; the weights of
    all beginnings sum to 1.
    """

    bound: float
    logs: tuple[tuple[float, ...], ...] = ()
    """The logarithm of the capital of each stake, by beginning."""
    largest: float = 0.0
    """The largest evidence so far: it counts, since it may be acted upon at any time."""
    rises: bool = False
    """Whether the bet is that counts, from 0 on and without a most, have a mean above the bound."""

    def begin(self) -> FallBets:
        """The same with one more beginning."""
        return replace(self, logs=(*self.logs, (0.0,) * len(_STAKES)))

    def add(self, values: Sequence[float]) -> FallBets:
        """The same after these values."""
        if not self.logs:
            return self.begin().add(values)
        logs, largest = [list(one) for one in self.logs], self.largest
        for value in values:
            won = self._won(value)
            for one in logs:
                one[:] = [log + gain for log, gain in zip(one, won, strict=True)]
            largest = max(largest, _evidence(logs))
        return replace(self, logs=tuple(map(tuple, logs)), largest=largest)

    @property
    def best(self) -> float:
        """The value that speaks most against the bet; a missing value is taken as this one."""
        return 0.0 if self.rises else 1.0

    def correct(self, value: float) -> FallBets:
        """The bets after a value that was added as ``best`` turned out to be this one."""
        gains = [new - old for new, old in zip(self._won(value), self._won(self.best), strict=True)]
        logs = tuple(
            tuple(log + gain for log, gain in zip(one, gains, strict=True)) for one in self.logs
        )
        return replace(self, logs=logs, largest=max(self.largest, _evidence(logs)))

    def _won(self, value: float) -> list[float]:
        """What each stake wins by a value, as a logarithm."""
        if not self.rises:
            stakes = [part / (1 - min(self.bound, _NEAREST)) for part in _STAKES]
            return [math.log1p(stake * (self.bound - value)) for stake in stakes]
        if not self.bound:  # a mean of 0 has no count above it
            return [_SURE if value > 0 else 0.0] * len(_STAKES)
        return [math.log1p(part * (value / self.bound - 1)) for part in _STAKES]

    @property
    def evidence(self) -> float:
        """How many times the stake was won, by all bets together."""
        return self.largest


def _evidence(logs: Sequence[Sequence[float]]) -> float:
    """Weighted by 6 / (π² n²), which sums to 1 over all beginnings."""
    total = 0.0
    for number, one in enumerate(logs, 1):
        mean = sum(math.exp(min(log, 700.0)) for log in one) / len(one)
        total += 6 / (math.pi * number) ** 2 * mean
    return total
