"""The result of judging a row by its rubric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.features.rubrics.arithmetic import (
    EVERYTHING,
    NOTHING,
    Bounds,
    category_scores,
    failed_gates,
    open_gates,
    score_of,
)
from adjudge.features.rubrics.pool import PointVerdict
from adjudge.features.rubrics.record import CategoryRecord, RubricDetail, RubricPointRecord
from adjudge.features.rubrics.rubric import MET, Group, Point, Rubric
from adjudge.messages import Message, join

_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True, repr=False)
class RubricResult(Result):
    """The points of a row with their verdicts.

    ``score`` is None if missing verdicts could change it; ``bounds`` is always there. A row without
    a rubric was not judged and has no points.
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
        if not self.points:
            return Bounds(NOTHING, EVERYTHING)
        return score_of(self.rubric, self.values)

    @property
    def values(self) -> dict[str, Fraction | None]:
        """Point → value of its verdict."""
        return {verdict.point.id: verdict.value for verdict in self.points}

    @property
    def bounds(self) -> tuple[float, float]:
        """The score if missing verdicts were the worst, and if they were the best."""
        return float(self.exact.lower), float(self.exact.upper)

    @property
    def missing(self) -> tuple[PointVerdict, ...]:
        """The points without a verdict."""
        return tuple(verdict for verdict in self.points if verdict.value is None)

    @property
    def categories(self) -> dict[str, Bounds | None]:
        """Category → the score over its own points; None if none is worth more than 0."""
        return category_scores(self.rubric, self.values)

    @property
    def reason(self) -> str | None:
        """The reason why there is no score."""
        return None if self.status is Status.SCORED else _missing(self.missing)

    def cells(self) -> JsonDict:
        """Return the result's cells in a table."""
        lower, upper = self.bounds
        met_count = sum(verdict.answer == MET for verdict in self.points)
        return {
            "status": self.status.value,
            "score": self.score,
            "bounds": None if lower == upper else f"{lower:.3g} to {upper:.3g}",
            "met": f"{met_count}/{len(self.points)}",
            "missing": ", ".join(verdict.point.id for verdict in self.missing),
        }

    def detail(self) -> RubricDetail:
        """Return the fields that only results by rubrics have."""
        lower, upper = self.bounds
        if not self.points:
            return RubricDetail(
                layout="",
                identity="",
                lower=lower,
                upper=upper,
                points=(),
                categories=FrozenDict(),
                failed_gates=(),
                open_gates=(),
                text_field=self.text_field,
            )
        values = self.values
        least, most = score_of(self.rubric, {})
        limits = category_scores(self.rubric, {})
        units = self.rubric.units if self.rubric.adds_up else ()
        shares = {id(unit.node): float(unit.weight) for unit in units}
        return RubricDetail(
            layout=self.rubric.layout,
            identity=self.rubric.identity,
            lower=lower,
            upper=upper,
            points=tuple(
                _record(
                    verdict,
                    shares.get(id(verdict.point)),
                    self.rubric.groups.get(verdict.point.id, ()),
                )
                for verdict in self.points
            ),
            categories=FrozenDict(
                {
                    name: CategoryRecord(
                        score=None if bounds.value is None else float(bounds.value),
                        lower=float(bounds.lower),
                        upper=float(bounds.upper),
                        least=float(limit.lower),
                        most=float(limit.upper),
                    )
                    for name, bounds in self.categories.items()
                    if bounds is not None and (limit := limits[name]) is not None
                }
            ),
            failed_gates=failed_gates(self.rubric, values),
            open_gates=open_gates(self.rubric, values),
            themes=self.themes,
            text_field=self.text_field,
            least=float(least),
            most=float(most),
        )


def _missing(points: tuple[PointVerdict, ...]) -> Message:
    """Return why points have no verdict, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for verdict in points:
        reasons.setdefault(verdict.reason or "", []).append(verdict.point.id)
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


def _record(
    verdict: PointVerdict, share: float | None, groups: tuple[Group, ...]
) -> RubricPointRecord:
    point: Point = verdict.point
    return RubricPointRecord(
        id=point.id,
        text=point.text,
        points=float(point.points),
        kind=point.kind,
        tags=point.tags,
        answer=verdict.answer,
        value=None if verdict.value is None else float(verdict.value),
        votes=verdict.counts,
        failed=verdict.failed,
        agreement=verdict.agreement,
        explanation=verdict.explanation,
        quote=verdict.quote.to_dict() if verdict.quote else None,
        reason=verdict.reason,
        required=point.required,
        undecided=verdict.undecided,
        share=share,
        levels=point.levels,
        answers=() if point.kind == "met" else point.answers,
        invert=point.invert,
        groups=tuple(f"{group.combine} {float(group.points):+g}" for group in groups),
        proposed=point.proposed,
    )
