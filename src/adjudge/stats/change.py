"""Whether repeated answers to the same questions have changed, looked at as often as one likes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_TILTS = (-4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 4.0)
"""Bets on higher or lower scores."""
_STRANGE = (2.0, 4.0)
"""Bets on answers that are rare among those of the same question."""
_MOST = 1e300
_MOST_AT_ONCE = 700.0
"""What a float can hold, and its logarithm."""


@dataclass(frozen=True, slots=True)
class AnchorAnswer:
    """What was answered to one question."""

    option: Hashable
    score: float | None = None
    """From 0 to 1, where the option has one."""


Look = Mapping[str, AnchorAnswer]
"""Question → its answer, of those that were answered."""


def change_evidence(looks: Sequence[Look]) -> list[float]:
    """An e-value after each look but the first: the evidence that the answers have changed.

    If nothing changed, the answers to one question are exchangeable: each might as well have come
    at another look. A look's bet is how far its answers lie to one side, or apart, among all
    answers to the same questions so far, divided by what that is on average over the looks at
    which they might have come: exactly 1 in the mean, whatever the noise of each question. The
    bets of successive looks are multiplied, from every look on at which the change may have
    begun, and averaged over bets and beginnings. By Ville's inequality no more than a share
    ``risk`` of unchanged histories ever reaches ``1 / risk``, however often one looks.
    """
    known: defaultdict[str, Counter[AnchorAnswer]] = defaultdict(Counter)
    staked = [0.0] * len(_BETS)
    found = []
    for number, look in enumerate(looks):
        won = [(0.0,) * len(_BETS)]
        for question, answer in look.items():
            known[question][answer] += 1
            if len(known[question]) > 1:  # where all are alike nothing is won or lost
                won.append(_won(frozenset(known[question].items()), answer))
        if number:
            begins = 1 / (number * (number + 1))
            staked = [
                min(_MOST, (one + begins) * math.exp(min(_MOST_AT_ONCE, math.fsum(logs))))
                for one, logs in zip(staked, zip(*won, strict=True), strict=True)
            ]
            found.append(math.fsum(staked) / len(staked) + 1 / (number + 1))
    return found


_Bet = Callable[[AnchorAnswer, Sequence[tuple[AnchorAnswer, int]], int], float | None]


def _tilted(tilt: float) -> _Bet:
    def bet(one: AnchorAnswer, *_: object) -> float | None:
        return None if one.score is None else tilt * one.score

    return bet


def _strange(tilt: float) -> _Bet:
    def bet(one: AnchorAnswer, known: Sequence[tuple[AnchorAnswer, int]], count: int) -> float:
        alike = sum(number for other, number in known if other.option == one.option)
        return tilt * (1 - alike / count)

    return bet


_BETS = (*map(_tilted, _TILTS), *map(_strange, _STRANGE))


@lru_cache(maxsize=100_000)
def _won(known: frozenset[tuple[AnchorAnswer, int]], last: AnchorAnswer) -> tuple[float, ...]:
    """What each bet wins on one question, as a logarithm: how much likelier its last answer is
    under the bet than any of its answers on average.
    """
    each = sorted(known, key=repr)
    count = sum(number for _, number in each)
    return tuple(_won_by(bet, each, count, last) for bet in _BETS)


def _won_by(
    bet: _Bet, known: Sequence[tuple[AnchorAnswer, int]], count: int, last: AnchorAnswer
) -> float:
    values = [(bet(one, known, count), number) for one, number in known]
    own = bet(last, known, count)
    stated = [(value, number) for value, number in values if value is not None]
    if own is None or len(stated) < len(values):
        return 0.0
    most = max(value for value, _ in stated)
    mean = math.fsum(math.exp(value - most) * number for value, number in stated) / count
    return own - most - math.log(mean)
