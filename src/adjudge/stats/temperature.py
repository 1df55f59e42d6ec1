"""Temperature scaling: one number that makes stated probabilities as sure as they are right (Guo et
al. 2017). It changes how sure a judge is, and hardly ever what it chooses.
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
"""Rows with a label that a temperature is fitted to at the least."""
_RANGE = (math.log(0.05), math.log(20.0))
_STEPS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2
_DECIMALS = 2
"""Servers round to two decimals at the coarsest: a stated 0 or 1 is held half a step away."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """A temperature and how far probabilities are from what comes true, without it and with it, on
    rows that it was not fitted to.
    """

    value: float | None
    rows: int
    before: Estimate | None = None
    after: Estimate | None = None
    reason: str = ""
    """Why there is none."""


def at_temperature(shares: Shares, temperature: float) -> dict[str, float]:
    """The probabilities at another temperature: below 1 they become surer, above 1 less sure."""
    logs = {name: math.log(share) / temperature for name, share in _held(shares).items()}
    top = max(logs.values())
    weights = {name: math.exp(value - top) for name, value in logs.items()}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def fit_temperature(rows: Sequence[tuple[Shares, str]]) -> float:
    """The temperature at which the labels are likeliest; ``rows``: probabilities and the label."""
    logs = [
        ([math.log(share) for share in held.values()], math.log(held[label]))
        for shares, label in rows
        for held in (_held(shares),)
    ]

    def loss(log_temperature: float) -> float:
        beta = math.exp(-log_temperature)
        return math.fsum(_log_sum(values, beta) - beta * own for values, own in logs)

    low, high = _RANGE
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = loss(right)
    return math.exp((low + high) / 2)


def calibrate(rows: Sequence[tuple[Shares, str]], *, level: float = 0.95) -> Temperature:
    """Fit a temperature to all rows; say what it does by fitting it to each half of them and
    looking at the other half.

    Rows whose label is not one of the options are the caller's to leave out.
    """
    if len(rows) < FEWEST:
        reason = Message(
            "{count} labelled rows with probabilities; a temperature needs {least}",
            count=len(rows),
            least=FEWEST,
        )
        return Temperature(None, len(rows), reason=reason)
    halves = rows[::2], rows[1::2]
    before: list[tuple[float, int]] = []
    after: list[tuple[float, int]] = []
    for fitted, held_out in (halves, halves[::-1]):
        temperature = fit_temperature(fitted)
        before += [_stated(shares, label) for shares, label in held_out]
        after += [_stated(at_temperature(shares, temperature), label) for shares, label in held_out]
    return Temperature(
        fit_temperature(rows),
        len(rows),
        calibration_error(Counter(before), level=level)[0],
        calibration_error(Counter(after), level=level)[0],
    )


def _stated(shares: Shares, label: str) -> tuple[float, int]:
    """How sure the judge is of its choice, and whether that is right."""
    choice = max(shares, key=lambda name: shares[name])
    return shares[choice], int(choice == label)


def _log_sum(values: Sequence[float], beta: float) -> float:
    top = max(values) * beta
    return top + math.log(math.fsum(math.exp(beta * value - top) for value in values))


def _held(shares: Shares) -> dict[str, float]:
    """The probabilities, none of them 0 or 1: a rounded 0 is not impossible."""
    rounded = all(abs(share - round(share, _DECIMALS)) < 1e-12 for share in shares.values())
    least = 0.5 * 10.0**-_DECIMALS if rounded else 1e-6
    held = {name: min(max(share, least), 1 - least) for name, share in shares.items()}
    total = math.fsum(held.values())
    return {name: share / total for name, share in held.items()}
