"""Evidence that a mean has fallen or risen. It may be inspected, and acted upon, after
every row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

# Stakes, as parts of the largest one that no value can ruin.
_STAKES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
# Log-gain of a bet that could not be lost.
_SURE = 100.0
# Largest bound for stakes: a bound closer to 1 uses the stakes of this one.
_NEAREST = 0.999


@dataclass(frozen=True)
class FallBets:
    """Bets that values between 0 and 1 have a mean below ``bound``, restarted now and then.

    While the mean is at least the bound, each bet loses on average, so their weighted sum passes
    ``1 / risk`` in no more than ``risk`` of all streams, however often it is inspected (Ville). A
    bet that starts later has not lost what the earlier ones lost while all was well; the weights of
    all starts sum to 1.
    """

    bound: float
    logs: tuple[tuple[float, ...], ...] = ()
    """Log-capital of each stake, by start."""
    largest: float = 0.0
    """The largest evidence so far. It counts, because it may be acted upon at any time."""
    rises: bool = False
    """True to bet that counts, which start at 0 and have no maximum, have a mean above
    the bound.
    """

    def begin(self) -> FallBets:
        """Return the bets with one more starting point."""
        return replace(self, logs=(*self.logs, (0.0,) * len(_STAKES)))

    def add(self, values: Sequence[float]) -> FallBets:
        """Return the bets updated with these values."""
        if not self.logs:
            return self.begin().add(values)
        logs, largest = [list(capital) for capital in self.logs], self.largest
        for value in values:
            gains = self._log_gains(value)
            for capital in logs:
                capital[:] = [log + gain for log, gain in zip(capital, gains, strict=True)]
            largest = max(largest, _evidence(logs))
        return replace(self, logs=tuple(map(tuple, logs)), largest=largest)

    @property
    def best(self) -> float:
        """The value that counts most against the bet. It is used for missing values."""
        return 0.0 if self.rises else 1.0

    def correct(self, value: float) -> FallBets:
        """Return the bets after a value added as ``best`` turned out to be ``value``."""
        gains = [
            new - old
            for new, old in zip(self._log_gains(value), self._log_gains(self.best), strict=True)
        ]
        logs = tuple(
            tuple(log + gain for log, gain in zip(capital, gains, strict=True))
            for capital in self.logs
        )
        return replace(self, logs=logs, largest=max(self.largest, _evidence(logs)))

    def _log_gains(self, value: float) -> list[float]:
        """Return the logarithmic gain of each stake for a value."""
        if not self.rises:
            stakes = [part / (1 - min(self.bound, _NEAREST)) for part in _STAKES]
            return [math.log1p(stake * (self.bound - value)) for stake in stakes]
        if not self.bound:  # a mean of 0 has no count above it
            return [_SURE if value > 0 else 0.0] * len(_STAKES)
        return [math.log1p(part * (value / self.bound - 1)) for part in _STAKES]

    @property
    def evidence(self) -> float:
        """The largest factor so far by which all bets together have multiplied the stake."""
        return self.largest


def _evidence(logs: Sequence[Sequence[float]]) -> float:
    """Return the mean capital over all starts, weighted by 6 / (π² n²), which sums to 1."""
    total = 0.0
    for number, capital in enumerate(logs, 1):
        # exp() overflows above 709.
        mean = sum(math.exp(min(log, 700.0)) for log in capital) / len(capital)
        total += 6 / (math.pi * number) ** 2 * mean
    return total
