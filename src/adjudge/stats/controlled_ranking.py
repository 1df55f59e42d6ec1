"""A ranking with what should not matter held still: who was shown first, and who wrote more.

The logit of a win of the first is their difference in strength plus the covariates of the contest
times their effects (contextual Bradley–Terry, as arenas call it style control). A tie is half a win
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
"""On strengths: only differences between them matter, and this names the one solution whose mean is
0.
"""
_ON_EFFECTS = 0.1
"""Holds effects back that the contests hardly show (L2)."""
_STEPS, _CLOSE = 100, 1e-10


@dataclass(frozen=True, slots=True)
class Controlled:
    """Ratings with the covariates held still, and what the covariates do."""

    ratings: dict[str, float]
    effects: dict[str, float]
    """In log-odds of a win: of being shown first, of being as much longer as one standard unit."""


def relative_length(first: float, second: float) -> float:
    """How much longer the first is, from -1 to 1."""
    return (first - second) / (first + second) if first + second else 0.0


def controlled_ranking(
    contests: Sequence[NamedContest],
    covariates: Mapping[str, Sequence[float]],
    *,
    order_effect: bool = True,
) -> Controlled:
    """Fit strengths and effects together; ``covariates`` holds a value per contest, ``first``
    counting positive.

    With ``order_effect`` being shown first is a covariate too, so that the bias is estimated and
    not averaged away.
    """
    names = sorted({name for contest in contests for name in (contest.first, contest.second)})
    effects = [*([Message("shown first")] if order_effect else []), *covariates]
    columns = [*([[1.0] * len(contests)] if order_effect else []), *covariates.values()]
    rows = [
        _row(contest, names, [column[place] for column in columns])
        for place, contest in enumerate(contests)
    ]
    found = _newton(rows, [PENALTY] * len(names) + [_ON_EFFECTS] * len(effects))
    middle = math.fsum(found[: len(names)]) / max(1, len(names))
    return Controlled(
        {name: rating(found[place] - middle) for place, name in enumerate(names)},
        dict(zip(effects, found[len(names) :], strict=True)),
    )


_Row = tuple[list[tuple[int, float]], float]


def _row(contest: NamedContest, names: Sequence[str], values: Sequence[float]) -> _Row:
    """The columns that are not 0, and the outcome for the first."""
    sides = [(names.index(contest.first), 1.0), (names.index(contest.second), -1.0)]
    return [
        *sides,
        *((len(names) + place, value) for place, value in enumerate(values)),
    ], contest.outcome


def _newton(rows: Sequence[_Row], penalties: Sequence[float]) -> list[float]:
    found = [0.0] * len(penalties)
    for _ in range(_STEPS):
        slope = [-penalty * value for penalty, value in zip(penalties, found, strict=True)]
        curve = [
            [penalty if at == place else 0.0 for at in range(len(found))]
            for place, penalty in enumerate(penalties)
        ]
        for columns, outcome in rows:
            chance = 1 / (1 + math.exp(-math.fsum(found[at] * value for at, value in columns)))
            for at, value in columns:
                slope[at] += value * (outcome - chance)
                for other, weight in columns:
                    curve[at][other] += value * weight * chance * (1 - chance)
        step = solve(curve, slope)
        found = [value + max(-2.0, min(2.0, move)) for value, move in zip(found, step, strict=True)]
        if max(map(abs, step)) < _CLOSE:
            break
    return found
