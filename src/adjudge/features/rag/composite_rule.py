"""The scores of an answer as one number, and which rule made it."""

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
    """The weighted mean of the normalised scores; gates lower it. A dimension that ``scores``
    leaves out is missing.

    ``measured``: what else the answer was measured by; those with a weight have a part in the mean.
    """
    known = dimensions if dimensions is not None else _six()
    _check(scores, known)
    weighing = [one for one in measured if one.measure.weight]
    gaps = [one.name for one in known if scores.get(one.name) is None]
    missing = (*gaps, *(one.measure.name for one in weighing if one.value is None))
    fired = _fired(scores, known)
    ends = [
        [end if one.goodness is None else one.goodness for one in weighing] for end in (0.0, 1.0)
    ]
    weights = [one.measure.weight for one in weighing]
    reached = [
        _value(filled, known, end, weights) for filled in _extremes(scores, known) for end in ends
    ]
    lower, upper = min(reached), max(reached)
    value = lower if lower == upper else None
    rule = fired[0].rule if fired else MEAN if value is not None else MISSING
    return Composite(value, rule, lower, upper, missing)


@cache
def _six() -> tuple[Dimension, ...]:
    return rag_dimensions()


def _check(scores: Scores, dimensions: Sequence[Dimension]) -> None:
    by_name = {one.name: one for one in dimensions}
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
    """What the formula gives; every gate that fires can only lower it.

    A gate that changes a weight is held against the weight that was set *and* against an equal one:
    a greater weight of a middling score raises the mean of poor ones.
    """
    normalized = [*(one.normalized(scores[one.name] or 0) for one in dimensions), *measured]
    heavier = {
        one.name: weight
        for one in dimensions
        if (weight := _gate_weight(one, scores[one.name])) is not None
    }
    tried: list[Mapping[str, float]] = [{}, heavier, dict.fromkeys(heavier, EQUAL_WEIGHT)]
    means = [
        _mean(normalized, [*(given.get(one.name, one.weight) for one in dimensions), *weights])
        for given in tried
    ]
    return min(*means, *(gate.cap for gate in _fired(scores, dimensions) if gate.cap is not None))


def _gate_weight(dimension: Dimension, score: int | None) -> float | None:
    """What a gate that fires makes of the dimension's weight; None where none does."""
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


def _fired(scores: Scores, dimensions: Sequence[Dimension]) -> list[Gate]:
    """The gates that the scores fire, the strictest first."""
    fired = [gate for one in dimensions for gate in one.gates if gate.score == scores.get(one.name)]
    return sorted(fired, key=lambda gate: math.inf if gate.cap is None else gate.cap)


def _extremes(scores: Scores, dimensions: Sequence[Dimension]) -> Iterator[dict[str, int | None]]:
    """Ways to fill the gaps, the worst and the best among them.

    Without gates more is better, so the ends of a scale are enough; with gates every score has to
    be tried.
    """
    gaps = [one for one in dimensions if scores.get(one.name) is None]
    gated = [one for one in gaps if one.gates]
    for tried in product(*(range(one.maximum + 1) for one in gated)):
        fixed = {one.name: score for one, score in zip(gated, tried, strict=True)}
        for end in (0, 1):
            ends = {one.name: end * one.maximum for one in gaps if not one.gates}
            yield {**scores, **ends, **fixed}
