"""Temperature scaling: one number that calibrates stated probabilities (Guo et al. 2017). It
changes how confident a judge is, and hardly ever its choice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.messages import Message
from adjudge.stats.estimate import Estimate
from adjudge.stats.probability import calibration_error

Shares = Mapping[str, float]
FEWEST = 30
"""Minimum number of labelled rows for a temperature."""
_RANGE = (math.log(0.05), math.log(20.0))
_STEPS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2
# Coarsest rounding of servers. A stated 0 or 1 is moved half a step inside.
_DECIMALS = 2


@dataclass(frozen=True, slots=True)
class Temperature:
    """A temperature, and the calibration error without and with it, on rows that it was not fitted
    to.
    """

    value: float | None
    rows: int
    before: Estimate | None = None
    after: Estimate | None = None
    reason: str = ""
    """The reason if there is none."""


def at_temperature(shares: Shares, temperature: float) -> dict[str, float]:
    """Return the probabilities at another temperature; below 1 they become more confident, above 1
    less.
    """
    logs = {name: math.log(share) / temperature for name, share in _keep_inside(shares).items()}
    top = max(logs.values())
    weights = {name: math.exp(value - top) for name, value in logs.items()}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def fit_temperature(rows: Sequence[tuple[Shares, str]]) -> float:
    """Return the temperature that makes the labels likeliest. ``rows``: (probabilities, label)."""
    logs = [
        ([math.log(share) for share in bounded.values()], math.log(bounded[label]))
        for shares, label in rows
        for bounded in (_keep_inside(shares),)
    ]

    def loss(log_temperature: float) -> float:
        beta = math.exp(-log_temperature)
        return math.fsum(_log_sum(values, beta) - beta * label_log for values, label_log in logs)

    low, high = _RANGE
    # Golden-section search: the loss has a single minimum.
    lower_point, upper_point = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(lower_point), loss(upper_point)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, upper_point, at_right = upper_point, lower_point, at_left
            lower_point = high - _GOLDEN * (high - low)
            at_left = loss(lower_point)
        else:
            low, lower_point, at_left = lower_point, upper_point, at_right
            upper_point = low + _GOLDEN * (high - low)
            at_right = loss(upper_point)
    return math.exp((low + high) / 2)


def calibrate(rows: Sequence[tuple[Shares, str]], *, level: float = 0.95) -> Temperature:
    """Fit a temperature to all rows; measure its effect by fitting it to each half and testing on
    the other.

    Rows whose label is not an option must be left out by the caller.
    """
    if len(rows) < FEWEST:
        reason = Message(
            "{count} labelled rows with probabilities; a temperature needs {least}",
            count=len(rows),
            least=FEWEST,
        )
        return Temperature(None, len(rows), reason=reason)
    halves = rows[::2], rows[1::2]
    raw_pairs: list[tuple[float, int]] = []
    scaled_pairs: list[tuple[float, int]] = []
    for fitted, held_out in (halves, halves[::-1]):
        temperature = fit_temperature(fitted)
        raw_pairs += [_confidence_and_hit(shares, label) for shares, label in held_out]
        scaled_pairs += [
            _confidence_and_hit(at_temperature(shares, temperature), label)
            for shares, label in held_out
        ]
    return Temperature(
        fit_temperature(rows),
        len(rows),
        calibration_error(Counter(raw_pairs), level=level)[0],
        calibration_error(Counter(scaled_pairs), level=level)[0],
    )


def _confidence_and_hit(shares: Shares, label: str) -> tuple[float, int]:
    """Return the judge's confidence in its choice, and 1 if that is right, else 0."""
    choice = max(shares, key=lambda name: shares[name])
    return shares[choice], int(choice == label)


def _log_sum(values: Sequence[float], beta: float) -> float:
    top = max(values) * beta
    return top + math.log(math.fsum(math.exp(beta * value - top) for value in values))


def _keep_inside(shares: Shares) -> dict[str, float]:
    """Return the probabilities without any 0 or 1, since a rounded 0 is not impossible."""
    rounded = all(abs(share - round(share, _DECIMALS)) < 1e-12 for share in shares.values())
    least = 0.5 * 10.0**-_DECIMALS if rounded else 1e-6
    bounded = {name: min(max(share, least), 1 - least) for name, share in shares.items()}
    total = math.fsum(bounded.values())
    return {name: share / total for name, share in bounded.items()}
