"""Rankings controlled for order and length.

The logit of a win of the first is the difference in strength plus the covariates of the contest
times their effects (contextual Bradley–Terry; arenas call it style control). A tie is half a win
for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.messages import Message
from adjudge.stats.linear import solve
from adjudge.stats.ranking import NamedContest, rating

PENALTY = 1e-6
"""Penalty on strengths. Only their differences matter; this picks the solution with mean 0."""
# L2 penalty on effects, against those with little support in the contests.
_ON_EFFECTS = 0.1
_STEPS, _CLOSE = 100, 1e-10


@dataclass(frozen=True, slots=True)
class Controlled:
    """Ratings adjusted for covariates, and the covariates' effects."""

    ratings: dict[str, float]
    effects: dict[str, float]
    """Log-odds of a win from being shown first, or from one standard unit of extra length."""


def relative_length(first: float, second: float) -> float:
    """Return the relative difference of two lengths, from -1 to 1."""
    return (first - second) / (first + second) if first + second else 0.0


def controlled_ranking(
    contests: Sequence[NamedContest],
    covariates: Mapping[str, Sequence[float]],
    *,
    order_effect: bool = True,
) -> Controlled:
    """Fit strengths and effects jointly.

    ``covariates``: a value per contest; positive values favour ``first``. ``order_effect``: make
    being shown first a covariate, so that its effect is estimated instead of averaged out.
    """
    names = sorted({name for contest in contests for name in (contest.first, contest.second)})
    effects = [*([Message("shown first")] if order_effect else []), *covariates]
    columns = [*([[1.0] * len(contests)] if order_effect else []), *covariates.values()]
    rows = [
        _row(contest, names, [column[place] for column in columns])
        for place, contest in enumerate(contests)
    ]
    estimates = _newton(rows, [PENALTY] * len(names) + [_ON_EFFECTS] * len(effects))
    middle = math.fsum(estimates[: len(names)]) / max(1, len(names))
    return Controlled(
        {name: rating(estimates[place] - middle) for place, name in enumerate(names)},
        dict(zip(effects, estimates[len(names) :], strict=True)),
    )


_Row = tuple[list[tuple[int, float]], float]


def _row(contest: NamedContest, names: Sequence[str], values: Sequence[float]) -> _Row:
    """Return the non-zero columns of a contest, and its outcome for the first."""
    sides = [(names.index(contest.first), 1.0), (names.index(contest.second), -1.0)]
    return [
        *sides,
        *((len(names) + place, value) for place, value in enumerate(values)),
    ], contest.outcome


def _newton(rows: Sequence[_Row], penalties: Sequence[float]) -> list[float]:
    estimates = [0.0] * len(penalties)
    for _ in range(_STEPS):
        slope = [-penalty * value for penalty, value in zip(penalties, estimates, strict=True)]
        curve = [
            [penalty if at == place else 0.0 for at in range(len(estimates))]
            for place, penalty in enumerate(penalties)
        ]
        for columns, outcome in rows:
            chance = 1 / (1 + math.exp(-math.fsum(estimates[at] * value for at, value in columns)))
            for at, value in columns:
                slope[at] += value * (outcome - chance)
                for column, weight in columns:
                    curve[at][column] += value * weight * chance * (1 - chance)
        step = solve(curve, slope)
        estimates = [
            value + max(-2.0, min(2.0, move)) for value, move in zip(estimates, step, strict=True)
        ]
        if max(map(abs, step)) < _CLOSE:
            break
    return estimates
