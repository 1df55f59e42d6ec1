"""How often votes differ between the two orders, beside how often they differ within one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.stats.bias import bias_of_rates
from adjudge.stats.correction import label_interval


class MeanRate(NamedTuple):
    """Of rows; without limits where they are too few."""

    value: float
    lower: float | None
    upper: float | None
    rows: int


class OrderRates(NamedTuple):
    between: MeanRate
    within: MeanRate | None
    """None with one vote per order: nobody knows how much is noise."""
    excess: MeanRate | None
    """What the order adds to the noise."""
    detected: bool

    def to_dict(self) -> JsonDict:
        named = {"between": self.between, "within": self.within, "excess": self.excess}
        rates = {name: rate._asdict() if rate else None for name, rate in named.items()}
        return {**rates, "detected": self.detected}


def order_rates(flips: Sequence[float | None], noise: Sequence[float | None]) -> OrderRates | None:
    """By each row's rates, None of a row that has too few votes; None where no row was asked in
    both orders.
    """
    between = [one for one in flips if one is not None]
    if not between:
        return None
    within = [one for one in noise if one is not None]
    found = bias_of_rates(
        [
            None if flip is None or same is None else (flip, same)
            for flip, same in zip(flips, noise, strict=True)
        ]
    )
    excess = (
        None
        if found.excess is None
        else MeanRate(found.excess, found.lower, found.upper, found.items)
    )
    return OrderRates(_mean(between), _mean(within) if within else None, excess, found.detected)


def _mean(rates: Sequence[float]) -> MeanRate:
    limits = label_interval(rates)
    return MeanRate(fmean(rates), limits.lower, limits.upper, len(rates))
