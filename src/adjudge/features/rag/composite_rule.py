"""Combine the scores of an answer into one number, and name the rule that made it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from adjudge.core.reading.values import nearest
from adjudge.errors import SetupError
from adjudge.features.rag.dimensions import EQUAL_WEIGHT, Dimension, Gate, rag_dimensions
from adjudge.features.rag.measure_result import Measured
from adjudge.features.rag.record import Composite

MEAN, MISSING = "mean", "missing"
Scores = Mapping[str, int | None]


def composite(
    scores: Scores, dimensions: Sequence[Dimension] | None = None, measured: Sequence[Measured] = ()
) -> Composite:
    """Return the weighted mean of the normalised scores, lowered by gates.

    A dimension that ``scores`` leaves out is missing; if missing scores could change the mean, it
    has bounds but no value. ``measured`` are further measures of the answer; those with a weight
    are part of the mean.
    """
    scored = dimensions if dimensions is not None else _six()
    _check(scores, scored)
    weighing = [figure for figure in measured if figure.measure.weight]
    gaps = [dimension.name for dimension in scored if scores.get(dimension.name) is None]
    missing = (*gaps, *(figure.measure.name for figure in weighing if figure.value is None))
    fired_gates = _find_fired(scores, scored)
    ends = [
        [end if figure.goodness is None else figure.goodness for figure in weighing]
        for end in (0.0, 1.0)
    ]
    weights = [figure.measure.weight for figure in weighing]
    reached = [
        _value(filled, scored, end, weights) for filled in _extremes(scores, scored) for end in ends
    ]
    lower, upper = min(reached), max(reached)
    # a missing score that cannot change the outcome does not prevent one
    value = lower if lower == upper else None
    rule = fired_gates[0].rule if fired_gates else MEAN if value is not None else MISSING
    return Composite(value, rule, lower, upper, missing)


@cache
def _six() -> tuple[Dimension, ...]:
    return rag_dimensions()


def _check(scores: Scores, dimensions: Sequence[Dimension]) -> None:
    by_name = {dimension.name: dimension for dimension in dimensions}
    for name, score in scores.items():
        if name not in by_name:
            raise SetupError(
                "unknown dimension {name!r}; {hint}",
                name=name,
                hint=nearest(name, list(by_name)),
            )
        if score is not None and (
            isinstance(score, bool) or score not in range(by_name[name].maximum + 1)
        ):
            raise SetupError(
                "{name} is scored from 0 to {maximum}, not {score!r}",
                name=name,
                maximum=by_name[name].maximum,
                score=score,
            )


def _value(
    scores: Scores,
    dimensions: Sequence[Dimension],
    measured: Sequence[float],
    weights: Sequence[float],
) -> float:
    """Compute the composite of complete scores. A gate that fires can only lower it."""
    normalized = [
        *(dimension.normalized(scores[dimension.name] or 0) for dimension in dimensions),
        *measured,
    ]
    heavier = {
        dimension.name: weight
        for dimension in dimensions
        if (weight := _gate_weight(dimension, scores[dimension.name])) is not None
    }
    # A gate that changes a weight is compared with the set weight and with an equal one: a greater
    # weight of a middling score would raise the mean of poor ones.
    weightings: list[Mapping[str, float]] = [{}, heavier, dict.fromkeys(heavier, EQUAL_WEIGHT)]
    means = [
        _mean(
            normalized,
            [
                *(weighting.get(dimension.name, dimension.weight) for dimension in dimensions),
                *weights,
            ],
        )
        for weighting in weightings
    ]
    return min(
        *means, *(gate.cap for gate in _find_fired(scores, dimensions) if gate.cap is not None)
    )


def _gate_weight(dimension: Dimension, score: int | None) -> float | None:
    """Return the weight that a fired gate gives the dimension; None if no gate changes it."""
    return next(
        (
            gate.weight
            for gate in dimension.gates
            if gate.score == score and gate.weight is not None
        ),
        None,
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(
        value * weight for value, weight in zip(values, weights, strict=True)
    ) / math.fsum(weights)


def _find_fired(scores: Scores, dimensions: Sequence[Dimension]) -> list[Gate]:
    """Return the gates that the scores fire, the strictest first."""
    fired = [
        gate
        for dimension in dimensions
        for gate in dimension.gates
        if gate.score == scores.get(dimension.name)
    ]
    return sorted(fired, key=lambda gate: math.inf if gate.cap is None else gate.cap)


def _extremes(scores: Scores, dimensions: Sequence[Dimension]) -> Iterator[dict[str, int | None]]:
    """Yield ways to fill missing scores; the worst and the best outcome are among them.

    Without gates more is better, so the ends of a scale are enough. With gates every score has to
    be tried.
    """
    gaps = [dimension for dimension in dimensions if scores.get(dimension.name) is None]
    gated = [dimension for dimension in gaps if dimension.gates]
    for combination in product(*(range(dimension.maximum + 1) for dimension in gated)):
        fixed = {dimension.name: score for dimension, score in zip(gated, combination, strict=True)}
        for end in (0, 1):
            ends = {
                dimension.name: end * dimension.maximum for dimension in gaps if not dimension.gates
            }
            yield {**scores, **ends, **fixed}
