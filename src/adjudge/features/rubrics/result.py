"""A row judged by its rubric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.features.rubrics.arithmetic import (
    Bounds,
    category_scores,
    failed_gates,
    open_gates,
    score_of,
)
from adjudge.features.rubrics.pool import PointVerdict
from adjudge.features.rubrics.record import CategoryRecord, RubricDetail, RubricPointRecord
from adjudge.features.rubrics.rubric import MET, Point, Rubric
from adjudge.messages import Message, join

_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True, repr=False)
class RubricResult(Result):
    """The points of a row with their verdicts. ``score`` is None if missing verdicts could change
    it; ``bounds`` holds it in any case.
    """

    rubric: Rubric = None  # type: ignore[assignment] # as in Result
    points: tuple[PointVerdict, ...] = ()
    themes: tuple[str, ...] = ()
    text_field: str = "response"
    invented: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → quotes that it gave and that are not in the text."""

    @property
    def exact(self) -> Bounds:
        """The score as fractions."""
        return score_of(self.rubric, self.values)

    @property
    def values(self) -> dict[str, Fraction | None]:
        """Point → what its verdict is worth."""
        return {one.point.id: one.value for one in self.points}

    @property
    def bounds(self) -> tuple[float, float]:
        """The score if missing verdicts were the worst, and if they were the best."""
        return float(self.exact.lower), float(self.exact.upper)

    @property
    def missing(self) -> tuple[PointVerdict, ...]:
        """The points without a verdict."""
        return tuple(one for one in self.points if one.value is None)

    @property
    def categories(self) -> dict[str, Bounds | None]:
        """Category → the score over its own points; None if none is worth more than 0."""
        return category_scores(self.rubric, self.values)

    @property
    def reason(self) -> str | None:
        """Why there is no score."""
        return None if self.status is Status.SCORED else _missing(self.missing)

    def cells(self) -> JsonDict:
        """What a table of results shows of this one."""
        lower, upper = self.bounds
        met = sum(one.answer == MET for one in self.points)
        return {
            "status": self.status.value,
            "score": self.score,
            "bounds": None if lower == upper else f"{lower:.3g} to {upper:.3g}",
            "met": f"{met}/{len(self.points)}",
            "missing": ", ".join(one.point.id for one in self.missing),
        }

    def detail(self) -> RubricDetail:
        """What this kind of result says beside what all of them say."""
        lower, upper = self.bounds
        values = self.values
        shares = {id(unit.node): float(unit.weight) for unit in self.rubric.units}
        return RubricDetail(
            layout=self.rubric.layout,
            identity=self.rubric.identity,
            lower=lower,
            upper=upper,
            points=tuple(_record(one, shares.get(id(one.point))) for one in self.points),
            categories=FrozenDict(
                {
                    name: CategoryRecord(
                        score=None if bounds.value is None else float(bounds.value),
                        lower=float(bounds.lower),
                        upper=float(bounds.upper),
                    )
                    for name, bounds in self.categories.items()
                    if bounds is not None
                }
            ),
            failed_gates=failed_gates(self.rubric, values),
            open_gates=open_gates(self.rubric, values),
            themes=self.themes,
            text_field=self.text_field,
        )


def _missing(points: tuple[PointVerdict, ...]) -> Message:
    """Say why points have no verdict, equal reasons together."""
    reasons: dict[str, list[str]] = {}
    for one in points:
        reasons.setdefault(one.reason or "", []).append(one.point.id)
    return join(
        "; ",
        [
            Message(
                "point {ids}: {reason}",
                ids=", ".join(ids[:_MOST_NAMED]) + (", …" if len(ids) > _MOST_NAMED else ""),
                reason=reason,
            )
            for reason, ids in list(reasons.items())[:_MOST_NAMED]
        ],
    )


def _record(one: PointVerdict, share: float | None) -> RubricPointRecord:
    point: Point = one.point
    return RubricPointRecord(
        id=point.id,
        text=point.text,
        points=float(point.points),
        kind=point.kind,
        tags=point.tags,
        answer=one.answer,
        value=None if one.value is None else float(one.value),
        votes=one.counts,
        failed=one.failed,
        agreement=one.agreement,
        explanation=one.explanation,
        quote=one.quote.to_dict() if one.quote else None,
        reason=one.reason,
        required=point.required,
        undecided=one.undecided,
        share=share,
        levels=point.levels,
        answers=() if point.kind == "met" else point.answers,
    )
