"""Evidence that two scores drift apart. It may be inspected, and acted upon, after every sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adjudge.errors import SetupError

# The variance that is assumed before the first sample, in units of the bet.
_FIRST_SPREAD = 0.25


@dataclass
class GapBets:
    """Bets that the mean gap of two scores is above what is tolerated.

    The gap of a sample is the first score minus the second one, from -1 to 1. As long as its
    expected value, given the samples before, is at most ``tolerated``, the capital does not grow on
    average. So it reaches ``1 / risk`` in no more than ``risk`` of all streams, however often it is
    looked at (Ville). Every stake is chosen before its sample (Waudby-Smith and Ramdas, 2024).

    >>> bets = GapBets(tolerated=0.1, risk=0.05)
    >>> for _ in range(60):
    ...     bets.add(0.4)
    >>> bets.is_alarm
    True
    """

    tolerated: float = 0.0
    risk: float = 0.05
    fading: float = 0.99
    """Factor by which a sample's weight in the choice of stakes shrinks with every further sample.
    Below 1, a late change is noticed sooner. The bound on false alarms does not depend on it.
    """
    count: int = 0
    log_capital: float = 0.0
    largest: float = 0.0
    """The largest log-capital so far. It counts, because it may be acted upon at any time."""
    weight: float = 0.0
    """Faded number of samples so far; the two sums below are faded, too."""
    weighted: float = 0.0
    squares: float = 0.0

    def __post_init__(self) -> None:
        for name, value, is_right in (
            ("tolerated", self.tolerated, 0 <= self.tolerated < 1),
            ("risk", self.risk, 0 < self.risk < 1),
            ("fading", self.fading, 0 < self.fading <= 1),
        ):
            if not is_right:
                raise SetupError(
                    "{name} must be between 0 and 1, not {value}", name=name, value=value
                )

    def add(self, gap: float) -> None:
        """Bet on the next sample. Raises a SetupError unless the gap is from -1 to 1."""
        if not -1 <= gap <= 1:  # NaN is not between them either
            raise SetupError("a gap of scores must be between -1 and 1, not {gap}", gap=gap)
        value, bound = (gap + 1) / 2, (self.tolerated + 1) / 2
        self.log_capital += math.log1p(self._stake(bound) * (value - bound))
        self.largest = max(self.largest, self.log_capital)
        self.count += 1
        self.weight = self.fading * self.weight + 1
        self.weighted = self.fading * self.weighted + value
        mean = (bound + self.weighted) / (1 + self.weight)
        self.squares = self.fading * self.squares + (value - mean) ** 2

    def _stake(self, bound: float) -> float:
        """Return the stake, chosen from earlier samples; at most half of the capital can be
        lost.
        """
        mean = (bound + self.weighted) / (1 + self.weight)
        spread = (_FIRST_SPREAD + self.squares) / (1 + self.weight)
        edge = mean - bound
        return min(max(edge / (spread + edge * edge), 0.0), 0.5 / bound)

    @property
    def evidence(self) -> float:
        """The largest factor so far by which the capital grew."""
        return math.exp(min(self.largest, 700.0))

    @property
    def is_alarm(self) -> bool:
        """Return True if the evidence has ever reached ``1 / risk``."""
        return self.largest >= -math.log(self.risk)
