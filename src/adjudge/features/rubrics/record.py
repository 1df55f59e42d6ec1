"""Records of rows that were judged by their rubrics."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import Annotated, ClassVar

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail, JudgmentRecord
from adjudge.core.domain.verdict import KeptQuote


@light_dataclass(frozen=True, kw_only=True)
class RubricPointRecord:
    """One point, and the result of its votes."""

    id: str
    text: str
    points: float
    kind: str
    tags: tuple[str, ...]
    answer: Annotated[str | None, "met or not met, a level or a count; null: no verdict"]
    value: Annotated[float | None, "what the answer is worth, from 0 to 1"]
    votes: Annotated[Mapping[str, int], "answer: votes"]
    failed: Annotated[int, "votes without an answer to this point"]
    agreement: float | None
    explanation: str | None
    quote: Annotated[KeptQuote | None, "a passage of the text, found by a program"]
    reason: Annotated[str | None, "why there is no verdict"]
    required: bool = False
    undecided: Annotated[bool, "no verdict, although votes were cast"] = False
    share: Annotated[
        float | None, "of the highest score; null: the points do not simply add up"
    ] = None
    levels: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    invert: Annotated[bool, "it earns its points by not being met"] = False
    groups: Annotated[
        tuple[str, ...],
        "the groups that it is in, the inner one first: how each combines, and its points",
    ] = ()
    proposed: Annotated[bool, "a model proposed it, and no person has accepted it yet"] = False

    @property
    def is_met(self) -> bool:
        """True if it is met; for levels and counts, if nothing is missing from the best one."""
        return self.answer == "met" if self.kind == "met" else self.value == 1


@light_dataclass(frozen=True, kw_only=True)
class CategoryRecord:
    """The score over the points of one category."""

    score: float | None
    lower: float
    upper: float
    least: Annotated[float | None, "the lowest possible score; null: an older run"] = None
    most: Annotated[float | None, "the highest possible score"] = None

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest possible score; None if an older run did not store them."""
        return _limits(self.least, self.most)


@light_dataclass(frozen=True, kw_only=True)
class RubricDetail(Detail):
    """A row with its points. The score may be below 0: penalties are not clipped per row."""

    kind: ClassVar[str] = "rubric"
    sections: ClassVar[tuple[str, ...]] = ("rubric",)
    has_bounds: ClassVar[bool] = True

    layout: str
    identity: Annotated[str, "equal for rubrics that ask and count the same"]
    lower: Annotated[float, "the score if missing verdicts were the worst"]
    upper: Annotated[float, "the score if missing verdicts were the best"]
    points: tuple[RubricPointRecord, ...]
    categories: Annotated[
        Mapping[str, CategoryRecord], "only those with a point that is worth more than 0"
    ]
    failed_gates: tuple[str, ...]
    open_gates: Annotated[tuple[str, ...], "required points without a verdict"]
    themes: Annotated[tuple[str, ...], "tags of the row"] = ()
    text_field: str = "response"
    least: Annotated[
        float | None, "the lowest score that the rubric allows; null: an older run"
    ] = None
    most: Annotated[float | None, "the highest score that the rubric allows"] = None

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest score that the rubric allows; None if they are unknown."""
        if (limits := _limits(self.least, self.most)) is not None:
            return limits
        shares = [point.share for point in self.points if point.share is not None]
        # an older run: its points tell the limits if they simply add up
        if not shares or len(shares) < len(self.points):
            return None
        return (
            min(self.lower, sum(share for share in shares if share < 0)),
            max(self.upper, sum(share for share in shares if share > 0)),
        )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.lower, self.upper

    @property
    def missing(self) -> tuple[RubricPointRecord, ...]:
        """The points without a verdict."""
        return tuple(point for point in self.points if point.value is None)

    def columns(self) -> JsonDict:
        """Return flat columns: the counts of points, the categories, and the points as JSON."""
        detail = self.to_dict()
        points = detail.pop("points")
        categories = detail.pop("categories")
        met_count = sum(point.is_met for point in self.points)
        return {
            **{
                name: "; ".join(value) if isinstance(value, list) else value
                for name, value in detail.items()
            },
            "points_met": met_count,
            "points_missing": len(self.missing),
            "points_asked": len(self.points),
            "rubric_categories": dumps(categories, ensure_ascii=False),
            "rubric_points": dumps(points, ensure_ascii=False),
        }


def _limits(least: float | None, most: float | None) -> tuple[float, float] | None:
    return None if least is None or most is None else (least, most)


def rubric_detail(record: JudgmentRecord) -> RubricDetail | None:
    """Return the points of a judgment; None if it is of another kind, or its row was skipped."""
    if record.status == "skipped" or not isinstance(record.detail, RubricDetail):
        return None
    return record.detail
