"""Score many answers by rubrics, for programs such as trainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.judge import InstanceLike
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.features.rubrics.result import RubricResult


@dataclass(frozen=True)
class ScoredRow:
    """A row's score, or its bounds."""

    score: float | None
    """The score; None if missing verdicts could change it. A failure is never replaced by a number.
    """
    lower: float
    upper: float
    missing: tuple[str, ...] = ()
    """The points without a verdict."""
    failed_gates: tuple[str, ...] = ()
    reason: str | None = None
    """The reason why there is no score."""


async def ascore_rows(
    judge: RubricJudge,
    rows: Sequence[InstanceLike],
    *,
    run: RunLike | None = None,
    budget: Budget | None = None,
) -> list[ScoredRow]:
    """Judge rows and return a score per row, in order.

    ``rows`` are as for ``RubricJudge.evaluate``. Answers in the folder ``run`` are not asked again.

    >>> [row.score for row in await ascore_rows(judge, rows)]
    [0.75, None]
    """
    return [*map(_scored_row, await judge.aevaluate([*rows], run=run, budget=budget))]


def score_rows(
    judge: RubricJudge,
    rows: Sequence[InstanceLike],
    *,
    run: RunLike | None = None,
    budget: Budget | None = None,
) -> list[ScoredRow]:
    """Like ``ascore_rows``, for sync code."""
    return [*map(_scored_row, judge.evaluate([*rows], run=run, budget=budget))]


def _scored_row(result: RubricResult) -> ScoredRow:
    lower, upper = result.bounds
    return ScoredRow(
        None if result.fallback else result.score,
        lower,
        upper,
        missing=tuple(verdict.point.id for verdict in result.missing),
        failed_gates=result.detail().failed_gates,
        reason=result.reason,
    )
