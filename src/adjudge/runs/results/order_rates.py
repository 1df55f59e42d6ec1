"""Rates at which votes differ between the two orders, and within one order."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.stats.bias import bias_of_rates
from adjudge.stats.correction import label_interval


class MeanRate(NamedTuple):
    """A mean over rows. Its limits are None with too few rows."""

    value: float
    lower: float | None
    upper: float | None
    rows: int


class OrderRates(NamedTuple):
    between: MeanRate
    within: MeanRate | None
    """None with one vote per order: the noise is then unknown."""
    excess: MeanRate | None
    """The effect of the order beyond the noise."""
    detected: bool

    def to_dict(self) -> JsonDict:
        rates_by_name = {"between": self.between, "within": self.within, "excess": self.excess}
        rates = {name: rate._asdict() if rate else None for name, rate in rates_by_name.items()}
        return {**rates, "detected": self.detected}


def order_rates(flips: Sequence[float | None], noise: Sequence[float | None]) -> OrderRates | None:
    """Average the rates over rows; None if no row has votes in both orders.

    A rate is None for a row with too few votes.
    """
    between = [rate for rate in flips if rate is not None]
    if not between:
        return None
    within = [rate for rate in noise if rate is not None]
    bias = bias_of_rates(
        [
            None if flip is None or same is None else (flip, same)
            for flip, same in zip(flips, noise, strict=True)
        ]
    )
    excess = (
        None if bias.excess is None else MeanRate(bias.excess, bias.lower, bias.upper, bias.items)
    )
    return OrderRates(_mean(between), _mean(within) if within else None, excess, bias.detected)


def _mean(rates: Sequence[float]) -> MeanRate:
    limits = label_interval(rates)
    return MeanRate(fmean(rates), limits.lower, limits.upper, len(rates))
